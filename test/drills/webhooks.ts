import { setTimeout as sleep } from 'node:timers/promises'
import { seeded } from '../support/random.js'
import { request } from '../support/requests.js'
import { Cluster } from './cluster.js'
import { LEASE_MS, Load, loads } from './drill.js'
import { type Arrival, type Trouble, WebhookReceiver } from './receiver.js'

/**
 * The webhook drill: clients send, receivers are told. One receiver is well all the time; the other fails, hangs, resets,
 * answers garbage and is down in turn, while workers are killed. Then everything drains and is judged.
 */
export interface WebhookDrillOptions {
  /** How often a worker is killed. */
  count: number
  seed: number
  workers: number
  clients: number
  /** How many messages pile up while the receiver is down. */
  queued: number
  onProgress?(done: number, of: number): void
}

export interface WebhookVerdict {
  /** Events that both endpoints had to be told of. */
  events: number
  missing: { healthy: number; troubled: number }
  /** Messages that no event caused. */
  strangers: number
  /** More arrivals than messages: bounded by what was in flight when workers died. */
  doubles: { healthy: number; troubled: number }
  /** First arrivals at the healthy endpoint that came before an earlier event of their notification and channel. */
  disordered: number
  /** Neither done nor queued for another try. */
  dead: number
  kills: number
  clean: boolean
}

const DRAIN_MS = 180_000
const troubles: Trouble[] = ['fail', 'hang', 'reset', 'garbage', 'none']

export async function runWebhookDrill(options: WebhookDrillOptions): Promise<WebhookVerdict> {
  const cluster = new Cluster()
  const receiver = new WebhookReceiver()
  try {
    await cluster.start({ apis: 1, workers: options.workers, leaseMs: LEASE_MS })
    const urls = await receiver.start()
    const ids = { healthy: await create(cluster, urls.healthy), troubled: await create(cluster, urls.troubled) }
    const load = new Load(cluster, options.clients, loads.email.request)
    load.start()
    await load.reach(10)
    await breakReceiver(cluster, receiver, options, ids.troubled)
    await load.stop()
    await receiver.make('none')
    await drain(cluster)
    return await judge(cluster, receiver, ids, options.count)
  } finally {
    await cluster.stop()
    await receiver.stop()
  }
}

async function create(cluster: Cluster, url: string): Promise<string> {
  const answer = await request(`${cluster.apis[0]!.url}/gw/webhooks`, { method: 'POST', token: cluster.token, body: { url } })
  return (answer.body as { data: { id: string } }).data.id
}

async function breakReceiver(
  cluster: Cluster,
  receiver: WebhookReceiver,
  { count, seed, queued, onProgress }: WebhookDrillOptions,
  troubled: string,
): Promise<void> {
  const random = seeded(seed)
  for (let n = 0; n < count; n++) {
    await receiver.make(troubles[n % troubles.length]!)
    await sleep(200 + random() * 800)
    const victim = cluster.workers[Math.floor(random() * cluster.workers.length)]!
    victim.signal('SIGKILL')
    await victim.ended()
    await victim.start()
    onProgress?.(n + 1, count)
  }
  await receiver.make('down')
  for (;;) {
    const { rows } = await cluster.pool.query<{ waiting: number }>(
      "select count(*)::int as waiting from webhook_message where endpoint_id = $1 and state in ('queued', 'sending')",
      [troubled],
    )
    if (rows[0]!.waiting >= queued) return
    onProgress?.(rows[0]!.waiting, queued)
    await sleep(200)
  }
}

async function drain(cluster: Cluster): Promise<void> {
  const deadline = Date.now() + DRAIN_MS
  while (Date.now() < deadline) {
    await cluster.revive()
    const { rows } = await cluster.pool.query<{ open: number }>(
      `select (select count(*) from webhook_message where state in ('queued', 'sending'))
         + (select count(*) from delivery where state in ('waiting', 'queued', 'sending') or (state = 'done' and failure is null and delivered_at is null)) as open`,
    )
    if (Number(rows[0]!.open) === 0) return
    await sleep(300)
  }
}

interface StoredMessage {
  id: string
  endpoint: string
  key: string
  seq: number
  state: string
}

async function judge(
  cluster: Cluster,
  receiver: WebhookReceiver,
  ids: Record<'healthy' | 'troubled', string>,
  kills: number,
): Promise<WebhookVerdict> {
  const { rows: messages } = await cluster.pool.query<StoredMessage>(
    `select id, endpoint_id as endpoint, notification_id || ' ' || channel as key, event_seq as seq, state from webhook_message`,
  )
  // Counted from the events themselves: a message that was never written would be missing from the outbox as well.
  const { rows } = await cluster.pool.query<{ events: number }>(
    "select count(*)::int as events from event where type in ('sent', 'delivered', 'read', 'confirmed', 'link opened', 'answered', 'failed', 'cancelled', 'uncertain')",
  )
  const { events } = rows[0]!
  const known = new Map(messages.map(message => [message.id, message]))
  const side = (name: 'healthy' | 'troubled') => {
    const arrivals = receiver.arrived[name]
    const distinct = new Set(arrivals.filter(({ id }) => known.get(id)?.endpoint === ids[name]).map(({ id }) => id))
    return { missing: events - distinct.size, doubles: arrivals.length - distinct.size }
  }
  const [healthy, troubled] = [side('healthy'), side('troubled')]
  const strangers = [...receiver.arrived.healthy, ...receiver.arrived.troubled].filter(({ id }) => !known.has(id)).length
  const disordered = countDisordered(receiver.arrived.healthy, known)
  const dead = messages.filter(({ state }) => state !== 'done').length
  return {
    events,
    missing: { healthy: healthy.missing, troubled: troubled.missing },
    strangers,
    doubles: { healthy: healthy.doubles, troubled: troubled.doubles },
    disordered,
    dead,
    kills,
    clean: events > 0 && healthy.missing === 0 && troubled.missing === 0 && strangers === 0 && disordered === 0 && dead === 0,
  }
}

function countDisordered(arrivals: readonly Arrival[], known: ReadonlyMap<string, StoredMessage>): number {
  const seen = new Set<string>()
  const last = new Map<string, number>()
  let disordered = 0
  for (const { id } of arrivals) {
    const message = known.get(id)
    if (message === undefined || seen.has(id)) continue
    seen.add(id)
    if (message.seq < (last.get(message.key) ?? 0)) disordered++
    last.set(message.key, Math.max(message.seq, last.get(message.key) ?? 0))
  }
  return disordered
}

export const describeWebhookVerdict = (verdict: WebhookVerdict, seed: string): string => `
drill       webhooks, seed ${seed}, ${verdict.kills} workers killed
events      ${verdict.events}, each told to two endpoints
missing     healthy ${verdict.missing.healthy}   troubled ${verdict.missing.troubled}   not done ${verdict.dead}   strangers ${verdict.strangers}
doubles     healthy ${verdict.doubles.healthy}   troubled ${verdict.doubles.troubled}, always under one webhook-id
order       ${verdict.disordered} first arrivals out of order at the healthy endpoint
verdict     ${verdict.clean ? 'CLEAN' : 'NOT CLEAN'}
`
