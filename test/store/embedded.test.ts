import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readdirSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { OperatorError } from '../../src/domain/errors.js'
import { type Embedded, type EmbeddedOptions, openEmbedded } from '../../src/store/embedded/server.js'
import { dataFolder, initialisedDataFolder } from '../support/database/data-folder.js'

const isRoot = process.getuid?.() === 0
const RETRY_MS = { first: 20, longest: 100 }

const pidFile = (folder: string): string => join(folder, 'postgres', 'postmaster.pid')
const pidOf = (folder: string): number => Number(readFileSync(pidFile(folder), 'utf8').split('\n')[0])

async function open(folder: string, options: EmbeddedOptions = {}): Promise<{ server: Embedded; reports: string[] }> {
  const reports: string[] = []
  const report = (details: { err?: unknown }, message: string): void =>
    void reports.push([message, ...(details.err === undefined ? [] : [String(details.err)])].join(': '))
  const server = await openEmbedded(folder, true, { durable: false, retryMs: RETRY_MS, report, ...options })
  onTestFinished(() => server.close())
  return { server, reports }
}

const ask = async (url: string): Promise<string> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query<{ user: string }>('select current_user::text as user')).rows[0]!.user
  } catch {
    return 'no answer'
  } finally {
    await client.end().catch(() => {})
  }
}

test('neither the program nor the owner of the tables is a superuser', async () => {
  const { server } = await open(initialisedDataFolder())
  expect([await ask(server.url), await ask(server.ownerUrl)]).toEqual(['carteiro_app', 'carteiro'])
  const client = new pg.Client({ connectionString: server.ownerUrl })
  await client.connect()
  const { rows } = await client.query("select bool_or(rolsuper) as super from pg_roles where rolname like 'carteiro%'")
  await client.end()
  expect(rows).toEqual([{ super: false }])
})

test('a data folder of an older PostgreSQL is refused with the commands that bring it over, and left as it is', async () => {
  const folder = initialisedDataFolder()
  const version = join(folder, 'postgres', 'PG_VERSION')
  writeFileSync(version, '17\n')
  const refused = openEmbedded(folder, true, { durable: false })
  await expect(refused).rejects.toThrow(OperatorError)
  await expect(refused).rejects.toThrow(
    /PostgreSQL 17, .*traz o 18.*carteiro backup copia.carteiro.*carteiro restore copia.carteiro/,
  )
  expect([readFileSync(version, 'utf8'), existsSync(pidFile(folder))]).toEqual(['17\n', false])
})

test('a lost server that cannot be started is tried again without end, the log says why, and it is back when the cause is gone', async () => {
  const folder = initialisedDataFolder()
  const { server, reports } = await open(folder)
  const settings = join(folder, 'postgres', 'postgresql.conf')
  const before = readFileSync(settings, 'utf8')
  appendFileSync(settings, 'shared_buffers_of_nobody = 1\n')
  process.kill(pidOf(folder), 'SIGQUIT')
  const failures = (): string[] => reports.filter(report => report.includes('does not start'))
  await expect.poll(() => failures().length, { timeout: 60_000 }).toBeGreaterThan(4)
  expect(reports[0]).toContain('is lost')
  expect(failures()[0]).toMatch(/FATAL: .*configuration file/)
  writeFileSync(settings, before)
  await expect.poll(() => ask(server.url), { timeout: 60_000 }).toBe('carteiro_app')
  await expect.poll(() => reports.at(-1)).toContain('is back')
})

test('a data folder that is gone for a while is waited for: no empty database takes its place', async () => {
  const folder = initialisedDataFolder()
  const { server, reports } = await open(folder)
  const away = join(folder, 'elsewhere')
  const pid = pidOf(folder)
  renameSync(join(folder, 'postgres'), away)
  process.kill(pid, 'SIGQUIT')
  await expect
    .poll(() => reports.filter(report => report.includes('está incompleta')).length, { timeout: 60_000 })
    .toBeGreaterThan(1)
  expect(existsSync(join(folder, 'postgres'))).toBe(false)
  renameSync(away, join(folder, 'postgres'))
  await expect.poll(() => ask(server.url), { timeout: 60_000 }).toBe('carteiro_app')
})

test('a first start that cannot succeed ends with the server’s own words', async () => {
  const folder = initialisedDataFolder()
  appendFileSync(join(folder, 'postgres', 'postgresql.conf'), 'shared_buffers_of_nobody = 1\n')
  const refused = open(folder)
  await expect(refused).rejects.toThrow(OperatorError)
  await expect(refused).rejects.toThrow(/não inicia\. Ele disse: FATAL: .*postgres\.log/)
})

test('a long log of the server is put aside when it starts, and one older log is kept', async () => {
  const folder = initialisedDataFolder()
  const log = join(folder, 'postgres.log')
  const sizes = (): number[] => [log, `${log}.1`].map(name => statSync(name, { throwIfNoEntry: false })?.size ?? -1)
  const [LONG, LONGER] = [16 * 1_048_576 + 1, 16 * 1_048_576 + 2]
  for (const size of [LONGER, LONG]) {
    writeFileSync(log, '')
    truncateSync(log, size)
    const server = await openEmbedded(folder, true, { durable: false })
    await server.close()
    expect(sizes()).toEqual([expect.any(Number), size])
    expect(readFileSync(log, 'utf8')).toContain('ready to accept connections')
  }
  // What the server says when it does not start is found in the log that was begun.
  const [short] = sizes()
  truncateSync(log, LONG)
  appendFileSync(join(folder, 'postgres', 'postgresql.conf'), 'shared_buffers_of_nobody = 1\n')
  await expect(open(folder)).rejects.toThrow(/Ele disse: FATAL: .*postgres\.log/)
  expect(short).toBeLessThan(LONG)
  // A short log is continued.
  const kept = readFileSync(log, 'utf8')
  await expect(open(folder)).rejects.toThrow(OperatorError)
  expect(readFileSync(log, 'utf8').startsWith(kept)).toBe(true)
})

test('a stale postmaster.pid that names the PostgreSQL of somebody else is told apart, and that one is left alone', async () => {
  const folder = initialisedDataFolder()
  const client = new pg.Client({ connectionString: inject('server').adminUrl })
  await client.connect()
  onTestFinished(() => client.end())
  const { rows } = await client.query<{ text: string }>("select pg_read_file('postmaster.pid') as text")
  writeFileSync(pidFile(folder), rows[0]!.text)
  const server = await openEmbedded(folder, true, { durable: false })
  expect(await ask(server.url)).toBe('carteiro_app')
  expect(pidOf(folder)).not.toBe(Number(rows[0]!.text.split('\n')[0]))
  await server.close()
  expect(existsSync(pidFile(folder))).toBe(false)
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

test('a start is ended by its signal, and leaves neither a server nor half a database behind', async () => {
  const folder = dataFolder()
  const stop = new AbortController()
  const started = openEmbedded(folder, true, { durable: false, signal: stop.signal })
  const refused = expect(started).rejects.toMatchObject({ name: 'AbortError' })
  await expect.poll(() => readdirSync(folder).some(name => name.startsWith('postgres.new-'))).toBe(true)
  stop.abort()
  await refused
  expect(
    readdirSync(folder).filter(name => name.startsWith('postgres') && name !== 'postgres.log' && !/^postgresql-/.test(name)),
  ).toEqual([])
})

test('a copy that lost the owners of its files, that others may enter or that lacks a part is named with its cure', async () => {
  const folder = initialisedDataFolder()
  const copy = join(folder, 'postgres')
  execFileSync('chmod', ['755', copy])
  await expect(open(folder)).rejects.toThrow(/Corrija com: chmod 700 /)
  execFileSync('chmod', ['700', copy])
  execFileSync('rm', ['-r', join(copy, 'pg_wal')])
  await expect(open(folder)).rejects.toThrow(/está incompleta: falta .*pg_wal/)
  if (!isRoot) return
  execFileSync('chown', ['-R', 'root', copy])
  await expect(open(folder)).rejects.toThrow(/perdeu os donos dos arquivos\. Corrija com: chown -R (postgres|nobody) /)
})

test('a data folder under a path that cannot exist is refused at once', async () => {
  await expect(openEmbedded('/proc/nowhere/data', true)).rejects.toThrow(
    /Não foi possível criar a pasta \/proc\/nowhere.*CARTEIRO_DATA/,
  )
})
