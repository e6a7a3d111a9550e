import { readdirSync, readFileSync } from 'node:fs'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { prepareDatabase } from '../../src/app/database/database.js'
import { deriveKeys } from '../../src/domain/access/keys.js'
import { OperatorError } from '../../src/domain/errors.js'
import { runConcurrently } from '../../src/store/concurrent-statements.js'
import { findBeyond, findPending, migrate } from '../../src/store/migrate.js'
import { openPool, type Pool } from '../../src/store/postgres.js'
import { databaseForTest, emptyDatabaseForTest, type TestDatabase } from '../support/database/database.js'
import { testKeys } from '../support/gateway/gateway.js'

const FOLDER = new URL('../../../migrations/', import.meta.url)
const files = readdirSync(FOLDER)
  .filter(name => name !== 'schema.sql')
  .sort()

/** As many nodes as asked for, each with connections of its own, as the owner of the tables. */
function nodes({ ownerUrl }: TestDatabase, count: number): Pool[] {
  return Array.from({ length: count }, () => {
    const pool = openPool({ url: ownerUrl, size: 2, asOwner: true, onError: () => {} })
    onTestFinished(() => pool.end())
    return pool
  })
}

const recorded = async ({ asOwner }: TestDatabase): Promise<string[]> =>
  (await asOwner('select name from migration order by number')).rows.map(row => row.name)

/** Nodes that have asked for the turn to migrate and are idle until they ask again. */
const countAsking = async ({ tamper }: TestDatabase): Promise<number> =>
  (
    await tamper(
      "select from pg_stat_activity where datname = current_database() and state = 'idle' and query like 'select pg_try_advisory_lock%'",
    )
  ).rows.length

const prepare = (database: TestDatabase, keys = testKeys): Promise<unknown> => prepareDatabase(database, () => keys)

const HASTY = { lockMs: 50, longLockMs: 50, pauseMs: 10, rounds: 10_000 }

/** The migrations of a newer version: ours, and those. */
async function newerVersion(more: Readonly<Record<string, string>>): Promise<URL> {
  const folder = await mkdtemp(join(tmpdir(), 'carteiro-migrations-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await cp(FOLDER, folder, { recursive: true })
  for (const [name, sql] of Object.entries(more)) await writeFile(join(folder, name), sql)
  return pathToFileURL(`${folder}/`)
}

describe('bringing the schema up to date', () => {
  test('several nodes that find an empty database at once migrate it once, and all go on', async () => {
    const database = await emptyDatabaseForTest()
    const applied = await Promise.all(nodes(database, 6).map(node => migrate(node, 'carteiro_app')))
    expect(applied.filter(names => names.length > 0)).toEqual([files])
    expect(await recorded(database)).toEqual(files)
  })

  test('several nodes that start at once on an empty database agree on its key', async () => {
    const database = await emptyDatabaseForTest()
    await Promise.all(Array.from({ length: 4 }, () => prepare(database)))
    const { rows } = await database.pool.query('select key_fingerprint from installation')
    expect(rows).toEqual([{ key_fingerprint: testKeys.fingerprint }])
  })

  test('a second start finds nothing to do and changes nothing', async () => {
    const database = await databaseForTest()
    const rows = async (): Promise<unknown[]> => (await database.pool.query('select * from migration order by number')).rows
    const before = await rows()
    expect(before).toHaveLength(files.length)
    expect(await migrate(nodes(database, 1)[0]!, 'carteiro_app')).toEqual([])
    expect(await rows()).toEqual(before)
  })

  test('a migration that meets a table in use, as by a dump, holds nobody up: it lets go, tries again, and gives up with the reason', async () => {
    const database = await emptyDatabaseForTest()
    await database.asOwner(
      'create table migration (number integer primary key, name text not null, sha256 text not null, compatible_since integer not null)',
    )
    const [node, reader] = nodes(database, 2)
    const dump = await reader!.connect()
    // It may be read meanwhile, and not be written: the last statement of a migration waits.
    await dump.query('begin; lock table migration in share mode')
    const refused = migrate(node!, 'carteiro_app', { retries: { ...HASTY, pauseMs: 1, rounds: 2 } })
    await expect(refused).rejects.toThrow(/travas de que precisa.*pg_dump.*Nada mudou/)
    expect(await recorded(database)).toEqual([])
    const migrated = migrate(node!, 'carteiro_app', { retries: HASTY })
    const tries = async () =>
      (await database.tamper('select sum(xact_rollback) as tries from pg_stat_database where datname = current_database()'))
        .rows[0].tries
    await expect.poll(async () => Number(await tries())).toBeGreaterThan(2)
    dump.release(true)
    expect(await migrated).toEqual(files)
  })

  test('a node waits for another that migrates, and holds no transaction open meanwhile', async () => {
    const database = await emptyDatabaseForTest()
    const [first, second] = nodes(database, 2)
    const other = await first!.connect()
    // The lock that a migrating node holds, taken from the source: it is a promise between versions.
    const [, lock] = /const LOCK = ([\d_]+)/.exec(
      readFileSync(new URL('../../../src/store/migrate.ts', import.meta.url), 'utf8'),
    )!
    await other.query('select pg_advisory_lock($1)', [Number(lock!.replaceAll('_', ''))])
    const migrated = migrate(second!, 'carteiro_app')
    await expect.poll(() => countAsking(database)).toBe(1)
    other.release(true)
    expect(await migrated).toEqual(files)
    expect(await recorded(database)).toEqual(files)
  })
})

describe('a migration beside a service that runs', () => {
  const expand = {
    '0002_marks.sql': '-- Marks.\n-- compatible since 0001\nalter table delivery add column mark text;\n',
    '0003_marks.concurrent.sql': `-- Marks are looked for.
-- compatible since 0001
create index concurrently if not exists delivery_mark on delivery (mark) where mark is not null;
create index concurrently if not exists account_mark on account (name, id);
`,
  }
  const indexes = (database: TestDatabase): Promise<{ table: string; valid: boolean }[]> =>
    database
      .asOwner(
        `select indrelid::regclass::text as table, indisvalid as valid from pg_index
         where pg_get_indexdef(indexrelid) like '%mark%' or indexrelid = to_regclass('account_mark') order by 1`,
      )
      .then(({ rows }) => rows)

  test('an index of a table with months is built month by month, and a build that was broken off is done again', async () => {
    const database = await databaseForTest()
    await database.asOwner('alter table delivery add column mark text')
    const { rows: months } = await database.asOwner(
      "select inhrelid::regclass::text as month from pg_inherits where inhparent = 'delivery'::regclass order by 1",
    )
    // What a killed build leaves.
    const [{ month }] = months
    const left = `delivery_mark${month.slice('delivery'.length)}`
    await database.asOwner(`create index ${left} on ${month} (mark) where mark is not null`)
    await database.tamper(`update pg_index set indisvalid = false where indexrelid = '${left}'::regclass`)
    const folder = await newerVersion({ ...expand, '0002_marks.sql': '-- Made above.\n-- compatible since 0001\nselect 1;\n' })
    expect(await migrate(nodes(database, 1)[0]!, 'carteiro_app', { folder })).toEqual(Object.keys(expand))
    const expected = ['account', 'delivery', ...months.map(({ month }) => month)].sort()
    expect(await indexes(database)).toEqual(expected.map(table => ({ table, valid: true })))
    // Months to come get it too.
    await database.asOwner("select ensure_month('2031-05-01')")
    expect(await indexes(database)).toContainEqual({ table: 'delivery_2031_05', valid: true })
  })

  test('beside a dump, each try for the tables is short, and sends go on in between; an index waits for the end of the dump and stops nobody', async () => {
    const database = await databaseForTest()
    const [node, reader] = nodes(database, 2)
    const dump = await reader!.connect()
    const report = await reader!.connect()
    await dump.query('begin isolation level repeatable read; lock table delivery in access share mode; select 1')
    await report.query('begin isolation level repeatable read; select count(*) from account')
    const folder = await newerVersion(expand)
    const migrated = migrate(node!, 'carteiro_app', { folder, retries: HASTY })
    const waiting = (wait: string): Promise<number> =>
      database
        .tamper(
          "select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and wait_event = $1",
          [wait],
        )
        .then(({ rows }) => rows[0].waiting)
    // A send needs the table in a mode that a waiting migration stands before.
    const send = (): Promise<unknown> => database.pool.query('update delivery set failure = null where false')
    for (let n = 0; n < 3; n++) {
      await expect.poll(() => waiting('relation')).toBe(1)
      await send()
      await expect.poll(() => waiting('relation')).toBe(0)
    }
    dump.release(true)
    await expect.poll(() => waiting('virtualxid')).toBe(1)
    await send()
    // A node of the version before may start meanwhile; one of the new version waits, and is not waited for.
    expect(await migrate(nodes(database, 1)[0]!, 'carteiro_app')).toEqual([])
    const second = migrate(nodes(database, 1)[0]!, 'carteiro_app', { folder, retries: HASTY })
    await expect.poll(() => countAsking(database)).toBe(1)
    report.release(true)
    expect(await migrated).toEqual(Object.keys(expand))
    expect(await second).toEqual([])
  })
})

describe('refusing a database that is not this version’s', () => {
  const future =
    "insert into migration (number, name, sha256, compatible_since) values (9999, '9999_from_the_future.sql', 'x', 9999)"

  test('a migration of a newer version that says that this version runs with it is no obstacle', async () => {
    const database = await databaseForTest()
    const folder = await newerVersion({
      '0002_note.sql': '-- A note.\n-- compatible since 0001\nalter table account add column note text;\n',
    })
    await migrate(nodes(database, 1)[0]!, 'carteiro_app', { folder })
    expect(await migrate(database.pool)).toEqual([])
    expect(await findBeyond(database.pool)).toBeNull()
    expect(await findPending(database.pool)).toEqual([])
  })

  test('a migration without that word is refused by older versions, and a later one that has the word changes nothing about it', async () => {
    const database = await databaseForTest()
    const folder = await newerVersion({
      '0002_contract.sql': '-- Drops what version 1 uses.\ncreate table contract (id integer);\n',
      '0003_note.sql': '-- A note.\n-- compatible since 0001\ncreate table note (id integer);\n',
    })
    await migrate(nodes(database, 1)[0]!, 'carteiro_app', { folder })
    expect(await findBeyond(database.pool)).toMatch(/0002_contract\.sql.*versão mais nova/)
    await expect(migrate(nodes(database, 1)[0]!)).rejects.toThrow(/0002_contract\.sql/)
  })

  test.each(['owner', 'program'])(
    'an applied migration that was edited since is named to the %s, and nothing is touched',
    async role => {
      const database = await databaseForTest()
      await database.asOwner("update migration set sha256 = repeat('0', 64) where number = 1")
      const refused = migrate(role === 'owner' ? nodes(database, 1)[0]! : database.pool)
      await expect(refused).rejects.toThrow(OperatorError)
      await expect(refused).rejects.toThrow(files[0])
      expect(await recorded(database)).toEqual(files)
    },
  )

  test('a migration of a newer version is named, with what to do', async () => {
    const database = await databaseForTest()
    await database.asOwner(future)
    const refused = migrate(database.pool)
    await expect(refused).rejects.toThrow(OperatorError)
    await expect(refused).rejects.toThrow(/9999_from_the_future\.sql.*versão mais nova/)
  })

  test('a refusal lets go of the lock: the right version can start right after', async () => {
    const database = await databaseForTest()
    await database.asOwner(future)
    await expect(migrate(database.pool)).rejects.toThrow(OperatorError)
    await database.asOwner('delete from migration where number = 9999')
    expect(await migrate(nodes(database, 1)[0]!)).toEqual([])
  })

  test('another master key is refused, both fingerprints named and neither key shown', async () => {
    const database = await databaseForTest()
    await prepare(database)
    const master = Buffer.alloc(32, 9)
    const other = deriveKeys(master)
    const message = await prepare(database, other).then(
      () => 'accepted',
      error => (error instanceof OperatorError ? error.message : String(error)),
    )
    expect(message).toContain(testKeys.fingerprint)
    expect(message).toContain(other.fingerprint)
    expect(message).not.toContain(master.toString('hex'))
    expect(await prepare(database)).toMatchObject({ migrations: [] })
  })

  test('of two nodes with different keys that start at once, one is refused', async () => {
    const database = await emptyDatabaseForTest()
    const outcomes = await Promise.allSettled([prepare(database), prepare(database, deriveKeys(Buffer.alloc(32, 9)))])
    expect(outcomes.map(outcome => outcome.status).sort()).toEqual(['fulfilled', 'rejected'])
  })
})

describe('migration files', () => {
  const read = (name: string): string => readFileSync(new URL(name, FOLDER), 'utf8')
  /** Without comments and the bodies of functions. */
  const statements = (name: string): string =>
    read(name)
      .replace(/--.*$/gm, '')
      .replace(/\$\$[\s\S]*?\$\$/g, "''")

  test('are numbered from 1 without a gap and named in lower case', () => {
    expect(files.length).toBeGreaterThan(0)
    for (const name of files) expect(name).toMatch(/^\d{4}_[a-z0-9]+(_[a-z0-9]+)*(\.concurrent)?\.sql$/)
    expect(files.map(name => Number(name.slice(0, 4)))).toEqual(files.map((_, index) => index + 1))
  })

  test('begin with a comment that says what they are for, and end with a line break', () => {
    for (const name of files) {
      expect(read(name), name).toMatch(/^-- \S/)
      expect(read(name), name).toMatch(/;\n$/)
    }
  })

  test('leave the transaction to the runner', () => {
    for (const name of files) {
      const openings = statements(name)
        .split(';')
        .map(statement => statement.trim().split(/\s/)[0])
      for (const word of ['begin', 'commit', 'rollback', 'start', 'end', 'savepoint']) expect(openings, name).not.toContain(word)
    }
  })

  test('build indexes concurrently only in files of their own, which can be repeated', () => {
    for (const name of files) {
      if (!name.endsWith('.concurrent.sql')) expect(statements(name), name).not.toMatch(/\bconcurrently\b/i)
      else expect(statements(name), name).not.toMatch(/\bconcurrently\s+(?!if (not )?exists)/i)
      // A month's part has eight letters more, of 63.
      for (const [, index] of statements(name).matchAll(/concurrently if not exists (\w+)/g))
        expect(index!.length).toBeLessThan(56)
    }
  })

  /** What reads or writes a whole table under a lock that stops the service, of a table that the file does not create itself. */
  const stopping = (sql: string): string[] => {
    const own = new Set([...sql.matchAll(/\bcreate (?:unlogged )?table (?:if not exists )?(\w+)/g)].map(([, table]) => table))
    const blocks = (statement: string): boolean => {
      const [, indexed] = /^create (?:unique )?index (?!concurrently)(?:.*? )?on (?:only )?(\w+)/s.exec(statement) ?? []
      if (indexed !== undefined) return !own.has(indexed)
      const [, altered, change = ''] = /^alter table (?:if exists |only )*(\w+)\s+(.*)$/s.exec(statement) ?? []
      if (altered === undefined || own.has(altered)) return false
      if (/\balter (column )?\w+ (set data )?type\b|\bset not null\b|\bset (un)?logged\b/.test(change)) return true
      if (/\badd (constraint|check|unique|primary key|foreign key|exclude)\b/.test(change)) return !/\bnot valid$/.test(change)
      return /\badd (column )?.*\b(default (?!'[^']*'|\d|true\b|false\b|now\(\)|null\b)|generated always as|references|unique|primary key)/s.test(
        change,
      )
    }
    return sql
      .split(';')
      .map(statement => statement.trim())
      .filter(blocks)
  }

  test.each([
    ['create index delivery_x on delivery (x)', true],
    ['create unique index x on delivery (x)', true],
    ['alter table delivery alter column x set not null', true],
    ['alter table delivery alter x type bigint', true],
    ['alter table delivery add constraint c check (x > 0)', true],
    ['alter table delivery add column x uuid default gen_random_uuid()', true],
    ['alter table delivery add column x uuid references account', true],
    ['alter table delivery add constraint c check (x > 0) not valid', false],
    ['alter table delivery add column x text', false],
    ["alter table delivery add column x text not null default 'a'", false],
    ['create table y (id uuid primary key);\ncreate index y_id on y (id)', false],
    ['create index concurrently if not exists x on delivery (x)', false],
  ])('“%s” would stop a service with many rows: %s', (sql, stops) => {
    expect(stopping(sql).length > 0).toBe(stops)
  })

  test('stop no service: a whole table is never read or written under a lock', () => {
    for (const name of files) expect(stopping(statements(name)), name).toEqual([])
  })

  test('have nothing but indexes where they run without a transaction', async () => {
    await expect(runConcurrently(async () => ({ rows: [] }) as never, 'alter table delivery add column x text;')).rejects.toThrow(
      'only indexes are created and dropped concurrently',
    )
  })

  test('are written in lower case', () => {
    for (const name of files) {
      expect(statements(name), name).not.toMatch(/\b(CREATE|ALTER|TABLE|SELECT|INSERT|UPDATE|DELETE|PRIMARY|REFERENCES|INDEX)\b/)
    }
  })
})
