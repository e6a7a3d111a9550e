import { randomUUID } from 'node:crypto'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import type { Channel } from '../../../src/domain/channel.js'
import type { Change } from '../../../src/domain/delivery/change.js'
import { StoreUnavailable } from '../../../src/domain/errors.js'
import type { FailureNote } from '../../../src/engine/deliver/failed-attempt.js'
import { recordChanges } from '../../../src/engine/record/record.js'
import { createRecorder, retryWhileUnavailable } from '../../../src/engine/record/recorder.js'
import { engineTiming } from '../../../src/engine/timing.js'
import { reapLeases } from '../../../src/engine/upkeep/reaper.js'
import { putBackClaims, putBackDelivery } from '../../../src/store/delivery/claim-returns.js'
import { type Claim, claimDeliveries, claimFailovers, renewLeases } from '../../../src/store/delivery/claims.js'
import { takeUnknown } from '../../../src/store/delivery/unknown-outcomes.js'
import { openPool } from '../../../src/store/postgres.js'
import { countWaiting, holdRows, pausedPool } from '../../support/database/locks.js'
import { deferred } from '../../support/deferred.js'
import { brokenChains } from '../../support/evidence/chain.js'
import { attemptBy, sourceOf } from '../../support/gateway/attempts.js'
import { gatewayForFile } from '../../support/gateway/gateway.js'
import { ScriptedCarrier, startTestWorker } from '../../support/gateway/lanes.js'
import { send, validSend } from '../../support/gateway/requests.js'

/** Rows that somebody else holds: nobody waits for them who has other work, and nobody writes over them. */

const { database, gateway, account } = await gatewayForFile()

afterEach(async () => {
  expect(await brokenChains(database.pool)).toEqual([])
  await database.pool.query("update delivery set state = 'cancelled' where state <> 'done'")
})

const SMS = { sms: { number: '11987654321', typeSend: '2' } }
const { to: _, ...withoutEmail } = validSend

const accept = async (body: object = validSend): Promise<string> =>
  ((await send(gateway.url, account.token, body)).body as { idEmail: string }).idEmail

const acceptMany = (count: number, body: object = validSend): Promise<string[]> =>
  Promise.all(Array.from({ length: count }, () => accept(body)))

const acceptSms = (): Promise<string> => accept({ ...withoutEmail, ...SMS })

/** A fact that leaves the state of the delivery as it is. */
const answered = (notification: string, channel: Channel = 'email'): Change => ({
  kind: 'fact',
  notification,
  fact: { channel, type: 'answered', at: new Date(), source: 'test', data: { answer: 'Sim', answerId: randomUUID() } },
})

const question = (channel: Channel) =>
  ({ channel, mode: 'live', carrier: 'scripted', rank: 0, limit: 10, leaseMs: 60_000 }) as const

const claim = async (channel: Channel): Promise<Claim[]> =>
  await claimDeliveries(database.pool, { ...question(channel), owner: randomUUID() })

const stored = async (id: string): Promise<Record<string, unknown>> =>
  (
    await database.pool.query(
      `select state, lease_owner as owner, attempt, jsonb_array_length(coalesce(answers, '[]')) as answers
       from delivery where notification_id = $1 order by channel`,
      [id],
    )
  ).rows[0]

const HELD = {
  notification: 'select from notification where id = $1 for no key update',
  'every delivery': 'select from delivery where notification_id = $1 for update',
  'one delivery': "select from delivery where notification_id = $1 and channel = 'sms' for update",
} as const

const pending = Symbol('pending')
const settled = (work: Promise<unknown>): Promise<unknown> => Promise.race([work, Promise.resolve(pending)])

test.each(Object.keys(HELD) as (keyof typeof HELD)[])(
  'while a vanished node holds %s, the facts of that notification wait and those of fifty others are written',
  async what => {
    const [held, ...others] = await acceptMany(51, { ...validSend, ...SMS })
    const holder = await holdRows(database.url, HELD[what], [held])
    const { record } = createRecorder(database.pool, Date.now, { notify() {} })
    const waiting = record(answered(held!))
    expect(await Promise.all(others.map(id => record(answered(id))))).toEqual(Array(50).fill('recorded'))
    expect(await settled(waiting)).toBe(pending)
    await holder.release()
    expect(await waiting).toBe('recorded')
  },
)

test('a carrier’s name that another transaction is writing delays the fact that names it, and not the rest of its group', async () => {
  const [first, second] = await acceptMany(2)
  for (const id of [first!, second!]) await attemptBy(database.pool, id, 'email', 'p')
  const name = randomUUID()
  const holder = await holdRows(
    database.url,
    "insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts) values ('p', $1, $2, 'email', 1, 1, 1)",
    [name, first],
  )
  const { record } = createRecorder(database.pool, Date.now, { notify() {} })
  const sent = (notification: string, names: string[]): Change => ({
    kind: 'report',
    notification,
    fact: { channel: 'email', type: 'sent', at: new Date(), source: 'test', data: {} },
    noteLimit: { most: 1, once: true },
    by: sourceOf('email', 'p'),
    names,
  })
  const waiting = record(sent(first!, [name]))
  expect(await record(sent(second!, [randomUUID()]))).toBe('recorded')
  expect(await settled(waiting)).toBe(pending)
  await holder.release()
  expect(await waiting).toBe('recorded')
})

test('a delivery is not claimed between the moment its row is read and the moment its status is written', async () => {
  const id = await acceptSms()
  const paused = pausedPool(database.url, 'read-locked')
  const recording = recordChanges(paused.pool, Date.now, [answered(id, 'sms')])
  await paused.reached
  const claims = await claim('sms')
  paused.goOn()
  expect((await recording).outcomes).toEqual(['recorded'])
  claims.push(...(await claim('sms')), ...(await claim('sms')))
  // Twice in the queue is twice at the recipient.
  expect(claims.map(({ notification }) => notification)).toEqual([id])
  expect(await stored(id)).toMatchObject({ state: 'sending', owner: claims[0]!.owner, attempt: 1, answers: 1 })
})

test('a delivery is not claimed by another carrier, nor taken up as unknown, while a fact about it is written', async () => {
  const [failed, unknown] = [await acceptSms(), await acceptSms()]
  await database.pool.query("update delivery set tried = '{1}', due_at = now() + interval '1 hour' where notification_id = $1", [
    failed,
  ])
  await database.pool.query("update delivery set state = 'uncertain', carrier = 'scripted' where notification_id = $1", [unknown])
  const paused = pausedPool(database.url, 'read-locked')
  const recording = recordChanges(paused.pool, Date.now, [answered(failed, 'sms'), answered(unknown, 'sms')])
  await paused.reached
  const failover = () => claimFailovers(database.pool, { ...question('sms'), owner: randomUUID() })
  const take = () => takeUnknown(database.pool, { ...question('sms'), holdMs: 60_000 })
  expect([await failover(), await take()]).toEqual([[], []])
  paused.goOn()
  await recording
  // An answer proves that a message of unknown outcome arrived.
  expect([await stored(failed), await stored(unknown)]).toMatchObject([{ state: 'queued' }, { state: 'done' }])
})

test.each(['returned', 'found as lost'])(
  'a claim that is %s while a fact is written ends in the queue, not without a lease',
  async how => {
    const id = await acceptSms()
    const [held] = await claim('sms')
    const paused = pausedPool(database.url, 'read-locked')
    const recording = recordChanges(paused.pool, Date.now, [answered(id, 'sms')])
    await paused.reached
    const putBack = () =>
      how === 'returned' ? putBackDelivery(database.pool, held!, 0) : putBackClaims(database.pool, [held!.owner])
    let isBack = false
    const back = putBack().then(() => {
      isBack = true
    })
    await expect.poll(async () => isBack || (await countWaiting(database.pool)) > 0).toBe(true)
    paused.goOn()
    await Promise.all([recording, back])
    // A lost claim is looked for several times.
    await putBack()
    expect(await stored(id)).toEqual({ state: 'queued', owner: null, attempt: 0, answers: 1 })
  },
)

test('no delivery can be in the hands of a worker without a lease', async () => {
  const id = await acceptSms()
  await claim('sms')
  const update = database.pool.query('update delivery set lease_owner = null, lease_until = null where notification_id = $1', [
    id,
  ])
  await expect(update).rejects.toThrow('delivery_sending_is_leased')
})

test('a renewal passes over the delivery that a vanished node holds, and keeps the leases of all others', async () => {
  await Promise.all([acceptSms(), acceptSms(), acceptSms()])
  const [held, ...others] = await claim('sms')
  const holder = await holdRows(database.url, HELD['every delivery'], [held!.notification])
  expect(await renewLeases(database.pool, [held!, ...others], 60_000)).toEqual(new Set(others))
  await holder.release()
  expect(await renewLeases(database.pool, [held!, ...others], 60_000)).toEqual(new Set([held!, ...others]))
})

test('a renewal and a recording that meet on the same deliveries do not wait for each other', async () => {
  const ids = await Promise.all([acceptSms(), acceptSms(), acceptSms()])
  const claims = await claim('sms')
  const paused = pausedPool(database.url, 'read-locked')
  const recording = recordChanges(
    paused.pool,
    Date.now,
    ids.slice(0, 2).map(id => answered(id, 'sms')),
  )
  await paused.reached
  const kept = await renewLeases(database.pool, claims, 60_000)
  expect([...kept].map(({ notification }) => notification)).toEqual([ids[2]])
  paused.goOn()
  expect((await recording).outcomes).toEqual(['recorded', 'recorded'])
})

test.each(['notification', 'every delivery'] as const)(
  'while a vanished node holds %s, the reaper takes up what other dead workers held, and the rest once it is free',
  async what => {
    const [held, ...others] = await Promise.all([acceptSms(), acceptSms(), acceptSms()])
    await claim('sms')
    await database.pool.query("update delivery set lease_until = now() - interval '1 second' where state = 'sending'")
    const holder = await holdRows(database.url, HELD[what], [held])
    const { record } = createRecorder(database.pool, Date.now, { notify() {} }, undefined, { ...engineTiming, unavailableMs: 0 })
    const told: FailureNote[] = []
    const parts = {
      pool: database.pool,
      clock: Date.now,
      record,
      openMonths: () => null,
      onFailed: (note: FailureNote) => told.push(note),
    }
    const reap = () => reapLeases(parts, [], 60_000)
    await reap()
    const states = async () => Promise.all([held!, ...others].map(async id => (await stored(id)).state))
    expect(await states()).toEqual(['sending', 'uncertain', 'uncertain'])
    await holder.release()
    await reap()
    expect(await states()).toEqual(['uncertain', 'uncertain', 'uncertain'])
    // One line for each attempt, when it was recorded.
    const [last, ...before] = told.map(({ notification }) => notification).reverse()
    expect([before.sort(), last]).toEqual([others.toSorted(), held])
    expect(told[0]).toMatchObject({
      channel: 'sms',
      attempt: 1,
      outcome: 'uncertain',
      reason: expect.stringContaining('interrompido'),
    })
  },
)

test('leases are renewed while every other connection of the worker is taken', async () => {
  const pool = openPool({ url: database.url, size: 2, onError: () => {} })
  const leases = openPool({ url: database.url, size: 1, onError: () => {} })
  onTestFinished(() => Promise.all([pool.end(), leases.end()]).then(() => {}))
  const arrived = deferred()
  const answer = deferred<object>()
  const carrier = new ScriptedCarrier(() => {
    arrived.resolve()
    return answer.promise
  })
  const id = await accept()
  const worker = startTestWorker(pool, [{ carrier, timeoutMs: 60_000 }], 1_200, {}, leases)
  onTestFinished(() => worker.stop())
  await arrived.promise
  const taken = await Promise.all([pool.connect(), pool.connect()])
  const lease = async () => {
    const { rows } = await database.pool.query('select lease_until as until, state from delivery where notification_id = $1', [
      id,
    ])
    return rows[0] as { until: Date; state: string }
  }
  const until = (await lease()).until.getTime() + 2_400
  await expect.poll(async () => (await lease()).until.getTime(), { timeout: 30_000 }).toBeGreaterThan(until)
  for (const client of taken) client.release()
  answer.resolve({})
  await expect.poll(async () => (await lease()).state).toBe('done')
  expect(carrier.got).toHaveLength(1)
})

test('a write that was frozen for longer than it waits is repeated once its process goes on', async () => {
  let tries = 0
  const write = async (): Promise<string> => {
    if (++tries === 1) throw new StoreUnavailable(new Error('the server ended the transaction'))
    return 'written'
  }
  expect(await retryWhileUnavailable(write, { unavailableMs: 0, rewriteMs: 1 })).toBe('written')
})
