import { setTimeout as sleep } from 'node:timers/promises'
import { seeded } from '../../simulator/random.js'
import type { Channel } from '../../src/domain/channel.js'
import { Cluster, type Node } from './cluster.js'
import { type DiskOutage, mountSmallDisk, runOutOfDisk } from './disk.js'
import { freezePoints } from './freeze.js'
import { findNotifications, findTaken, isClean, judge, type Verdict } from './verdict.js'

/** A drill: clients send without pause while something is broken again and again; then everything drains and is judged. */
export interface DrillOptions {
  kind: DrillKind
  channel: DrillChannel
  /** How often it is broken. */
  count: number
  seed: number
  apis: number
  workers: number
  clients: number
  /** For kind outage: how many are queued meanwhile. */
  queued: number
  /** Clients rest after so many answers until the next thing is broken; without it they never rest. */
  batch?: number | undefined
  /** For kind disk: for how long it is full. */
  fullMs?: number | undefined
  /** For kind points: the only one; without it each in turn. */
  point?: DrillPoint | undefined
  /** For kind freeze: how long the worker stands still. */
  seconds?: number
  onProgress?(done: number, of: number): void
}

export interface DrillReport {
  verdict: Verdict
  /** Workers that broke with deliveries in flight. */
  broken: number
  /** Doubles that the faults can explain: what was in flight when a worker or a carrier broke. */
  mostDoubles: number
  clean: boolean
  /** For kind disk. */
  disk: DiskOutage | null
}

/** Deliveries that one worker may have in flight. */
export const IN_FLIGHT = 100
export const LEASE_MS = 3_000
/** Nothing at all became finished for so long: the rest never will. */
const STUCK_MS = 180_000
/** Longer than any machine needs to reach the point at which a worker was ordered to die. */
const DEATH_MS = 120_000
const DISK_FULL_MS = 180_000

/** For kind freeze: so many facts about other notifications are recorded meanwhile, and the first of them within this time. */
const RECORDED_MEANWHILE = 50
const STANDSTILL_MS = 30_000
/** Longer than the server lets a transaction be idle, a lease lasts and the reaper waits. */
const HELD_SECONDS = 20

export const drillKinds = ['kill', 'points', 'stop', 'freeze', 'database', 'disk', 'reset', 'outage'] as const
export type DrillKind = (typeof drillKinds)[number]

/** Where a worker can be ordered to die; at "bytes" the message is on its way and the carrier has not answered. */
export const drillPoints = ['claimed', 'sending', 'bytes', 'answered', 'recorded'] as const
export type DrillPoint = (typeof drillPoints)[number]

const ADDRESS = { logradouro: 'Rua das Flores', numero: '100', cidade: 'São Paulo', uf: 'SP', cep: '01000-001' }

/**
 * What clients send on each channel, how long they rest in between, and whether its carriers may get a message twice at all.
 * Clients wait while `mostOpen` deliveries are open, so that a slow machine gets as much work as it finishes. Calls and letters
 * cost more to make than to accept. `asked`: the carrier can be asked about an unknown outcome, so there is no report to wait for.
 * `reported`: the carrier tells that a message was delivered; of a simple letter nobody ever does.
 */
interface ChannelLoad {
  doubles: boolean
  asked: boolean
  reported: boolean
  pauseMs: number
  mostOpen: number
  request(n: number): object
}

export const loads = {
  email: {
    doubles: true,
    asked: false,
    reported: true,
    pauseMs: 10,
    mostOpen: 200,
    request: n => ({ to: `entregue+${n}@simulador.test` }),
  },
  // A number each: by it the verdict knows a message again.
  sms: {
    doubles: false,
    asked: false,
    reported: true,
    pauseMs: 10,
    mostOpen: 200,
    request: n => ({ sms: { number: `11${910_000_000 + n}`, typeSend: '2', customMessage: `Aviso ${n}` } }),
  },
  whatsapp: {
    doubles: false,
    asked: false,
    reported: true,
    pauseMs: 10,
    mostOpen: 200,
    request: () => ({
      whatsapp: {
        number: '11900000001',
        variables: { template: 'notificacao_contrato', nome: 'Maria', contrato: '4711' },
      },
    }),
  },
  voice: {
    doubles: false,
    asked: true,
    reported: true,
    pauseMs: 50,
    mostOpen: 20,
    // Everybody has a number of their own: it distinguishes the calls.
    request: n => ({
      voz: {
        number: `119${10_000_000 + n}`,
        template: 'ligacao-lembrete',
        payload: { nome: 'Maria', contrato: '4711' },
      },
    }),
  },
  letter: {
    doubles: false,
    asked: true,
    reported: false,
    pauseMs: 100,
    mostOpen: 10,
    request: n => ({
      carta: {
        template: 'notificacao-extrajudicial',
        variables: { ...ADDRESS, nome: 'Maria', contrato: String(n), vencimento: '10/08/2026' },
      },
    }),
  },
} as const satisfies Partial<Record<Channel, ChannelLoad>>

export type DrillChannel = keyof typeof loads
export const drillChannels = Object.keys(loads) as DrillChannel[]

/** A drill on a cluster of its own. */
export async function runDrill(options: DrillOptions): Promise<DrillReport> {
  const disk = options.kind === 'disk' ? mountSmallDisk() : null
  const cluster = new Cluster(disk?.folder)
  try {
    await cluster.start({ apis: options.apis, workers: options.workers, leaseMs: LEASE_MS })
    return await drillOn(cluster, options)
  } finally {
    await cluster.stop()
    disk?.unmount()
  }
}

/** A drill on a cluster that may have had others before: only notifications of this one are judged. */
export async function drillOn(cluster: Cluster, options: Omit<DrillOptions, 'apis' | 'workers'>): Promise<DrillReport> {
  const { channel, kind, clients, batch } = options
  const before = await findNotifications(cluster)
  // An outage is there to let many pile up.
  const mostOpen = kind === 'outage' ? Number.POSITIVE_INFINITY : loads[channel].mostOpen
  const load = new Load(cluster, clients, { ...loads[channel], mostOpen }, null, batch)
  load.start()
  const faults: string[] = []
  const result = await breakThings[kind](cluster, options, load, faults)
  const disk = typeof result === 'object' ? result : null
  // Whatever was in flight when the database was lost.
  const broken = typeof result === 'object' ? cluster.workers.length : result
  await load.stop()
  await drain(cluster, load.answered, channel)
  const verdict = await judge(cluster, load.answered, channel, before)
  verdict.faults.push(...faults)
  const explained = broken === 'unanswered' ? verdict.unanswered : broken * IN_FLIGHT
  const mostDoubles = loads[channel].doubles ? explained : 0
  const clean = isClean(verdict, mostDoubles) && disk?.attempts !== 0
  return { verdict, broken: broken === 'unanswered' ? 0 : broken, mostDoubles, clean, disk }
}

export class Load {
  readonly answered: string[] = []
  /** Answers by their status; 'none': no answer came. */
  readonly statuses: Record<string, number> = {}
  readonly #cluster: Cluster
  readonly #clients: number
  readonly #request: (n: number) => object
  readonly #pauseMs: number
  readonly #mostOpen: number
  readonly #channel: DrillChannel | null
  #running: Promise<void>[] = []
  readonly #batch: number
  #enough: number
  #stopping = false
  #open = 0

  /** `channel`: only its open deliveries count, where several loads run at once. `batch`: after so many answers the clients rest. */
  constructor(
    cluster: Cluster,
    clients: number,
    { request, pauseMs, mostOpen }: Pick<ChannelLoad, 'request' | 'pauseMs' | 'mostOpen'>,
    channel: DrillChannel | null = null,
    batch = Number.POSITIVE_INFINITY,
  ) {
    this.#channel = channel
    this.#batch = batch
    this.#enough = batch
    this.#cluster = cluster
    this.#clients = clients
    this.#request = request
    this.#pauseMs = pauseMs
    this.#mostOpen = mostOpen
  }

  start(): void {
    this.#running = [this.#countOpen(), ...Array.from({ length: this.#clients }, (_, client) => this.#send(client))]
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#running)
  }

  async reach(count: number): Promise<void> {
    while (this.answered.length < count) await sleep(50)
  }

  /** Sends another batch: how much is sent does not depend on how long a slow machine takes to start a process again. */
  goOn(atLeast = 0): void {
    this.#enough = this.answered.length + Math.max(this.#batch, atLeast)
  }

  /** Sends again, and waits until some of it is answered: what is broken now is broken under load. */
  async underLoad(): Promise<void> {
    this.goOn()
    await this.reach(this.answered.length + Math.min(5, this.#batch))
  }

  /** While the database is unreachable, the last number counts. */
  async #countOpen(): Promise<void> {
    while (!this.#stopping) {
      const { rows } = await this.#cluster.pool
        .query<{ open: number }>(
          "select count(*)::int as open from delivery where state in ('waiting', 'queued', 'sending') and channel = coalesce($1, channel)",
          [this.#channel],
        )
        .catch(() => ({ rows: [{ open: this.#open }] }))
      this.#open = rows[0]!.open
      await sleep(200)
    }
  }

  #count(status: string): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1
  }

  async #send(client: number): Promise<void> {
    while (!this.#stopping) {
      if (this.#open >= this.#mostOpen || this.answered.length >= this.#enough) {
        await sleep(50)
        continue
      }
      const n = this.#cluster.nextNumber()
      const body = {
        nameTo: 'Maria',
        ...this.#request(n),
        subject: `Aviso ${n}`,
        content: '<p>Aviso</p>',
        customID: String(n),
      }
      try {
        const response = await fetch(`${this.#cluster.urlFor(client)}/gw/email`, {
          method: 'POST',
          headers: { authorization: this.#cluster.token, 'content-type': 'application/json' },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(60_000),
        })
        const answer = (await response.json()) as { idEmail?: string }
        this.#count(String(response.status))
        if (response.status === 200) this.answered.push(answer.idEmail!)
        else await sleep(50)
      } catch {
        // No answer: it may be accepted or not, and nobody was promised anything.
        this.#count('none')
        await sleep(50)
      }
      await sleep(this.#pauseMs)
    }
  }
}

type Breakage = (
  cluster: Cluster,
  options: Omit<DrillOptions, 'apis' | 'workers'>,
  load: Load,
  faults: string[],
) => Promise<number | 'unanswered' | DiskOutage>

/**
 * Each returns how many workers it broke while deliveries were in flight; 'unanswered' where the carrier itself knows which
 * messages it took without a word. The seed decides on victims, moments and order: the same one breaks the same things.
 */
const breakThings: Record<DrillKind, Breakage> = {
  /** kill -9 of a random process, restarted at once. */
  async kill(cluster, { count, seed, onProgress }, load) {
    const random = seeded(seed)
    const nodes = [...cluster.apis, ...cluster.workers]
    await load.reach(10)
    let workers = 0
    for (let n = 0; n < count; n++) {
      const victim = nodes[Math.floor(random() * nodes.length)]!
      await load.underLoad()
      await sleep(random() * 400)
      if (victim.role === 'worker') workers++
      await killAndRestart(victim)
      onProgress?.(n + 1, count)
    }
    return workers
  },

  /** A worker that dies by its own hand at each named point in turn, on a delivery that the seed chooses. */
  async points(cluster, { count, seed, channel, point: only, onProgress }, load) {
    const random = seeded(seed)
    await load.reach(10)
    // Slow enough that "the bytes left, no answer came" is a place one can stand in.
    await cluster.simulate('faults', { [channel]: { latencyMs: 200 } })
    const points = only === undefined ? drillPoints : [only]
    const victim = cluster.workers[Math.floor(random() * cluster.workers.length)]!
    const first = Math.floor(random() * points.length)
    let deaths = 0
    for (let n = 0; n < count; n++) {
      const point = points[(first + n) % points.length]!
      const after = 1 + Math.floor(random() * 3)
      await victim.stop()
      load.goOn()
      // With work at hand the worker may die before it says that it is ready.
      await victim.start(['--lease', String(LEASE_MS), '--die', point, '--after', String(after)]).catch(error => {
        // It may reach its point, and die there, before it says that it is ready.
        if (!victim.wasKilled) throw error
      })
      // The other worker may have taken all that was sent so far.
      const ended = victim.ended()
      for (const since = Date.now(); victim.alive && Date.now() - since < DEATH_MS; ) {
        load.goOn()
        await Promise.race([ended, sleep(500)])
      }
      if (!victim.alive) deaths++
      onProgress?.(n + 1, count)
    }
    if (victim.alive) await victim.stop()
    await victim.start(['--lease', String(LEASE_MS)])
    await cluster.simulate('faults', { [channel]: { latencyMs: 0 } })
    return deaths
  },

  /** A worker that stands still past its lease and then goes on, while another one works. */
  async stop(cluster, { count, seed, onProgress }, load) {
    const random = seeded(seed)
    await load.reach(10)
    for (let n = 0; n < count; n++) {
      const victim = cluster.workers[Math.floor(random() * cluster.workers.length)]!
      await load.underLoad()
      await sleep(random() * 400)
      victim.signal('SIGSTOP')
      await sleep(LEASE_MS * (2 + random() * 2))
      victim.signal('SIGCONT')
      await sleep(500)
      onProgress?.(n + 1, count)
    }
    return count
  },

  /** A worker that stands still inside a transaction, with its rows locked, for much longer than its lease. The others go on. */
  async freeze(cluster, { count, seed, seconds = 300, onProgress }, load, faults) {
    const random = seeded(seed)
    await load.reach(10)
    const victim = cluster.workers[Math.floor(random() * cluster.workers.length)]!
    const points = Object.keys(freezePoints)
    const first = Math.floor(random() * points.length)
    for (let n = 0; n < count; n++) {
      await victim.stop()
      const after = String(1 + Math.floor(random() * 3))
      await victim.start(['--lease', String(LEASE_MS), '--freeze', points[(first + n) % points.length]!, '--after', after])
      for (const since = Date.now(); !victim.frozen; ) {
        if (Date.now() - since > DEATH_MS) throw new Error('the worker never came to the point at which it freezes')
        load.goOn()
        await sleep(50)
      }
      load.goOn(2 * RECORDED_MEANWHILE)
      faults.push(...(await watchFrozen(cluster, 1_000 * seconds)))
      victim.signal('SIGCONT')
      await sleep(500)
      onProgress?.(n + 1, count)
    }
    return count
  },

  /** The database crashes and recovers. */
  async database(cluster, { count, seed, onProgress }, load) {
    const random = seeded(seed)
    for (let n = 0; n < count; n++) {
      await load.reach(10)
      await sleep(1_000 + random() * 3_000)
      await load.underLoad()
      cluster.crashDatabase()
      onProgress?.(n + 1, count)
    }
    return count * cluster.workers.length
  },

  /** The disk of the database is full for minutes, and the server is killed meanwhile. */
  disk: (cluster, { fullMs = DISK_FULL_MS, onProgress }, load) => runOutOfDisk(cluster, { fullMs, onProgress }, load),

  /** The carrier takes messages and resets the connection without an answer. */
  async reset(cluster, { count, seed, channel, onProgress }, load) {
    const random = seeded(seed)
    await load.reach(10)
    for (let n = 0; n < count; n++) {
      await load.underLoad()
      await cluster.simulate('faults', { [channel]: { resetAfterAccept: true } })
      await sleep(150 + random() * 300)
      await cluster.simulate('faults', { [channel]: { resetAfterAccept: false } })
      await sleep(500 + random() * 1_000)
      onProgress?.(n + 1, count)
    }
    return 'unanswered'
  },

  /** The carrier is unreachable while thousands queue up. */
  async outage(cluster, { queued, seed, channel, onProgress }, load) {
    await load.reach(10)
    await sleep(seeded(seed)() * 2_000)
    await cluster.simulate('faults', { [channel]: { outage: true } })
    load.goOn(queued)
    for (let reached = 0; reached < queued; ) {
      await sleep(500)
      reached = load.answered.length
      onProgress?.(Math.min(reached, queued), queued)
    }
    await cluster.simulate('faults', { [channel]: { outage: false } })
    return 0
  },
}

/** What is wrong with the rest of the cluster while one worker is frozen inside a transaction. */
async function watchFrozen(cluster: Cluster, frozenMs: number): Promise<string[]> {
  const frozenAt = Date.now()
  const [newest] = (await cluster.pool.query<{ id: string }>('select id from notification order by id desc limit 1')).rows
  const count = async (condition: string, ...values: unknown[]): Promise<number> =>
    (await cluster.pool.query<{ count: number }>(`select count(*)::int from delivery where ${condition}`, values)).rows[0]!.count
  const faults: string[] = []
  const enough = Math.min(frozenMs, STANDSTILL_MS)
  let recorded = 0
  while (recorded < RECORDED_MEANWHILE && Date.now() - frozenAt < enough) {
    await sleep(200)
    recorded = await count('notification_id > $1 and sent_at is not null', newest!.id)
  }
  if (recorded < RECORDED_MEANWHILE)
    faults.push(`${recorded} facts were recorded in ${enough / 1_000} s while a worker was frozen inside a transaction`)
  await sleep(Math.max(0, frozenAt + frozenMs - Date.now()))
  const held = await count(`state = 'sending' and lease_until < now() - interval '${HELD_SECONDS} seconds'`)
  if (held > 0) faults.push(`${held} deliveries were still held by a worker that was frozen`)
  return faults
}

async function killAndRestart(node: Node): Promise<void> {
  node.signal('SIGKILL')
  await node.ended()
  await node.start()
}

/** Waits until every delivery is finished or left to a person, and the reports of delivery are in. */
export async function drain(cluster: Cluster, answered: readonly string[], channel: DrillChannel): Promise<void> {
  let least = Number.POSITIVE_INFINITY
  for (let since = Date.now(); Date.now() - since < STUCK_MS; ) {
    await cluster.revive()
    const open = await countOpen(cluster, channel).catch(() => null)
    if (open === 0) return
    if (open !== null && open < least) [least, since] = [open, Date.now()]
    if (!loads[channel].doubles) await settleUntaken(cluster, channel).catch(() => {})
    await sleep(300)
  }
  process.stderr.write(`not drained: ${least} left (${answered.length} answered)\n`)
}

async function countOpen(cluster: Cluster, channel: DrillChannel): Promise<number> {
  const { rows } = await cluster.pool.query<{ open: number }>(
    `select count(*)::int as open from delivery where channel = $1 and (state in ('waiting', 'queued', 'sending', 'uncertain')
       or ($2 and state = 'done' and failure is null and delivered_at is null))`,
    [channel, loads[channel].reported],
  )
  return rows[0]!.open
}

/**
 * Ends the wait for a report at once where the carrier did not get the message, which is then left to a person, or can be asked. Where
 * it did get the message, the report comes when the machine has time for it and resolves the outcome.
 */
async function settleUntaken(cluster: Cluster, channel: DrillChannel): Promise<void> {
  const { rows } = await cluster.pool.query<{ id: string }>(
    "select notification_id as id from delivery where channel = $1 and state = 'uncertain' and due_at > now()",
    [channel],
  )
  if (rows.length === 0) return
  const taken = loads[channel].asked ? new Set<string>() : await findTaken(cluster, channel)
  const untaken = rows.map(({ id }) => id).filter(id => !taken.has(id))
  await cluster.pool.query(
    `update delivery set due_at = now() where channel = $1 and state = 'uncertain' and notification_id = any($2::uuid[])`,
    [channel, untaken],
  )
}
