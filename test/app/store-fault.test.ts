import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { explainStoreFault } from '../../src/app/database/store-fault.js'
import { FilesUnavailable, OperatorError, StoreBusy, StoreUnavailable } from '../../src/domain/errors.js'
import { execute, openPool, transaction } from '../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { holdRows } from '../support/database/locks.js'
import { runCommand } from '../support/gateway/command.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})

afterAll(() => database.drop())

const answer = (code: string, severity: string): pg.DatabaseError =>
  Object.assign(new pg.DatabaseError('said by the server', 0, 'error'), { code, severity })
/** As the store gives it on: a session that was ended or refused does not count as reachable. */
const told = (code: string, severity = 'ERROR'): string | null =>
  explainStoreFault(new StoreUnavailable(answer(code, severity), { reachable: severity === 'ERROR' }))

test.each([
  ['55P03', 'ERROR', /Outra sessão segura/],
  ['57014', 'ERROR', /passou do prazo/],
  ['25006', 'ERROR', /só aceita leituras.*primário/],
  ['53100', 'ERROR', /disco .* cheio\. Libere espaço/],
  ['53300', 'FATAL', /não aceita mais conexões.*max_connections/],
  ['57P03', 'FATAL', /iniciando/],
  ['42P01', 'ERROR', /carteiro migrate/],
  ['58030', 'ERROR', /está no ar, mas respondeu com um erro \(58030: said by the server\)/],
])('an answer %s of the server is told as what it is, with the cure', (code, severity, text) => {
  expect(told(code, severity)).toMatch(text)
  expect(told(code, severity)).not.toMatch(/não respondeu|se o servidor está no ar/)
  expect(told(code, severity)).toContain(code)
})

test('a server that gives no answer is told as such, and a lost answer to a commit as not known', () => {
  const broken = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  for (const error of [broken, new StoreUnavailable(broken)])
    expect(explainStoreFault(error)).toBe(
      'O banco de dados não respondeu (ECONNREFUSED). Verifique DATABASE_URL e se o servidor está no ar.',
    )
  const lost = new StoreUnavailable(new Error('Connection terminated unexpectedly'), { maybeCommitted: true })
  expect(explainStoreFault(lost)).toMatch(
    /não respondeu \(Connection terminated unexpectedly\).*Não se sabe se a mudança foi gravada/,
  )
})

test('connections that are all in use are told apart from a server that is away; other errors are not explained', () => {
  expect(explainStoreFault(new StoreBusy(new Error('timeout exceeded when trying to connect')))).toMatch(/DATABASE_POOL/)
  for (const other of [
    new OperatorError('x'),
    new FilesUnavailable('x'),
    answer('23505', 'ERROR'),
    answer('42501', 'ERROR'),
    null,
  ])
    expect(explainStoreFault(other)).toBeNull()
})

test('a command that waits for a lock, or whose password is wrong, says so', async () => {
  await database.asOwner("insert into rate_window (key, started_at, used, granted) values ('a', now(), 1, 1)")
  const held = await holdRows(database.ownerUrl, 'select from rate_window for update')
  const pool = openPool({ url: database.url, size: 1, lockMs: 50, onError: () => {} })
  const error = await transaction(pool, db => execute(db, 'update rate_window set used = 2')).catch(fault => fault)
  await pool.end()
  await held.release()
  expect(explainStoreFault(error)).toMatch(/^Outra sessão segura .* \(55P03: /)

  const nowhere = await runCommand(['queue', 'count'], database.url.replace(/\/[^/?]+(?=\?|$)/, '/nowhere'))
  expect([nowhere.status, nowhere.stderr]).toEqual([
    1,
    expect.stringMatching(/^O banco de DATABASE_URL não existe nesse servidor.*3D000/),
  ])
})
