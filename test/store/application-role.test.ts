import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { prepareDatabase } from '../../src/app/database/database.js'
import { OperatorError } from '../../src/domain/errors.js'
import { mayRewriteHistory } from '../../src/store/application-role.js'
import { ensureMonths } from '../../src/store/migrate.js'
import { openPool, type Pool } from '../../src/store/postgres.js'
import { emptyDatabaseForTest, type TestDatabase } from '../support/database/database.js'
import { testKeys } from '../support/gateway/gateway.js'

/** A PostgreSQL of the operator's own: an empty database, and users as an administrator makes them. */
async function operatorDatabase(): Promise<{
  database: TestDatabase
  user(rights?: string): Promise<string>
  urlOf(user: string): string
}> {
  const database = await emptyDatabaseForTest()
  return {
    database,
    async user(rights = '') {
      const name = `user_${randomBytes(4).toString('hex')}`
      await database.tamper(`create role ${name} login ${rights}`)
      onTestFinished(
        async () =>
          void (await database.tamper(`reassign owned by ${name} to postgres; drop owned by ${name}; drop role ${name}`)),
      )
      return name
    },
    urlOf: name => database.url.replace(/\/\/\w+@/, `//${name}@`),
  }
}

const own = (database: TestDatabase, user: string): Promise<unknown> =>
  database.tamper(`do $$ begin execute format('alter database %I owner to ${user}', current_database()); end $$`)

function connect(url: string): Pool {
  const pool = openPool({ url, size: 1, onError: () => {} })
  onTestFinished(() => pool.end())
  return pool
}

const prepare = (url: string, ownerUrl = url): Promise<unknown> => prepareDatabase({ url, ownerUrl }, () => testKeys)
const REWRITE = "update event set data = '{}'"

test('with an owner of its own, the user of DATABASE_URL gets the rights of the program and no others', async () => {
  const { database, user, urlOf } = await operatorDatabase()
  const [owner, program] = [await user(), await user()]
  await own(database, owner)
  await prepare(urlOf(program), urlOf(owner))
  const pool = connect(urlOf(program))
  expect(await mayRewriteHistory(pool)).toBe(false)
  await expect(pool.query(REWRITE)).rejects.toMatchObject({ code: '42501' })
  await ensureMonths(pool)
  // A node that does not know the owner's password.
  expect(await prepare(urlOf(program))).toMatchObject({ migrations: [] })
})

test('a node without the owner’s URL finds an empty database, and is told what to do', async () => {
  const { database, user, urlOf } = await operatorDatabase()
  const [owner, program] = [await user(), await user()]
  await own(database, owner)
  const refused = prepare(urlOf(program))
  await expect(refused).rejects.toThrow(OperatorError)
  await expect(refused).rejects.toThrow(/carteiro migrate.*DATABASE_OWNER_URL/)
})

test('a restored dump keeps the tables and loses the rights: the next migration gives them again', async () => {
  const { database, user, urlOf } = await operatorDatabase()
  const [owner, program] = [await user(), await user()]
  await own(database, owner)
  await prepare(urlOf(program), urlOf(owner))
  await database.tamper(`drop owned by ${program}`)
  await expect(prepare(urlOf(program))).rejects.toThrow(/não tem permissões.*DATABASE_OWNER_URL/)
  await prepare(urlOf(program), urlOf(owner))
  const pool = connect(urlOf(program))
  expect((await pool.query('select from event')).rowCount).toBe(0)
  await expect(pool.query(REWRITE)).rejects.toMatchObject({ code: '42501' })
})

test('a single user that may become the program’s role works under it', async () => {
  const { database, user, urlOf } = await operatorDatabase()
  const single = await user('in role carteiro_app')
  await own(database, single)
  await prepare(urlOf(single))
  const pool = connect(urlOf(single))
  expect((await pool.query('select current_user::text as role')).rows).toEqual([{ role: 'carteiro_app' }])
  expect(await mayRewriteHistory(pool)).toBe(false)
  await expect(pool.query(REWRITE)).rejects.toMatchObject({ code: '42501' })
  await expect(pool.query('alter table event disable trigger all')).rejects.toMatchObject({ code: '42501' })
})

test('a superuser as single user works under the program’s role too', async () => {
  const { user, urlOf } = await operatorDatabase()
  const single = await user('superuser')
  await prepare(urlOf(single))
  const pool = connect(urlOf(single))
  expect(await mayRewriteHistory(pool)).toBe(false)
  await expect(pool.query('truncate event')).rejects.toMatchObject({ code: '42501' })
})

test('a single user that may not create roles keeps its rights: it works, the triggers hold, and the start can tell', async () => {
  const { database, user, urlOf } = await operatorDatabase()
  const single = await user()
  await own(database, single)
  await prepare(urlOf(single))
  const pool = connect(urlOf(single))
  expect(await mayRewriteHistory(pool)).toBe(true)
  await expect(pool.query('truncate event')).rejects.toThrow(/never changed/)
  await ensureMonths(pool)
})
