import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SequenceStep } from '../../../src/domain/send/sequence.js'
import { promoteDueSteps } from '../../../src/engine/record/record.js'
import { findOverdue } from '../../../src/engine/upkeep/alarm.js'
import { updateSequence } from '../../../src/store/accounts/accounts.js'
import { lockDueSteps } from '../../../src/store/delivery/due-steps.js'
import { countQueue } from '../../../src/store/delivery/queue-depth.js'
import { transaction } from '../../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../../support/database/database.js'
import { readPlans } from '../../support/database/plans.js'
import { brokenChains } from '../../support/evidence/chain.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../../support/gateway/gateway.js'
import { send, validSend } from '../../support/gateway/requests.js'

const STEPS: SequenceStep[] = [
  { channel: 'email', waitMinutes: 0, condition: 'always' },
  { channel: 'sms', waitMinutes: 30, condition: 'not delivered' },
  { channel: 'voice', waitMinutes: 30, condition: 'failed' },
]

let database: TestDatabase
let gateway: Gateway
let account: TestAccount

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
  await updateSequence(database.pool, account.id, STEPS)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const number = '11987654321'

/** Notifications whose second and third steps are due. */
async function acceptDue(count: number, { token } = account): Promise<string[]> {
  const body = { ...validSend, sms: { number }, voz: { number } }
  const answers = await Promise.all(Array.from({ length: count }, () => send(gateway.url, token, body)))
  const ids = answers.map(({ body }) => (body as { idEmail: string }).idEmail)
  await database.pool.query(
    "update delivery set due_at = now() where notification_id = any($1) and state = 'waiting' and due_at < now() + interval '1 day'",
    [ids],
  )
  return ids
}

/** An account whose steps are due, those of a batch for an hour. */
async function acceptSteps(count: number, kind: 'single' | 'batch'): Promise<string[]> {
  const sender = await createAccount(database.pool)
  await updateSequence(database.pool, sender.id, STEPS)
  const ids = await acceptDue(count, sender)
  if (kind === 'batch')
    await database.pool.query(
      "update delivery set bulk = true, due_at = due_at - interval '1 hour' where notification_id = any($1)",
      [ids],
    )
  return ids
}

const statesOf = async (channel: string): Promise<object[]> =>
  (await database.pool.query('select state, count(*)::int from delivery where channel = $1 group by 1', [channel])).rows

const promote = (batch: number, signal = new AbortController().signal) =>
  promoteDueSteps(database.pool, Date.now, { notify() {} }, signal, { limit: batch })

test('every step whose wait is over is decided on before the next rest, by several nodes together, each once', async () => {
  await acceptDue(25)
  await promote(10, AbortSignal.abort())
  expect(await statesOf('sms')).toEqual([{ state: 'waiting', count: 25 }])
  await Promise.all([promote(10), promote(10), promote(10)])
  await promote(10)
  expect(await statesOf('sms')).toEqual([{ state: 'queued', count: 25 }])
  expect(await statesOf('voice')).toEqual([{ state: 'waiting', count: 25 }])
  const { rows } = await database.pool.query("select count(*)::int as released from event where type = 'released'")
  expect(rows).toEqual([{ released: 25 }])
  expect(await brokenChains(database.pool)).toEqual([])
})

test('a step that only a failure releases has no date to be late by', async () => {
  await acceptDue(1)
  await promote(10)
  await database.pool.query(
    "update delivery set due_at = now() - interval '1 hour' where channel = 'voice' and state = 'waiting'",
  )
  const depths = await countQueue(database.pool)
  expect(depths.find(({ channel, state }) => channel === 'voice' && state === 'waiting')).toEqual({
    channel: 'voice',
    mode: 'live',
    state: 'waiting',
    count: expect.any(Number),
    oldestSeconds: 0,
  })
  expect(findOverdue(depths)).toEqual([])
  expect((await lockDueSteps(database.pool, { limit: 100 })).notifications).toEqual([])
})

test('one node alone needs no second call, however many batches there are', async () => {
  await acceptDue(25)
  await promote(7)
  expect((await lockDueSteps(database.pool, { limit: 100 })).notifications).toEqual([])
})

test('a node passes over the steps that another one is deciding on', async () => {
  await acceptDue(6)
  await transaction(database.pool, async db => {
    const first = new Set((await lockDueSteps(db, { limit: 6 })).notifications)
    const second = (await lockDueSteps(database.pool, { limit: 100 })).notifications
    expect(second.filter(id => first.has(id))).toEqual([])
    expect(new Set([...first, ...second]).size).toBe(6)
  })
  await promote(10)
})

test('steps that are not due by this node’s clock are not asked for again and again', async () => {
  await acceptDue(3)
  await promoteDueSteps(database.pool, () => Date.now() - 60_000, { notify() {} }, new AbortController().signal, { limit: 3 })
  await promote(10)
  expect((await lockDueSteps(database.pool, { limit: 100 })).notifications).toEqual([])
})

test('steps of single sends are decided on before those of a batch, which were due earlier', async () => {
  const lines = await acceptSteps(8, 'batch')
  const singles = await acceptSteps(3, 'single')
  const { notifications } = await lockDueSteps(database.pool, { limit: 5 })
  expect(new Set(notifications.slice(0, 3))).toEqual(new Set(singles))
  expect(notifications.slice(3).every(id => lines.includes(id))).toBe(true)
  expect(notifications).toHaveLength(5)
  await promote(5)
  expect((await lockDueSteps(database.pool, { limit: 100 })).notifications).toEqual([])
})

test.each(['single', 'batch'] as const)('an account with many due steps delays only itself: %s', async kind => {
  const many = await acceptSteps(12, kind)
  await database.pool.query("update delivery set due_at = due_at - interval '1 hour' where notification_id = any($1)", [many])
  const few = await acceptSteps(2, kind)
  const { notifications } = await lockDueSteps(database.pool, { limit: 6 })
  expect(notifications.filter(id => few.includes(id))).toHaveLength(2)
  // What one account leaves of its share goes to the others.
  expect(new Set(notifications.filter(id => many.includes(id))).size).toBe(4)
  await promote(6)
  expect((await lockDueSteps(database.pool, { limit: 100 })).notifications).toEqual([])
})

test('accounts that were not looked at come next', async () => {
  const senders = await Promise.all([acceptSteps(2, 'batch'), acceptSteps(2, 'batch'), acceptSteps(2, 'batch')])
  const served = new Set<number>()
  let after: string | undefined
  for (let call = 0; call < senders.length; call++) {
    const { notifications, next } = await lockDueSteps(database.pool, { limit: 1, after: after })
    served.add(senders.findIndex(ids => ids.includes(notifications[0]!)))
    after = next
  }
  expect(served).toEqual(new Set([0, 1, 2]))
  await promote(100)
})

test('a step that cannot be written keeps none of the others waiting, and is told', async () => {
  const ids = await acceptDue(9)
  const bad = ids[4]!
  await database.asOwner(`
    create function refuse_event() returns trigger language plpgsql as $$ begin
      raise exception 'bad' using errcode = '23514', constraint = 'made_up';
    end $$;
    create trigger refuse_event before insert on event for each row when (new.notification_id = '${bad}') execute function refuse_event()`)
  try {
    await expect(promote(100)).rejects.toMatchObject({ code: '23514' })
    expect((await lockDueSteps(database.pool, { limit: 100 })).notifications).toEqual([bad])
  } finally {
    await database.asOwner('drop trigger refuse_event on event; drop function refuse_event')
  }
  await promote(100)
  expect((await lockDueSteps(database.pool, { limit: 100 })).notifications).toEqual([])
})

test('the steps of a long backlog, and those whose time has not come, are not read', async () => {
  const senders = [account.id, (await createAccount(database.pool)).id]
  const id = `(lpad(to_hex(${Date.now()} - n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid`
  const rows = `generate_series(1, 6000) n`
  const sender = `(array['${senders.join("', '")}']::uuid[])[1 + n % 2]`
  await database.tamper(
    `insert into notification (id, account_id, mode, accepted_at, recipient_name, subject) select ${id}, ${sender}, 'live', now(), 'P', 'S' from ${rows}`,
  )
  // Half of them are due, a third are of batches.
  await database.tamper(
    `insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, recipient, request, bulk)
     select ${id}, 'sms', ${sender}, 'live', 'waiting', now() + (3000 - n) * interval '1 minute', now(), 2, 'not delivered', 'p', '{}', n % 3 = 0 from ${rows}`,
  )
  const limit = 50
  const plans = await readPlans(
    database.pool,
    async () => void (await lockDueSteps(database.pool, { limit })),
    ['plan_cache_mode = force_generic_plan', 'enable_seqscan = off'],
    true,
  )
  const read = plans
    .flatMap(({ plan }) => [...plan.matchAll(/rows=(\d+)(?:\.\d+)? loops=(\d+)/g)])
    .map(([, each, loops]) => Number(each) * Number(loops))
  const removed = plans
    .flatMap(({ plan }) => [...plan.matchAll(/Rows Removed by Filter: (\d+)/g)])
    .map(([, count]) => Number(count))
  expect(Math.max(...read, ...removed)).toBeLessThanOrEqual(2 * limit)
})
