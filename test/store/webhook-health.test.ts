import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { transaction } from '../../src/store/postgres.js'
import { type AttemptQuery, type LoggedAttempt, listAttempts } from '../../src/store/webhook/attempts.js'
import { findEndpoint, type HealthChange, insertEndpoint, recordHealth } from '../../src/store/webhook/endpoints.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount } from '../support/gateway/gateway.js'

/** What is remembered of an endpoint that fails, and how it is found again. */
let database: TestDatabase
let account: string
let endpoint: string

beforeAll(async () => {
  database = await createDatabase()
  account = (await createAccount(database.pool)).id
})

afterAll(() => database.drop())

beforeEach(async () => {
  endpoint = crypto.randomUUID()
  const all = { channels: null, statuses: null, version: 'v2', secret: Buffer.alloc(1) } as const
  await insertEndpoint(database.pool, { id: endpoint, account, mode: 'live', url: 'https://example.com/', ...all })
})

describe('five days of failures', () => {
  const DAY = 24 * 3_600_000
  const rules = { failuresToPause: 5, maxPauseMs: 60_000, suspendAfterMs: 5 * DAY, quietMs: 1.5 * DAY }
  const report = async (succeeded: boolean): Promise<HealthChange> => {
    const changes = await recordHealth(
      database.pool,
      [{ endpoint, succeeded, failed: succeeded ? 0 : 1, pauseMs: 0, gone: false }],
      rules,
    )
    return changes[0]!
  }
  /** Everything that is known lies this much further back. */
  const pass = (days: number): Promise<unknown> =>
    database.pool.query(
      `update webhook_endpoint set failing_since = failing_since - $2 * interval '1 day', failed_at = failed_at - $2 * interval '1 day'
       where id = $1`,
      [endpoint, days],
    )
  const shown = async () => (await findEndpoint(database.pool, { account, mode: 'live' }, endpoint))!

  test('with failures all along suspend an endpoint', async () => {
    for (let day = 0; day < 5; day++) {
      expect((await report(false)).suspended).toBeNull()
      await pass(1.01)
    }
    expect((await report(false)).suspended).toBe('failing')
    expect(await shown()).toMatchObject({ disabledReason: 'failing' })
  })

  test('are not an event refused for days, quiet, and one failure on the sixth', async () => {
    for (let day = 0; day < 3; day++) {
      await report(false)
      await pass(1)
    }
    await pass(3)
    expect((await report(false)).suspended).toBeNull()
    const { disabledAt, failingSince } = await shown()
    expect(disabledAt).toBeNull()
    expect(Date.now() - failingSince!.getTime()).toBeLessThan(DAY)
    // The new days of failures count from here.
    for (let day = 0; day < 4; day++) {
      await pass(1.01)
      expect((await report(false)).suspended).toBeNull()
    }
    await pass(1.01)
    expect((await report(false)).suspended).toBe('failing')
  })

  test('begin anew after a success, however close the failures before it', async () => {
    await report(false)
    await pass(4.99)
    await database.pool.query('update webhook_endpoint set failed_at = now() where id = $1', [endpoint])
    await report(true)
    expect((await shown()).failingSince).toBeNull()
    await report(false)
    await pass(1)
    expect((await report(false)).suspended).toBeNull()
  })

  test('that were under way before the last failure was written down go on', async () => {
    await report(false)
    await database.pool.query('update webhook_endpoint set failed_at = null where id = $1', [endpoint])
    await pass(1)
    await report(false)
    expect(Date.now() - (await shown()).failingSince!.getTime()).toBeGreaterThan(0.9 * DAY)
  })
})

describe('the log of attempts', () => {
  const everything: AttemptQuery = { before: null, message: null, failedOnly: false, limit: 50 }

  /** The attempts, and how many rows of the log were read for them. */
  const ask = (question: Partial<AttemptQuery>): Promise<{ found: LoggedAttempt[]; read: number }> =>
    transaction(database.pool, async db => {
      const found = await listAttempts(db, endpoint, { ...everything, ...question })
      const { rows } = await db.query<{ read: number }>(
        "select seq_tup_read + idx_tup_fetch as read from pg_stat_xact_user_tables where relname = 'webhook_attempt'",
      )
      return { found, read: rows[0]!.read }
    })

  test('finds the attempts of one message, and failures, without scanning all of it', async () => {
    await database.pool.query(
      `with made as (
         insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, state)
         select gen_random_uuid(), $1, gen_random_uuid(), 'email', 2, 'done' from generate_series(1, 20000) returning id
       )
       insert into webhook_attempt (endpoint_id, message_id, attempt, url, payload_version, at, duration_ms, error)
       select $1, id, 1, 'https://example.com/', 'v2', now(), 1, case when row_number() over () <= 3 then 'recusado' end from made`,
      [endpoint],
    )
    await database.asOwner('analyze webhook_attempt, webhook_message')
    const failures = await ask({ failedOnly: true })
    expect(failures.found.map(({ error }) => error)).toEqual(['recusado', 'recusado', 'recusado'])
    const one = await ask({ message: failures.found[2]!.message })
    expect(one.found).toHaveLength(1)
    expect((await ask({})).found).toHaveLength(50)
    expect(failures.read).toBeLessThan(100)
    expect(one.read).toBeLessThan(100)
  })
})
