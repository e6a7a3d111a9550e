import { afterEach, expect, test } from 'vitest'
import type { Found } from '../../../src/channels/provider.js'
import { deferred } from '../../support/deferred.js'
import { gatewayForFile } from '../../support/gateway/gateway.js'
import {
  endWork,
  refused,
  ScriptedCarrier,
  startTestWorker,
  type TestLane,
  type TestWorker,
} from '../../support/gateway/lanes.js'
import { send, validSend } from '../../support/gateway/requests.js'

let worker: TestWorker | undefined

const { database, gateway, account } = await gatewayForFile()

afterEach(async () => {
  await endWork(database.pool, worker)
  worker = undefined
})

const work = (...lanes: TestLane[]): void => {
  const lookup = { whenUnknown: 'lookup', timeoutMs: 60_000 } as const
  worker = startTestWorker(
    database.pool,
    lanes.map((lane, index) => ({ name: `carrier ${index}`, ...lookup, ...lane })),
  )
}

const accept = async (): Promise<string> =>
  ((await send(gateway.url, account.token, validSend)).body as { idEmail: string }).idEmail

/** Loses every answer, and when it is asked says what the test has it say. */
const losing = (find: (signal: AbortSignal) => Promise<Found>): ScriptedCarrier & { ready: boolean; asked: number } => {
  const carrier = Object.assign(new ScriptedCarrier(() => Promise.reject(refused('uncertain'))), { ready: true, asked: 0 })
  carrier.find = (_reference, _recipient, signal) => {
    carrier.asked++
    return find(signal)
  }
  return carrier
}

const silence = (signal: AbortSignal): Promise<Found> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(refused('temporary')), { once: true }))

const rowOf = async (id: string): Promise<{ state: string; attempt: number; unknown_count: number; due: boolean }> =>
  (
    await database.pool.query(
      'select state, attempt, unknown_count, due_at <= now() as due from delivery where notification_id = $1',
      [id],
    )
  ).rows[0]

const eventually = (id: string) => expect.poll(() => rowOf(id))

/** Another worker repeated it and lost that answer too: its outcome is unknown again, and due for a look in an hour. */
const repeatElsewhere = (id: string) =>
  database.pool.query(
    "update delivery set attempt = 2, unknown_count = 2, due_at = now() + interval '1 hour' where notification_id = $1",
    [id],
  )

test('a verdict on a try that another one has followed is not heard', async () => {
  const answer = deferred<Found>()
  const carrier = losing(() => answer.promise)
  work({ carrier })
  const id = await accept()
  await expect.poll(() => carrier.asked).toBe(1)
  await repeatElsewhere(id)
  answer.resolve('unknown')
  await worker!.stop()
  expect(await rowOf(id)).toMatchObject({ state: 'uncertain', attempt: 2, unknown_count: 2, due: false })
  expect(carrier.got).toHaveLength(1)
  // Back to what the chain tells.
  await database.pool.query('update delivery set attempt = 1, unknown_count = 1 where notification_id = $1', [id])
})

test('nor does it put off the look at the later one', async () => {
  const answer = deferred<Found>()
  const carrier = losing(() => answer.promise)
  work({ carrier, options: { settleMs: 10 } })
  const id = await accept()
  await expect.poll(() => carrier.asked).toBe(1)
  await repeatElsewhere(id)
  answer.reject(refused('temporary'))
  await worker!.stop()
  expect(await rowOf(id)).toMatchObject({ state: 'uncertain', attempt: 2, due: false })
  await database.pool.query('update delivery set attempt = 1, unknown_count = 1 where notification_id = $1', [id])
})

test('a carrier that does not answer holds up its own unknown outcomes alone, and a worker that stops does not wait for it', async () => {
  let calledOff = 0
  const silent = losing(signal => silence(signal).finally(() => calledOff++))
  const quick = losing(async () => ({ references: [], answer: 'taken' }))
  // Before the worker starts: one claim takes all of them, so that the breaker leaves none to the other carrier.
  const ids = await Promise.all(Array.from({ length: 20 }, () => accept()))
  work({ carrier: silent }, { carrier: quick })
  // Several at a time, but not all of them.
  await expect.poll(() => silent.asked).toBe(16)
  silent.ready = false
  const other = await accept()
  await eventually(other).toMatchObject({ state: 'done' })
  await worker!.stop()
  worker = undefined
  expect(calledOff).toBe(16)
  expect(silent.asked).toBe(16)
  // The next worker asks at once.
  for (const id of ids) expect(await rowOf(id)).toMatchObject({ state: 'uncertain', due: true })
})

test('while one worker asks about an unknown outcome, no other one does', async () => {
  const answer = deferred<Found>()
  const carrier = losing(() => answer.promise)
  work({ carrier })
  const id = await accept()
  await expect.poll(() => carrier.asked).toBe(1)
  const second = losing(async () => 'unknown')
  const idle = startTestWorker(database.pool, [{ name: 'carrier 0', whenUnknown: 'lookup', carrier: second }])
  // An unknown outcome of its own, of another message, shows that it looks.
  const askedAfterOneMore = async (): Promise<number> => {
    await accept()
    return second.asked
  }
  await expect.poll(askedAfterOneMore, { interval: 500 }).toBeGreaterThan(0)
  answer.resolve({ references: [], answer: 'taken' })
  await eventually(id).toMatchObject({ state: 'done', attempt: 1 })
  await idle.stop()
})

test('a repetition that the operator chose waits from when the outcome became unknown, whoever looks and however often', async () => {
  const carrier = new ScriptedCarrier(({ attempt }) => (attempt === 1 ? Promise.reject(refused('uncertain')) : {}))
  carrier.repeatAfterMs = 3_600_000
  work({ carrier, whenUnknown: 'report', options: { settleMs: 20 } })
  const id = await accept()
  const minutesLeft = async (): Promise<number> =>
    Number(
      (
        await database.pool.query(
          'select extract(epoch from due_at - now()) / 60 as m from delivery where notification_id = $1',
          [id],
        )
      ).rows[0].m,
    )
  await expect.poll(minutesLeft).toBeGreaterThan(50)
  // As a worker leaves it to which the carrier is unknown: it looks every few minutes.
  await database.pool.query('update delivery set due_at = now() where notification_id = $1', [id])
  await expect.poll(minutesLeft).toBeGreaterThan(50)
  expect(await minutesLeft()).toBeLessThan(60)
  expect(carrier.got).toHaveLength(1)
  carrier.repeatAfterMs = 0
  await database.pool.query('update delivery set due_at = now() where notification_id = $1', [id])
  await eventually(id).toMatchObject({ state: 'done', attempt: 2 })
  expect(carrier.got.map(({ reference }) => reference)).toEqual([`${id}.email.1`, `${id}.email.1`])
})

test.each(['smpp', 'twilio'])(
  'an unknown outcome of %s, which is configured no more, is left to a person after a day',
  async name => {
    work({ name, carrier: losing(() => Promise.reject(refused('temporary'))), options: { settleMs: 60_000 } })
    const id = await accept()
    await eventually(id).toMatchObject({ state: 'uncertain' })
    await worker!.stop()
    const lookNow = () => database.pool.query('update delivery set due_at = now() where notification_id = $1', [id])
    const moveBack = (hours: number) =>
      database.tamper("update event set at = at - $2 * interval '1 hour' where notification_id = $1 and type = 'uncertain'", [
        id,
        hours,
      ])
    await moveBack(23)
    await lookNow()
    work({ name: 'another', carrier: new ScriptedCarrier() })
    await eventually(id).toMatchObject({ state: 'uncertain', due: false })
    await moveBack(1)
    await lookNow()
    await eventually(id).toMatchObject({ state: 'unresolved', attempt: 1 })
    const { rows } = await database.pool.query("select data ->> 'reason' as reason from event where type = 'unresolved'")
    expect(rows.at(-1).reason).toMatch(/não está mais configurada, e em 24 horas .* Uma pessoa precisa conferir/)
    // Back to what the chain tells.
    await moveBack(-24)
  },
)
