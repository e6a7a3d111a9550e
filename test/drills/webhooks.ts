import { setTimeout as sleep } from 'node:timers/promises'
import { seeded } from '../../simulator/random.js'
import { request } from '../support/gateway/requests.js'
import { Cluster, type Node } from './cluster.js'
import { LEASE_MS, Load, loads } from './drill.js'
import { type Arrival, type Trouble, WebhookReceiver } from './receiver.js'

/**
 * The webhook drill: clients send, receivers get the events. One receiver is well all the time; the other fails, hangs, resets and
 * answers garbage in turn, and is then down for a long time, while the api and workers are killed. Then everything drains
 * and is judged.
 */
export interface WebhookDrillOptions {
  /** How often a process is killed while the receiver is in trouble; half as often, but all of them too, while it is down. */
  count: number
  seed: number
  workers: number
  clients: number
  /** Between two requests of a client. */
  pauseMs?: number
  /** How long the receiver is down at least. */
  downMs: number
  /** How many messages pile up meanwhile; it is down for longer where that takes longer. */
  queued: number
  onProgress?(done: number, of: number): void
}

interface Kills {
  apis: number
  workers: number
}

export interface WebhookVerdict {
  /** Answered 200, but not in the database. */
  lost: number
  /** Events that both endpoints had to get. */
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
  kills: Kills
  clean: boolean
}

const DRAIN_MS = 180_000
/** No message may use up its tries, however slowly they pile up. */
const LONGEST_PILING_MS = 1_800_000
const troubles: Trouble[] = ['fail', 'hang', 'reset', 'garbage', 'none']

export async function runWebhookDrill(options: WebhookDrillOptions): Promise<WebhookVerdict> {
  const cluster = new Cluster()
  const receiver = new WebhookReceiver()
  try {
    const retryForMs = 2 * options.downMs + LONGEST_PILING_MS
    await cluster.start({ apis: 1, workers: options.workers, leaseMs: LEASE_MS, workerArgs: ['--retry-for', String(retryForMs)] })
    const urls = await receiver.start()
    const ids = { healthy: await create(cluster, urls.healthy), troubled: await create(cluster, urls.troubled) }
    const load = new Load(cluster, options.clients, { ...loads.email, pauseMs: options.pauseMs ?? loads.email.pauseMs })
    load.start()
    await load.reach(10)
    const killer = new Killer(cluster, seeded(options.seed))
    await troubleReceiver(receiver, killer, options)
    await receiver.make('down')
    await keepDown(cluster, killer, options, ids.troubled)
    await load.stop()
    await receiver.make('none')
    await drain(cluster)
    return await judge(cluster, receiver, ids, load.answered, killer.kills)
  } finally {
    await cluster.stop()
    await receiver.stop()
  }
}

async function create(cluster: Cluster, url: string): Promise<string> {
  const answer = await request(`${cluster.apis[0]!.url}/gw/webhooks`, { method: 'POST', token: cluster.token, body: { url } })
  return (answer.body as { data: { id: string } }).data.id
}

/** kill -9 and a new start, again and again; the seed says who and when. */
class Killer {
  readonly kills: Kills = { apis: 0, workers: 0 }
  readonly random: () => number
  readonly #cluster: Cluster

  constructor(cluster: Cluster, random: () => number) {
    this.#cluster = cluster
    this.random = random
  }

  anyone(): Node[] {
    return [this.#pick([...this.#cluster.apis, ...this.#cluster.workers])]
  }

  /** A worker, the api, and all of them at once, in turn. */
  inTurn(round: number): Node[] {
    const { apis, workers } = this.#cluster
    const turns = [() => [this.#pick(workers)], () => [this.#pick(apis)], () => [...apis, ...workers]]
    return turns[round % turns.length]!()
  }

  async strike(victims: readonly Node[]): Promise<void> {
    for (const victim of victims) {
      victim.signal('SIGKILL')
      this.kills[victim.role === 'api' ? 'apis' : 'workers']++
    }
    await Promise.all(victims.map(victim => victim.ended()))
    await Promise.all(victims.map(victim => victim.start()))
  }

  #pick(nodes: readonly Node[]): Node {
    return nodes[Math.floor(this.random() * nodes.length)]!
  }
}

async function troubleReceiver(
  receiver: WebhookReceiver,
  killer: Killer,
  { count, onProgress }: WebhookDrillOptions,
): Promise<void> {
  for (let n = 0; n < count; n++) {
    await receiver.make(troubles[n % troubles.length]!)
    await sleep(200 + killer.random() * 800)
    await killer.strike(killer.anyone())
    onProgress?.(n + 1, count)
  }
}

/** The deaths are spread over the time that was asked for; what is still missing in the queue then is waited for. */
async function keepDown(
  cluster: Cluster,
  killer: Killer,
  { count, downMs, queued, onProgress }: WebhookDrillOptions,
  endpoint: string,
): Promise<void> {
  const until = Date.now() + downMs
  const countWaiting = async (): Promise<number> => {
    const { rows } = await cluster.pool.query<{ waiting: number }>(
      "select count(*)::int as waiting from webhook_message where endpoint_id = $1 and state in ('queued', 'sending')",
      [endpoint],
    )
    onProgress?.(rows[0]!.waiting, queued)
    return rows[0]!.waiting
  }
  const deaths = Math.ceil(count / 2)
  for (let n = 0; n < deaths; n++) {
    await sleep((downMs / deaths) * (0.5 + killer.random() / 2))
    await killer.strike(killer.inTurn(n))
    await countWaiting()
  }
  while ((await countWaiting()) < queued || Date.now() < until) await sleep(200)
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
  answered: readonly string[],
  kills: Kills,
): Promise<WebhookVerdict> {
  const { rows: messages } = await cluster.pool.query<StoredMessage>(
    `select id, endpoint_id as endpoint, notification_id || ' ' || channel as key, event_seq as seq, state from webhook_message`,
  )
  // Counted from the events themselves: a message that was never written would be missing from the outbox as well.
  const { rows } = await cluster.pool.query<{ events: number }>(
    "select count(*)::int as events from event where type in ('sent', 'delivered', 'read', 'confirmed', 'link opened', 'answered', 'failed', 'cancelled', 'uncertain')",
  )
  const { events } = rows[0]!
  const stored = await cluster.pool.query<{ count: number }>(
    'select count(*)::int as count from notification where id = any($1::uuid[])',
    [answered],
  )
  const lost = answered.length - stored.rows[0]!.count
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
    lost,
    events,
    missing: { healthy: healthy.missing, troubled: troubled.missing },
    strangers,
    doubles: { healthy: healthy.doubles, troubled: troubled.doubles },
    disordered,
    dead,
    kills,
    clean:
      events > 0 &&
      lost === 0 &&
      healthy.missing === 0 &&
      troubled.missing === 0 &&
      strangers === 0 &&
      disordered === 0 &&
      dead === 0,
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
drill       webhooks, seed ${seed}, ${verdict.kills.workers} workers and ${verdict.kills.apis} apis killed
events      ${verdict.events}, each told to two endpoints   notifications lost ${verdict.lost}
missing     healthy ${verdict.missing.healthy}   troubled ${verdict.missing.troubled}   not done ${verdict.dead}   strangers ${verdict.strangers}
doubles     healthy ${verdict.doubles.healthy}   troubled ${verdict.doubles.troubled}, always under one webhook-id
order       ${verdict.disordered} first arrivals out of order at the healthy endpoint
verdict     ${verdict.clean ? 'CLEAN' : 'NOT CLEAN'}
`
