import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Refusal, StoreUnavailable } from '../../src/domain/errors.js'
import { isConflict, isUnavailable, maybeCommitted, openPool, run, transaction } from '../../src/store/postgres.js'
import { databaseForTest } from '../support/database.js'

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
    const { pool, url } = await databaseForTest()
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
    await pool.query(`create table slow (n int);
      create function wait() returns trigger language plpgsql as $$ begin perform pg_sleep(10); return null; end $$;
      create constraint trigger wait after insert on slow deferrable initially deferred for each row execute function wait()`)
    const impatient = new pg.Pool({ connectionString: url, query_timeout: 300 })
    onTestFinished(() => impatient.end())
    const lost = await rejection(transaction(impatient, db => run(db, 'insert into slow values (1)')))
    expect(lost).toMatchObject({ name: 'StoreUnavailable', maybeCommitted: true })
    expect(await rejection(transaction(pool, () => Promise.reject(new Refusal('malformed'))))).toBeInstanceOf(Refusal)
  })
})
