import { afterEach, expect, test } from 'vitest'
import { laneQueue } from '../../../src/app/worker/lanes.js'
import { StoreUnavailable } from '../../../src/domain/errors.js'
import type { LaneOptions } from '../../../src/engine/deliver/lane-options.js'
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

/** The database commits, and its answer does not come: nothing has left, so no outcome is unknown. */
let worker: TestWorker | undefined

const { database, gateway, account } = await gatewayForFile()

afterEach(async () => {
  await endWork(database.pool, worker)
  worker = undefined
})

const work = (...lanes: TestLane[]): void => {
  // The class whose unknown outcomes only a person resolves.
  worker = startTestWorker(
    database.pool,
    lanes.map(lane => ({ ...lane, whenUnknown: 'never' })),
  )
}

const accept = async (): Promise<string> =>
  ((await send(gateway.url, account.token, validSend)).body as { idEmail: string }).idEmail

const eventsOf = async (id: string): Promise<string[]> =>
  (await database.pool.query('select type from event where notification_id = $1 order by seq', [id])).rows.map(({ type }) => type)

const told = (id: string) => expect.poll(() => eventsOf(id))

const cut = (): Promise<never> => Promise.reject(new StoreUnavailable(new Error('Connection terminated unexpectedly')))

/** The first answer that brings something is lost on its way. */
function losing<Question extends unknown[], Answer>(
  ask: (...question: Question) => Promise<Answer>,
  brings: (answer: Answer) => boolean,
): { ask(...question: Question): Promise<Answer>; losses(): number } {
  let losses = 0
  return {
    losses: () => losses,
    async ask(...question) {
      const answer = await ask(...question)
      if (losses > 0 || !brings(answer)) return answer
      losses++
      return cut()
    },
  }
}

const fail = (error: unknown): never => {
  throw error
}

const anything = (claims: readonly unknown[]): boolean => claims.length > 0

test('what a claim took whose answer was lost is sent as its first try, and what is under way is left alone', async () => {
  const slow = deferred<Record<string, never>>()
  const first = await accept()
  const carrier = new ScriptedCarrier(({ notification }) => (notification === first ? slow.promise : {}))
  const queue = laneQueue(database.pool, { onError: fail })
  const lost = losing(queue.claim, claims => claims.some(({ notification }) => notification !== first))
  work({ carrier, options: { claim: lost.ask } })
  await expect.poll(() => carrier.got.length).toBe(1)
  const ids = await Promise.all(Array.from({ length: 5 }, accept))
  for (const id of ids) await told(id).toEqual(['accepted', 'sent'])
  slow.resolve({})
  await told(first).toEqual(['accepted', 'sent'])
  expect(lost.losses()).toBe(1)
  expect(carrier.got.map(({ notification, attempt }) => `${notification} ${attempt}`).sort()).toEqual(
    [first, ...ids].map(id => `${id} 1`).sort(),
  )
})

test('a claim that commits only after it was given up is found all the same', async () => {
  const queue = laneQueue(database.pool, { onError: fail })
  const looked = deferred()
  let late: Promise<unknown> | undefined
  const claim: LaneOptions<unknown>['claim'] = question => {
    if (late !== undefined) return queue.claim(question)
    late = looked.promise.then(() => queue.claim(question))
    return cut()
  }
  const putBackClaims: LaneOptions<unknown>['putBackClaims'] = async owners => {
    await queue.putBackClaims(owners)
    looked.resolve()
    // The late one comes before the next claim, which would take it all.
    await late
  }
  const carrier = new ScriptedCarrier()
  const id = await accept()
  work({ carrier, options: { claim, putBackClaims } })
  await told(id).toEqual(['accepted', 'sent'])
  expect(carrier.got).toMatchObject([{ notification: id, attempt: 1 }])
})

test('a stand-in whose claim had no answer is still one, and uses up no try', async () => {
  const lost = losing(laneQueue(database.pool, { onError: fail }).claimFailovers, anything)
  const [broken, second] = [new ScriptedCarrier(() => Promise.reject(refused('temporary'))), new ScriptedCarrier()]
  const id = await accept()
  work(
    { name: 'broken', carrier: broken, options: { retryDelaysMs: [3_600_000] } },
    { name: 'second', carrier: second, options: { claimFailovers: lost.ask } },
  )
  await told(id).toEqual(['accepted', 'retried', 'sent'])
  expect(lost.losses()).toBe(1)
  expect(second.got).toMatchObject([{ notification: id, attempt: 2 }])
  const { rows } = await database.pool.query('select failovers from delivery where notification_id = $1', [id])
  expect(rows).toEqual([{ failovers: 1 }])
})

test('what was given to another carrier without an answer goes to it in the end, without an unknown outcome', async () => {
  const lost = losing(laneQueue(database.pool, { onError: fail }).pass, passed => passed)
  const cannot = new ScriptedCarrier(() => Promise.reject(refused('permanent')))
  cannot.lacks = () => true
  const can = new ScriptedCarrier()
  const id = await accept()
  work({ name: 'cannot', carrier: cannot, options: { pass: lost.ask } }, { name: 'can', carrier: can })
  await told(id).toEqual(['accepted', 'sent'])
  expect(lost.losses()).toBe(1)
  expect(can.got).toMatchObject([{ notification: id, attempt: 1 }])
})

test('a worker that stops gives back what its last claim took without an answer', async () => {
  const queue = laneQueue(database.pool, { onError: fail })
  let stopped: Promise<void> | undefined
  const claim: LaneOptions<unknown>['claim'] = async question => {
    const claims = await queue.claim(question)
    if (claims.length === 0) return []
    stopped = worker!.stop()
    return cut()
  }
  const id = await accept()
  work({ carrier: new ScriptedCarrier(), options: { claim } })
  await expect.poll(() => stopped !== undefined).toBe(true)
  await stopped
  const { rows } = await database.pool.query(
    "select state, attempt from delivery where notification_id = $1 and channel = 'email'",
    [id],
  )
  expect(rows).toEqual([{ state: 'queued', attempt: 0 }])
})
