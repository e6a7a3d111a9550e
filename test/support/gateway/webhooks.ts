import { pino } from 'pino'
import { documentUrls } from '../../../src/app/channels.js'
import { readConfig } from '../../../src/app/config.js'
import { webhookFormat } from '../../../src/app/webhook-rules.js'
import { startDeliverer, type WebhookWorkerParts } from '../../../src/app/worker/webhooks.js'
import { loadContracts } from '../../../src/channels/registry.js'
import type { Channel } from '../../../src/domain/channel.js'
import type { ChangeOutcome } from '../../../src/domain/delivery/change.js'
import type { Fact } from '../../../src/domain/delivery/transition.js'
import { recordChanges } from '../../../src/engine/record/record.js'
import { type Pool, transaction } from '../../../src/store/postgres.js'
import { type ClaimQuery, claimMessages, type WebhookClaim } from '../../../src/store/webhook/queue.js'
import { testKeys } from './gateway.js'
import { request } from './requests.js'

const contracts = await loadContracts()

/** The delivery of webhooks in this process, and facts for it to tell of. */
export function startTestDeliverer(
  pool: Pool,
  parts: Partial<WebhookWorkerParts> = {},
  env: NodeJS.ProcessEnv = {},
): { stop(): Promise<void> } {
  const config = readConfig(env)
  const deliverer = startDeliverer({
    config,
    format: webhookFormat(
      contracts,
      documentUrls(() => config.publicUrl, testKeys),
    ),
    keys: testKeys,
    pool,
    clock: Date.now,
    log: pino({ level: 'silent' }),
    leaseMs: 30_000,
    onError: () => {},
    ...parts,
  })
  // Told all the time that there may be work: tests need not wait for its clock.
  const waking = setInterval(() => deliverer.notify(), 25)
  return {
    async stop() {
      clearInterval(waking)
      await deliverer.stop()
    },
  }
}

/** Claims as a worker does that holds nothing yet. */
export const claimWebhooks = (pool: Pool, query: Partial<ClaimQuery> & Pick<ClaimQuery, 'owner'>): Promise<WebhookClaim[]> =>
  transaction(pool, db =>
    claimMessages(db, {
      leaseMs: 30_000,
      limit: 100,
      capacity: 10,
      endpoints: new Map(),
      perScope: 100,
      scopes: new Map(),
      failuresToPause: 5,
      ended: [],
      ...query,
    }),
  )

/** A world in which hours are fractions of a second. */
export const QUICK = { plan: { delaysMs: Array<number>(9).fill(60), laterMs: 60 }, maxPauseMs: 200, timeoutMs: 1_000 }

/** Something happens to a delivery. */
export async function happen(
  pool: Pool,
  notification: string,
  channel: Channel,
  type: Fact['type'],
  data: Fact['data'] = {},
): Promise<ChangeOutcome> {
  const fact: Fact = { channel, type, at: new Date(), source: 'test', data }
  return (await recordChanges(pool, Date.now, [{ kind: 'fact', notification, fact }])).outcomes[0]!
}

export interface MadeWebhook {
  id: string
  segredo: string
}

/** Makes a webhook, of v2 unless the body says otherwise: its messages tell more. */
export async function createWebhook(gateway: string, token: string, body: object): Promise<MadeWebhook> {
  const answer = await request(`${gateway}/gw/webhooks`, { method: 'POST', token, body: { versao: 'v2', ...body } })
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return (answer.body as { data: MadeWebhook }).data
}
