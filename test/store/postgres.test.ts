import { readFileSync } from 'node:fs'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Refusal, StoreUnavailable } from '../../src/domain/errors.js'
import {
  groupTransaction,
  isConflict,
  isLocked,
  isUnavailable,
  lockedOut,
  maybeCommitted,
  openPool,
  type Queryable,
  run,
  transaction,
} from '../../src/store/postgres.js'
import { databaseForTest, poolForTest } from '../support/database/database.js'
import { relayForTest } from '../support/database/database-relay.js'

/** The level at which our connections commit on a database that was set to another one. */
async function levelOn(given: string): Promise<string> {
  const { url, asOwner } = await databaseForTest()
  await asOwner(`do $$ begin execute format('alter database %I set synchronous_commit = ${given}', current_database()); end $$`)
  const pool = openPool({ url, size: 1, onError: () => {} })
  onTestFinished(() => pool.end())
  return (await pool.query<{ level: string }>("select current_setting('synchronous_commit') as level")).rows[0]!.level
}

test('a server, database or role that commits without waiting for the disk is overruled; stronger levels stay', async () => {
  expect(await Promise.all(['off', 'local', 'on', 'remote_write', 'remote_apply'].map(levelOn))).toEqual([
    'on',
    'on',
    'on',
    'remote_write',
    'remote_apply',
  ])
})

describe('an error of the database', () => {
  const answer = (code: string, severity = 'ERROR') => Object.assign(new pg.DatabaseError(code, 0, 'error'), { code, severity })
  const broken = (code: string, syscall: string) => Object.assign(new Error(`${syscall} ${code}`), { code, syscall })

  test.each([
    ['connection_exception', '08006'],
    ['read_only_sql_transaction', '25006'],
    ['serialization_failure', '40001'],
    ['deadlock_detected', '40P01'],
    ['undefined_column, before a migration', '42703'],
    ['undefined_table, before a migration', '42P01'],
    ['disk_full', '53100'],
    ['too_many_connections', '53300'],
    ['object_in_use', '55006'],
    ['lock_not_available', '55P03'],
    ['query_canceled', '57014'],
    ['admin_shutdown', '57P01'],
    ['cannot_connect_now', '57P03'],
    ['io_error', '58030'],
  ])('%s (%s) is temporary, and says that nothing was committed', (_, code) => {
    expect([isUnavailable(answer(code)), maybeCommitted(answer(code))]).toEqual([true, false])
  })

  test.each(['55000', '3D000', '28000', '57P01', '57P02'])('FATAL %s ends or refuses the session: temporary', code => {
    expect([isUnavailable(answer(code, 'FATAL')), maybeCommitted(answer(code, 'FATAL'))]).toEqual([true, false])
  })

  test.each(['23505', '23502', '22P05', '42601', 'XX000', 'P0001'])('%s is not temporary', code => {
    expect(isUnavailable(answer(code))).toBe(false)
  })

  test.each([
    ['write', 'EPIPE', false],
    ['write', 'ECONNRESET', false],
    ['connect', 'ECONNREFUSED', false],
    ['connect', 'ETIMEDOUT', false],
    ['getaddrinfo', 'ENOTFOUND', false],
    ['read', 'ECONNRESET', true],
    ['read', 'ETIMEDOUT', true],
  ])('of the socket, %s %s, is temporary; the statement may have been committed: %s', (syscall, code, committed) => {
    const error = broken(code, syscall)
    expect([isUnavailable(error), maybeCommitted(error)]).toEqual([true, committed])
  })

  test.each([
    ['Query read timeout', true],
    ['Connection terminated unexpectedly', true],
    ['Connection terminated', true],
    ['Client has encountered a connection error and is not queryable', false],
    ['Client was closed and is not queryable', false],
  ])('of the driver, "%s", is temporary; the statement may have been committed: %s', (message, committed) => {
    expect([isUnavailable(new Error(message)), maybeCommitted(new Error(message))]).toEqual([true, committed])
  })

  test('of our own program is none of the database', () => {
    expect([isUnavailable(new TypeError('x')), isUnavailable(new RangeError('x'))]).toEqual([false, false])
  })

  test.each(['40001', '40P01', '55P03', '23505'])('%s is a conflict, which may pass at once', code => {
    expect([isConflict(answer(code)), isConflict(new StoreUnavailable(answer(code)))]).toEqual([true, true])
    expect(isConflict(answer('23502'))).toBe(false)
  })
})

describe('a transaction', () => {
  const rejection = (work: Promise<unknown>): Promise<unknown> => work.then(() => null).catch((error: unknown) => error)

  test('whose connection is cut during its work was not committed; one whose commit is not answered may have been', async () => {
    const { pool, url, asOwner } = await databaseForTest()
    const other = openPool({ url, size: 1, onError: () => {} })
    onTestFinished(() => other.end())
    const cut = await rejection(
      transaction(pool, async db => {
        const { rows } = await run<{ pid: number }>(db, 'select pg_backend_pid() as pid')
        await other.query('select pg_terminate_backend($1)', [rows[0]!.pid])
        await run(db, 'select pg_sleep(10)')
      }),
    )
    expect(cut).toMatchObject({ name: 'StoreUnavailable', maybeCommitted: false })
    await asOwner(`create table slow (n int); grant insert on slow to public;
      create function wait() returns trigger language plpgsql as $$ begin perform pg_sleep(10); return null; end $$;
      create constraint trigger wait after insert on slow deferrable initially deferred for each row execute function wait()`)
    const impatient = poolForTest({ connectionString: url, query_timeout: 300 })
    const lost = await rejection(transaction(impatient, db => run(db, 'insert into slow values (1)')))
    expect(lost).toMatchObject({ name: 'StoreUnavailable', maybeCommitted: true })
    expect(await rejection(transaction(pool, () => Promise.reject(new Refusal('malformed'))))).toBeInstanceOf(Refusal)
  })
})

test('a session that does nothing inside a transaction, waits for a row, runs for long or lost its client is ended by the server', async () => {
  const { url } = await databaseForTest()
  const pool = openPool({ url, size: 1, onError: () => {} })
  onTestFinished(() => pool.end())
  const { rows } = await pool.query<{ name: string; value: string }>(
    "select name, setting as value from pg_settings where name ~ '^tcp_|_timeout$' and source = 'session' order by name",
  )
  const settings = Object.fromEntries(rows.map(({ name, value }) => [name, Number(value)]))
  const anyNumber = expect.any(Number)
  expect(settings).toEqual({
    idle_in_transaction_session_timeout: 10_000,
    lock_timeout: 8_000,
    statement_timeout: 10_000,
    // On a Unix socket the server tells 0 for whatever these are set to.
    tcp_keepalives_count: anyNumber,
    tcp_keepalives_idle: anyNumber,
    tcp_keepalives_interval: anyNumber,
    tcp_user_timeout: anyNumber,
  })
})

test('a transaction for many gives a locked row up sooner, and its connection is used again', async () => {
  const { url } = await databaseForTest()
  const pool = openPool({ url, size: 1, onError: () => {} })
  onTestFinished(() => pool.end())
  const sessionOf = async (db: Queryable): Promise<{ pid: number; lock: string }> =>
    (await db.query<{ pid: number; lock: string }>("select pg_backend_pid() as pid, current_setting('lock_timeout') as lock"))
      .rows[0]!
  const before = await sessionOf(pool)
  const inside = await groupTransaction(pool, sessionOf)
  expect([before.lock, inside.lock]).toEqual(['8s', '1s'])
  const refused = groupTransaction(pool, async db => {
    await sessionOf(db)
    throw lockedOut()
  })
  await expect(refused).rejects.toSatisfy(isLocked)
  expect(await sessionOf(pool)).toEqual(before)
})

/** The kernel's timer of a connection from this port: its kind (02: keep-alive) and the seconds until it fires. */
function timerOf(port: number): { kind: string; seconds: number } | undefined {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const line = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map(text => text.trim().split(/\s+/))
    .find(fields => fields[1]?.endsWith(local))
  const [kind, ticks] = line?.[5]?.split(':') ?? []
  return kind === undefined ? undefined : { kind, seconds: Number.parseInt(ticks!, 16) / 100 }
}

test.skipIf(process.platform !== 'linux')('a silent connection is probed after seconds, not after two hours', async () => {
  const relay = await relayForTest(await databaseForTest())
  const pool = openPool({ url: relay.url, size: 1, onError: () => {} })
  onTestFinished(() => pool.end())
  await pool.query('select 1')
  await expect.poll(() => timerOf(relay.ports[0]!)).toMatchObject({ kind: '02' })
  expect(timerOf(relay.ports[0]!)!.seconds).toBeLessThanOrEqual(10)
})
