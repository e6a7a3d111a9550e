import { expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { webhookChores } from '../../src/app/worker/webhooks.js'
import { createAccount, gatewayForFile } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { createWebhook, happen } from '../support/gateway/webhooks.js'

const { database, gateway, account } = await gatewayForFile()

const prune = (): Promise<unknown> =>
  webhookChores(readConfig({ WEBHOOK_DAYS: '10' }), database.pool)
    .find(({ name }) => name === 'old webhooks')!
    .run()

async function message(endpoint: string, state: string, days: number): Promise<void> {
  await database.pool.query(
    `with made as (
       insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, state, created_at)
       values (gen_random_uuid(), $1, gen_random_uuid(), 'email', 2, $2, now() - $3 * interval '1 day') returning id
     )
     insert into webhook_attempt (endpoint_id, message_id, attempt, url, payload_version, at, duration_ms)
     select $1, id, 1, 'https://example.com/', 'v2', now() - $3 * interval '1 day', 1 from made`,
    [endpoint, state, days],
  )
}

const kept = async (endpoint: string): Promise<string[]> =>
  (await database.pool.query('select state from webhook_message where endpoint_id = $1 order by state', [endpoint])).rows.map(
    row => row.state,
  )

test('what is older than the days kept goes, and what still has to be sent stays', async () => {
  const { id } = await createWebhook(gateway.url, account.token, { url: 'https://example.com/' })
  for (const state of ['done', 'dead', 'held', 'queued']) await message(id, state, 11)
  await message(id, 'done', 9)
  await prune()
  expect(await kept(id)).toEqual(['done', 'queued'])
  const { rows } = await database.pool.query('select count(*) as left from webhook_attempt where endpoint_id = $1', [id])
  expect(rows[0].left).toBe(1)
  // Off, it sends nothing any more: what waits there has its time as well.
  await request(`${gateway.url}/gw/webhooks/${id}`, { method: 'PUT', token: account.token, body: { ativo: false } })
  await prune()
  expect(await kept(id)).toEqual(['done'])
})

test('messages have ids in the order of time, so that new ones lie together in the indexes of ids', async () => {
  const { id } = await createWebhook(gateway.url, account.token, { url: 'https://example.com/' })
  const { body } = await send(gateway.url, account.token, validSend)
  await happen(database.pool, (body as { idEmail: string }).idEmail, 'email', 'sent')
  const { rows } = await database.pool.query('select id from webhook_message where endpoint_id = $1', [id])
  expect(rows).toEqual([{ id: expect.stringMatching(/^.{14}7/) }])
})

test('an account that keeps its webhooks for longer keeps their attempts as well', async () => {
  const patient = await createAccount(database.pool, { settings: { 'retention.webhooks': 20 } })
  const { id } = await createWebhook(gateway.url, patient.token, { url: 'https://example.com/' })
  for (const days of [21, 15]) await message(id, 'done', days)
  await prune()
  const { rows } = await database.pool.query('select count(*) as left from webhook_attempt where endpoint_id = $1', [id])
  expect([await kept(id), rows[0].left]).toEqual([['done'], 1])
})

test('a deleted endpoint goes with all it had; a listener that nobody reads goes after a day', async () => {
  const { id } = await createWebhook(gateway.url, account.token, { url: 'https://example.com/' })
  await message(id, 'queued', 0)
  const opened = await request(`${gateway.url}/gw/webhooks/listen`, { method: 'POST', token: account.token, body: {} })
  const listener = (opened.body as { data: { id: string } }).data.id
  await request(`${gateway.url}/gw/webhooks/${id}`, { method: 'DELETE', token: account.token })
  await database.pool.query("update webhook_endpoint set deleted_at = now() - interval '2 hours' where id = $1", [id])
  await prune()
  const exists = async (endpoint: string) =>
    (await database.pool.query('select from webhook_endpoint where id = $1', [endpoint])).rowCount
  expect([await kept(id), await exists(id), await exists(listener)]).toEqual([[], 0, 1])
  await database.pool.query("update webhook_endpoint set seen_at = now() - interval '25 hours' where id = $1", [listener])
  await prune()
  const again = await request(`${gateway.url}/gw/webhooks/listen/${listener}`, { method: 'POST', token: account.token, body: {} })
  expect(again.status).toBe(404)
})
