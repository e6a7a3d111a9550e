import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { prepareDatabase } from '../../src/app/database.js'
import { OperatorError } from '../../src/domain/errors.js'
import { deriveKeys } from '../../src/domain/keys.js'
import { migrate } from '../../src/store/migrate.js'
import { openPool, type Pool } from '../../src/store/postgres.js'
import { databaseForTest, emptyDatabaseForTest, type TestDatabase } from '../support/database.js'
import { testKeys } from '../support/gateway.js'

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

const prepare = (database: TestDatabase, keys = testKeys): Promise<unknown> => prepareDatabase(database, () => keys)

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

  test('a node waits for another that migrates, beyond the time that a request may take', async () => {
    const database = await emptyDatabaseForTest()
    const [first] = nodes(database, 1)
    const other = await first!.connect()
    // The lock that a migrating node holds, taken from the source: it is a promise between versions.
    const [, lock] = /const LOCK = ([\d_]+)/.exec(
      readFileSync(new URL('../../../src/store/migrate.ts', import.meta.url), 'utf8'),
    )!
    await other.query('select pg_advisory_lock($1)', [Number(lock!.replaceAll('_', ''))])
    const hasty = new pg.Pool({ connectionString: database.ownerUrl, max: 2, query_timeout: 3_000, statement_timeout: 3_000 })
    onTestFinished(() => hasty.end())
    const migrated = migrate(hasty, 'carteiro_app')
    const outcome = migrated.then(
      () => 'done',
      (error: Error) => error.message,
    )
    const waitsLong = async (): Promise<boolean> => {
      const { rows } = await database.tamper(
        `select bool_or(now() - query_start > interval '4 seconds') as long from pg_stat_activity
         where datname = current_database() and wait_event = 'advisory'`,
      )
      return rows[0]!.long === true || (await Promise.race([outcome, 'waiting'])) !== 'waiting'
    }
    await expect.poll(waitsLong).toBe(true)
    other.release(true)
    expect(await outcome).toBe('done')
    expect(await recorded(database)).toEqual(files)
  })
})

describe('refusing a database that is not this version’s', () => {
  const future = "insert into migration (number, name, sha256) values (9999, '9999_from_the_future.sql', 'x')"

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
    }
  })

  test('are written in lower case', () => {
    for (const name of files) {
      expect(statements(name), name).not.toMatch(/\b(CREATE|ALTER|TABLE|SELECT|INSERT|UPDATE|DELETE|PRIMARY|REFERENCES|INDEX)\b/)
    }
  })
})
