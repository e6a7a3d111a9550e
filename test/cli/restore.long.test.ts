import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { makeBackup } from '../../src/app/backup/backup.js'
import { restoreBackup } from '../../src/app/backup/restore.js'
import { claimKeys, migrateOnly, prepareDatabase } from '../../src/app/database/database.js'
import { deriveKeys } from '../../src/domain/access/keys.js'
import { inviteFirst } from '../../src/engine/console/invitations.js'
import { takeInstallation } from '../../src/store/backup/restore-lock.js'
import { connectUnhurried } from '../../src/store/backup/tables.js'
import { openPool } from '../../src/store/postgres.js'
import { createDatabase, databaseForTest, emptyDatabaseForTest, type TestDatabase } from '../support/database/database.js'
import { extendTo, logParts } from '../support/evidence/log.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount, testKeys } from '../support/gateway/gateway.js'
import { carteiro } from '../support/programs/carteiro-program.js'

const PASSPHRASE = 'uma senha bem longa'
const otherKeys = deriveKeys(Buffer.alloc(32, 8))
let source: TestDatabase
let folder: string
let file: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'carteiro-restore-'))
  source = await createDatabase()
  await claimKeys(source.pool, testKeys)
  await createAccount(source.pool, { name: 'acme' })
  file = join(folder, 'copia.carteiro')
  await makeBackup({ databaseUrl: source.url, pool: source.pool, keys: testKeys, passphrase: PASSPHRASE, file })
})

afterAll(async () => {
  await source.drop()
  rmSync(folder, { recursive: true })
})

let machines = 0

/** On a machine with a data folder of its own. */
function machine(target: TestDatabase) {
  const data = join(folder, `maquina-${++machines}`)
  const env = { CARTEIRO_BACKUP_PASSPHRASE: PASSPHRASE, CARTEIRO_DATA: data, CARTEIRO_MASTER_KEY: '' }
  const run = (args: string[], more: NodeJS.ProcessEnv = {}) =>
    runCommand(args, target.url, { ...env, DATABASE_OWNER_URL: target.ownerUrl, ...more })
  return { data, run, restore: (more: NodeJS.ProcessEnv = {}) => run(['restore', file, '--json'], more) }
}

const accountsOf = async (target: TestDatabase): Promise<string[]> =>
  (await target.asOwner('select name from account order by name')).rows.map(row => row.name)

test('a restore without the owner of the database says what it needs before anything is written, and goes on once it has it', async () => {
  const target = await emptyDatabaseForTest()
  const { restore } = machine(target)
  const refused = await restore({ DATABASE_OWNER_URL: '' })
  expect([refused.status, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/defina DATABASE_OWNER_URL .* rode "carteiro restore"/),
  ])
  expect((await target.asOwner("select to_regclass('migration') as found")).rows).toEqual([{ found: null }])

  // The schema is there, and belongs to somebody else.
  await migrateOnly(target, Number.POSITIVE_INFINITY)
  expect((await restore({ DATABASE_OWNER_URL: '' })).stderr).toContain('defina DATABASE_OWNER_URL')
  const restored = await restore()
  expect([restored.status, restored.stderr]).toEqual([0, ''])
  expect(await accountsOf(target)).toEqual(['acme'])
})

test('a database on which a node has only started takes a backup; its own master key stays where it is until a person moves it', async () => {
  const target = await emptyDatabaseForTest()
  const { data, run, restore } = machine(target)
  expect((await run(['migrate'])).status).toBe(0)
  const made = readFileSync(join(data, 'master.key'), 'utf8')
  const pool = openPool({ url: target.url, size: 2, onError: () => {} })
  expect(await inviteFirst(pool)).not.toBeNull()
  await extendTo(await logParts(pool), 0)
  await pool.end()
  await target.asOwner(
    `insert into log_key (id, origin, private_key, vkey) values (1, 'o', '', 'v') on conflict do nothing;
     insert into document_certificate (ordinal, certificate, private_key) values (1, '', '')`,
  )

  const refused = await restore()
  expect([refused.status, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/master\.key tem outra chave mestra.*mv .*Nada foi restaurado/),
  ])
  expect(readFileSync(join(data, 'master.key'), 'utf8')).toBe(made)
  rmSync(join(data, 'master.key'))
  const restored = await restore()
  expect([restored.status, restored.stderr]).toEqual([0, ''])
  expect(await accountsOf(target)).toEqual(['acme'])
  expect((await target.asOwner("select from audit where actor = 'start'")).rowCount).toBe(0)
  // The history is as well protected as before.
  const { rows } = await target.asOwner("select count(*)::int as off from pg_trigger where tgenabled = 'D'")
  expect(rows).toEqual([{ off: 0 }])
})

test.each([
  [
    'an account',
    "insert into entity (id, name) values (gen_random_uuid(), 'loja'); insert into account (id, entity_id, name) select id, id, 'loja' from entity",
  ],
  ['an act of a person', "insert into hold (reason, held_by) values ('r', 'ana')"],
])('a database that has %s is never restored over', async (_, sql) => {
  const target = await databaseForTest()
  await target.asOwner(sql)
  const refused = await machine(target).restore()
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('já tem uma instalação')])
})

test('a database whose schema is newer than the backup is refused: its migrations would not change the rows of the backup', async () => {
  const target = await emptyDatabaseForTest()
  await migrateOnly(target, Number.POSITIVE_INFINITY)
  await target.asOwner("insert into migration (number, name, sha256, compatible_since) values (9999, '9999_nova.sql', '', 1)")
  const refused = await machine(target).restore()
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('já tem a migração 9999_nova.sql')])
})

test('no node starts on a database while a backup is restored into it, before its schema or beside its rows', async () => {
  const target = await emptyDatabaseForTest()
  const starts: Promise<string>[] = []
  let node: ReturnType<typeof carteiro> | undefined
  const start = (): Promise<string> =>
    prepareDatabase(target, () => otherKeys).then(
      () => 'started',
      (error: Error) => error.message,
    )
  await restoreBackup({
    file,
    passphrase: PASSPHRASE,
    ownerUrl: target.ownerUrl,
    files: null,
    async migrate(upTo) {
      starts.push(start())
      await starts[0]
      await migrateOnly(target, upTo)
      starts.push(start())
      await starts[1]
      // A node as people run it, which a service manager starts again and again.
      const env = { DATABASE_URL: target.url, CARTEIRO_MASTER_KEY: '08'.repeat(32) }
      node = carteiro(['start', '--role', 'api'], { data: join(folder, 'node'), env })
    },
    checkKey() {},
    keepKey() {},
  })
  for (const told of await Promise.all(starts)) expect(told).toContain('Uma restauração (carteiro restore) está em andamento')
  expect(node).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('Uma restauração (carteiro restore) está em andamento'),
  })
  // Once it has ended, a node with its key starts.
  await prepareDatabase(target, () => testKeys)
  expect(await accountsOf(target)).toEqual(['acme'])
})

test('a restore is refused while a node is connected, and is repeated once the node has stopped', async () => {
  const target = await emptyDatabaseForTest()
  const node = new pg.Client({ connectionString: target.url, application_name: 'carteiro' })
  await node.connect()
  const client = await connectUnhurried(target.ownerUrl)
  onTestFinished(() => client.end())
  await expect(takeInstallation(client, { waitMs: 200 })).rejects.toThrow(/Há processos do Carteiro ligados .* Pare todos os nós/)
  await client.query('select pg_advisory_unlock_all()')
  // The restore waits for a node that is about to end.
  const restoring = machine(target).restore()
  const seen = async (): Promise<number | null> =>
    (
      await target.tamper(
        "select from pg_stat_activity where datname = current_database() and application_name = 'carteiro backup'",
      )
    ).rowCount
  await expect.poll(seen).toBe(2)
  await node.end()
  const restored = await restoring
  expect([restored.status, restored.stderr]).toEqual([0, ''])
})

test('what the server has against a restore is told with the cure, nothing is left of it, and it can be repeated', async () => {
  const target = await emptyDatabaseForTest()
  const { data, restore } = machine(target)
  await migrateOnly(target, Number.POSITIVE_INFINITY)
  await target.asOwner("alter table account add constraint no_acme check (name <> 'acme')")
  const refused = await restore()
  expect([refused.status, refused.stderr]).toEqual([
    1,
    expect.stringMatching(/^A restauração parou, e nada foi restaurado.*23514.*repita/),
  ])
  expect([await accountsOf(target), existsSync(join(data, 'master.key'))]).toEqual([[], false])
  await target.asOwner('alter table account drop constraint no_acme')
  expect((await restore()).status).toBe(0)
})
