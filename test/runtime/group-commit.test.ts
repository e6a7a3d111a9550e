import { createHook } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ACCEPT_LIMITS, acceptStore } from '../../src/app/accept-store.js'
import { StoreUnavailable } from '../../src/domain/errors.js'
import type { AcceptStore } from '../../src/engine/accept/accept.js'
import { GroupCommit, type GroupCommitOptions } from '../../src/runtime/group-commit.js'
import { setPrice } from '../../src/store/accounts/costs.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { chainFault, countRows, readStored } from '../support/database/stored.js'
import { type Deferred, deferred } from '../support/deferred.js'
import { createAccount, gatewayForTest, type TestAccount } from '../support/gateway/gateway.js'
import { type Answer, errorBody, send, validSend } from '../support/gateway/requests.js'

class ItemFault extends Error {}
class Overloaded extends Error {}

/** Writes that a test can hold, over items that may be bad. */
function recorder(options: Partial<GroupCommitOptions<string, string>> = {}, held = false) {
  const writes: { group: readonly string[]; gate: Deferred<void> }[] = []
  const commit = new GroupCommit<string, string>({
    write: async group => {
      const gate = deferred()
      writes.push({ group, gate })
      if (held) await gate.promise
      if (group.some(item => item.startsWith('bad'))) throw new ItemFault(group.join())
      return group.map(item => `${item} written`)
    },
    isItemFault: error => error instanceof ItemFault,
    weigh: item => item.length,
    maxItems: 100,
    maxWeight: 1_000,
    parallel: 1,
    maxWaiting: 1_000,
    overloaded: () => new Overloaded(),
    ...options,
  })
  return { commit, writes, groups: () => writes.map(write => write.group.join(' ')) }
}

const outcomes = async (promises: Promise<string>[]): Promise<string[]> =>
  (await Promise.allSettled(promises)).map(result => (result.status === 'fulfilled' ? result.value : result.reason.message))

describe('a group', () => {
  test('contains all items of the same event loop iteration, in order, and each gets its own result', async () => {
    const { commit, groups } = recorder()
    const results = await Promise.all(['a', 'b', 'c'].map(item => commit.submit(item)))
    expect(groups()).toEqual(['a b c'])
    expect(results).toEqual(['a written', 'b written', 'c written'])
  })

  test('gathers while another one is being written', async () => {
    const { commit, writes, groups } = recorder({}, true)
    const first = commit.submit('a')
    await expect.poll(() => writes.length).toBe(1)
    const others = ['b', 'c'].map(item => commit.submit(item))
    await nextTurn()
    others.push(commit.submit('d'))
    expect(commit.waiting).toBe(3)
    writes[0]!.gate.resolve()
    expect(await first).toBe('a written')
    await expect.poll(() => writes.length).toBe(2)
    writes[1]!.gate.resolve()
    expect(await outcomes(others)).toEqual(['b written', 'c written', 'd written'])
    expect(groups()).toEqual(['a', 'b c d'])
    expect([commit.groups, commit.items, commit.waiting]).toEqual([2, 4, 0])
  })

  test('collects items for the configured time, the first one and those after it', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { commit, groups } = recorder({ gatherMs: 15, maxItems: 3 })
    const all = [commit.submit('a')]
    await vi.advanceTimersByTimeAsync(14)
    all.push(...['b', 'c', 'd', 'e'].map(item => commit.submit(item)))
    expect(groups()).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(groups()).toEqual(['a b c'])
    await vi.advanceTimersByTimeAsync(14)
    all.push(commit.submit('f'))
    expect(groups()).toEqual(['a b c'])
    await vi.advanceTimersByTimeAsync(1)
    expect(groups()).toEqual(['a b c', 'd e f'])
    expect(await outcomes(all)).toEqual(['a', 'b', 'c', 'd', 'e', 'f'].map(item => `${item} written`))
  })

  test('has at most so many items and so much weight, and one item of any weight', async () => {
    const byCount = recorder({ maxItems: 2 })
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map(item => byCount.commit.submit(item)))
    expect(byCount.groups()).toEqual(['a b', 'c d', 'e'])
    const byWeight = recorder({ maxWeight: 5 })
    await Promise.all(['aa', 'bbb', 'c', 'heaviest', 'd'].map(item => byWeight.commit.submit(item)))
    expect(byWeight.groups()).toEqual(['aa bbb', 'c', 'heaviest', 'd'])
  })

  test('is written beside others, up to the parallel limit', async () => {
    const { commit, writes, groups } = recorder({ parallel: 2, maxItems: 1 }, true)
    const all = ['a', 'b', 'c', 'd'].map(item => commit.submit(item))
    await expect.poll(() => writes.length).toBe(2)
    await nextTurn()
    expect(groups()).toEqual(['a', 'b'])
    writes[1]!.gate.resolve()
    await expect.poll(() => writes.length).toBe(3)
    for (const index of [0, 2, 3]) {
      await expect.poll(() => writes.length).toBeGreaterThan(index)
      writes[index]!.gate.resolve()
    }
    expect(await outcomes(all)).toEqual(['a written', 'b written', 'c written', 'd written'])
  })

  test('one bad item does not fail its neighbours, wherever it stands', async () => {
    for (let size = 1; size <= 9; size++) {
      for (let bad = 0; bad < size; bad++) {
        const { commit, writes } = recorder()
        const items = Array.from({ length: size }, (_, index) => (index === bad ? 'bad' : `good${index}`))
        expect(await outcomes(items.map(item => commit.submit(item)))).toEqual(
          items.map(item => (item === 'bad' ? 'bad' : `${item} written`)),
        )
        // Halving: about twice as many writes as the group has halvings, never one by one.
        expect(writes.length).toBeLessThanOrEqual(1 + 2 * Math.ceil(Math.log2(size)))
      }
    }
  })

  test('of bad items alone fails each with its own error', async () => {
    const { commit } = recorder()
    expect(await outcomes(['bad1', 'bad2', 'bad3'].map(item => commit.submit(item)))).toEqual(['bad1', 'bad2', 'bad3'])
  })

  test('that fails without a bad item fails as a whole, is not retried, and the next one passes', async () => {
    let tries = 0
    const { commit } = recorder({
      write: async group => {
        if (++tries === 1) throw new Error('away')
        return group.map(item => `${item} written`)
      },
    })
    expect(await outcomes(['a', 'b'].map(item => commit.submit(item)))).toEqual(['away', 'away'])
    expect(tries).toBe(1)
    expect(await commit.submit('c')).toBe('c written')
  })

  test('items that wait behind a failing group are written all the same', async () => {
    const { commit, writes } = recorder({}, true)
    const first = [commit.submit('bad')]
    await expect.poll(() => writes.length).toBe(1)
    const next = [commit.submit('a')]
    writes[0]!.gate.resolve()
    expect(await outcomes(first)).toEqual(['bad'])
    await expect.poll(() => writes.length).toBe(2)
    writes[1]!.gate.resolve()
    expect(await outcomes(next)).toEqual(['a written'])
  })
})

describe('waiting', () => {
  test('is bounded: beyond it a submission is refused at once, and later ones pass again', async () => {
    const { commit, writes } = recorder({ maxWaiting: 2 }, true)
    const all = [commit.submit('a')]
    await expect.poll(() => writes.length).toBe(1)
    all.push(commit.submit('b'), commit.submit('c'))
    expect(() => commit.submit('d')).toThrow(Overloaded)
    expect(() => commit.submit('e')).toThrow(Overloaded)
    writes[0]!.gate.resolve()
    await expect.poll(() => writes.length).toBe(2)
    all.push(commit.submit('f'))
    writes[1]!.gate.resolve()
    await expect.poll(() => writes.length).toBe(3)
    writes[2]!.gate.resolve()
    expect(await outcomes(all)).toEqual(['a written', 'b written', 'c written', 'f written'])
  })

  test('does not delay an idle system: the write begins in the next event loop iteration, and no timer is made', async () => {
    const made: string[] = []
    const hook = createHook({
      init(_id, type) {
        if (type === 'Timeout') made.push(type)
      },
    })
    const { commit, writes } = recorder()
    hook.enable()
    try {
      for (let round = 0; round < 5; round++) {
        const result = commit.submit(`a${round}`)
        expect(writes).toHaveLength(round)
        await nextTurn()
        expect(writes).toHaveLength(round + 1)
        await result
        await nextTurn()
      }
    } finally {
      hook.disable()
    }
    expect(made).toEqual([])
  })
})

describe('accepting sends', () => {
  let database: TestDatabase
  let account: TestAccount

  beforeAll(async () => {
    database = await createDatabase()
  })
  afterAll(() => database.drop())

  /** A gateway on the real store, some of whose functions a test stands in front of. */
  async function start(change: (store: AcceptStore) => Partial<AcceptStore>, limits: Partial<typeof ACCEPT_LIMITS> = {}) {
    const store = acceptStore(database.pool)
    const gateway = await gatewayForTest(
      database.pool,
      {},
      { acceptLimits: { ...ACCEPT_LIMITS, ...limits }, store: { ...store, ...change(store) } },
    )
    account ??= await createAccount(database.pool)
    return gateway
  }

  const subjects = async (): Promise<Map<string, number>> => {
    const { rows } = await database.pool.query<{ subject: string; count: number }>(
      'select subject, count(*) as count from notification group by subject',
    )
    return new Map(rows.map(row => [row.subject, row.count]))
  }

  test('a row that breaks a constraint does not fail the others of its group', async () => {
    await database.asOwner("alter table notification add constraint no_bad_subject check (subject <> 'ruim')")
    try {
      const sizes: number[] = []
      const gateway = await start(store => ({
        insertAcceptances: group => {
          sizes.push(group.length)
          return store.insertAcceptances(group)
        },
      }))
      // The first one keeps the writers busy, so that the others share groups.
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          send(gateway.url, account.token, { ...validSend, subject: index % 20 === 19 ? 'ruim' : `restrição ${index}` }),
        ),
      )
      const stored = await subjects()
      for (const [index, { status, body }] of answers.entries()) {
        if (index % 20 === 19) {
          expect(status).toBe(500)
          expect(body).toEqual(errorBody(500, 'Internal Server Error', 'Internal Server Error'))
        } else {
          expect(status).toBe(200)
          expect(stored.get(`restrição ${index}`)).toBe(1)
        }
      }
      expect(stored.has('ruim')).toBe(false)
      expect(Math.max(...sizes)).toBeGreaterThan(1)
    } finally {
      await database.asOwner('alter table notification drop constraint no_bad_subject')
    }
  })

  test('concurrent sends share commits', async () => {
    const sizes: number[] = []
    const gateway = await start(store => ({
      insertAcceptances: group => {
        sizes.push(group.length)
        return store.insertAcceptances(group)
      },
    }))
    const answers = await Promise.all(Array.from({ length: 100 }, () => send(gateway.url, account.token, validSend)))
    expect(answers.map(answer => answer.status)).toEqual(Array(100).fill(200))
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(100)
    expect(sizes.length).toBeLessThan(100)
  })

  test('more sends than may wait are 503 with Retry-After, and those that wait are 200', async () => {
    const gate = deferred()
    let writing = 0
    const gateway = await start(
      store => ({
        insertAcceptances: async group => {
          writing++
          await gate.promise
          return store.insertAcceptances(group)
        },
      }),
      { maxWaiting: 3, parallelGroups: 1 },
    )
    const before = await countRows(database.pool)
    const first = send(gateway.url, account.token, validSend)
    await expect.poll(() => writing).toBe(1)
    const answers: Answer[] = []
    const others = Array.from({ length: 10 }, async () => {
      answers.push(await send(gateway.url, account.token, validSend))
    })
    // While the gate is shut only those that may not wait are answered.
    await expect.poll(() => answers.length).toBe(7)
    const refused = [...answers]
    for (const answer of refused) {
      expect(answer.body).toEqual(
        errorBody(503, 'Serviço temporariamente sobrecarregado. Tente novamente em instantes.', 'Service Unavailable'),
      )
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
    }
    gate.resolve()
    expect((await first).status).toBe(200)
    await Promise.all(others)
    expect(answers.slice(7).map(answer => answer.status)).toEqual([200, 200, 200])
    expect((await countRows(database.pool)).notification! - before.notification!).toBe(4)
  })

  test.each([{}, { 'idempotency-key': 'resposta-perdida' }])(
    'an answer of the database that is lost after the commit (headers %j) is still 200, and the notification is there once',
    async headers => {
      let inserts = 0
      const gateway = await start(store => ({
        insertAcceptances: async group => {
          inserts++
          await store.insertAcceptances(group)
          throw new StoreUnavailable(new Error('connection reset'))
        },
      }))
      const before = await countRows(database.pool)
      const answer = await send(gateway.url, account.token, validSend, headers)
      expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, null])
      expect(inserts).toBe(1)
      const after = await countRows(database.pool)
      expect(after.notification! - before.notification!).toBe(1)
      expect(after.delivery! - before.delivery!).toBe(1)
      const stored = await readStored(database.pool, (answer.body as { idEmail: string }).idEmail)
      expect(chainFault(stored!)).toBe(null)
    },
  )

  test('a write that was lost before the commit is made again, once, under the same id', async () => {
    const tried: string[][] = []
    const gateway = await start(store => ({
      insertAcceptances: async group => {
        tried.push(group.map(item => item.id))
        if (tried.length <= 2) throw new StoreUnavailable(new Error('connection reset'))
        return store.insertAcceptances(group)
      },
    }))
    const before = await countRows(database.pool)
    const answer = await send(gateway.url, account.token, validSend)
    expect(answer.status).toBe(200)
    const id = (answer.body as { idEmail: string }).idEmail
    expect(tried).toEqual([[id], [id], [id]])
    expect((await countRows(database.pool)).notification! - before.notification!).toBe(1)
  })

  /** A store in which the answer to the first write is lost. The look for its rows comes too early, and it commits right after that. */
  function committingLate(lost: StoreUnavailable) {
    let late: Promise<unknown> = Promise.resolve()
    let tries = 0
    const store = (real: AcceptStore): Partial<AcceptStore> => ({
      findWritten: async ids => {
        const found = await real.findWritten(tries === 1 ? [] : ids)
        await late
        return found
      },
      insertAcceptances: async group => {
        if (++tries > 1) return real.insertAcceptances(group)
        late = real.insertAcceptances(group)
        throw lost
      },
    })
    return { store, tries: () => tries }
  }

  test('a first attempt that commits late, during the second one, is still 200 once', async () => {
    const { store, tries } = committingLate(new StoreUnavailable(new Error('timeout')))
    const gateway = await start(store)
    const before = await countRows(database.pool)
    const answer = await send(gateway.url, account.token, validSend)
    expect(answer.status).toBe(200)
    expect(tries()).toBe(2)
    expect((await countRows(database.pool)).notification! - before.notification!).toBe(1)
    expect(await readStored(database.pool, (answer.body as { idEmail: string }).idEmail)).not.toBe(null)
  })

  test('a first attempt with a key that commits late, during the second one, is no repetition, and its cost stays bound', async () => {
    const { store, tries } = committingLate(new StoreUnavailable(new Error('timeout'), { maybeCommitted: true }))
    const gateway = await start(store)
    const { id, token } = await createAccount(database.pool, { settings: { 'cost.month.cap': 1 } })
    await setPrice(database.pool, { channel: 'email', carrier: '', price: 0.6 })
    onTestFinished(() => setPrice(database.pool, { channel: 'email', carrier: '', price: 0 }))
    const answer = await send(gateway.url, token, validSend, { 'idempotency-key': 'tarde' })
    expect([answer.status, answer.headers.get('idempotency-replayed'), tries()]).toEqual([200, null, 2])
    const bound = await database.pool.query('select committed::float8 from cost_month where account_id = $1', [id])
    expect(bound.rows).toEqual([{ committed: 0.6 }])
    expect((await database.pool.query('select from cost_tally where account_id = $1', [id])).rows).toEqual([])
    expect((await send(gateway.url, token, validSend)).status).toBe(402)
  })

  test('a database that stays unavailable is 503 after the timeout, and nothing is stored', async () => {
    let tries = 0
    const gateway = await start(
      () => ({
        insertAcceptances: async () => {
          tries++
          throw new StoreUnavailable(new Error('gone'))
        },
        findWritten: async () => {
          throw new StoreUnavailable(new Error('gone'))
        },
      }),
      { retryForMs: 300 },
    )
    const before = await countRows(database.pool)
    const answer = await send(gateway.url, account.token, validSend)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
    expect(tries).toBe(1)
    expect(await countRows(database.pool)).toEqual(before)
  })

  test('a whole group whose answer is lost is 200 for each of its members, once', async () => {
    let lose = true
    const gateway = await start(store => ({
      insertAcceptances: async group => {
        const written = await store.insertAcceptances(group)
        if (!lose || group.length === 1) return written
        lose = false
        throw new StoreUnavailable(new Error('connection reset'))
      },
    }))
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, index) => send(gateway.url, account.token, { ...validSend, subject: `grupo ${index}` })),
    )
    expect(lose).toBe(false)
    const stored = await subjects()
    for (const [index, answer] of answers.entries()) {
      expect(answer.status).toBe(200)
      expect(stored.get(`grupo ${index}`)).toBe(1)
    }
  })
})
