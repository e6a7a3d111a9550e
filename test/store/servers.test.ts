import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { StoreUnavailable } from '../../src/domain/errors.js'
import { readDatabaseUrl } from '../../src/store/database-url.js'
import { listenDue, signalDue } from '../../src/store/delivery/due-signal.js'
import { isOutage, openPool, type Pool, queryValue, runOnce, transaction } from '../../src/store/postgres.js'
import { Servers } from '../../src/store/servers.js'
import { readReplication } from '../../src/store/standby.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { type DatabaseRelay, relayForTest } from '../support/database/database-relay.js'
import { selfSigned } from '../support/programs/certificate.js'
import { temporaryFolder } from '../support/temporary-folder.js'

describe('DATABASE_URL', () => {
  test('names several servers, each with the same user, database and TLS settings', () => {
    expect(
      readDatabaseUrl('postgres://u:p%40@h1:5432,h2:5433,[::1]:5434/db?sslmode=require&target_session_attrs=read-write'),
    ).toEqual({
      urls: ['h1:5432', 'h2:5433', '[::1]:5434'].map(host => `postgres://u:p%40@${host}/db?sslmode=require`),
      writable: true,
    })
  })

  test.each([
    ['postgresql://u@h1,h2/db', ['postgresql://u@h1/db', 'postgresql://u@h2/db'], true],
    ['postgresql://u@h1/db', ['postgresql://u@h1/db'], false],
    ['postgresql://u@h1/db?target_session_attrs=primary', ['postgresql://u@h1/db'], true],
    ['postgresql://u@h1/db?target_session_attrs=primary&sslrootcert=/a.pem', ['postgresql://u@h1/db?sslrootcert=/a.pem'], true],
    ['postgresql://u@%2Ftmp%2Fa,%2Ftmp%2Fb/db', ['postgresql://u@%2Ftmp%2Fa/db', 'postgresql://u@%2Ftmp%2Fb/db'], true],
  ])('%s', (url, urls, writable) => {
    expect(readDatabaseUrl(url)).toEqual({ urls, writable })
  })

  test.each([
    'mysql://u@h/db',
    'h1:5432,h2:5432',
    'postgres://u@h1,,h2/db',
    'postgres://u@h1:x,h2/db',
    'postgres://u@h1,h2/db?target_session_attrs=any',
    'postgres://u@h1,h2/db?target_session_attrs=standby',
  ])('%s is none', url => {
    expect(readDatabaseUrl(url)).toBeNull()
  })
})

/** Two databases that stand for a primary and its standby, each behind ports of its own. */
const primary = await createDatabase()
const standby = await createDatabase()
afterAll(() => Promise.all([primary.drop(), standby.drop()]))
beforeEach(async () => {
  await setReadOnly(primary, 'off')
  await setReadOnly(standby, 'on')
})

/** For new sessions. */
const setReadOnly = ({ asOwner }: TestDatabase, value: 'on' | 'off') =>
  asOwner(`begin read write;
    do $$ begin execute format('alter database %I set default_transaction_read_only = ${value}', current_database()); end $$;
    commit`)

/** What an operator does after the loss of the primary. */
const promote = () => setReadOnly(standby, 'off')

async function twoServers(): Promise<{ relays: DatabaseRelay[]; url: string }> {
  const relays = [await relayForTest(primary), await relayForTest(standby)]
  const { username, pathname } = new URL(primary.url)
  return { relays, url: `postgresql://${username}@${relays.map(({ host }) => host).join(',')}${pathname}` }
}

function poolOn(url: string, servers = new Servers(url), size = 2): Pool {
  const pool = openPool({ url, servers, size, onError: () => {} })
  onTestFinished(() => pool.end())
  return pool
}

/** A port before a relay that takes TLS alone, as a server of PostgreSQL negotiates it. */
async function encryptFor(relay: DatabaseRelay, certificate: { cert: string; key: string }, seen: () => void): Promise<number> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    // SSLRequest: eight bytes, answered by one.
    socket.once('data', request => {
      if (request.readUInt32BE(4) !== 80_877_103) return void socket.destroy()
      socket.write('S')
      const plain = new TLSSocket(socket, { isServer: true, ...certificate })
      const onward = connect(Number(relay.host.split(':')[1]), '127.0.0.1')
      for (const end of [plain, onward]) end.on('error', () => {})
      plain.on('secure', seen)
      plain.pipe(onward).pipe(plain)
    })
  }).listen(0)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const nameOf = ({ url }: TestDatabase): string => new URL(url).pathname.slice(1)
const reached = (pool: Pool): Promise<string | null> => queryValue<string>(pool, 'select current_database()')
const failure = (pool: Pool): Promise<unknown> =>
  reached(pool).then(
    () => null,
    (error: unknown) => error,
  )

test('of several servers the one that accepts writes is used, wherever it is in the list', async () => {
  const { relays, url } = await twoServers()
  await promote()
  await setReadOnly(primary, 'on')
  const pool = poolOn(url)
  expect(await reached(pool)).toBe(nameOf(standby))
  const { connections } = relays[0]!
  // Further connections go there at once.
  await Promise.all([transaction(pool, () => reached(pool)), reached(pool)])
  expect(relays[0]!.connections).toBe(connections)
})

test('with sslmode=verify-full every one of several servers is reached by TLS, and one with the certificate of another name is not', async () => {
  const { relays } = await twoServers()
  await promote()
  await setReadOnly(primary, 'on')
  const certificate = selfSigned(['localhost'])
  const root = join(temporaryFolder(), 'ca.pem')
  writeFileSync(root, certificate.cert)
  const encrypted: number[] = []
  const ports = await Promise.all(relays.map((relay, place) => encryptFor(relay, certificate, () => encrypted.push(place))))
  const { username, pathname } = new URL(primary.url)
  const urlAt = (host: string): string => {
    const hosts = ports.map(port => `${host}:${port}`).join(',')
    return `postgresql://${username}@${hosts}${pathname}?sslmode=verify-full&sslrootcert=${encodeURIComponent(root)}`
  }
  expect(await reached(poolOn(urlAt('localhost')))).toBe(nameOf(standby))
  expect(new Set(encrypted)).toEqual(new Set([0, 1]))
  expect(await failure(poolOn(urlAt('127.0.0.1')))).toMatchObject({ cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' } })
})

test('when the primary goes, another server is used as soon as it accepts writes', async () => {
  const { relays, url } = await twoServers()
  const events: string[] = []
  const servers = new Servers(url, { onLost: () => events.push('lost'), onBack: () => events.push('back') })
  const pool = poolOn(url, servers)
  expect(await reached(pool)).toBe(nameOf(primary))
  relays[0]!.goAway()
  await expect.poll(() => failure(pool).then(() => events)).toEqual(['lost'])
  expect(await failure(pool)).toSatisfy(isOutage)
  await promote()
  await expect.poll(() => reached(pool).catch(() => null)).toBe(nameOf(standby))
  expect(events).toEqual(['lost', 'back'])
})

test('all connections to a server that becomes read-only are given up at the first write that it refuses', async () => {
  const { url } = await twoServers()
  const pool = poolOn(url)
  // Two connections, whose sessions become read-only as by a reload of the server's settings.
  await transaction(pool, async db => {
    await db.query('set session default_transaction_read_only = on')
    await pool.query('set session default_transaction_read_only = on')
  })
  await setReadOnly(primary, 'on')
  await promote()
  expect(await reached(pool)).toBe(nameOf(primary))
  await expect(runOnce(pool, { text: 'create table refused (n int)' })).rejects.toBeInstanceOf(StoreUnavailable)
  expect(await transaction(pool, () => Promise.all([reached(pool), reached(pool)]))).toEqual(Array(2).fill(nameOf(standby)))
})

test('with one server, a session that only reads is used for reading, and dropped after a write that it refused', async () => {
  const pool = poolOn(primary.url, undefined, 1)
  const pidOf = () => queryValue<number>(pool, 'select pg_backend_pid()')
  const before = await pidOf()
  await pool.query('set default_transaction_read_only = on')
  expect(await pidOf()).toBe(before)
  await expect(runOnce(pool, { text: 'create table refused (n int)' })).rejects.toBeInstanceOf(StoreUnavailable)
  expect(await pidOf()).not.toBe(before)
})

test('a lost database is said once, asked for at growing intervals by one connection a server, and said to be back once', async () => {
  const relay = await relayForTest(primary)
  const events: unknown[] = []
  let nowMs = 1_000
  const timing = { pauseMs: { first: 100, longest: 400 }, random: () => 0.5, now: () => nowMs }
  const servers = new Servers(
    relay.url,
    { onLost: error => events.push(isOutage(error)), onBack: downMs => events.push(downMs) },
    timing,
  )
  const pool = poolOn(relay.url, servers, 10)
  await reached(pool)
  relay.goAway()
  const fail = () => failure(pool)
  await expect.poll(() => servers.isLost || fail().then(() => servers.isLost)).toBe(true)
  // A pause is three quarters of its length here, and nobody is let through before its end.
  for (const pauseMs of [75, 150, 300, 300]) {
    const { connections } = relay
    nowMs += pauseMs - 1
    const errors = await Promise.all(Array.from({ length: 50 }, fail))
    expect(errors.every(error => error instanceof StoreUnavailable && !error.reachable && isOutage(error))).toBe(true)
    expect(relay.connections).toBe(connections)
    nowMs += 1
    await Promise.all(Array.from({ length: 50 }, fail))
    expect(relay.connections).toBe(connections + 1)
  }
  relay.comeBack()
  nowMs += 300
  expect(await Promise.all(Array.from({ length: 50 }, () => reached(pool)))).toEqual(Array(50).fill(nameOf(primary)))
  expect(events).toEqual([true, 75 + 150 + 300 + 300 + 300])
})

test('too many connections are no lost database', async () => {
  // A superuser is let in all the same.
  const limit = (count: number) =>
    primary.tamper(`do $$ begin execute format('alter database %I connection limit ${count}', current_database()); end $$`)
  onTestFinished(async () => void (await limit(-1)))
  const servers = new Servers(primary.url)
  const pool = poolOn(primary.url, servers)
  await transaction(pool, async () => {
    await limit(1)
    expect(await failure(pool)).toBeInstanceOf(StoreUnavailable)
  })
  expect([servers.isLost, await reached(pool)]).toEqual([false, nameOf(primary)])
})

test('a connection that breaks in the moment in which it is handed out does not end the process', async () => {
  const pool = poolOn(primary.url, undefined, 1)
  const client = await pool.connect()
  expect(client.emit('error', new Error('the server ended the session'))).toBe(true)
  client.release(true)
  expect(await reached(pool)).toBe(nameOf(primary))
})

test('the signal that something is due is heard from the server that took over', async () => {
  const { relays, url } = await twoServers()
  let heard = 0
  const listener = listenDue(new Servers(url), { queues: { notify: () => heard++ }, webhooks: { notify: () => {} } })
  onTestFinished(() => listener.close())
  const signalled = async ({ url }: TestDatabase): Promise<boolean> => {
    const before = heard
    await signalDue(poolOn(url))
    return heard > before
  }
  await expect.poll(() => signalled(primary)).toBe(true)
  relays[0]!.goAway()
  await promote()
  await expect.poll(() => signalled(standby), { timeout: 20_000 }).toBe(true)
})

test('any role can count standbys and see whether commits wait for one', async () => {
  expect(await readReplication(primary.pool)).toEqual({ standbys: 0, synchronous: false })
})
