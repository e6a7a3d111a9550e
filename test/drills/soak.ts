import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { table } from '../../bench/support/report.js'
import { engineTiming } from '../../src/engine/timing.js'
import { Cluster, type Node } from './cluster.js'
import { type DrillChannel, drain, drillChannels, loads } from './drill.js'
import { isClean, judge, type Verdict } from './verdict.js'

/**
 * The soak: a steady rate on all channels for a long time. Memory must stay as it is once the processes are warm, and a table may grow with
 * what is stored, never faster: the last third of the time is compared with the middle one.
 */
export interface SoakOptions {
  seconds: number
  perSecond: number
  onProgress?(done: number, of: number, note: string): void
}

interface Sample {
  /** Resident memory of each process, in MiB. */
  memory: Record<string, number>
  /** Size of each table with its indexes and months, in kiB. */
  tables: Record<string, number>
  stored: number
  open: number
}

export interface SoakVerdict {
  seconds: number
  /** Answers by their status; 'none': no answer came. */
  statuses: Record<string, number>
  channels: Record<DrillChannel, Verdict>
  /** At the ends of the first, second and last third. */
  thirds: readonly [Sample, Sample, Sample]
  /** Of each process: the median of its memory in the last third, by that in the middle one. */
  memory: Record<string, number>
  /** Tables that grew faster in the last third than in the middle one. */
  growing: string[]
  clean: boolean
}

/** Of twenty notifications. Letters and calls are rarer, and cost more. */
const SHARES: Record<DrillChannel, number> = { email: 11, sms: 5, whatsapp: 2, voice: 1, letter: 1 }
const TURNS = drillChannels.flatMap(channel => Array<DrillChannel>(SHARES[channel]).fill(channel))
const MOST_MEMORY = 1.1
const MOST_GROWTH = 1.15
/** Pages that are kept for the next rows, and what a vacuum of a few minutes ago left. */
const SLACK_KIB = 2_048
const SAMPLES = 60

export async function runSoakDrill({ seconds, perSecond, onProgress }: SoakOptions): Promise<SoakVerdict> {
  const cluster = new Cluster()
  try {
    // Nothing is killed: the lease is the product's own, which a busy machine does not outlast.
    await cluster.start({ apis: 1, workers: 2, leaseMs: engineTiming.leaseMs })
    const load = startLoad(cluster, perSecond)
    const samples: Sample[] = []
    for (let taken = 0; taken < SAMPLES; taken++) {
      await sleep((1_000 * seconds) / SAMPLES)
      const sample = await takeSample(cluster)
      samples.push(sample)
      const memory = Object.entries(sample.memory).map(([name, mib]) => `${name} ${Math.round(mib)} MiB`)
      onProgress?.(taken + 1, SAMPLES, `${sample.stored} stored, ${sample.open} open, ${memory.join(', ')}`)
    }
    const answered = await load.stop()
    const channels = {} as Record<DrillChannel, Verdict>
    for (const channel of drillChannels) {
      await drain(cluster, answered[channel], channel)
      channels[channel] = await judge(cluster, answered[channel], channel, new Set())
    }
    const thirds = [1, 2, 3].map(third => samples[(SAMPLES * third) / 3 - 1]!) as [Sample, Sample, Sample]
    const memory = Object.fromEntries(Object.keys(samples[0]!.memory).map(name => [name, growthOf(samples, name)]))
    const growing = Object.keys(thirds[2].tables).filter(name => grewFaster(thirds, name))
    const clean =
      Object.values(channels).every(verdict => isClean(verdict, 0)) &&
      Object.keys(load.statuses).every(status => status === '200') &&
      Object.values(memory).every(ratio => ratio <= MOST_MEMORY) &&
      growing.length === 0
    return { seconds, statuses: load.statuses, channels, thirds, memory, growing, clean }
  } finally {
    await cluster.stop()
  }
}

/** So many a second, however long the answers take. */
function startLoad(cluster: Cluster, perSecond: number) {
  const answered = Object.fromEntries(drillChannels.map(channel => [channel, [] as string[]])) as Record<DrillChannel, string[]>
  const statuses: Record<string, number> = {}
  const underWay = new Set<Promise<void>>()
  const sendOne = async (): Promise<void> => {
    const n = cluster.nextNumber()
    const channel = TURNS[n % TURNS.length]!
    const text = { nameTo: 'Maria', subject: `Aviso ${n}`, content: '<p>Aviso</p>', customID: String(n) }
    let status = 'none'
    try {
      const response = await fetch(`${cluster.apis[0]!.url}/gw/email`, {
        method: 'POST',
        headers: { authorization: cluster.token, 'content-type': 'application/json' },
        body: JSON.stringify({ ...text, ...loads[channel].request(n) }),
        signal: AbortSignal.timeout(60_000),
      })
      const { idEmail } = (await response.json()) as { idEmail?: string }
      status = String(response.status)
      if (response.status === 200) answered[channel].push(idEmail!)
    } catch {
      // Counted as an answer that did not come.
    }
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  const timer = setInterval(() => {
    const sending = sendOne().finally(() => underWay.delete(sending))
    underWay.add(sending)
  }, 1_000 / perSecond)
  return {
    statuses,
    async stop() {
      clearInterval(timer)
      await Promise.all(underWay)
      return answered
    },
  }
}

async function takeSample({ pool, apis, workers, simulator }: Cluster): Promise<Sample> {
  const named: [string, Node][] = [
    ...apis.map((node, n): [string, Node] => [`api ${n + 1}`, node]),
    ...workers.map((node, n): [string, Node] => [`worker ${n + 1}`, node]),
  ]
  const { rows } = await pool.query<{ name: string; kib: number }>(
    `select coalesce(p.relname, c.relname) as name, (sum(pg_total_relation_size(c.oid)) / 1024)::int as kib
     from pg_class c join pg_namespace s on s.oid = c.relnamespace and s.nspname = 'public'
     left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
     where c.relkind = 'r' group by 1`,
  )
  const counted = await pool.query<{ stored: number; open: number }>(
    `select (select count(*)::int from notification) as stored,
       (select count(*)::int from delivery where state in ('waiting', 'queued', 'sending')) as open`,
  )
  return {
    // The simulator keeps every message to show it: it is not judged.
    memory: Object.fromEntries([...named, ['simulator', simulator] as const].map(([name, { pid }]) => [name, residentMib(pid)])),
    tables: Object.fromEntries(rows.map(({ name, kib }) => [name, kib])),
    ...counted.rows[0]!,
  }
}

const residentMib = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_024

function growthOf(samples: readonly Sample[], name: string): number {
  const third = samples.length / 3
  const median = (from: number): number =>
    samples
      .slice(from, from + third)
      .map(({ memory }) => memory[name]!)
      .sort((a, b) => a - b)[Math.floor(third / 2)]!
  return name === 'simulator' ? 0 : median(2 * third) / median(third)
}

function grewFaster([first, second, last]: SoakVerdict['thirds'], name: string): boolean {
  const sizes = [first, second, last].map(({ tables }) => tables[name] ?? 0) as [number, number, number]
  return sizes[2] - sizes[1] > MOST_GROWTH * (sizes[1] - sizes[0]) + SLACK_KIB
}

export function describeSoakVerdict(verdict: SoakVerdict): string {
  const { thirds, memory, channels, growing, statuses } = verdict
  const [first, second, last] = thirds
  const processes = Object.keys(memory).map(name => [
    name,
    ...thirds.map(sample => sample.memory[name]!.toFixed(0)),
    name === 'simulator' ? '' : memory[name]!.toFixed(2),
  ])
  const tables = Object.entries(last.tables)
    .filter(([name, kib]) => kib > (first.tables[name] ?? 0) || kib > 1_024)
    .sort(([, a], [, b]) => b - a)
    .map(([name, kib]) => [
      name,
      ...thirds.map(({ tables: sizes }) => String(sizes[name] ?? 0)),
      (((kib - (second.tables[name] ?? 0)) * 1_024) / (last.stored - second.stored)).toFixed(0),
    ])
  const judged = drillChannels.map(channel => {
    const { answered, lost, doubles, unfinished, failed, faults } = channels[channel]
    return [channel, ...[answered, lost, doubles, unfinished, failed, faults.length].map(String)]
  })
  return `
soak        ${verdict.seconds} s, ${last.stored} stored; answers ${JSON.stringify(statuses)}

${table([['MiB of', 'first third', 'second', 'last', 'last by second'], ...processes])}
${table([['kiB of', 'first third', 'second', 'last', 'bytes a notification'], ...tables])}
${table([['channel', 'answered', 'lost', 'twice', 'unfinished', 'failed', 'faults'], ...judged])}
grew faster ${growing.length === 0 ? 'none' : growing.join(', ')}
verdict     ${verdict.clean ? 'CLEAN' : 'NOT CLEAN'}
`
}
