import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { simulatorSecret } from '../../../src/domain/access/keys.js'
import { attemptBy } from '../../support/gateway/attempts.js'
import { gatewayForFile, testKeys } from '../../support/gateway/gateway.js'
import { request, send, validSend } from '../../support/gateway/requests.js'
import fc from '../../support/generated.js'

/** What a print service tells over HTTP, in any order and any number of times. */

const { database, gateway, account } = await gatewayForFile({ env: { SIMULATOR: 'on', SIMULATOR_URL: 'http://127.0.0.1:1' } })

/** A letter that a worker handed over a moment ago. */
async function sentLetter(): Promise<string> {
  const { to: _, ...rest } = validSend
  const { body } = await send(gateway.url, account.token, { ...rest, carta: { name: 'Maria' } })
  const id = (body as { idEmail: string }).idEmail
  await attemptBy(database.pool, id, 'letter', 'simulator/print-shop')
  return id
}

const secret = simulatorSecret(testKeys.simulator, 'print-shop')

async function tell(id: string, said: object, options: { secret?: string; at?: number } = {}): Promise<number> {
  const body = JSON.stringify({ referencia: `${id}.letter.1`, ...said })
  const timestamp = String(Math.floor((options.at ?? Date.now()) / 1_000))
  const signature = createHmac('sha256', options.secret ?? secret)
    .update(`${timestamp}.${body}`)
    .digest('hex')
  const headers = { 'carteiro-timestamp': timestamp, 'carteiro-signature': `v1=${signature}` }
  return (await fetch(`${gateway.url}/callbacks/simulator/print-shop`, { method: 'POST', headers, body })).status
}

const statusOf = async (id: string): Promise<Record<string, unknown>> =>
  (await request(`${gateway.url}/gw/carta/${id}`, { token: account.token })).body as Record<string, unknown>

const SRO = 'AA473124829BR'
const delivered = [
  { situacao: 'processando' },
  { situacao: 'preparada' },
  { situacao: 'postada', sro: SRO },
  { situacao: 'entregue' },
]
const returned = [...delivered.slice(0, 3), { situacao: 'devolvida', motivo: 'Mudou-se' }]
const brt = expect.stringMatching(/^\d\d\//)

test('in every order the letter ends delivered, with all its dates and its code', async () => {
  const orders = permutations(delivered)
  expect(orders).toHaveLength(24)
  await Promise.all(
    orders.map(async order => {
      const id = await sentLetter()
      for (const said of order) expect(await tell(id, said)).toBe(200)
      expect(await statusOf(id), JSON.stringify(order)).toMatchObject({
        description: 'Entregue',
        error: false,
        dateProcessing: brt,
        datePreparation: brt,
        dateSent: brt,
        dateDelivery: brt,
        sro: SRO,
      })
    }),
  )
  const { rows } = await database.pool.query(
    "select count(*)::int as wrong from delivery where channel = 'letter' and not (processed_at <= prepared_at and prepared_at <= sent_at and sent_at <= delivered_at)",
  )
  expect(rows).toEqual([{ wrong: 0 }])
})

test('whatever is repeated or mixed up, a returned letter ends returned', async () => {
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray([...returned, ...returned], { minLength: 8 }), async order => {
      const id = await sentLetter()
      for (const said of order) await tell(id, said)
      const status = await statusOf(id)
      expect(status).toMatchObject({ description: 'Devolvida: Mudou-se', error: true, sro: SRO, dateSent: brt })
      expect(status).not.toHaveProperty('dateDelivery')
    }),
    { numRuns: 15 },
  )
})

test('the same words a hundred times at once are taken once', async () => {
  const id = await sentLetter()
  const answers = await Promise.all(Array.from({ length: 100 }, () => tell(id, { situacao: 'postada', sro: SRO })))
  expect(new Set(answers)).toEqual(new Set([200]))
  const { rows } = await database.pool.query(
    "select count(*)::int as n from event where notification_id = $1 and type = 'sent'",
    [id],
  )
  expect(rows).toEqual([{ n: 1 }])
})

test('forged, stale or unsigned words are 401 and change nothing', async () => {
  const id = await sentLetter()
  const before = await statusOf(id)
  expect(await tell(id, { situacao: 'entregue' }, { secret: 'outro' })).toBe(401)
  expect(await tell(id, { situacao: 'entregue' }, { secret: testKeys.simulator.toString('hex') })).toBe(401)
  expect(await tell(id, { situacao: 'entregue' }, { at: Date.now() - 600_000 })).toBe(401)
  const bare = await fetch(`${gateway.url}/callbacks/simulator/print-shop`, { method: 'POST', body: '{}' })
  expect([bare.status, await bare.json()]).toEqual([401, { statusCode: 401, message: 'Unauthorized', error: 'Unauthorized' }])
  expect(await statusOf(id)).toEqual(before)
  const { rows } = await database.pool.query('select count(*)::int as n from event where notification_id = $1', [id])
  expect(rows).toEqual([{ n: 1 }])
})

test('a letter that nobody sent is nobody’s: taken without effect', async () => {
  expect(await tell('019a8f2e-77aa-7c3e-9d12-0123456789ab', { situacao: 'entregue' })).toBe(200)
})

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]]
  return items.flatMap((item, at) => permutations(items.toSpliced(at, 1)).map(rest => [item, ...rest]))
}
