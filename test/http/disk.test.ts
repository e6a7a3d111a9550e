import { expect, test } from 'vitest'
import { gatewayForFile, readMetrics } from '../support/gateway/gateway.js'
import { endWork, ScriptedCarrier, startTestWorker } from '../support/gateway/lanes.js'
import { request, send, validSend } from '../support/gateway/requests.js'

/** The disk of the data folder nearly full: what is said to clients and to the load balancer, and what goes on. */
const MIB = 1_048_576
let free: number | null = 1_000 * MIB
const { database, gateway, account } = await gatewayForFile({
  env: { DISK_FREE_MIB: '100' },
  parts: { readFreeBytes: async () => free },
})

const REASON = expect.stringMatching(/resta pouco espaço em disco.*não foi gravado.*tente novamente/)
const submit = (headers = {}) => send(gateway.url, account.token, validSend, headers)
const countNotifications = async (): Promise<number> =>
  (await database.pool.query('select count(*)::int as count from notification')).rows[0].count
const ready = async () => (await request(`${gateway.url}/readyz`)).status

test('nothing is accepted below the limit, deliveries go on, and sends are taken again once there is space', async () => {
  const first = await submit({ 'idempotency-key': 'before' })
  expect(first.status).toBe(200)
  expect(await ready()).toBe(200)
  free = 99 * MIB
  await expect.poll(async () => (await submit()).status).toBe(503)
  const written = await countNotifications()
  const refused = await submit()
  expect(refused).toMatchObject({ status: 503, body: { statusCode: 503, message: REASON } })
  expect(refused.headers.get('retry-after')).toBe('60')
  await expect.poll(ready).toBe(503)
  expect((await request(`${gateway.url}/readyz`)).body).toMatchObject({ message: REASON })
  expect((await request(`${gateway.url}/healthz`)).status).toBe(200)
  const bulk = await request(`${gateway.url}/gw/bulk?name=lote`, {
    method: 'POST',
    token: account.token,
    body: 'nome;email\nMaria;maria@example.com\n',
    headers: { 'content-type': 'text/csv' },
  })
  expect(bulk).toMatchObject({ status: 503, body: { message: REASON } })
  expect(await countNotifications()).toBe(written)
  expect(await readMetrics(gateway.url)).toContain(`carteiro_disk_free_bytes ${99 * MIB}`)

  const carrier = new ScriptedCarrier()
  const worker = startTestWorker(database.pool, [{ carrier }])
  await expect.poll(() => carrier.got.map(parcel => parcel.notification)).toContain((first.body as { idEmail: string }).idEmail)
  await endWork(database.pool, worker)

  free = 101 * MIB
  await expect.poll(async () => (await submit()).status).toBe(200)
  await expect.poll(ready).toBe(200)
})

test('a disk that cannot be asked refuses nothing: the write itself will tell', async () => {
  free = null
  await expect.poll(async () => (await submit()).status).toBe(200)
})
