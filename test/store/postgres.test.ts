import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { groupTransaction, isLocked, lockedOut, openPool, type Queryable } from '../../src/store/postgres.js'
import { databaseForTest } from '../support/database.js'

/** The level at which our connections commit on a database that was set to another one. */
async function levelOn(given: string): Promise<string> {
  const { url } = await databaseForTest()
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  await admin.query(
    `do $$ begin execute format('alter database %I set synchronous_commit = ${given}', current_database()); end $$`,
  )
  await admin.end()
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

test('a session that does nothing inside a transaction, waits for a row or lost its client is ended by the server', async () => {
  const { pool } = await databaseForTest()
  const { rows } = await pool.query<{ name: string; value: string }>(
    `select name, reset_val as value from pg_settings
     where name ~ '^(tcp_|idle_in_transaction_session_timeout|lock_timeout)' order by name`,
  )
  const settings = Object.fromEntries(rows.map(({ name, value }) => [name, Number(value)]))
  expect(settings).toEqual({
    idle_in_transaction_session_timeout: 10_000,
    lock_timeout: 8_000,
    tcp_keepalives_count: 3,
    tcp_keepalives_idle: 10,
    tcp_keepalives_interval: 5,
    tcp_user_timeout: 25_000,
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
  const { url } = await databaseForTest()
  const target = new URL(url)
  const path = `${decodeURIComponent(target.hostname)}/.s.PGSQL.5432`
  const ports: number[] = []
  const sockets: Socket[] = []
  const relay = createServer(socket => {
    ports.push(socket.remotePort!)
    const onward = connect(path)
    sockets.push(socket, onward)
    for (const end of [socket, onward]) end.on('error', () => {})
    socket.pipe(onward).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const pool = openPool({
    url: `postgresql://${target.username}@127.0.0.1:${(relay.address() as AddressInfo).port}${target.pathname}`,
    size: 1,
    onError: () => {},
  })
  onTestFinished(async () => {
    await pool.end()
    for (const socket of sockets) socket.destroy()
    relay.close()
  })
  await pool.query('select 1')
  await expect.poll(() => timerOf(ports[0]!)).toMatchObject({ kind: '02' })
  expect(timerOf(ports[0]!)!.seconds).toBeLessThanOrEqual(10)
})
