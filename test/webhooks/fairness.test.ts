import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { newId } from '../../src/domain/id.js'
import { scopeKey } from '../../src/domain/scope.js'
import { releaseMessages, renewLeases } from '../../src/store/webhook/leases.js'
import type { WebhookClaim } from '../../src/store/webhook/queue.js'
import { EndpointQueue, initialCapacity } from '../../src/webhooks/endpoint-queue.js'
import { createNameLookup } from '../../src/webhooks/name-lookup.js'
import { judgeReply, writeOutcomes } from '../../src/webhooks/outcome.js'
import { nameServer } from '../channels/email/name-server.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, issueToken, startGateway } from '../support/gateway/gateway.js'
import { receiverForTest } from '../support/gateway/receiver.js'
import { request } from '../support/gateway/requests.js'
import { claimWebhooks, createWebhook, QUICK, startTestDeliverer } from '../support/gateway/webhooks.js'

/** What one worker holds: for whom, for how long, and what it writes about it. */
let database: TestDatabase
let gateway: Gateway

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const owner = newId(Date.now())
const question = { owner }

/** Endpoints of a new account, each with test events to carry. */
async function endpointsWith(messages: number, urls: readonly string[]): Promise<{ account: string; ids: string[] }> {
  await database.pool.query('delete from webhook_message')
  await database.pool.query('delete from webhook_lease')
  return moreEndpointsWith(messages, urls)
}

async function moreEndpointsWith(messages: number, urls: readonly string[]): Promise<{ account: string; ids: string[] }> {
  const { id: account, token } = await createAccount(database.pool)
  return { account, ids: await addEndpoints(token, messages, urls) }
}

async function addEndpoints(token: string, messages: number, urls: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (const url of urls) {
    const { id } = await createWebhook(gateway.url, token, { url })
    for (let index = 0; index < messages; index++) {
      expect((await request(`${gateway.url}/gw/webhooks/${id}/test`, { method: 'POST', token })).status).toBe(201)
    }
    ids.push(id)
  }
  return ids
}

const ADDRESS = 'https://example.com/'

test('an account with many endpoints gets its share of a worker, and others get theirs', async () => {
  const { account } = await endpointsWith(4, [ADDRESS, ADDRESS, ADDRESS])
  const other = await moreEndpointsWith(2, [ADDRESS])
  const claims = await claimWebhooks(database.pool, { ...question, perScope: 5 })
  const countOf = (id: string) => claims.filter(claim => claim.account === id).length
  expect(countOf(account)).toBe(5)
  expect(countOf(other.account)).toBe(2)
  // The endpoints of an account still take turns.
  expect(new Set(claims.filter(claim => claim.account === account).map(claim => claim.endpoint)).size).toBe(3)
  const full = { ...question, perScope: 5, scopes: new Map([[scopeKey({ account, mode: 'live' }), 5]]) }
  expect(await claimWebhooks(database.pool, full)).toEqual([])
  expect(
    await claimWebhooks(database.pool, { ...full, scopes: new Map([[scopeKey({ account, mode: 'live' }), 3]]) }),
  ).toHaveLength(2)
})

test('the test mode of an account has a share of its own, which live endpoints do not wait for', async () => {
  const { account, ids } = await endpointsWith(4, [ADDRESS])
  const { token } = await issueToken(database.pool, account, { mode: 'test' })
  await addEndpoints(token, 4, [ADDRESS, ADDRESS])
  const scopes = new Map([[scopeKey({ account, mode: 'test' }), 5]])
  const claims = await claimWebhooks(database.pool, { ...question, perScope: 5, scopes })
  expect(claims.map(({ endpoint, mode }) => [endpoint, mode])).toEqual(Array(4).fill([ids[0], 'live']))
})

test('a queue holds what its endpoint answers within seconds: few messages of a slow one, many of a quick one', () => {
  const limits = { maxInFlight: 16, maxHeld: 256 }
  const roomAfter = (tookMs: number): number => {
    const queue = new EndpointQueue(limits)
    for (let index = 0; index < 50; index++) queue.finishAttempt(tookMs)
    return queue.capacity
  }
  expect(new EndpointQueue(limits).capacity).toBe(initialCapacity(limits))
  expect(initialCapacity(limits)).toBe(32)
  expect(roomAfter(0)).toBe(256)
  expect(roomAfter(20)).toBe(256)
  expect(roomAfter(1_000)).toBe(96)
  expect(roomAfter(15_000)).toBe(21)
  // However slow, all its connections are in use; sixteen such endpoints are far from filling a worker.
  expect(roomAfter(1_000_000)).toBe(16)
})

test('an endpoint that becomes slow keeps twice what it may hold, and gives the newest of the rest back', () => {
  const queue = new EndpointQueue({ maxInFlight: 1, maxHeld: 100 })
  for (let index = 0; index < 50; index++) queue.add({ claim: { id: String(index) } as WebhookClaim, body: '', keys: [] })
  queue.finishAttempt(1)
  expect(queue.takeSurplus()).toEqual([])
  for (let index = 0; index < 100; index++) queue.finishAttempt(1_000)
  expect(queue.capacity).toBe(6)
  expect(queue.takeSurplus().map(({ id }) => Number(id))).toEqual(Array.from({ length: 38 }, (_, index) => 12 + index))
  expect(queue.takeSurplus()).toEqual([])
  expect(queue.next()?.claim.id).toBe('0')
})

test('endpoints of which everything is under way take no share of a claim', async () => {
  await endpointsWith(1, Array(12).fill(ADDRESS))
  await moreEndpointsWith(30, [ADDRESS])
  expect(await claimWebhooks(database.pool, { ...question, limit: 20, capacity: 2 })).toHaveLength(14)
  const claims = await claimWebhooks(database.pool, { ...question, limit: 20, capacity: 30 })
  expect(claims).toHaveLength(20)
  expect(new Set(claims.map(({ endpoint }) => endpoint)).size).toBe(1)
})

test('two workers that claim at once get different messages', async () => {
  const { ids } = await endpointsWith(40, [ADDRESS, ADDRESS])
  const others = Array.from({ length: 4 }, () => newId(Date.now()))
  const claims = (
    await Promise.all(others.map(other => claimWebhooks(database.pool, { owner: other, limit: 15, capacity: 15 })))
  ).flat()
  expect(claims).toHaveLength(60)
  expect(new Set(claims.map(({ id }) => id)).size).toBe(60)
  expect(new Set(claims.map(({ endpoint }) => endpoint))).toEqual(new Set(ids))
})

test('what is given back is claimed again, and the rest of its lease is not', async () => {
  await endpointsWith(2, [ADDRESS, ADDRESS])
  const claims = await claimWebhooks(database.pool, question)
  expect(new Set(claims.map(({ lease }) => lease)).size).toBe(1)
  const [first] = claims
  await releaseMessages(database.pool, newId(Date.now()), [first!])
  expect(await claimWebhooks(database.pool, question)).toEqual([])
  await releaseMessages(database.pool, owner, [first!])
  const again = await claimWebhooks(database.pool, question)
  expect(again.map(({ id, attempt }) => ({ id, attempt }))).toEqual([{ id: first!.id, attempt: 1 }])
  const leases = [again[0]!.lease, first!.lease]
  expect(await renewLeases(database.pool, owner, leases, 60_000)).toEqual(new Set(leases))
})

test('a lease that its worker names as ended is gone after the next claim', async () => {
  await endpointsWith(2, [ADDRESS])
  const claimOne = async (ended: number[], by = owner) =>
    (await claimWebhooks(database.pool, { owner: by, limit: 1, ended }))[0]?.lease
  const [first, second] = [await claimOne([]), await claimOne([])] as [number, number]
  await claimOne([first])
  await claimOne([second], newId(Date.now()))
  const { rows } = await database.pool.query('select id from webhook_lease where id = any($1)', [[first, second]])
  expect(rows).toEqual([{ id: second }])
})

test('endpoints of which nothing is due take no share of a claim', async () => {
  const { ids } = await endpointsWith(1, Array(12).fill(ADDRESS))
  await database.pool.query("update webhook_message set due_at = now() + interval '1 hour' where endpoint_id = any($1)", [ids])
  await moreEndpointsWith(30, [ADDRESS])
  // Among thirteen endpoints the share of each would be four.
  const claims = await claimWebhooks(database.pool, { ...question, limit: 20, capacity: 30 })
  expect(claims).toHaveLength(20)
})

test('only leases that are named, still hold and are one’s own are prolonged', async () => {
  await endpointsWith(4, [ADDRESS])
  const leases: number[] = []
  for (let n = 0; n < 4; n++) leases.push((await claimWebhooks(database.pool, { ...question, limit: 1 }))[0]!.lease)
  const [named, unnamed, late, foreign] = leases as [number, number, number, number]
  await database.pool.query('update webhook_lease set until = now() where id = $1', [late])
  await database.pool.query('update webhook_lease set owner = gen_random_uuid() where id = $1', [foreign])
  expect(await renewLeases(database.pool, owner, [named, late, foreign], 600_000)).toEqual(new Set([named]))
  const { rows } = await database.pool.query(
    "select id, until > now() + interval '1 minute' as longer, until > now() as held from webhook_lease",
  )
  const expected = [
    [named, 'longer'],
    [unnamed, 'held'],
    [late, 'over'],
    [foreign, 'held'],
  ]
  expect(new Map(rows.map(({ id, longer, held }) => [id, longer ? 'longer' : held ? 'held' : 'over']))).toEqual(
    new Map(expected as [number, string][]),
  )
})

test('endpoints with a silent name server do not delay the others', async () => {
  const names = Array.from({ length: 64 }, (_, index) => `s${index}.silencio.test`)
  const { address, questions } = await nameServer(Object.fromEntries(names.map(name => [name, { failure: 'silence' }])))
  const silent = await endpointsWith(
    1,
    names.map(name => `https://${name}/`),
  )
  const healthy = await receiverForTest()
  const { ids } = await moreEndpointsWith(20, [healthy.url])
  await database.pool.query("update webhook_message set due_at = now() + interval '1 hour' where endpoint_id = $1", [ids[0]])
  // Long enough for a busy machine to deliver the others first.
  const resolve = createNameLookup({ servers: [address], timeoutMs: 12_000 })
  const deliverer = startTestDeliverer(database.pool, { resolve })
  onTestFinished(() => deliverer.stop())
  const asked = () => new Set(questions.map(question => question.split(' ')[0])).size
  await expect.poll(asked).toBe(64)
  await database.pool.query('update webhook_message set due_at = now() where endpoint_id = $1', [ids[0]])
  await expect.poll(() => healthy.got.length, { interval: 20 }).toBe(20)
  const failing = async (endpoints: readonly string[]): Promise<number> => {
    const { rows } = await database.pool.query('select from webhook_endpoint where id = any($1) and failures > 0', [endpoints])
    return rows.length
  }
  // None of the silent ones had been given up when all of the healthy one's had arrived.
  expect(await failing([...silent.ids, ...ids])).toBe(0)
  await expect.poll(() => failing(silent.ids)).toBe(64)
})

test('the lease of a message that a worker gave up expires, however long the worker is busy with others', async () => {
  const [silent, healthy] = [await receiverForTest(() => {}), await receiverForTest()]
  const { ids } = await endpointsWith(1, [silent.url, healthy.url])
  const [busy, broken] = ids as [string, string]
  // Its outcome cannot be written.
  await database.asOwner(`
    create function refuse_outcome() returns trigger language plpgsql as $$ begin
      raise exception 'bad' using errcode = '23514', constraint = 'made_up';
    end $$;
    create trigger refuse_outcome before update on webhook_message for each row
      when (new.endpoint_id = '${broken}' and new.state = 'done') execute function refuse_outcome()`)
  onTestFinished(
    async () => void (await database.asOwner('drop trigger refuse_outcome on webhook_message; drop function refuse_outcome')),
  )
  const deliverer = startTestDeliverer(database.pool, { leaseMs: 1_200, timing: { ...QUICK, timeoutMs: 60_000 } })
  onTestFinished(async () => {
    await silent.close()
    await deliverer.stop()
  })
  const isAborted = async (endpoint: string): Promise<boolean> => {
    const { rows } = await database.pool.query(
      `select coalesce(bool_or(l.until < now()), false) as over
       from webhook_lease l join webhook_message m on m.id = any(l.messages) where m.endpoint_id = $1`,
      [endpoint],
    )
    return rows[0].over
  }
  await expect.poll(() => isAborted(broken), { interval: 20 }).toBe(true)
  expect(silent.got).toHaveLength(1)
  expect(await isAborted(busy)).toBe(false)
})

test('a message whose endpoint has a secret that does not open fails by the plan, and says so; the others go', async () => {
  const receiver = await receiverForTest()
  const { ids } = await endpointsWith(1, [receiver.url, receiver.url])
  await database.pool.query("update webhook_endpoint set secret = '\\x00' where id = $1", [ids[0]])
  const deliverer = startTestDeliverer(database.pool, { timing: QUICK })
  onTestFinished(() => deliverer.stop())
  const logged = async (endpoint: string) =>
    (await database.pool.query('select status, error from webhook_attempt where endpoint_id = $1 order by id', [endpoint])).rows
  await expect.poll(() => logged(ids[1]!)).toEqual([{ status: 204, error: null }])
  await expect.poll(async () => (await logged(ids[0]!)).length).toBeGreaterThan(1)
  for (const attempt of await logged(ids[0]!))
    expect(attempt).toEqual({
      status: null,
      error: 'O segredo deste webhook não abre com a chave mestra deste servidor. Gere outro segredo para ele.',
    })
  expect(receiver.got).toHaveLength(1)
  const { rows } = await database.pool.query('select failures > 0 as failing from webhook_endpoint where id = $1', [ids[0]])
  expect(rows).toEqual([{ failing: true }])
})

test('an outcome and what it says about the endpoint are written together, or not at all', async () => {
  const { ids } = await endpointsWith(1, [ADDRESS])
  const [claim] = (await claimWebhooks(database.pool, question)) as [WebhookClaim]
  const rules = { plan: QUICK.plan, random: Math.random }
  const outcome = judgeReply(claim, new Error('recusado'), { at: new Date(), durationMs: 1 }, rules)
  const health = { failuresToPause: 5, maxPauseMs: 1_000, suspendAfterMs: 1_000_000, quietMs: 1_000_000 }
  const write = () => writeOutcomes(database.pool, [outcome], health)
  const stored = async () => {
    const { rows } = await database.pool.query(
      'select m.state, w.failures from webhook_message m join webhook_endpoint w on w.id = m.endpoint_id where w.id = $1',
      [ids[0]],
    )
    return rows[0]
  }
  await database.asOwner('alter table webhook_endpoint add constraint no_failures check (failures = 0) not valid')
  await expect(write()).rejects.toThrow('no_failures')
  expect(await stored()).toEqual({ state: 'queued', failures: 0 })
  await database.asOwner('alter table webhook_endpoint drop constraint no_failures')
  expect((await write()).lost).toEqual(new Set())
  expect(await stored()).toEqual({ state: 'queued', failures: 1 })
})
