import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Cluster, mainOf, type Node } from './cluster.js'
import { drain, drillChannels, IN_FLIGHT, LEASE_MS, Load, loads } from './drill.js'
import { NEW_COLUMN, NEW_INDEXES, NEW_VERSION, type NewVersion, writeNewVersion } from './new-version.js'
import { until } from './replicated.js'
import { findNotifications, isClean, judge, type Verdict } from './verdict.js'

/**
 * An upgrade under load. A newer version changes the biggest tables while a dump reads them and the version before serves; then nodes of
 * both serve side by side, and the old ones are stopped one by one.
 */
export interface UpgradeOptions {
  /** Of each channel. */
  clients: number
  /** Answered sends of each channel in every phase. */
  count: number
  onProgress?(done: number, of: number, note: string): void
}

interface Phase {
  name: string
  seconds: number
  accepted: number
  /** The longest time without an accepted send, on any channel. */
  gapMs: number
  /** Answers of /readyz of running nodes: all, and those that were not 200. */
  asked: number
  notReady: number
}

export interface UpgradeVerdict {
  channels: Record<string, Verdict>
  /** Answers to sends by status, of all channels. */
  statuses: Record<string, number>
  phases: Phase[]
  /** How often the migration tried for the tables that the dump read. */
  tries: number
  /** What `carteiro migrate` of the new version said. */
  migrated: string
  /** What is wrong with the schema and with the processes in the end. */
  faults: string[]
  clean: boolean
}

/** Old workers that are killed: one that is started again, and one at the end. */
const KILLS = 2
/** So often the migration is seen in vain beside the dump. */
const TRIES = 3
/** Between two sends of a client: a steady load that leaves the machine room for twice as many processes. */
const PAUSE_MS = 300
const WATCH_MS = 20
const READY_MS = 250

export async function runUpgradeDrill(options: UpgradeOptions): Promise<UpgradeVerdict> {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-upgrade-'))
  const cluster = new Cluster()
  try {
    const newVersion = writeNewVersion(folder)
    await cluster.start({ apis: 2, workers: 2, leaseMs: LEASE_MS, balanced: true })
    return await upgrade(cluster, newVersion, options)
  } finally {
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function upgrade(cluster: Cluster, newVersion: NewVersion, options: UpgradeOptions): Promise<UpgradeVerdict> {
  const { clients, count, onProgress } = options
  const before = await findNotifications(cluster)
  const running = drillChannels.map(channel => ({
    channel,
    load: new Load(cluster, clients, { ...loads[channel], pauseMs: PAUSE_MS }, channel),
  }))
  const reach = (): Promise<void> => {
    const goals = running.map(({ load }) => load.answered.length + count)
    return until(
      async () => running.every(({ load }, n) => load.answered.length >= goals[n]!),
      () => running.map(({ channel, load }) => `${channel} ${JSON.stringify(load.statuses)}`).join(', '),
    )
  }
  const watch = new Watch(cluster, () => running.reduce((sum, { load }) => sum + load.answered.length, 0))
  const phase = (name: string): void => {
    watch.begin(name)
    onProgress?.(watch.phases.length, PHASES, name)
  }
  const admin = new pg.Client({ connectionString: cluster.adminUrl })
  const dump = new pg.Client({ connectionString: cluster.ownerUrl })
  const report = new pg.Client({ connectionString: cluster.ownerUrl })
  // Each is ended by closing its connection.
  for (const session of [admin, dump, report]) session.on('error', () => {})
  await Promise.all([admin, dump, report].map(client => client.connect()))
  const [oldApis, oldWorkers] = [[...cluster.apis], [...cluster.workers]] as const
  try {
    for (const { load } of running) load.start()
    phase('the version before')
    await reach()

    await openDump(dump)
    await report.query('begin isolation level repeatable read; select count(*) from account')
    phase('its migration waits for a dump')
    const migrating = migrate(cluster, newVersion)
    const tries = await countTries(admin, TRIES, migrating)
    await reach()
    await dump.end()

    phase('its index waits for an old snapshot')
    let failure: Error | null = null
    migrating.catch((error: Error) => {
      failure = error
    })
    await until(async () => {
      if (failure !== null) throw failure
      return (await findWaiting(admin, 'virtualxid')) !== null
    })
    await reach()
    // The version before starts again beside a schema that it does not know.
    await killAndRestart(oldWorkers[0]!)
    await reach()
    await report.end()
    const migrated = await migrating

    phase('the version before, migrated')
    await reach()
    phase('both versions')
    for (const role of ['api', 'worker', 'api', 'worker'] as const) await cluster.add(role, newVersion.dist)
    await reach()
    const faults = await findSchemaFaults(admin)
    phase('the old ones go')
    await cluster.retire(oldApis[0]!, 'SIGTERM')
    await reach()
    await cluster.retire(oldWorkers[0]!, 'SIGTERM')
    await reach()
    await cluster.retire(oldWorkers[1]!, 'SIGKILL')
    await reach()
    await cluster.retire(oldApis[1]!, 'SIGTERM')
    phase('the new version')
    await reach()
    faults.push(...(await findProcessFaults(cluster)))
    for (const { load } of running) await load.stop()
    const phases = await watch.end()

    const channels: Record<string, Verdict> = {}
    for (const { channel, load } of running) {
      await drain(cluster, load.answered, channel)
      channels[channel] = await judge(cluster, load.answered, channel, before)
    }
    const statuses: Record<string, number> = {}
    for (const { load } of running)
      for (const [status, times] of Object.entries(load.statuses)) statuses[status] = (statuses[status] ?? 0) + times
    const clean =
      faults.length === 0 &&
      drillChannels.every(channel => isClean(channels[channel]!, loads[channel].doubles ? KILLS * IN_FLIGHT : 0))
    return { channels, statuses, phases, tries, migrated, faults, clean }
  } finally {
    await watch.end()
    await Promise.all([
      ...running.map(({ load }) => load.stop()),
      ...[admin, dump, report].map(client => client.end().catch(() => {})),
    ])
  }
}

const PHASES = 7

/** What pg_dump does: one snapshot of every table, each locked against changes of its shape. */
async function openDump(dump: pg.Client): Promise<void> {
  const { rows } = await dump.query<{ name: string }>(
    "select format('%I', relname) as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')",
  )
  await dump.query('begin isolation level repeatable read read only; select 1')
  await dump.query(`lock table ${rows.map(({ name }) => name).join(', ')} in access share mode`)
}

/** `carteiro migrate` of the new version, as the owner of the tables. Resolves with its output. */
function migrate(cluster: Cluster, { dist }: NewVersion): Promise<string> {
  const env = { ...cluster.env, DATABASE_OWNER_URL: cluster.ownerUrl }
  const child = spawn(process.execPath, [mainOf(dist), 'migrate'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk))
  const done = new Promise<string>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code =>
      code === 0 ? resolve(output.trim()) : reject(new Error(`migrate ended with ${code}: ${output}`)),
    )
  })
  // Whoever waits for a state meanwhile gets to it later.
  done.catch(() => {})
  return done
}

/** Since when a session waits for such a lock; null: none does. */
async function findWaiting(admin: pg.Client, kind: 'relation' | 'virtualxid'): Promise<string | null> {
  const mode = kind === 'relation' ? 'AccessExclusiveLock' : 'ShareLock'
  const { rows } = await admin.query<{ since: string }>(
    'select min(waitstart)::text as since from pg_locks where not granted and locktype = $1 and mode = $2',
    [kind, mode],
  )
  return rows[0]!.since
}

async function countTries(admin: pg.Client, enough: number, migrating: Promise<unknown>): Promise<number> {
  const seen = new Set<string>()
  let ended: string | null = null
  migrating.then(
    () => (ended = 'the migration did not wait for the dump'),
    (error: Error) => (ended = error.message),
  )
  await until(
    async () => {
      if (ended !== null) throw new Error(ended)
      const since = await findWaiting(admin, 'relation')
      if (since !== null) seen.add(since)
      return seen.size >= enough
    },
    () => `${seen.size} tries`,
  )
  return seen.size
}

async function killAndRestart(node: Node): Promise<void> {
  node.signal('SIGKILL')
  await node.ended()
  await node.start()
}

/** The new columns, and a whole index on every month. */
async function findSchemaFaults(admin: pg.Client): Promise<string[]> {
  const { rows: columns } = await admin.query(
    "select attrelid::regclass::text as name from pg_attribute where attname = $1 and attrelid::regclass::text in ('delivery', 'notification')",
    [NEW_COLUMN],
  )
  const { rows: indexes } = await admin.query<{ name: string; valid: boolean; months: number; indexed: number }>(
    `select x.indexrelid::regclass::text as name, x.indisvalid as valid,
       (select count(*)::int from pg_inherits i where i.inhparent = x.indrelid) as months,
       (select count(*)::int from pg_inherits i join pg_index p on p.indexrelid = i.inhrelid and p.indisvalid where i.inhparent = x.indexrelid) as indexed
     from pg_index x where x.indexrelid::regclass::text = any($1)`,
    [NEW_INDEXES],
  )
  const faults = indexes.flatMap(({ name, valid, months, indexed }) =>
    valid && months === indexed ? [] : [`${name}: ${indexed} of ${months} months`],
  )
  if (columns.length !== 2 || indexes.length !== NEW_INDEXES.length) faults.push('the schema is not that of the new version')
  return faults
}

/** Processes of the version before that are still there. */
async function findProcessFaults({ pool }: Cluster): Promise<string[]> {
  const query = async (): Promise<string[]> =>
    (
      await pool.query<{ version: string }>("select version from worker_process where seen_at > now() - interval '8 seconds'")
    ).rows.map(({ version }) => version)
  let versions: string[] = []
  // A killed worker is there until its last report is old.
  await until(async () => {
    versions = await query()
    return versions.length === 2 && versions.every(version => version === NEW_VERSION)
  }).catch(() => {})
  return versions.filter(version => version !== NEW_VERSION).map(version => `a worker of version ${version} is still there`)
}

/** How the service does from phase to phase, as clients and a balancer see it. */
class Watch {
  readonly phases: Phase[] = []
  readonly #cluster: Cluster
  readonly #count: () => number
  readonly #loops: Promise<void>[]
  #began = 0
  #first = 0
  #stopping = false

  constructor(cluster: Cluster, count: () => number) {
    this.#cluster = cluster
    this.#count = count
    this.#loops = [this.#watchAccepted(), this.#watchReadiness()]
  }

  begin(name: string): void {
    this.#close()
    ;[this.#began, this.#first] = [performance.now(), this.#count()]
    this.phases.push({ name, seconds: 0, accepted: 0, gapMs: 0, asked: 0, notReady: 0 })
  }

  async end(): Promise<Phase[]> {
    this.#close()
    this.#stopping = true
    await Promise.all(this.#loops)
    return this.phases
  }

  #close(): void {
    const phase = this.phases.at(-1)
    if (phase === undefined || this.#stopping) return
    phase.seconds = (performance.now() - this.#began) / 1_000
    phase.accepted = this.#count() - this.#first
  }

  async #watchAccepted(): Promise<void> {
    let [last, since] = [this.#count(), performance.now()]
    for (; !this.#stopping; await sleep(WATCH_MS)) {
      const phase = this.phases.at(-1)
      const [count, now] = [this.#count(), performance.now()]
      if (phase !== undefined && count > 0) phase.gapMs = Math.max(phase.gapMs, Math.round(now - Math.max(since, this.#began)))
      if (count !== last || phase === undefined) [last, since] = [count, now]
    }
  }

  async #watchReadiness(): Promise<void> {
    for (; !this.#stopping; await sleep(READY_MS)) {
      await Promise.all(
        this.#cluster.apis.map(async node => {
          const status = await fetch(`${node.url}/readyz`).then(
            async answer => [await answer.text(), answer.status][1],
            () => null,
          )
          const phase = this.phases.at(-1)
          // One that is being stopped says so.
          if (phase === undefined || phase.name === 'the old ones go') return
          phase.asked++
          if (status !== 200) phase.notReady++
        }),
      )
    }
  }
}

export function describeUpgradeVerdict(verdict: UpgradeVerdict): string {
  const channels = Object.entries(verdict.channels).map(
    ([name, { answered, stored, lost, strangers, doubles, unfinished, uncertain, failed }]) =>
      `${name.padEnd(11)} answered ${answered}   stored ${stored}   lost ${lost}   strangers ${strangers}   doubles ${doubles}   unfinished ${unfinished}   uncertain ${uncertain}   failed ${failed}\n`,
  )
  const faults = [...verdict.faults, ...Object.values(verdict.channels).flatMap(channel => channel.faults)]
  const phases = verdict.phases.map(
    ({ name, seconds, accepted, gapMs, asked, notReady }) =>
      `${' '.repeat(12)}${name.padEnd(38)} ${seconds.toFixed(0).padStart(4)} s   accepted ${String(accepted).padStart(6)}   longest gap ${String(gapMs).padStart(5)} ms   not ready ${notReady} of ${asked}\n`,
  )
  return `
drill       upgrade
answers     ${Object.entries(verdict.statuses)
    .map(([status, count]) => `${status}: ${count}`)
    .join('   ')}   (refused with 503: ${verdict.statuses['503'] ?? 0})
${channels.join('')}phases
${phases.join('')}gap         the longest without an accepted send: ${Math.max(...verdict.phases.map(({ gapMs }) => gapMs))} ms
migration   ${verdict.migrated.replaceAll('\n', ', ')}; ${verdict.tries} tries seen beside the dump
faults      ${faults.length === 0 ? 'none: chains whole, statuses rebuilt, dates in order' : faults.slice(0, 20).join('\n            ')}
verdict     ${verdict.clean ? 'CLEAN' : 'NOT CLEAN'}
`
}
