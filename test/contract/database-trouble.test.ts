import pg from 'pg'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ACCEPT_LIMITS, acceptStore } from '../../src/app/accept-store.js'
import { StoreUnavailable } from '../../src/domain/errors.js'
import type { AcceptStore } from '../../src/engine/accept/accept.js'
import { openPool, type Pool } from '../../src/store/postgres.js'
import { databaseForTest, type TestDatabase } from '../support/database/database.js'
import { countRows } from '../support/database/stored.js'
import { createAccount, type Gateway, gatewayForTest } from '../support/gateway/gateway.js'
import { type Answer, request, send, validSend } from '../support/gateway/requests.js'

/** A database that answers and cannot write: what is said to clients and to the load balancer is true all the while. */
let database: TestDatabase
let pool: Pool
let token: string

beforeEach(async () => {
  database = await databaseForTest()
  pool = openPool({ url: database.url, size: 4, onError: () => {} })
  token = (await createAccount(database.pool)).token
})

async function start(change: Partial<AcceptStore> = {}): Promise<Gateway> {
  const gateway = await gatewayForTest(
    pool,
    {},
    { acceptLimits: { ...ACCEPT_LIMITS, retryForMs: 200 }, store: { ...acceptStore(pool), ...change } },
  )
  onTestFinished(() => pool.end())
  return gateway
}

const readiness = async ({ url }: Gateway): Promise<[number, unknown]> => {
  const { status, body } = await request(`${url}/readyz`)
  return [status, (body as { message?: string }).message]
}

const REFUSED = expect.stringContaining('o banco de dados não pôde atender agora')

/** The readiness and a send agree: 503, and nothing was written. */
async function expectRefused(gateway: Gateway, message = REFUSED): Promise<void> {
  // The test itself may just have ended the connections of its pool.
  const before = await vi.waitFor(() => countRows(database.pool), 60_000)
  await expect.poll(() => readiness(gateway)).toEqual([503, message])
  const answer = await send(gateway.url, token, validSend)
  expect([answer.status, (answer.body as Error).message, answer.headers.get('retry-after')]).toEqual([503, message, '5'])
  expect(await countRows(database.pool)).toEqual(before)
}

async function expectAccepted(gateway: Gateway): Promise<void> {
  await expect.poll(async () => (await send(gateway.url, token, validSend)).status).toBe(200)
  await expect.poll(() => readiness(gateway)).toEqual([200, undefined])
}

/** Settings of a database are those of its next sessions. */
async function set(setting: string): Promise<void> {
  await database.tamper(
    `begin read write;
     do $$ begin execute format('alter database %I ${setting}', current_database()); end $$;
     commit;
     select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  )
}

describe('is not ready, and sends are 503, while', () => {
  test('the database is read-only', async () => {
    const gateway = await start()
    await expectAccepted(gateway)
    await set('set default_transaction_read_only = on')
    await expectRefused(gateway)
    await set('reset default_transaction_read_only')
    await expectAccepted(gateway)
  })

  test.each(['notification', 'delivery', 'event', 'attachment', 'idempotency'])('the table %s is locked', async table => {
    await pool.end()
    pool = openPool({ url: database.url, size: 4, lockMs: 200, onError: () => {} })
    const gateway = await start()
    const locker = new pg.Client({ connectionString: database.ownerUrl })
    await locker.connect()
    await locker.query(`begin; lock table ${table} in share mode`)
    await expect.poll(() => readiness(gateway)).toEqual([503, REFUSED])
    const answer = await send(
      gateway.url,
      token,
      { ...validSend, attachments: [{ name: 'a', base64: 'YWJj' }] },
      { 'idempotency-key': 'a' },
    )
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
    await locker.query('rollback')
    await locker.end()
    await expectAccepted(gateway)
  })

  test('the database waits for a migration of this version', async () => {
    const gateway = await start()
    await database.asOwner('update migration set number = 9999')
    await expect.poll(() => readiness(gateway)).toEqual([503, expect.stringContaining('espera uma migração')])
    await database.asOwner('update migration set number = 1')
    await expectAccepted(gateway)
    await database.asOwner('alter table delivery rename column condition to later')
    await expectRefused(gateway)
    await database.asOwner('alter table delivery rename column later to condition')
    await expectAccepted(gateway)
  })

  test('the disk is full, which a rehearsal need not notice', async () => {
    let full = true
    const store = acceptStore(pool)
    const diskFull = Object.assign(new pg.DatabaseError('disk full', 0, 'error'), { code: '53100', severity: 'ERROR' })
    const gateway = await start({
      insertAcceptances: async group => {
        if (full) throw new StoreUnavailable(diskFull, { reachable: true })
        return store.insertAcceptances(group)
      },
    })
    expect(await readiness(gateway)).toEqual([200, undefined])
    expect((await send(gateway.url, token, validSend)).status).toBe(503)
    expect(await readiness(gateway)).toEqual([503, REFUSED])
    full = false
    await expectAccepted(gateway)
  })

  test('the synchronous standby is lost, and nothing is written', async () => {
    let lost = true
    const gateway = await start({ isStandbyLost: async () => lost })
    await expectRefused(gateway, expect.stringContaining('a réplica síncrona do banco de dados não responde'))
    lost = false
    await expectAccepted(gateway)
  })
})

test('asking for the readiness leaves nothing behind, however often it is done', async () => {
  const gateway = await start()
  const before = await countRows(database.pool)
  const answers = await Promise.all(Array.from({ length: 50 }, () => readiness(gateway)))
  expect(new Set(answers.map(([status]) => status))).toEqual(new Set([200]))
  expect(await countRows(database.pool)).toEqual(before)
  // They share one rehearsal: the sequence is the only thing that a rollback does not undo.
  const { rows } = await database.asOwner('select last_value::int as code from notification_code')
  expect(rows[0].code).toBeLessThan(5)
})

describe('a send whose commit is not answered', () => {
  const lostAnswer = () => new StoreUnavailable(new Error('Query read timeout'), { maybeCommitted: true })
  const idIn = ({ body }: Answer): string => /GET \/gw\/full\/([0-9a-f-]{36}) /.exec((body as Error).message)![1]!
  const found = async (gateway: Gateway, id: string): Promise<number> =>
    (await request(`${gateway.url}/gw/full/${id}`, { token })).status

  test.each([[{}], [{ 'idempotency-key': 'chave' }]])(
    'is 504 with the idEmail by which to look for it (headers %j)',
    async headers => {
      let commit: () => Promise<unknown> = async () => {}
      const store = acceptStore(pool)
      const gateway = await start({
        insertAcceptances: async group => {
          commit = () => store.insertAcceptances(group)
          throw lostAnswer()
        },
        findWritten: async () => new Set(),
      })
      const answer = await send(gateway.url, token, validSend, headers)
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([504, null])
      expect(answer.body).toEqual({ statusCode: 504, error: 'Gateway Timeout', message: expect.stringContaining('Não se sabe') })
      const id = idIn(answer)
      expect(await found(gateway, id)).toBe(404)
      await commit()
      expect(await found(gateway, id)).toBe(200)
      if (!('idempotency-key' in headers)) return
      const again = await send(gateway.url, token, validSend, headers)
      expect([again.status, again.body, again.headers.get('idempotency-replayed')]).toEqual([200, { idEmail: id }, 'true'])
    },
  )

  test('stays unknown when a second write fails for a known reason', async () => {
    let tries = 0
    const gateway = await start({
      insertAcceptances: async () => {
        throw ++tries === 1 ? lostAnswer() : new StoreUnavailable(new Error('lock timeout'), { reachable: true })
      },
      findWritten: async () => new Set(),
    })
    expect((await send(gateway.url, token, validSend)).status).toBe(504)
    expect(tries).toBeGreaterThan(1)
  })

  test('is 200 when the last look finds it', async () => {
    const store = acceptStore(pool)
    let looks = 0
    const gateway = await start({
      insertAcceptances: async group => {
        await store.insertAcceptances(group)
        throw lostAnswer()
      },
      // The commit is visible only to the last look.
      findWritten: async ids => (++looks === 1 ? new Set() : store.findWritten(ids)),
    })
    const answer = await send(gateway.url, token, validSend)
    expect(answer.status).toBe(200)
    expect(await found(gateway, (answer.body as { idEmail: string }).idEmail)).toBe(200)
  })
})
