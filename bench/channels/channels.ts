import { setTimeout as sleep } from 'node:timers/promises'
import { readConfig } from '../../src/app/config.js'
import { loadKeys } from '../../src/app/database/keys.js'
import { openLog } from '../../src/app/log.js'
import { startWorker } from '../../src/app/worker/worker.js'
import { engineTiming } from '../../src/engine/timing.js'
import { Cluster } from '../../test/drills/cluster.js'
import { machine, note, print, verdict } from '../support/report.js'
import { letterBench } from './letter.js'
import { smsBench } from './sms.js'
import { voiceBench } from './voice.js'
import { whatsappBench } from './whatsapp.js'

/** How one channel is measured. */
export interface ChannelBench {
  /** The channel's members of a send. */
  request(n: number): object
  /** Hands one message to the carrier with nothing around it. */
  send(carrier: URL, n: number): Promise<void>
  /** Requests under way at a time, as the channel's lane has them. */
  atOnce: number
  /** Where a message is made with real work: the processor time of that, in ms each. */
  make?(count: number): Promise<number>
}

const benches: Readonly<Record<string, ChannelBench>> = {
  sms: smsBench,
  whatsapp: whatsappBench,
  voice: voiceBench,
  letter: letterBench,
}
export const benchedChannels = Object.keys(benches)
const CLIENTS = 32

export interface ChannelOptions {
  channel?: string
  count: number
}

interface Figures {
  perSecond: number
  cpuMs: number
}

/** How fast each channel's notifications leave the queue, and what one costs, beside a bare client of the same protocol. */
export async function benchChannels({ channel, count }: ChannelOptions): Promise<void> {
  print(`\n${machine()}; ${count} notifications a channel; CPU of the sending process alone\n\n`)
  for (const name of channel === undefined ? benchedChannels : [channel]) {
    const bench = benches[name]
    if (bench === undefined) throw new Error(`no such channel: ${name}`)
    const cluster = new Cluster()
    try {
      await cluster.start({ apis: 1, workers: 0, leaseMs: engineTiming.leaseMs })
      const bare = await measureBare(cluster, name, bench, count)
      const ours = await measureOurs(cluster, name, bench, count)
      const line = (who: string, { perSecond, cpuMs }: Figures): void =>
        print(`${`${name}, ${who}`.padEnd(28)}${perSecond.toFixed(0).padStart(8)}/s${cpuMs.toFixed(2).padStart(9)} ms CPU each\n`)
      line('bare client', bare)
      line('ours', ours)
      const made = (await bench.make?.(count)) ?? 0
      // The simulator and what it reports share the machine: the rate is theirs too, the CPU is ours alone.
      const limit = made === 0 ? 'bare client' : 'making and bare client'
      verdict(`${name}: CPU, ours / ${limit}`, ours.cpuMs / (bare.cpuMs + made), 'at most', 3)
    } finally {
      await cluster.stop()
    }
  }
}

async function measureBare(cluster: Cluster, name: string, { send, atOnce }: ChannelBench, count: number): Promise<Figures> {
  const carriers = (await cluster.simulate('carriers')) as Record<string, string>
  const carrier = new URL(carriers[name]!)
  return measure(count, () => inParallel(count, atOnce, n => send(carrier, n)))
}

async function measureOurs(cluster: Cluster, name: string, { request }: ChannelBench, count: number): Promise<Figures> {
  const [api] = cluster.apis
  note(`${name}: queueing ${count}`)
  await inParallel(count, CLIENTS, async n => {
    const body = { nameTo: 'Maria', subject: 'Aviso', content: '<p>Aviso</p>', ...request(n) }
    const headers = { authorization: cluster.token, 'content-type': 'application/json' }
    const answer = await fetch(`${api!.url}/gw/email`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
    await answer.arrayBuffer()
  })
  const config = readConfig({ ...cluster.env, PUBLIC_URL: api!.url })
  const databaseUrl = config.databaseUrl!
  const parts = { config, keys: loadKeys(config, false), pool: cluster.pool, databaseUrl, log: openLog('fatal', 'worker') }
  let worker: { close(): Promise<void> } | undefined
  try {
    return await measure(count, async () => {
      worker = await startWorker(parts)
      while ((await countSent(cluster, name)) < count) await sleep(50)
    })
  } finally {
    await worker?.close()
  }
}

async function countSent({ pool }: Cluster, channel: string): Promise<number> {
  const { rows } = await pool.query<{ sent: number }>(
    'select count(*)::int as sent from delivery where channel = $1 and sent_at is not null',
    [channel],
  )
  return rows[0]!.sent
}

async function measure(count: number, work: () => Promise<unknown>): Promise<Figures> {
  const [cpu, started] = [process.cpuUsage(), performance.now()]
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: count / ((performance.now() - started) / 1_000), cpuMs: (user + system) / 1_000 / count }
}

async function inParallel(count: number, atOnce: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  const run = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, run))
}
