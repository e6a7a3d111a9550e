import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { reaperOf } from '../../src/app/worker/webhooks.js'
import { newId } from '../../src/domain/id.js'
import { transaction } from '../../src/store/postgres.js'
import { insertEndpoint } from '../../src/store/webhook/endpoints.js'
import { awaitTurn, endExpiredLeases, findExpiredLeases } from '../../src/store/webhook/leases.js'
import { pruneMessages, replayBatch } from '../../src/store/webhook/messages.js'
import { makeMessagesDue, type WebhookClaim } from '../../src/store/webhook/queue.js'
import { judgeReply, writeOutcomes } from '../../src/webhooks/outcome.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { countWaiting, holdRows } from '../support/database/locks.js'
import { createAccount, type Gateway, startGateway } from '../support/gateway/gateway.js'
import { receiverForTest, refuseWith } from '../support/gateway/receiver.js'
import { request } from '../support/gateway/requests.js'
import { claimWebhooks, createWebhook, QUICK, startTestDeliverer } from '../support/gateway/webhooks.js'

/** Endpoints and messages that a vanished node holds: what is about others is written. */
let database: TestDatabase
let gateway: Gateway
let account: string
let endpoints: string[]
const owner = newId(Date.now())

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

/** Two endpoints with two messages each. */
beforeEach(async () => {
  await database.pool.query('delete from webhook_message')
  await database.pool.query('delete from webhook_lease')
  account = (await createAccount(database.pool)).id
  endpoints = [crypto.randomUUID(), crypto.randomUUID()]
  const all = { mode: 'live', channels: null, statuses: null, version: 'v2', secret: Buffer.alloc(1) } as const
  for (const id of endpoints) {
    await insertEndpoint(database.pool, { id, account, url: 'https://example.com/', ...all })
    await database.pool.query(
      `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq)
       select gen_random_uuid(), $1, gen_random_uuid(), 'email', 2 from generate_series(1, 2)`,
      [id],
    )
  }
})

const claim = async (): Promise<WebhookClaim[]> => {
  const claims = await claimWebhooks(database.pool, { owner })
  return claims.sort((a, b) => endpoints.indexOf(a.endpoint) - endpoints.indexOf(b.endpoint))
}

test('outcomes of an endpoint that another transaction holds are left out, and those of the others are written', async () => {
  const claims = await claim()
  const rules = { plan: QUICK.plan, random: Math.random }
  const outcomes = claims.map(message => judgeReply(message, new Error('recusado'), { at: new Date(), durationMs: 1 }, rules))
  const health = { failuresToPause: 5, maxPauseMs: 1_000, suspendAfterMs: 1_000_000, quietMs: 1_000_000 }
  const holder = await holdRows(database.url, 'select from webhook_endpoint where id = $1 for no key update', [endpoints[0]])
  const first = await writeOutcomes(database.pool, outcomes, health)
  expect(first).toMatchObject({ lost: new Set(), busy: new Set([endpoints[0]]) })
  await holder.release()
  const second = await writeOutcomes(database.pool, outcomes, health)
  // The outcomes of the others are written already.
  expect(second).toMatchObject({ lost: new Set(claims.slice(2).map(({ id }) => id)), busy: new Set() })
  const { rows } = await database.pool.query('select failures from webhook_endpoint where id = any($1)', [endpoints])
  expect(rows).toEqual([{ failures: 2 }, { failures: 2 }])
})

test('the outcome of an attempt waits until its endpoint is free, while the next endpoint gets its messages', async () => {
  await database.pool.query('delete from webhook_message')
  const { token } = await createAccount(database.pool)
  const [failing, healthy] = await Promise.all([receiverForTest(refuseWith(500)), receiverForTest()])
  const ids: string[] = []
  for (const { url } of [failing, healthy]) ids.push((await createWebhook(gateway.url, token, { url })).id)
  const holder = await holdRows(database.url, 'select from webhook_endpoint where id = $1 for no key update', [ids[0]])
  const deliverer = startTestDeliverer(database.pool, { timing: QUICK })
  const ask = (id: string) => request(`${gateway.url}/gw/webhooks/${id}/test`, { method: 'POST', token })
  await ask(ids[0]!)
  await expect.poll(() => failing.got.length).toBe(1)
  for (let n = 1; n <= 3; n++) {
    await ask(ids[1]!)
    await expect.poll(() => healthy.got.length).toBe(n)
  }
  const states = async (id: string) =>
    (await database.pool.query('select distinct state from webhook_message where endpoint_id = $1', [id])).rows
  await expect.poll(() => states(ids[1]!)).toEqual([{ state: 'done' }])
  expect(await states(ids[0]!)).toEqual([{ state: 'queued' }])
  expect(failing.got).toHaveLength(1)
  await holder.release()
  await expect.poll(() => failing.got.length).toBeGreaterThan(1)
  await deliverer.stop()
})

const HOLD_MESSAGE = 'select from webhook_message where id = $1 for update'

test('leases that are over are ended, although another transaction holds one of their messages', async () => {
  const [held, ...others] = await claim()
  await holdRows(database.url, HOLD_MESSAGE, [held!.id])
  await database.pool.query("update webhook_lease set until = now() - interval '1 second'")
  const { leases } = await findExpiredLeases(database.pool, null)
  expect(await transaction(database.pool, db => endExpiredLeases(db, leases, 'interrompido'))).toBe(others.length)
  const { rows } = await database.pool.query('select id, attempt from webhook_message where attempt > 0')
  expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(others.map(({ id }) => id)))
  expect(await claim()).toHaveLength(others.length + 1)
})

test('all leases of dead workers are ended in one round, and each message has one attempt more', async () => {
  await database.pool.query(
    `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq)
     select gen_random_uuid(), $1, gen_random_uuid(), 'email', 2 from generate_series(1, 16)`,
    [endpoints[0]],
  )
  for (let n = 0; n < 20; n++) expect(await claimWebhooks(database.pool, { owner, limit: 1, leaseMs: -1_000 })).toHaveLength(1)
  const reap = reaperOf(database.pool)
  await reap()
  await reap()
  expect((await database.pool.query('select from webhook_lease')).rows).toEqual([])
  const { rows } = await database.pool.query('select distinct attempt from webhook_message')
  expect(rows).toEqual([{ attempt: 1 }])
})

test('a node that vanishes in its turn is ended after a second, and the others claim', async () => {
  const vanished = new pg.Client({ connectionString: database.url })
  vanished.on('error', () => {})
  await vanished.connect()
  onTestFinished(() => vanished.end())
  await vanished.query('begin')
  await awaitTurn(vanished)
  const claimed = (): Promise<number> =>
    claim().then(
      claims => claims.length,
      () => 0,
    )
  await expect.poll(claimed).toBe(4)
  await expect(vanished.query('commit')).rejects.toThrow()
})

test('an endpoint that works again gets its messages, although another transaction holds one of them', async () => {
  const { rows } = await database.pool.query<{ id: string }>(
    "update webhook_message set due_at = now() + interval '1 hour' where endpoint_id = $1 returning id",
    [endpoints[0]],
  )
  await holdRows(database.url, HOLD_MESSAGE, [rows[0]!.id])
  await makeMessagesDue(database.pool, [endpoints[0]!])
  expect((await claim()).map(({ id }) => id)).toContain(rows[1]!.id)
})

test('a replay passes over a message of which the outcome is being written, and does not send it twice', async () => {
  const { rows } = await database.pool.query<{ id: string }>('select id from webhook_message where endpoint_id = $1', [
    endpoints[0],
  ])
  await holdRows(database.url, "update webhook_message set state = 'done' where id = $1", [rows[0]!.id])
  const span = { since: new Date(0), until: new Date(Date.now() + 3_600_000), missedOnly: true }
  const replayed = await replayBatch(database.pool, endpoints[0]!, span, { at: '-infinity', position: 0 }, 100)
  expect(replayed).toMatchObject({ count: 1 })
})

test('a message that is replayed in the moment in which it is cleaned away stays', async () => {
  const { rows } = await database.pool.query<{ id: string }>(
    "update webhook_message set state = 'done', created_at = now() - interval '90 days' where endpoint_id = $1 returning id",
    [endpoints[0]],
  )
  const [replayed] = rows
  const holder = await holdRows(database.url, "update webhook_message set state = 'queued' where id = $1", [replayed!.id])
  let isPruned = false
  const pruning = pruneMessages(database.pool, 30, 100).then(() => {
    isPruned = true
  })
  await expect.poll(async () => isPruned || (await countWaiting(database.pool)) > 0).toBe(true)
  await holder.release()
  await pruning
  const left = await database.pool.query('select id from webhook_message where endpoint_id = $1', [endpoints[0]])
  expect(left.rows).toEqual([{ id: replayed!.id }])
})
