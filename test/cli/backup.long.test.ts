import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { makeBackup } from '../../src/app/backup/backup.js'
import { checkBackup, restoreBackup } from '../../src/app/backup/restore.js'
import { claimKeys, migrateOnly } from '../../src/app/database/database.js'
import { findLetter } from '../../src/channels/letter/letter-store.js'
import { deriveKeys } from '../../src/domain/access/keys.js'
import { beginSnapshot, connectUnhurried } from '../../src/store/backup/tables.js'
import { readBlob } from '../../src/store/files/read.js'
import { storeFile } from '../../src/store/files/write.js'
import { openPool } from '../../src/store/postgres.js'
import { createDatabase, emptyDatabaseForTest, type TestDatabase } from '../support/database/database.js'
import { holdRows } from '../support/database/locks.js'
import { extendTo, logParts } from '../support/evidence/log.js'
import { fileOf, filesFolder, storeAt } from '../support/files.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount, startGateway, testKeys } from '../support/gateway/gateway.js'
import { ScriptedCarrier, startTestWorker } from '../support/gateway/lanes.js'
import { send, validSend } from '../support/gateway/requests.js'

let database: TestDatabase
let folder: string
let bundle: string
const PASSPHRASE = 'uma senha bem longa'
const SENDS = 12
const LARGER_THAN_A_FRAME = 65 * 1_024 * 1_024
const [here, there] = [filesFolder(), filesFolder()]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'carteiro-backup-'))
  database = await createDatabase()
})

/** Some sent, some due, with an attachment and a webhook whose secret is sealed; and the proof of one that was sent. */
async function fill(): Promise<void> {
  const { pool } = database
  const account = await createAccount(pool, { name: 'acme' })
  const gateway = await startGateway(pool)
  await fetch(`${gateway.url}/gw/webhooks`, {
    method: 'POST',
    headers: { authorization: account.token, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'https://example.com/gancho' }),
  })
  const attachments = [{ name: 'contrato.pdf', base64: 'JVBERi0xLjQ=' }]
  const ids: string[] = []
  for (let index = 0; index < SENDS; index++) {
    const { body } = await send(gateway.url, account.token, { ...validSend, ...(index === 0 ? { attachments } : {}) })
    ids.push((body as { idEmail: string }).idEmail)
    if (index !== 5) continue
    const worker = startTestWorker(pool, [{ carrier: new ScriptedCarrier() }])
    await expect.poll(async () => (await pool.query("select from delivery where state = 'done'")).rowCount).toBe(6)
    await worker.stop()
  }
  await extendTo(await logParts(pool), (await pool.query('select from event')).rowCount!)
  bundle = join(folder, 'prova.zip')
  expect((await run(['evidence', ids[0]!, '--out', bundle], database.url)).status).toBe(0)
  await gateway.close()
}

afterAll(async () => {
  await database.drop()
  rmSync(folder, { recursive: true })
})

const run = (args: string[], url: string, env: NodeJS.ProcessEnv = {}) =>
  runCommand([...args, '--json'], url, { CARTEIRO_BACKUP_PASSPHRASE: PASSPHRASE, CARTEIRO_DATA: folder, ...env })

const drafts = (): string[] => readdirSync(folder).filter(name => name.endsWith('.part'))

/** Every table with its rows, whatever their order on the disk. */
async function readTables(url: string, except: readonly string[] = []): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relpersistence = 'p'`,
  )
  const found: Record<string, string> = {}
  for (const { name } of rows.filter(row => !except.includes(row.name))) {
    const told = name === 'event' ? "to_jsonb(t) - 'transaction_id'" : 'to_jsonb(t)'
    const { rows: sums } = await client.query(
      `select count(*) || ' ' || coalesce(md5(string_agg(md5((${told})::text), '' order by md5((${told})::text))), '') as sum from ${name} t`,
    )
    found[name] = sums[0].sum
  }
  await client.end()
  return found
}

test('a backup restores every row, the key, and proofs made before; what was due is held, and nothing is restored over an installation', async () => {
  await fill()
  const file = join(folder, 'copia.carteiro')
  const made = await run(['backup', file], database.url)
  expect([made.status, made.stderr]).toEqual([0, ''])
  const before = await readTables(database.ownerUrl)
  expect(JSON.parse(made.stdout)).toMatchObject({ file, size: statSync(file).size, events: SENDS + 6 })
  expect(drafts()).toEqual([])
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
  const bytes = readFileSync(file)
  for (const secret of ['acme', '07'.repeat(32), 'maria@example.com']) expect(bytes.includes(secret)).toBe(false)

  const checked = await run(['restore', file, '--check'], '')
  expect(JSON.parse(checked.stdout)).toMatchObject({ whole: true, events: SENDS + 6 })

  const target = await emptyDatabaseForTest()
  const env = { DATABASE_OWNER_URL: target.ownerUrl, CARTEIRO_MASTER_KEY: '', CARTEIRO_DATA: join(folder, 'nova') }
  const restored = await run(['restore', file], target.url, env)
  expect([restored.status, restored.stderr]).toEqual([0, ''])
  expect(JSON.parse(restored.stdout)).toMatchObject({ held: [{ channel: 'email', count: SENDS - 6 }] })
  expect(readFileSync(join(folder, 'nova', 'master.key'), 'utf8')).toBe(`${'07'.repeat(32)}\n`)

  // The server knows what it got: it plans its first queries for it.
  const there = new pg.Client({ connectionString: target.ownerUrl })
  await there.connect()
  const known = await there.query("select from pg_stats where tablename ~ '^delivery_\\d' and attname = 'notification_id'")
  await there.end()
  expect(known.rowCount).toBe(1)

  // What the hold and the marks of the copy write; everything else is as it was.
  const touched = [
    'migration',
    'installation',
    'event',
    'delivery',
    'webhook_message',
    'home_server',
    'restoration',
    'audit',
    'log_head',
  ]
  const after = await readTables(target.ownerUrl)
  for (const name of touched) {
    delete before[name]
    delete after[name]
  }
  expect(after).toEqual(before)
  const readFolder = async (owned: TestDatabase) =>
    (await owned.asOwner('select files_folder from installation')).rows[0].files_folder
  expect(await readFolder(target)).not.toBe(await readFolder(database))
  const { rows } = await target.pool.query('select state, count(*) as count from delivery group by state order by state')
  expect(rows).toEqual([
    { state: 'done', count: 6 },
    { state: 'unresolved', count: SENDS - 6 },
  ])

  const audited = await run(['audit'], target.url, env)
  expect(JSON.parse(audited.stdout)).toMatchObject({ faults: [] })
  expect((await runCommand(['verify', bundle], '')).status).toBe(0)
  const listed = await run(['webhook', 'list', '--account', 'acme'], target.url, env)
  expect(JSON.parse(listed.stdout)).toMatchObject([{ url: 'https://example.com/gancho' }])

  const again = await run(['restore', file], target.url, env)
  expect(again.status).toBe(1)
  expect(again.stderr).toContain('já tem uma instalação (1 contas)')
})

test('a backup that was cut, or comes to a machine with another key, restores nothing; a whole one says what it lacks', async () => {
  const file = join(folder, 'copia.carteiro')
  const target = await emptyDatabaseForTest()
  const env = { DATABASE_OWNER_URL: target.ownerUrl, CARTEIRO_MASTER_KEY: '', CARTEIRO_DATA: join(folder, 'vazia') }
  const bytes = readFileSync(file)
  const damaged = join(folder, 'estragada')
  writeFileSync(damaged, bytes.subarray(0, bytes.length - 20))
  const cut = await run(['restore', damaged], target.url, env)
  expect([cut.status, cut.stdout]).toEqual([1, ''])
  expect(cut.stderr).toMatch(/estragada/)
  expect((await run(['restore', file], target.url, { ...env, CARTEIRO_MASTER_KEY: '08'.repeat(32) })).stderr).toContain(
    'CARTEIRO_MASTER_KEY tem outra chave mestra',
  )
  expect(existsSync(join(folder, 'vazia', 'master.key'))).toBe(false)
  expect((await run(['backup', file], database.url, { CARTEIRO_BACKUP_PASSPHRASE: 'curta' })).stderr).toContain('12 caracteres')
  expect((await target.asOwner("select to_regclass('account') as found")).rows).toEqual([{ found: null }])

  // Whole: what is lost with a copy, and cannot be seen in it, is said before the terms of the copy end.
  const restored = await runCommand(['restore', file], target.url, { ...env, CARTEIRO_BACKUP_PASSPHRASE: PASSPHRASE })
  expect(restored.stdout).toMatch(/Guardas legais .* antes de iniciar o serviço/)
})

test('a file in the database that is larger than any part of a backup is restored byte for byte', async () => {
  const source = await createDatabase()
  onTestFinished(() => source.drop())
  await source.pool.query(
    `insert into blob (sha256, size, bytes) select sha256(b), length(b), b from (select convert_to(repeat('carteiro', $1), 'UTF8')) as large(b)`,
    [LARGER_THAN_A_FRAME / 8],
  )
  const file = join(folder, 'grande.carteiro')
  expect((await run(['backup', file], source.url)).status).toBe(0)
  expect(JSON.parse((await run(['restore', file, '--check'], '')).stdout)).toMatchObject({ whole: true })
  const target = await emptyDatabaseForTest()
  const env = { DATABASE_OWNER_URL: target.ownerUrl, CARTEIRO_MASTER_KEY: '', CARTEIRO_DATA: join(folder, 'grande') }
  const restored = await run(['restore', file], target.url, env)
  expect([restored.status, restored.stderr]).toEqual([0, ''])
  const { rows } = await target.pool.query('select size, sha256(bytes) = sha256 as same from blob')
  expect(rows).toEqual([{ size: LARGER_THAN_A_FRAME, same: true }])
})

test('no table is dropped or rewritten under a backup: the change waits, and a backup that meets one says so', async () => {
  await database.pool.query("select ensure_month('2025-03-10')")
  const client = await connectUnhurried(database.url)
  onTestFinished(() => client.end())
  await beginSnapshot(client)
  const impatiently = (sql: string) => database.asOwner(`set lock_timeout = '100ms'; ${sql}`)
  for (const sql of ['drop table event_2025_03', 'alter table legal_hold alter reason type varchar'])
    await expect(impatiently(sql)).rejects.toMatchObject({ code: '55P03' })
  // Those that write go on.
  await impatiently("insert into legal_hold (notification_id, reason, held_by) values (gen_random_uuid(), 'r', 'b')")
  expect((await client.query('select from legal_hold')).rowCount).toBe(0)
  await client.query('rollback')

  const change = await holdRows(database.ownerUrl, 'lock table webhook_endpoint')
  await expect(beginSnapshot(client, { lockMs: 100 })).rejects.toThrow('espere que ela termine e repita')
  await client.query('rollback')
  await change.release()
  await beginSnapshot(client)
})

test('a backup whose key was rotated before its snapshot is not made: its rows would not open', async () => {
  const file = join(folder, 'chave-antiga.carteiro')
  const keys = deriveKeys(Buffer.alloc(32, 8))
  await expect(
    makeBackup({ databaseUrl: database.url, pool: database.pool, keys, passphrase: PASSPHRASE, file }),
  ).rejects.toThrow('chave mestra')
  expect([existsSync(file), drafts()]).toEqual([false, []])
})

test('two backups to one path do not damage each other', async () => {
  const file = join(folder, 'duas-vezes.carteiro')
  const parts = { databaseUrl: database.url, pool: database.pool, keys: testKeys, passphrase: PASSPHRASE, file }
  await Promise.all([makeBackup(parts), makeBackup(parts)])
  await checkBackup({ file, passphrase: PASSPHRASE })
  expect(drafts()).toEqual([])
})

test('a backup has the files that are outside; they are restored to another place, or into the database, byte for byte', async () => {
  const source = await createDatabase(storeAt(here.url))
  onTestFinished(() => source.drop())
  await claimKeys(source.pool, testKeys)
  const [letter, recording, lost] = [fileOf(), fileOf(), fileOf()]
  for (const file of [letter, recording, lost]) await storeFile(source.pool, file)
  const id = '01a1b2c3-0000-7000-8000-000000000000'
  const key = ({ sha256 }: { sha256: string }) => Buffer.from(sha256, 'hex')
  await source.pool.query("insert into letter (notification_id, ordinal, sha256, pages, sheet) values ($1, 1, $2, 1, '{}')", [
    id,
    key(letter),
  ])
  await source.pool.query(
    "insert into recording (carrier, name, notification_id, ordinal, state, sha256) values ('sip', 'r', $1, 1, 'kept', $2)",
    [id, key(recording)],
  )
  rmSync(join(here.path, here.names().find(name => name.includes(lost.sha256))!))

  const asked = join(folder, 'com-arquivos')
  const file = `${asked}.incompleta`
  // The last complete one stays, and so does its name.
  writeFileSync(asked, 'a cópia de ontem')
  const made = await run(['backup', asked], source.url, { FILES_URL: here.url })
  expect([made.status, made.stderr]).toEqual([1, expect.stringContaining(`a cópia é ${file}: ${asked} não foi tocado`)])
  const report = { file, files: 2, filesMissing: [expect.stringContaining('não está onde deveria')] }
  expect(JSON.parse(made.stdout)).toMatchObject(report)
  expect([readFileSync(asked, 'utf8'), drafts()]).toEqual(['a cópia de ontem', []])
  expect(JSON.parse((await run(['restore', file, '--check'], '')).stdout)).toMatchObject({
    whole: true,
    files: 2,
    filesMissing: 1,
  })

  const restore = async (FILES_URL: string, name: string) => {
    const target = await emptyDatabaseForTest()
    const env = { DATABASE_OWNER_URL: target.ownerUrl, CARTEIRO_MASTER_KEY: '', CARTEIRO_DATA: join(folder, name), FILES_URL }
    return { target, restored: await run(['restore', file], target.url, env) }
  }
  const { target, restored } = await restore(there.url, 'fora')
  expect([restored.status, restored.stderr]).toEqual([0, ''])
  expect(JSON.parse(restored.stdout)).toMatchObject({ files: 2, filesMissing: 1 })
  const pool = openPool({ url: target.url, size: 2, files: storeAt(there.url), onError: () => {} })
  onTestFinished(() => pool.end())
  expect((await findLetter(pool, { notification: id, ordinal: 1 }))!.pdf.equals(letter.bytes)).toBe(true)
  for (const stored of [letter, recording]) expect((await readBlob(pool, stored.sha256))!.equals(stored.bytes)).toBe(true)
  expect(await readBlob(pool, lost.sha256)).toBeNull()
  expect(there.names()).toHaveLength(2)
  expect(there.names().some(name => here.names().includes(name))).toBe(false)

  const inside = await restore('', 'dentro')
  expect(inside.restored.status).toBe(0)
  for (const stored of [letter, recording])
    expect((await readBlob(inside.target.pool, stored.sha256))!.equals(stored.bytes)).toBe(true)

  // A restore that fails takes back what it wrote outside.
  const other = await emptyDatabaseForTest()
  await migrateOnly(other, Number.POSITIVE_INFINITY)
  await other.asOwner('alter table restoration add constraint none check (false)')
  const env = {
    DATABASE_OWNER_URL: other.ownerUrl,
    CARTEIRO_MASTER_KEY: '',
    CARTEIRO_DATA: join(folder, 'chave'),
    FILES_URL: there.url,
  }
  expect((await run(['restore', file], other.url, env)).stderr).toContain('nada foi restaurado')
  expect(there.names()).toHaveLength(2)
})

test('a restore that gets no answer to its commit leaves the files where they are, and says so', async () => {
  const before = there.names()
  const target = await emptyDatabaseForTest()
  const query = pg.Client.prototype.query as (...args: unknown[]) => Promise<unknown>
  onTestFinished(() => void vi.restoreAllMocks())
  const restoring = restoreBackup({
    file: join(folder, 'com-arquivos.incompleta'),
    passphrase: PASSPHRASE,
    ownerUrl: target.ownerUrl,
    files: storeAt(there.url),
    migrate: upTo => migrateOnly(target, upTo),
    checkKey() {},
    // The last step before the commit.
    keepKey() {
      vi.spyOn(pg.Client.prototype, 'query').mockImplementation(async function (this: pg.Client, ...args: unknown[]) {
        const result = await query.apply(this, args)
        if (args[0] === 'commit') throw new Error('Connection terminated unexpectedly')
        return result
      } as never)
    },
  })
  await expect(restoring).rejects.toThrow('não se sabe se ela valeu')
  vi.restoreAllMocks()
  expect(there.names()).toHaveLength(before.length + 2)
  const { rows } = await target.asOwner('select object from blob')
  for (const { object } of rows) expect(there.names().some(name => name.includes(object))).toBe(true)
  expect(rows).toHaveLength(2)
})
