import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeReplication } from '../../src/app/database/database.js'
import { Cluster } from './cluster.js'
import { type DrillChannel, drain, IN_FLIGHT, LEASE_MS, Load, loads } from './drill.js'
import { openReplicated, type Replicated, until } from './replicated.js'
import { findNotifications, isClean, judge, type Verdict } from './verdict.js'

/** The primary is killed under load and its standby promoted. The gateway has both servers in DATABASE_URL and is told nothing. */
export interface FailoverOptions {
  clients: number
  /** Answered sends of each channel before the primary is killed, and again after the promotion. */
  count: number
  /** How long there is no primary. */
  downMs: number
  /** False: the standby lags when the primary is killed, and what it lacks is lost. */
  synchronous?: boolean
  onProgress?(done: number, of: number): void
}

export interface FailoverVerdict {
  channels: Record<string, Verdict>
  /** Answers to sends by status, of all channels. */
  statuses: Record<string, number>
  /** From the promotion to the first send that was answered 200, and to the first delivery that was recorded. */
  acceptsAfterMs: number
  deliversAfterMs: number
  /** For each process, the lines of its log at the level warn or above from the kill on. */
  lines: Record<string, string[]>
  /** What a start says of the replication; null: nothing. */
  warning: string | null
  /** Rows that a former primary got after it came back by mistake. */
  strayed: number
  clean: boolean
}

/** No letter and no call twice: those cannot be taken back. */
const CHANNELS = ['email', 'voice', 'letter'] as const satisfies DrillChannel[]
const STEPS = 5

export async function runFailoverDrill(options: FailoverOptions): Promise<FailoverVerdict> {
  const { synchronous = true, onProgress } = options
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-failover-'))
  chmodSync(folder, 0o755)
  const cluster = new Cluster(folder)
  let replicated: Replicated | undefined
  try {
    replicated = await openReplicated(folder, synchronous)
    const size = { apis: 1, workers: 2, leaseMs: LEASE_MS, env: { LOG_LEVEL: 'warn' } }
    await cluster.start({ ...size, database: replicated.database })
    onProgress?.(1, STEPS)
    return await failOver(cluster, replicated, options)
  } catch (error) {
    // What the processes said is lost with them.
    for (const { role, log } of [...cluster.apis, ...cluster.workers]) process.stderr.write(`${role}:\n${log.slice(-4_000)}\n`)
    throw error
  } finally {
    await cluster.stop()
    await replicated?.database.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function failOver(cluster: Cluster, replicated: Replicated, options: FailoverOptions): Promise<FailoverVerdict> {
  const { primary, standby } = replicated
  const { clients, count, downMs, synchronous = true, onProgress } = options
  const before = await findNotifications(cluster)
  const running = CHANNELS.map(channel => ({ channel, load: new Load(cluster, clients, loads[channel], channel) }))
  const nodes = [...cluster.apis, ...cluster.workers]
  const warning = await describeReplication(cluster.pool)
  for (const { load } of running) load.start()
  const answered = (): number => running.reduce((sum, { load }) => sum + load.answered.length, 0)
  const reach = (): Promise<void> => {
    const goals = running.map(({ load }) => load.answered.length + count)
    return until(
      async () => running.every(({ load }, n) => load.answered.length >= goals[n]!),
      () => running.map(({ channel, load }) => `${channel} ${JSON.stringify(load.statuses)}`).join(', '),
    )
  }
  await reach()
  if (!synchronous) {
    await holdReplication(standby)
    await reach()
  }
  const startAt = nodes.map(({ log }) => log.length)
  await primary.kill()
  onProgress?.(2, STEPS)
  await sleep(downMs)
  await standby.promote()
  const promotedAt = performance.now()
  const [soFar, recorded] = [answered(), await countRecorded(standby)]
  let deliversAfterMs = 0
  const delivers = until(async () => (await countRecorded(standby)) > recorded).then(() => {
    deliversAfterMs = Math.round(performance.now() - promotedAt)
  })
  await until(async () => answered() > soFar)
  const acceptsAfterMs = Math.round(performance.now() - promotedAt)
  await delivers
  onProgress?.(3, STEPS)
  await reach()
  const strayed = synchronous ? await bringBackFormer(replicated, reach) : 0
  onProgress?.(4, STEPS)
  for (const { load } of running) await load.stop()
  const channels: Record<string, Verdict> = {}
  for (const { channel, load } of running) {
    if (synchronous) await drain(cluster, load.answered, channel)
    channels[channel] = await judge(cluster, load.answered, channel, before)
  }
  onProgress?.(STEPS, STEPS)
  const statuses: Record<string, number> = {}
  for (const { load } of running)
    for (const [status, times] of Object.entries(load.statuses)) statuses[status] = (statuses[status] ?? 0) + times
  const lines = Object.fromEntries(nodes.map(({ role, log }, n) => [`${role} ${n + 1}`, linesOf(log.slice(startAt[n]))]))
  const isDone = (channel: DrillChannel): boolean =>
    isClean(channels[channel]!, loads[channel].doubles ? cluster.workers.length * IN_FLIGHT : 0)
  const clean = CHANNELS.every(isDone) && strayed === 0
  return { channels, statuses, acceptsAfterMs, deliversAfterMs, lines, warning, strayed, clean }
}

/** Facts about deliveries on one of the servers. */
const countRecorded = async (server: Replicated['standby']): Promise<number> =>
  (await server.query<{ count: number }>('select count(*)::int as count from delivery where sent_at is not null'))[0]!.count

/** The standby hears nothing of what is committed from now on. */
async function holdReplication(standby: Replicated['standby']): Promise<void> {
  await standby.set('primary_conninfo', '')
  await until(async () => (await standby.query('select from pg_stat_wal_receiver').catch(() => [null])).length === 0)
}

/** The former primary is started again, as a primary, and the new one crashes: what was accepted must not go to the former one. */
async function bringBackFormer({ primary, standby }: Replicated, reach: () => Promise<void>): Promise<number> {
  const count = async (): Promise<number> =>
    (await primary.query<{ count: number }>('select count(*)::int as count from notification'))[0]!.count
  await primary.restart()
  // It would take them: no commit waits for a standby there.
  await primary.set('synchronous_standby_names', '')
  const before = await count()
  await standby.restart()
  await reach()
  return (await count()) - before
}

const linesOf = (log: string): string[] => {
  const lines = log.split('\n').filter(line => line.startsWith('{'))
  return lines.map(line => (JSON.parse(line) as { msg: string }).msg)
}

export function describeFailoverVerdict(verdict: FailoverVerdict): string {
  const channels = Object.entries(verdict.channels).map(
    ([name, { answered, stored, lost, strangers, doubles, unfinished, uncertain, failed }]) =>
      `${name.padEnd(11)} answered ${answered}   stored ${stored}   lost ${lost}   strangers ${strangers}   doubles ${doubles}   unfinished ${unfinished}   uncertain ${uncertain}   failed ${failed}\n`,
  )
  const faults = Object.values(verdict.channels).flatMap(channel => channel.faults)
  const lines = Object.entries(verdict.lines).map(([name, log]) => `log         ${name}: ${log.join(' | ')}\n`)
  return `
drill       failover
answers     ${Object.entries(verdict.statuses)
    .map(([status, count]) => `${status}: ${count}`)
    .join('   ')}
${channels.join('')}takes over  accepts ${verdict.acceptsAfterMs} ms and delivers ${verdict.deliversAfterMs} ms after the promotion
former      got ${verdict.strayed} notifications after it came back
${lines.join('')}warning     ${verdict.warning ?? 'none'}
faults      ${faults.length === 0 ? 'none: chains whole, statuses rebuilt, dates in order' : faults.slice(0, 20).join('\n            ')}
verdict     ${verdict.clean ? 'CLEAN' : 'NOT CLEAN'}
`
}
