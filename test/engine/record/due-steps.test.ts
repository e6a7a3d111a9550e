import { afterAll, beforeAll, expect, test } from 'vitest'
import { promoteDueSteps } from '../../../src/engine/record/record.js'
import { findOverdue } from '../../../src/engine/upkeep/alarm.js'
import { updateSequence } from '../../../src/store/accounts/accounts.js'
import { lockDueSteps } from '../../../src/store/delivery/claims.js'
import { readQueue } from '../../../src/store/delivery/queue.js'
import { transaction } from '../../../src/store/postgres.js'
import { brokenChains } from '../../support/chain.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../../support/gateway.js'
import { send, validSend } from '../../support/requests.js'

let database: TestDatabase
let gateway: Gateway
let account: TestAccount

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
  await updateSequence(database.pool, account.id, [
    { channel: 'email', waitMinutes: 0, condition: 'always' },
    { channel: 'sms', waitMinutes: 30, condition: 'not delivered' },
    { channel: 'voice', waitMinutes: 30, condition: 'failed' },
  ])
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const number = '11987654321'

/** Notifications whose second and third steps are due. */
async function acceptDue(count: number): Promise<void> {
  const body = { ...validSend, sms: { number }, voz: { number } }
  await Promise.all(Array.from({ length: count }, () => send(gateway.url, account.token, body)))
  await database.pool.query("update delivery set due_at = now() where state = 'waiting' and due_at < now() + interval '1 day'")
}

const statesOf = async (channel: string): Promise<object[]> =>
  (await database.pool.query('select state, count(*)::int from delivery where channel = $1 group by 1', [channel])).rows

const promote = (batch: number, signal = new AbortController().signal) =>
  promoteDueSteps(database.pool, Date.now, { notify() {} }, signal, batch)

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
  const depths = await readQueue(database.pool)
  expect(depths.find(({ channel, state }) => channel === 'voice' && state === 'waiting')).toEqual({
    channel: 'voice',
    mode: 'live',
    state: 'waiting',
    count: expect.any(Number),
    oldestSeconds: 0,
  })
  expect(findOverdue(depths)).toEqual([])
  expect(await lockDueSteps(database.pool, 100)).toEqual([])
})

test('one node alone needs no second call, however many batches there are', async () => {
  await acceptDue(25)
  await promote(7)
  expect(await lockDueSteps(database.pool, 100)).toEqual([])
})

test('a node passes over the steps that another one is deciding on', async () => {
  await acceptDue(6)
  await transaction(database.pool, async db => {
    const first = new Set(await lockDueSteps(db, 6))
    const second = await lockDueSteps(database.pool, 100)
    expect(second.filter(id => first.has(id))).toEqual([])
    expect(new Set([...first, ...second]).size).toBe(6)
  })
  await promote(10)
})

test('steps that are not due by this node’s clock are not asked for again and again', async () => {
  await acceptDue(3)
  await promoteDueSteps(database.pool, () => Date.now() - 60_000, { notify() {} }, new AbortController().signal, 3)
  await promote(10)
  expect(await lockDueSteps(database.pool, 100)).toEqual([])
})
