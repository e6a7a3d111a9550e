import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { weighEmail } from '../../../src/channels/email/preparation.js'
import { completeSettings } from '../../../src/domain/account.js'
import { Semaphore } from '../../../src/runtime/semaphore.js'
import type { Claim } from '../../../src/store/delivery/claims.js'
import { createDatabase, type TestDatabase } from '../../support/database/database.js'
import { deferred } from '../../support/deferred.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../../support/gateway/gateway.js'
import { type Parcel, ScriptedCarrier, startTestWorker, type TestWorker } from '../../support/gateway/lanes.js'
import { send, validSend } from '../../support/gateway/requests.js'

describe('the weight of an e-mail', () => {
  const weigh = (changes: Partial<Claim>): number =>
    weighEmail({ protected: false, contentSize: 1_000, attachments: [], settings: completeSettings({}), ...changes } as Claim)
  const file = (size: number) => ({ name: 'a.pdf', sha256: '', size })

  test('an ordinary one weighs nothing; files and large contents do, unless they stay behind a question', () => {
    expect(weigh({})).toBe(0)
    expect(weigh({ attachments: [file(50_000)] })).toBe(0)
    expect(weigh({ attachments: [file(10_000_000), file(15_000_000)] })).toBeGreaterThan(50_000_000)
    expect(weigh({ contentSize: 1_000_000 })).toBeGreaterThan(4_000_000)
    expect(weigh({ contentSize: 1_000_000, attachments: [file(10_000_000)], protected: true })).toBe(0)
  })
})

describe('a lane with a budget', () => {
  let database: TestDatabase
  let gateway: Gateway
  let account: TestAccount
  let worker: TestWorker | undefined

  beforeAll(async () => {
    database = await createDatabase()
    gateway = await startGateway(database.pool)
    account = await createAccount(database.pool)
  })

  afterEach(() => worker?.stop())

  afterAll(async () => {
    await gateway.close()
    await database.drop()
  })

  const accept = async (subject = 'grande'): Promise<string> =>
    ((await send(gateway.url, account.token, { ...validSend, subject })).body as { idEmail: string }).idEmail

  const deliveries = async (ids: readonly string[]) =>
    (
      await database.pool.query(
        'select state, attempt, lease_until, due_at <= now() as due from delivery where notification_id = any($1)',
        [ids],
      )
    ).rows

  const sent = (ids: readonly string[]) =>
    expect.poll(async () => (await deliveries(ids)).map(({ state }) => state)).toEqual(ids.map(() => 'done'))

  /** What is prepared and not sent yet is in memory. */
  function startWith(budget: Semaphore, carrier: ScriptedCarrier, leaseMs?: number): { held: Set<string> } {
    const held = new Set<string>()
    const prepare = async ({ notification, reference, attempt }: Claim): Promise<Parcel> => {
      held.add(notification)
      return { notification, reference, attempt }
    }
    const memory = { budget, weigh: ({ subject }: Claim) => (subject === 'grande' ? 40 : 0) }
    worker = startTestWorker(database.pool, [{ carrier, options: { prepare, memory, retryDelaysMs: [] } }], leaseMs)
    return { held }
  }

  test('holds no more at once than it may, sends everything once, and lets small ones pass', async () => {
    const gates: (() => void)[] = []
    let most = 0
    const carrier = new ScriptedCarrier(async ({ notification }) => {
      most = Math.max(most, held.size)
      if (large.includes(notification)) {
        const gate = deferred<void>()
        gates.push(() => gate.resolve())
        await gate.promise
      }
      held.delete(notification)
      return {}
    })
    const large = await Promise.all(Array.from({ length: 7 }, () => accept()))
    const { held } = startWith(new Semaphore({ permits: 100 }), carrier)
    await expect.poll(() => gates.length).toBe(2)
    const small = await accept('pequena')
    await sent([small])
    expect(gates).toHaveLength(2)
    for (let open = 0; open < large.length; open++) {
      await expect.poll(() => gates.length).toBeGreaterThan(open)
      gates[open]!()
    }
    await sent(large)
    // Two large ones, and the small one beside them.
    expect(most).toBeLessThanOrEqual(3)
    expect(carrier.got.map(({ notification }) => notification).sort()).toEqual([...large, small].sort())
  })

  test('what waits keeps its lease, however long that takes', async () => {
    const gate = deferred<void>()
    const carrier = new ScriptedCarrier(() => gate.promise.then(() => ({})))
    const ids = [await accept(), await accept()]
    startWith(new Semaphore({ permits: 40 }), carrier, 1_500)
    await expect.poll(() => carrier.got.length).toBe(1)
    const [first] = await deliveries(ids)
    const originally: number = first.lease_until.getTime()
    // By then the lease that the one that waits was claimed with has run out.
    await expect
      .poll(async () => Math.min(...(await deliveries(ids)).map(row => row.lease_until.getTime())), { timeout: 120_000 })
      .toBeGreaterThan(originally + 1_500)
    gate.resolve()
    await sent(ids)
    expect(carrier.got).toHaveLength(2)
    expect((await deliveries(ids)).map(({ attempt }) => attempt)).toEqual([1, 1])
  })

  test('a worker that is stopped leaves what waits to the next one at once', async () => {
    const gate = deferred<void>()
    const carrier = new ScriptedCarrier(() => gate.promise.then(() => ({})))
    const ids = [await accept(), await accept()]
    startWith(new Semaphore({ permits: 40 }), carrier)
    await expect.poll(() => carrier.got.length).toBe(1)
    const stopped = worker!.stop()
    worker = undefined
    gate.resolve()
    await stopped
    expect(carrier.got).toHaveLength(1)
    const [left] = (await deliveries(ids)).filter(({ state }) => state !== 'done')
    expect(left).toMatchObject({ state: 'queued', due: true })
  })
})
