import { expect, test } from 'vitest'
import { laneQueue } from '../../src/app/worker/lanes.js'
import { poolForTest } from '../support/database/database.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'
import { startTestDeliverer } from '../support/gateway/webhooks.js'

/** Claims of lanes and of webhooks begin at the front of their queues, as long as nobody asks for more. */
const { database, gateway, account } = await gatewayForFile()

test('a lane claims from the front on, and from the beginning when it is asked to', async () => {
  let asked = 0
  const onError = (error: unknown): never => {
    throw error
  }
  const { claim } = laneQueue(database.pool, { askedForAll: () => asked, onError })
  const question = {
    channel: 'email',
    mode: 'live',
    carrier: 'smtp',
    rank: 0,
    owner: crypto.randomUUID(),
    limit: 10,
    leaseMs: 60_000,
  } as const
  expect(await claim(question)).toEqual([])
  const { idEmail } = (await send(gateway.url, account.token, validSend)).body as { idEmail: string }
  await database.pool.query("update delivery set due_at = now() - interval '1 hour' where notification_id = $1", [idEmail])
  expect(await claim(question)).toEqual([])
  asked++
  expect((await claim(question)).map(({ notification }) => notification)).toEqual([idEmail])
})

/** Among the values of a claim. */
const FROM = 8

test('the deliverer of webhooks looks for the front before it claims from there', async () => {
  const pool = poolForTest({ connectionString: database.url })
  const asked: { name: string; values: unknown[] }[] = []
  pool.on('connect', client => {
    const { query } = client
    client.query = ((...given: [{ name?: string; values?: unknown[] }]) => {
      const { name = '', values = [] } = given[0]
      if (name.includes('webhook')) asked.push({ name, values })
      return (query as (...values: unknown[]) => unknown).apply(client, given)
    }) as typeof client.query
  })
  const deliverer = startTestDeliverer(pool)
  await expect.poll(() => asked.length).toBeGreaterThanOrEqual(2)
  await deliverer.stop()
  expect(asked[0]).toMatchObject({ name: 'find-webhook-front', values: [5, '-infinity'] })
  expect(asked[1]).toMatchObject({ name: 'claim-webhooks' })
  expect(Math.abs(Date.now() - 10_000 - (asked[1]!.values[FROM] as Date).getTime())).toBeLessThan(60_000)
})
