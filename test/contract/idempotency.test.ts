import { describe, expect, onTestFinished, test } from 'vitest'
import { ACCEPT_LIMITS, acceptStore } from '../../src/app/accept-store.js'
import { StoreUnavailable } from '../../src/domain/errors.js'
import { sha256 } from '../../src/domain/evidence/evidence.js'
import { deleteExpiredKeys } from '../../src/store/notification/notifications.js'
import { openPool, type Pool } from '../../src/store/postgres.js'
import { holdRows } from '../support/database/locks.js'
import { chainFault, countRows, readStored } from '../support/database/stored.js'
import { deferred } from '../support/deferred.js'
import {
  createAccount,
  type Gateway,
  gatewayForFile,
  gatewayForTest,
  issueToken,
  readMetrics,
  startGateway,
} from '../support/gateway/gateway.js'
import { type Answer, errorBody, send, validSend } from '../support/gateway/requests.js'
import { exchange } from '../support/socket.js'

const { database, gateway, account } = await gatewayForFile()

let lastKey = 0
const newKey = (): string => `chave-${++lastKey}`
const keyed = (key: string, body: unknown = validSend, to: Gateway = gateway, token = account.token): Promise<Answer> =>
  send(to.url, token, body, { 'idempotency-key': key })
const idOf = ({ body }: Answer): string => (body as { idEmail: string }).idEmail
const replayed = ({ headers }: Answer): string | null => headers.get('idempotency-replayed')
const keyReused = errorBody(
  422,
  'Este Idempotency-Key já foi usado com outro corpo. Use uma chave nova para cada envio.',
  'Unprocessable Entity',
)
const inProgress = errorBody(
  409,
  'A primeira requisição com este Idempotency-Key ainda está em andamento. Repita em alguns segundos.',
  'Conflict',
)

async function expectNew(answer: Answer): Promise<string> {
  expect([answer.status, replayed(answer)]).toEqual([200, null])
  const stored = await readStored(database.pool, idOf(answer))
  expect(chainFault(stored!)).toBe(null)
  return idOf(answer)
}

function expectReplay(answer: Answer, id: string): void {
  expect(answer.body).toEqual({ idEmail: id })
  expect([answer.status, replayed(answer)]).toEqual([200, 'true'])
}

describe('the same key and the same body', () => {
  test('give the first answer again, marked as replayed, and store nothing more', async () => {
    const key = newKey()
    const body = { ...validSend, sms: { number: '11987654321' }, attachments: [{ name: 'a.txt', base64: 'cmVwbGF5' }] }
    const id = await expectNew(await keyed(key, body))
    const before = await countRows(database.pool)
    for (let round = 0; round < 3; round++) expectReplay(await keyed(key, body), id)
    expect(await countRows(database.pool)).toEqual(before)
  })

  test('without a key two equal sends are two notifications', async () => {
    const [one, two] = [await send(gateway.url, account.token, validSend), await send(gateway.url, account.token, validSend)]
    expect(idOf(one)).not.toBe(idOf(two))
    expect([replayed(one), replayed(two)]).toEqual([null, null])
  })

  test('other keys are other sends', async () => {
    const [one, two] = [await keyed(newKey()), await keyed(newKey())]
    expect(await expectNew(one)).not.toBe(await expectNew(two))
    const key = newKey()
    await expectNew(await keyed(key))
    await expectNew(await keyed(key.toUpperCase()))
  })

  test("another account's keys are its own", async () => {
    const other = await createAccount(database.pool)
    const key = newKey()
    const id = await expectNew(await keyed(key))
    expect(await expectNew(await keyed(key, validSend, gateway, other.token))).not.toBe(id)
    expectReplay(await keyed(key), id)
  })

  test('are recognised on every node', async () => {
    const other = await gatewayForTest(database.pool)
    const key = newKey()
    const id = await expectNew(await keyed(key))
    expectReplay(await keyed(key, validSend, other), id)
    expect((await keyed(key, { ...validSend, subject: 'Outro' }, other)).body).toEqual(keyReused)
  })

  test('give the first answer again also where the send would no longer be allowed', async () => {
    const { id: owner, token } = await createAccount(database.pool, { settings: { validation: true } })
    const asking = { ...validSend, validation: { question: 'Cor?', reply: 'azul' } }
    const [key, trialKey] = [newKey(), newKey()]
    const id = await expectNew(await keyed(key, asking, gateway, token))
    const trial = await issueToken(database.pool, owner, { mode: 'test' })
    const trialId = await expectNew(await keyed(trialKey, validSend, gateway, trial.token))
    await database.pool.query(`update account set settings = settings || '{"validation": false}' where id = $1`, [owner])
    const later = await gatewayForTest(database.pool, { SIMULATOR: 'off' })
    expectReplay(await keyed(key, asking, later, token), id)
    expect((await keyed(newKey(), asking, later, token)).status).toBe(403)
    expectReplay(await keyed(trialKey, validSend, later, trial.token), trialId)
    expect((await keyed(newKey(), validSend, later, trial.token)).status).toBe(503)
  })

  test('are recognised in bodies so large that they are read in a thread', async () => {
    const key = newKey()
    const large = { ...validSend, content: 'x'.repeat(400_000) }
    const id = await expectNew(await keyed(key, large))
    expectReplay(await keyed(key, large), id)
    expect((await keyed(key, { ...large, content: `${'x'.repeat(399_999)}y` })).status).toBe(422)
  })
})

describe('the same key and another body', () => {
  test('are 422, and nothing is stored', async () => {
    const key = newKey()
    const id = await expectNew(await keyed(key))
    const before = await countRows(database.pool)
    for (const body of [
      { ...validSend, subject: 'Outro assunto' },
      { ...validSend, extra: 1 },
      { ...validSend, attachments: [{ name: 'nova.txt', base64: 'bm92YQ==' }] },
      JSON.stringify(validSend, null, 2),
    ]) {
      const answer = await keyed(key, body)
      expect(answer.body).toEqual(keyReused)
      expect([answer.status, replayed(answer)]).toEqual([422, null])
    }
    expect(await countRows(database.pool)).toEqual(before)
    expectReplay(await keyed(key), id)
  })

  test('that is itself refused is 400, and the key keeps its meaning', async () => {
    const key = newKey()
    const id = await expectNew(await keyed(key))
    expect((await keyed(key, {})).status).toBe(400)
    expectReplay(await keyed(key), id)
  })
})

describe('a key whose send was refused is still free', () => {
  test.each([
    [400, { ...validSend, subject: '' }],
    [403, { ...validSend, validation: { question: 'a', reply: 'b' } }],
  ])('after %d', async (status, body) => {
    const key = newKey()
    const before = await countRows(database.pool)
    expect((await keyed(key, body)).status).toBe(status)
    expect(await countRows(database.pool)).toEqual(before)
    await expectNew(await keyed(key))
  })

  test('after 503', async () => {
    const key = newKey()
    const store = acceptStore(database.pool)
    const away = await gatewayForTest(
      database.pool,
      {},
      {
        acceptLimits: { ...ACCEPT_LIMITS, retryForMs: 0 },
        store: { ...store, insertAcceptances: () => Promise.reject(new StoreUnavailable(new Error('gone'))) },
      },
    )
    expect((await keyed(key, validSend, away)).status).toBe(503)
    await expectNew(await keyed(key))
  })
})

describe('the form of the key', () => {
  test.each(['a', '!', '~', 'a'.repeat(255), '0190a1b2-4f', '{"k":"v"}', "';drop--"])(
    'may be visible ASCII up to 255 characters: %s',
    async form => {
      const id = await expectNew(await keyed(form))
      expectReplay(await keyed(form), id)
    },
  )

  test.each([
    ['256 characters', 'a'.repeat(256)],
    ['nothing', ''],
    ['a space inside', 'a b'],
    ['a tab inside', 'a\tb'],
    ['an accent', 'ação'],
  ])('of %s is 400', async (_, key) => {
    const before = await countRows(database.pool)
    const { status, body } = await keyed(key)
    expect([status, body]).toEqual([
      400,
      errorBody(400, 'O cabeçalho Idempotency-Key deve ter de 1 a 255 caracteres visíveis, sem acentos.', 'Bad Request'),
    ])
    expect(await countRows(database.pool)).toEqual(before)
  })

  test('given twice is 400', async () => {
    const body = JSON.stringify(validSend)
    const head = [
      'POST /gw/email HTTP/1.1',
      'Host: localhost',
      `Authorization: ${account.token}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Idempotency-Key: a1',
      'Idempotency-Key: a2',
      '',
      '',
    ].join('\r\n')
    expect((await exchange(gateway.url, { parts: [head, body] })).status).toBe(400)
  })
})

/** A gateway whose writes stop at a gate until it is opened. */
async function gatedGateway(pool: Pool = database.pool) {
  const store = acceptStore(pool)
  const gate = deferred()
  const reached = deferred()
  const gated = await gatewayForTest(
    pool,
    {},
    {
      store: {
        ...store,
        insertAcceptances: async group => {
          reached.resolve()
          await gate.promise
          return store.insertAcceptances(group)
        },
      },
    },
  )
  return { gated, open: () => gate.resolve(), reached: reached.promise }
}

describe('while the first is still running', () => {
  test('the same key is 409 with Retry-After, whatever the body; afterwards it is a replay', async () => {
    const { gated, open, reached } = await gatedGateway()
    const key = newKey()
    const first = keyed(key, validSend, gated)
    await reached
    for (const body of [validSend, { ...validSend, subject: 'Outro' }]) {
      const answer = await keyed(key, body, gated)
      expect(answer.body).toEqual(inProgress)
      expect([answer.status, answer.headers.get('retry-after'), replayed(answer)]).toEqual([409, '1', null])
    }
    open()
    const id = await expectNew(await first)
    expectReplay(await keyed(key, validSend, gated), id)
  })

  test("other keys, sends without a key and another account's same key are not refused for it", async () => {
    const other = await createAccount(database.pool)
    const { gated, open, reached } = await gatedGateway()
    const key = newKey()
    const first = keyed(key, validSend, gated)
    await reached
    const others = [
      keyed(newKey(), validSend, gated),
      send(gated.url, account.token, validSend),
      keyed(key, validSend, gated, other.token),
    ]
    open()
    const ids = await Promise.all([first, ...others].map(async answer => expectNew(await answer)))
    expect(new Set(ids).size).toBe(4)
  })

  test('a faster node wins; the slower one gives its id, as a replay', async () => {
    const { gated, open, reached } = await gatedGateway()
    const key = newKey()
    const before = await countRows(database.pool)
    const slow = keyed(key, validSend, gated)
    await reached
    const id = await expectNew(await keyed(key))
    open()
    expectReplay(await slow, id)
    expect((await countRows(database.pool)).notification! - before.notification!).toBe(1)
  })

  test('a faster node with another body wins; the slower one is 422', async () => {
    const { gated, open, reached } = await gatedGateway()
    const key = newKey()
    const slow = keyed(key, { ...validSend, subject: 'Lento' }, gated)
    await reached
    await expectNew(await keyed(key))
    open()
    expect((await slow).body).toEqual(keyReused)
  })

  test.each([
    ['commits, its id is given', 'commit'],
    ['rolls back, the send goes through', 'rollback'],
  ])('when a transaction on another node that holds the key %s', async (_, ending) => {
    const key = newKey()
    const body = JSON.stringify(validSend)
    const id = await expectNew(await send(gateway.url, account.token, validSend))
    const client = await database.pool.connect()
    try {
      await client.query('begin')
      await client.query("insert into idempotency values ($1, 'live', $2, decode($3, 'hex'), $4, now())", [
        account.id,
        key,
        sha256(body),
        id,
      ])
      const answer = keyed(key, body)
      await expect.poll(waitingForALock).toBe(1)
      await client.query(ending)
      if (ending === 'commit') expectReplay(await answer, id)
      else expect(await expectNew(await answer)).not.toBe(id)
    } finally {
      client.release(true)
    }
  })

  async function waitingForALock(): Promise<number> {
    const { rows } = await database.pool.query<{ waiting: number }>(
      "select count(*) as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
    return rows[0]!.waiting
  }
})

test('two nodes that race for the same keys make exactly one notification a key', async () => {
  const pools = [1, 2].map(() => openPool({ url: database.url, size: 5, onError: () => {} }))
  const nodes = await Promise.all(pools.map(pool => startGateway(pool)))
  try {
    const keys = Array.from({ length: 40 }, newKey)
    const before = await countRows(database.pool)
    const answers = await Promise.all(
      keys.flatMap(key =>
        nodes
          .flatMap(node => [keyed(key, validSend, node), keyed(key, validSend, node)])
          .map(async answer => ({ key, answer: await answer })),
      ),
    )
    const after = await countRows(database.pool)
    expect(after.notification! - before.notification!).toBe(keys.length)
    expect(after.event! - before.event!).toBe(keys.length)
    expect(after.delivery! - before.delivery!).toBe(keys.length)
    expect(after.idempotency! - before.idempotency!).toBe(keys.length)
    for (const key of keys) {
      const own = answers.filter(entry => entry.key === key).map(entry => entry.answer)
      const ids = new Set(own.filter(answer => answer.status === 200).map(idOf))
      expect(ids.size).toBe(1)
      for (const answer of own) if (answer.status !== 200) expect(answer.body).toEqual(inProgress)
      expect(own.filter(answer => answer.status === 200 && replayed(answer) === null)).toHaveLength(1)
      for (const node of nodes) expectReplay(await keyed(key, validSend, node), [...ids][0]!)
    }
  } finally {
    for (const node of nodes) await node.close()
    for (const pool of pools) await pool.end()
  }
})

describe('after 24 hours', () => {
  const age = (key: string, interval: string): Promise<unknown> =>
    database.pool.query('update idempotency set created_at = now() - $3::interval where account_id = $1 and key = $2', [
      account.id,
      key,
      interval,
    ])

  test('a key is free again, for the same body and for another', async () => {
    for (const body of [validSend, { ...validSend, subject: 'Outro dia' }]) {
      const key = newKey()
      const id = await expectNew(await keyed(key))
      await age(key, '24 hours 1 second')
      const next = await expectNew(await keyed(key, body))
      expect(next).not.toBe(id)
      expectReplay(await keyed(key, body), next)
      expect(await readStored(database.pool, id)).not.toBe(null)
    }
  })

  test('and not before', async () => {
    const key = newKey()
    const id = await expectNew(await keyed(key))
    await age(key, '23 hours 59 minutes')
    expectReplay(await keyed(key), id)
    expect((await keyed(key, { ...validSend, subject: 'Outro' })).status).toBe(422)
  })

  test('upkeep removes the keys that are over and leaves the others', async () => {
    const [old, young] = [newKey(), newKey()]
    await expectNew(await keyed(old))
    const id = await expectNew(await keyed(young))
    await age(old, '25 hours')
    const before = (await countRows(database.pool)).idempotency!
    await deleteExpiredKeys(database.pool)
    expect((await countRows(database.pool)).idempotency).toBe(before - 1)
    expectReplay(await keyed(young), id)
    await expectNew(await keyed(old))
  })
})

test('a key that another transaction holds delays its own request, and not the others of its group', async () => {
  const pool = openPool({ url: database.url, size: 4, onError: () => {} })
  // As long as a test can wait.
  pool.on('connect', client => void client.query('set lock_timeout = 100'))
  const store = acceptStore(pool)
  const gate = deferred()
  const reached = deferred()
  const insertAcceptances: typeof store.insertAcceptances = async group => {
    reached.resolve()
    await gate.promise
    return store.insertAcceptances(group)
  }
  const limits = { ...ACCEPT_LIMITS, parallelGroups: 1 }
  const gated = await gatewayForTest(pool, {}, { acceptLimits: limits, store: { ...store, insertAcceptances } })
  onTestFinished(() => pool.end())
  const key = newKey()
  const holder = await holdRows(
    database.url,
    "insert into idempotency (account_id, mode, key, body_sha256, notification_id, created_at) values ($1, 'live', $2, '', $1, now() - interval '2 days')",
    [account.id, key],
  )
  const first = send(gated.url, account.token, validSend)
  await reached.promise
  const [held, other] = [keyed(key, validSend, gated), send(gated.url, account.token, validSend)]
  const waiting = async () => /^carteiro_accept_waiting (\S+)$/m.exec(await readMetrics(gated.url))?.[1]
  await expect.poll(waiting).toBe('2')
  gate.resolve()
  await expectNew(await first)
  await expectNew(await other)
  expect((await held).status).toBe(503)
  await holder.release()
  await expectNew(await keyed(key, validSend, gated))
})
