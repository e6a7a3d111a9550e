import { beforeEach, expect, test } from 'vitest'
import { newId } from '../../src/domain/id.js'
import { insertEndpoint, updateEndpoint } from '../../src/store/webhook/endpoints.js'
import type { WebhookClaim } from '../../src/store/webhook/queue.js'
import type { Reply } from '../../src/webhooks/outbound.js'
import { judgeReply, writeOutcomes } from '../../src/webhooks/outcome.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { claimWebhooks, QUICK } from '../support/gateway/webhooks.js'

/** Replies of a URL that its endpoint no longer has: they arrive after the edit that took it away. */
const { database, account } = await gatewayForFile()
const { pool } = database
const owner = newId(Date.now())
const scope = { account: account.id, mode: 'live' } as const
let endpoint: string

beforeEach(async () => {
  await pool.query('delete from webhook_message')
  endpoint = crypto.randomUUID()
  const all = { channels: null, statuses: null, version: 'v2', secret: Buffer.alloc(1) } as const
  await insertEndpoint(pool, { id: endpoint, ...scope, url: 'https://antigo.example.com/', ...all })
  await pool.query(
    `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq)
     select gen_random_uuid(), $1, gen_random_uuid(), 'email', 2 from generate_series(1, 6)`,
    [endpoint],
  )
})

const claim = (): Promise<WebhookClaim[]> => claimWebhooks(pool, { owner })
const settle = (claims: readonly WebhookClaim[], status: number) => {
  const reply: Reply = { status, headers: {}, body: Buffer.alloc(0) }
  const rules = { plan: QUICK.plan, random: Math.random }
  const outcomes = claims.map(message => judgeReply(message, reply, { at: new Date(), durationMs: 1 }, rules))
  return writeOutcomes(pool, outcomes, { failuresToPause: 5, maxPauseMs: 1_000, suspendAfterMs: 1_000_000, quietMs: 1_000_000 })
}
const edit = () => updateEndpoint(pool, scope, endpoint, { url: 'https://novo.example.com/' })
const health = async () =>
  (
    await pool.query(
      `select failures, failing_since as since, disabled_reason as reason, paused_until > now() as paused from webhook_endpoint where id = $1`,
      [endpoint],
    )
  ).rows[0]
const states = async () =>
  (await pool.query('select distinct state from webhook_message where endpoint_id = $1', [endpoint])).rows.map(
    ({ state }) => state,
  )
const HEALTHY = { failures: 0, since: null, reason: null, paused: false }

test('a 410 of the former URL disables nothing, and its messages go to the new one', async () => {
  const claims = await claim()
  await edit()
  expect(await settle(claims, 410)).toMatchObject({ suspended: [] })
  expect(await health()).toEqual(HEALTHY)
  expect(await states()).toEqual(['queued'])
  const { rows } = await pool.query('select distinct url, error from webhook_attempt where endpoint_id = $1', [endpoint])
  expect(rows).toEqual([{ url: 'https://antigo.example.com/', error: expect.stringContaining('o aviso vai ao novo') }])
  expect(new Set((await claim()).map(({ url }) => url))).toEqual(new Set(['https://novo.example.com/']))
})

test('late failures of the former URL do not pause the new one', async () => {
  const claims = await claim()
  await edit()
  await settle(claims, 500)
  expect(await health()).toEqual(HEALTHY)
})

test('a late success of the former URL does not end the failures of the new one', async () => {
  const [late, ...others] = await claim()
  await edit()
  await settle(others, 500)
  await pool.query('update webhook_endpoint set failures = 2, failing_since = now() where id = $1', [endpoint])
  await settle([{ ...late!, endpointFailing: true }], 200)
  expect(await health()).toMatchObject({ failures: 2, since: expect.any(Date) })
})

test('a 410 of the URL that the endpoint has disables it', async () => {
  await settle(await claim(), 410)
  expect(await health()).toMatchObject({ reason: 'gone' })
  expect(await states()).toEqual(['dead'])
})
