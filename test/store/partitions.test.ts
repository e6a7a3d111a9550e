import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { moduleOf } from '../../src/channels/registry.js'
import { completeSettings } from '../../src/domain/account.js'
import { newId } from '../../src/domain/id.js'
import { type Acceptance, acceptedEvent, planDeliveries, type SendRequest } from '../../src/domain/notification.js'
import { ensureMonths } from '../../src/store/migrate.js'
import { findWritten, insertAcceptances } from '../../src/store/notification/notifications.js'
import type { Pool } from '../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'

let database: TestDatabase
let pool: Pool

beforeAll(async () => {
  database = await createDatabase()
  pool = database.pool
  await ensureMonths(pool)
})

afterAll(() => database.drop())

const PARENTS = ['notification', 'attachment', 'delivery', 'event'] as const

const sendRequest: SendRequest = {
  recipientName: 'Maria da Silva',
  subject: 'Aviso de vencimento',
  content: '<p>Seu contrato vence em 30 dias.</p>',
  customId: null,
  sendAt: null,
  attachments: [],
  validation: null,
  deliveries: [{ channel: 'email', recipient: 'maria@example.com', request: {}, template: null, turn: 'sequence' }],
}

/** A request with an attachment, accepted under a given id: it writes a row into each partitioned table. */
function acceptance(id: string, at: Date): Acceptance {
  const bytes = Buffer.from('x')
  const request = { ...sendRequest, attachments: [{ name: 'a.txt', bytes, sha256: '0'.repeat(64) }] }
  const account = randomUUID()
  const rules = { sequence: null, settings: completeSettings({}), revision: 1 }
  const deliveries = planDeliveries(request, rules, new Map(), moduleOf)
  const sender = { account, mode: 'live' as const, token: randomUUID(), address: '127.0.0.1', rules }
  const event = acceptedEvent(id, at, request, sender, deliveries, randomBytes(16))
  const planned = { deliveries, event, rulesRevision: 1 }
  return { id, account, mode: 'live', acceptedAt: at, request, validation: null, ...planned, idempotency: null }
}

const timePart = (ms: number): string =>
  ms
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')
/** The smallest and the greatest UUIDv7 of a millisecond. */
const firstId = (ms: number): string => `${timePart(ms)}-7000-8000-000000000000`
const lastId = (ms: number): string => `${timePart(ms)}-7fff-bfff-ffffffffffff`

/** The first moment of the month that is so many months away from the database's own, in UTC. */
async function monthStart(offset: number): Promise<Date> {
  const { rows } = await pool.query<{ now: Date }>('select now()')
  const { now } = rows[0]!
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1))
}

const suffix = (month: Date): string => month.toISOString().slice(0, 7).replace('-', '_')

async function partitions(): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select child.relname as name from pg_inherits join pg_class child on child.oid = inhrelid join pg_class parent on parent.oid = inhparent
     where parent.relname = any($1) order by 1`,
    [PARENTS],
  )
  return rows.map(row => row.name)
}

/** In which partition of each table the rows of a notification lie. */
async function placesOf(id: string): Promise<string[]> {
  const places = await Promise.all(
    PARENTS.map(parent =>
      pool.query<{ place: string }>(
        `select tableoid::regclass::text as place from ${parent} where ${parent === 'notification' ? 'id' : 'notification_id'} = $1`,
        [id],
      ),
    ),
  )
  return places.flatMap(({ rows }) => rows.map(row => row.place))
}

async function drop(month: Date, parents: readonly string[] = PARENTS): Promise<void> {
  for (const parent of parents) await database.asOwner(`drop table ${parent}_${suffix(month)}`)
}

describe('partitions of a month', () => {
  test('exist from last month to three months ahead, for every table that is divided', async () => {
    const months = await Promise.all([-1, 0, 1, 2, 3].map(offset => monthStart(offset)))
    const expected = PARENTS.flatMap(parent => months.map(month => `${parent}_${suffix(month)}`))
    expect(await partitions()).toEqual(expected.sort())
  })

  test('take the first and the last id of their month, in UTC', async () => {
    for (const offset of [-1, 0, 1, 2, 3]) {
      const start = await monthStart(offset)
      const end = new Date((await monthStart(offset + 1)).getTime() - 1)
      for (const [id, at] of [
        [firstId(start.getTime()), start],
        [lastId(end.getTime()), end],
      ] as const) {
        expect(await insertAcceptances(pool, [acceptance(id, at)])).toEqual(new Set([id]))
        expect(await placesOf(id)).toEqual(PARENTS.map(parent => `${parent}_${suffix(start)}`))
      }
    }
  })

  test('take the ids that we make ourselves, a millisecond before and after midnight', async () => {
    const midnight = await monthStart(1)
    const [before, after] = [new Date(midnight.getTime() - 1), midnight]
    const ids = [before, after].map(at => newId(at.getTime()))
    await insertAcceptances(
      pool,
      [before, after].map((at, index) => acceptance(ids[index]!, at)),
    )
    expect((await placesOf(ids[0]!))[0]).toBe(`notification_${suffix(await monthStart(0))}`)
    expect((await placesOf(ids[1]!))[0]).toBe(`notification_${suffix(midnight)}`)
  })

  test('have the same bounds whatever time zone the session has', async () => {
    const client = await pool.connect()
    try {
      const bounds: unknown[] = []
      for (const zone of ['UTC', 'Pacific/Kiritimati', 'America/Sao_Paulo', 'Pacific/Pago_Pago']) {
        await client.query('begin')
        await client.query(`set local timezone = '${zone}'`)
        await client.query("select ensure_month('2031-03-01T00:00:00Z')")
        const { rows } = await client.query<{ bounds: string }>(
          "select pg_get_expr(relpartbound, oid) as bounds from pg_class where relname = 'notification_2031_03'",
        )
        bounds.push(rows[0]?.bounds)
        await client.query('rollback')
      }
      const [low, high] = [Date.UTC(2031, 2, 1), Date.UTC(2031, 3, 1)].map(ms => `${timePart(ms)}-0000-0000-000000000000`)
      expect(bounds).toEqual(Array(4).fill(`FOR VALUES FROM ('${low}') TO ('${high}')`))
    } finally {
      client.release()
    }
  })

  test('are made by several nodes at once without a collision, while sends go on', async () => {
    for (const offset of [1, 2, 3]) await drop(await monthStart(offset))
    const sends = Array.from({ length: 20 }, async () => {
      const id = newId(Date.now())
      return (await insertAcceptances(pool, [acceptance(id, new Date())])).has(id)
    })
    await Promise.all(Array.from({ length: 8 }, () => ensureMonths(pool)))
    expect(await Promise.all(sends)).toEqual(Array(20).fill(true))
    expect(await partitions()).toHaveLength(5 * PARENTS.length)
  })
})

describe('a month that nobody made', () => {
  test('is made by the send that needs it, in every table', async () => {
    await drop(await monthStart(0))
    const at = new Date()
    const id = newId(at.getTime())
    expect(await insertAcceptances(pool, [acceptance(id, at)])).toEqual(new Set([id]))
    expect(await placesOf(id)).toHaveLength(PARENTS.length)
  })

  for (const parent of PARENTS) {
    test(`is made where it is missing in ${parent} alone, and no half of a send was written before`, async () => {
      await drop(await monthStart(0), [parent])
      const at = new Date()
      const id = newId(at.getTime())
      expect(await insertAcceptances(pool, [acceptance(id, at)])).toEqual(new Set([id]))
      expect(await placesOf(id)).toHaveLength(PARENTS.length)
    })
  }

  test('is made once when many sends need it together', async () => {
    await drop(await monthStart(0))
    const at = new Date()
    const ids = Array.from({ length: 30 }, () => newId(at.getTime()))
    const written = await Promise.all(ids.map(id => insertAcceptances(pool, [acceptance(id, at)])))
    expect(written).toEqual(ids.map(id => new Set([id])))
    expect(await findWritten(pool, ids)).toEqual(new Set(ids))
  })

  test('is not made for a date far away: the send fails, whole', async () => {
    const at = await monthStart(40)
    const id = newId(at.getTime())
    await expect(insertAcceptances(pool, [acceptance(id, at)])).rejects.toThrow(/no partition/)
    expect(await findWritten(pool, [id])).toEqual(new Set())
  })
})
