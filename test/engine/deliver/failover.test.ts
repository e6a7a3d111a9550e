import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { SendError } from '../../../src/channels/provider.js'
import { repairDelivery } from '../../../src/engine/unknown/operator-decision.js'
import { claimDeliveries, claimFailovers } from '../../../src/store/delivery/claims.js'
import { deferred } from '../../support/deferred.js'
import { gatewayForFile } from '../../support/gateway/gateway.js'
import {
  endWork,
  QUICK_TIMING,
  refused,
  ScriptedCarrier,
  startTestWorker,
  type TestLane,
  type TestWorker,
} from '../../support/gateway/lanes.js'
import { request, send, validSend } from '../../support/gateway/requests.js'

let worker: TestWorker | undefined

const { database, gateway, account } = await gatewayForFile()

afterEach(async () => {
  await endWork(database.pool, worker)
  worker = undefined
})

/** As long as real plans' waits are, for a test. */
const HOURS = 3_600_000

const work = (...lanes: TestLane[]): void => {
  worker = startTestWorker(
    database.pool,
    lanes.map((lane, index) => ({
      name: `carrier ${index}`,
      ...lane,
      options: { retryDelaysMs: [HOURS, HOURS], ...lane.options },
    })),
  )
}

const accept = async (): Promise<string> =>
  ((await send(gateway.url, account.token, validSend)).body as { idEmail: string }).idEmail

const described = (id: string) =>
  expect.poll(
    async () =>
      ((await request(`${gateway.url}/gw/email/${id}`, { token: account.token })).body as { description: string }).description,
  )

const rowOf = async (
  id: string,
): Promise<{ state: string; attempt: number; failovers: number; waits: boolean; carrier: string }> =>
  (
    await database.pool.query(
      "select state, attempt, failovers, carrier, tried, due_at > now() + interval '30 minutes' as waits from delivery where notification_id = $1",
      [id],
    )
  ).rows[0]

const failing = (kind: SendError['kind'] = 'temporary'): ScriptedCarrier =>
  new ScriptedCarrier(() => Promise.reject(refused(kind, kind === 'throttled' ? 60_000 : undefined)))

test.each(['temporary', 'throttled'] as const)(
  'a lone message whose carrier fails (%s) is sent by the next one at once',
  async kind => {
    const [broken, healthy] = [failing(kind), new ScriptedCarrier()]
    work({ carrier: broken }, { carrier: healthy })
    const id = await accept()
    await described(id).toBe('Enviado')
    expect(broken.got).toHaveLength(1)
    expect(healthy.got).toMatchObject([{ notification: id, reference: `${id}.email.1`, attempt: 2 }])
    expect(await rowOf(id)).toMatchObject({ carrier: 'carrier 1', failovers: 1, tried: null })
  },
)

test('two carriers of one kind take over from each other too', async () => {
  const healthy = new ScriptedCarrier()
  work({ name: 'smtp', carrier: failing() }, { name: 'smtp', carrier: healthy })
  await described(await accept()).toBe('Enviado')
  expect(healthy.got).toHaveLength(1)
})

test('when all carriers failed, the plan’s wait counts, and each of them was tried once', async () => {
  const carriers = [failing(), failing(), failing()]
  work(...carriers.map(carrier => ({ carrier })))
  const id = await accept()
  await expect.poll(() => rowOf(id)).toMatchObject({ state: 'queued', attempt: 3, tried: null })
  expect(await rowOf(id)).toMatchObject({ failovers: 2, waits: true })
  expect(carriers.map(({ got }) => got.length)).toEqual([1, 1, 1])
})

test('all carriers of a round use up one wait of the plan, and the last round is for all of them too', async () => {
  const carriers = [failing(), failing()]
  work(...carriers.map(carrier => ({ carrier })))
  const id = await accept()
  for (const attempt of [2, 4]) {
    await expect.poll(() => rowOf(id)).toMatchObject({ state: 'queued', attempt, tried: null, waits: true })
    await database.pool.query('update delivery set due_at = now() where notification_id = $1', [id])
  }
  await described(id).toBe('Falha no envio')
  expect(carriers.map(({ got }) => got.length)).toEqual([3, 3])
  expect((await rowOf(id)).state).toBe('dead')
})

test('a plan ends although the carrier that could take over is out of reach', async () => {
  const broken = failing()
  const away = Object.assign(new ScriptedCarrier(), { ready: false })
  work({ carrier: broken, options: { retryDelaysMs: [10, 10] } }, { carrier: away })
  const id = await accept()
  await described(id).toBe('Falha no envio')
  expect(broken.got).toHaveLength(4)
  expect(away.got).toEqual([])
})

test.each([
  ['says of one recipient', 'queued', () => new SendError('temporary', 'Caixa cheia.', { scope: 'message' })],
  ['leaves with an unknown outcome', 'uncertain', () => refused('uncertain')],
  ['breaks down over', 'uncertain', () => new TypeError('a bug')],
])('what a carrier %s is not handed to another one', async (_, state, error) => {
  const healthy = new ScriptedCarrier()
  work({ carrier: new ScriptedCarrier(() => Promise.reject(error())) }, { carrier: healthy })
  const id = await accept()
  await expect.poll(() => rowOf(id)).toMatchObject({ state, attempt: 1 })
  expect(await rowOf(id)).toMatchObject({ waits: true, tried: null })
  expect(await claimFailovers(database.pool, question(1))).toEqual([])
  expect(healthy.got).toEqual([])
})

test.each(['report', 'lookup', 'never'] as const)(
  'an unknown outcome of a carrier of the class %s stays with that carrier',
  async whenUnknown => {
    const healthy = new ScriptedCarrier()
    const carrier = Object.assign(failing('uncertain'), { find: () => Promise.reject(refused('temporary')) })
    work({ carrier, whenUnknown, options: { settleMs: HOURS } }, { carrier: healthy, whenUnknown })
    const id = await accept()
    await described(id).toBe('Em verificação')
    expect(await rowOf(id)).toMatchObject({ carrier: 'carrier 0', tried: null })
    expect(await claimFailovers(database.pool, question(1))).toEqual([])
    expect(healthy.got).toEqual([])
  },
)

const question = (rank: number) => ({
  channel: 'email' as const,
  mode: 'live' as const,
  carrier: `carrier ${rank}`,
  rank,
  owner: '00000000-0000-4000-8000-000000000003',
  limit: 10,
  leaseMs: 60_000,
})

test('a worker that dies during a failover leaves an unknown outcome, not another failover', async () => {
  const id = await accept()
  await claimDeliveries(database.pool, question(0))
  await database.pool.query("update delivery set state = 'queued', lease_owner = null where notification_id = $1", [id])
  expect(await claimFailovers(database.pool, question(0))).toEqual([])
  expect(await claimFailovers(database.pool, question(1))).toMatchObject([
    { notification: id, attempt: 2, failovers: 1, tried: [0, 1] },
  ])
  await database.pool.query('update delivery set lease_until = now() where notification_id = $1', [id])
  // Its own carrier may repeat it at once, so that lanes which claim would take it before the test has seen it.
  const idle = { carrier: new ScriptedCarrier(), options: { claim: async () => [], claimFailovers: async () => [] } }
  work(idle, idle)
  await expect.poll(() => rowOf(id)).toMatchObject({ state: 'queued', tried: null })
  expect(await claimFailovers(database.pool, question(0))).toEqual([])
})

test('what another carrier failed to take: single sends come before batches, which have places of their own', async () => {
  const ids = [await accept(), await accept(), await accept(), await accept()]
  await database.pool.query(
    "update delivery set tried = '{0}', bulk = notification_id = any($2), due_at = now() where notification_id = any($1)",
    [ids, ids.slice(0, 3)],
  )
  const take = async (limits: { limit: number; bulkLimit: number }): Promise<string[]> =>
    (await claimFailovers(database.pool, { ...question(1), ...limits })).map(({ notification }) => notification)
  expect(await take({ limit: 1, bulkLimit: 1 })).toEqual(ids.slice(3))
  expect(await take({ limit: 10, bulkLimit: 0 })).toEqual([])
  expect(await take({ limit: 10, bulkLimit: 2 })).toHaveLength(2)
  expect(await take({ limit: 10, bulkLimit: 10 })).toHaveLength(1)
})

test('a carrier that refuses one message is not away: after a pause the others go at once, and not one by one', async () => {
  const together = deferred()
  let [tries, underWay] = [0, 0]
  const carrier = new ScriptedCarrier(async (_, signal) => {
    tries++
    if (tries <= 10) throw refused('temporary')
    if (tries === 11) throw refused('permanent')
    underWay++
    if (underWay === 2) together.resolve()
    await Promise.race([together.promise, once(signal, 'abort')])
    underWay--
    if (signal.aborted) throw refused('temporary')
    return {}
  })
  for (let count = 0; count < 10; count++) await accept()
  work({ carrier, options: { retryDelaysMs: [50, 50, 50], timing: { ...QUICK_TIMING, firstPauseMs: 20 } } })
  await together.promise
})

/** Loses the answer of the first try of each message, and then goes away until it is back. */
function dropping(): ScriptedCarrier & { ready: boolean } {
  const seen = new Set<string>()
  const carrier = Object.assign(
    new ScriptedCarrier(({ notification }) => {
      if (seen.has(notification)) return {}
      seen.add(notification)
      carrier.ready = false
      return Promise.reject(refused('uncertain'))
    }),
    // Of the class 'report': its operator chose to repeat.
    { ready: true, repeatAfterMs: 0 },
  )
  return carrier
}

const queuedAgain = (id: string) =>
  expect
    .poll(() => rowOf(id), { timeout: 120_000 })
    .toMatchObject({ state: 'queued', attempt: 1, waits: false, carrier: 'carrier 0' })

test.each(['report', 'safe'] as const)(
  'what a carrier of the class %s leaves with an unknown outcome waits for that carrier: no other one repeats it',
  async whenUnknown => {
    const [away, standby] = [dropping(), new ScriptedCarrier()]
    const options = { settleMs: 20, retryDelaysMs: [20, 20, 20] }
    work({ carrier: away, whenUnknown, options }, { carrier: standby, whenUnknown, options })
    const id = await accept()
    await queuedAgain(id)
    // Two more, one after the other: the one that takes over had every reason to look at all that is due.
    for (const _ of [1, 2]) await described(await accept()).toBe('Enviado')
    expect(standby.got).toHaveLength(2)
    expect(await claimDeliveries(database.pool, question(1))).toEqual([])
    expect(await claimFailovers(database.pool, question(1))).toEqual([])
    away.ready = true
    await described(id).toBe('Enviado')
    expect(away.got.map(({ notification }) => notification)).toEqual([id, id])
    expect(standby.got.map(({ notification }) => notification)).not.toContain(id)
  },
)

test('a carrier that is not the preferred one repeats itself what it left with an unknown outcome', async () => {
  const preferred = Object.assign(new ScriptedCarrier(), { ready: false })
  const second = new ScriptedCarrier(({ attempt }) => {
    preferred.ready = true
    return attempt === 1 ? Promise.reject(refused('uncertain')) : {}
  })
  second.repeatAfterMs = 0
  const options = { settleMs: 20 }
  work({ carrier: preferred, whenUnknown: 'report', options }, { carrier: second, whenUnknown: 'report', options })
  const id = await accept()
  await described(id).toBe('Enviado')
  expect(preferred.got).toEqual([])
  expect(second.got).toMatchObject([{ attempt: 1 }, { attempt: 2 }])
  expect(await rowOf(id)).toMatchObject({ carrier: 'carrier 1', failovers: 0 })
})

test('a refusal after an unknown outcome is no reason to go elsewhere', async () => {
  const standby = new ScriptedCarrier()
  const broken = new ScriptedCarrier(({ attempt }) => Promise.reject(refused(attempt === 1 ? 'uncertain' : 'temporary')))
  broken.repeatAfterMs = 0
  work({ carrier: broken, whenUnknown: 'report', options: { settleMs: 20 } }, { carrier: standby, whenUnknown: 'report' })
  const id = await accept()
  await expect.poll(() => rowOf(id)).toMatchObject({ state: 'queued', attempt: 2, waits: true, tried: null })
  expect(await claimFailovers(database.pool, question(1))).toEqual([])
  expect(standby.got).toEqual([])
})

test('what a carrier says that it never took may go with any other', async () => {
  const [away, standby] = [dropping(), new ScriptedCarrier()]
  away.find = async () => 'unknown'
  const options = { settleMs: 20 }
  work({ carrier: away, whenUnknown: 'lookup', options }, { carrier: standby, whenUnknown: 'lookup', options })
  const id = await accept()
  await described(id).toBe('Enviado')
  expect(standby.got).toMatchObject([{ notification: id, attempt: 2 }])
})

test('what waits for a carrier that is gone is shown to a person, who may have it sent by another', async () => {
  const options = { settleMs: 20 }
  work({ carrier: dropping(), whenUnknown: 'report', options })
  const id = await accept()
  await queuedAgain(id)
  await worker!.stop()
  await database.pool.query("update delivery set due_at = now() - interval '1 hour' where notification_id = $1", [id])
  const other = new ScriptedCarrier()
  work({ name: 'another', carrier: other, whenUnknown: 'report', options })
  await described(id).toBe('Em verificação')
  expect(other.got).toEqual([])
  const order = { notification: id, channel: 'email', repair: 'retry', by: 'ana' } as const
  expect(await repairDelivery(database.pool, Date.now, order)).toBe('recorded')
  await described(id).toBe('Enviado')
  expect(other.got).toMatchObject([{ notification: id }])
})
