import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { packContent } from '../../../src/channels/pack-content.js'
import { takenFact } from '../../../src/channels/registry.js'
import { createDatabase, type TestDatabase } from '../../support/database/database.js'
import { deferred } from '../../support/deferred.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../../support/gateway/gateway.js'
import { ScriptedCarrier, startTestWorker, type TestLane, type TestWorker } from '../../support/gateway/lanes.js'
import { send, validSend } from '../../support/gateway/requests.js'

/** How many messages a lane has under way, while the carrier or the database is slow. */
const PLACES = 4
const SENDS = 12

let database: TestDatabase
let gateway: Gateway
let account: TestAccount
let worker: TestWorker | undefined

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
})

afterEach(async () => {
  await worker?.stop()
  worker = undefined
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

async function acceptAll(count = SENDS): Promise<string[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => send(gateway.url, account.token, validSend)))
  return answers.map(({ body }) => (body as { idEmail: string }).idEmail)
}

const start = (carrier: ScriptedCarrier, options: TestLane['options'] = {}): void => {
  worker = startTestWorker(database.pool, [{ carrier, options: { concurrency: PLACES, ...options } }])
}

const states = async (ids: readonly string[]): Promise<string[]> =>
  (await database.pool.query('select state from delivery where notification_id = any($1)', [ids])).rows.map(({ state }) => state)

const allDone = (ids: readonly string[]) => expect.poll(() => states(ids)).toEqual(ids.map(() => 'done'))

/** Longer than several looks at the queue: what has not happened by then does not happen by itself. */
const aWhile = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 400))

test('as many messages as there are places are at the carrier, and no more are claimed', async () => {
  const answered = deferred()
  const carrier = new ScriptedCarrier(async () => {
    await answered.promise
    return {}
  })
  const ids = await acceptAll()
  start(carrier)
  await expect.poll(() => carrier.got.length).toBe(PLACES)
  await aWhile()
  expect(carrier.got.length).toBe(PLACES)
  expect((await states(ids)).filter(state => state === 'sending').length).toBe(PLACES)
  answered.resolve()
  await allDone(ids)
  expect(new Set(carrier.got.map(({ notification }) => notification)).size).toBe(SENDS)
  expect(carrier.got.length).toBe(SENDS)
})

test('a message that the carrier took leaves its place while it is recorded; the lane waits for a database that records nothing', async () => {
  const recorded = deferred()
  const carrier = new ScriptedCarrier()
  const ids = await acceptAll()
  let working: TestWorker | undefined
  const record: NonNullable<TestLane['options']>['record'] = async change => {
    await recorded.promise
    return working!.recorder.record(change)
  }
  start(carrier, { record })
  working = worker
  await expect.poll(() => carrier.got.length).toBe(1.5 * PLACES)
  await aWhile()
  expect(carrier.got.length).toBe(1.5 * PLACES)
  recorded.resolve()
  await allDone(ids)
  expect(carrier.got.length).toBe(SENDS)
})

test('the event of a message tells when the carrier took it, however long it takes to pack it', async () => {
  const carrier = new ScriptedCarrier()
  carrier.contentOf = () => ({ type: 'text/plain', extension: 'txt', bytes: Buffer.from('Olá.') })
  const [id] = await acceptAll(1)
  let packedFrom = 0
  start(carrier, {
    pack: async content => {
      packedFrom = Date.now()
      await aWhile()
      return packContent(content)
    },
  })
  await allDone([id!])
  const { rows } = await database.pool.query('select at from event where notification_id = $1 and type = $2', [
    id,
    takenFact('email'),
  ])
  expect(rows).toHaveLength(1)
  expect(rows[0].at.getTime()).toBeLessThanOrEqual(packedFrom)
})

// The last one: it leaves deliveries behind.
test('a failure keeps its place until it is recorded', async () => {
  const recorded = deferred()
  const carrier = new ScriptedCarrier(() => Promise.reject(new Error('the carrier broke')))
  await acceptAll()
  start(carrier, {
    record: async () => {
      await recorded.promise
      return 'recorded'
    },
  })
  await expect.poll(() => carrier.got.length).toBe(PLACES)
  await aWhile()
  expect(carrier.got.length).toBe(PLACES)
  recorded.resolve()
})
