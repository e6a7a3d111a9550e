import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { chainEvent, GENESIS } from '../../src/domain/evidence/evidence.js'
import { extendLog, type LogParts } from '../../src/evidence/log.js'
import { openLogKey } from '../../src/evidence/log-key.js'
import { type LogProof, readLogProof } from '../../src/evidence/log-proof.js'
import { nodeTools } from '../../src/evidence/node-tools.js'
import { readCheckpoint, readNote, readVerifier, verifyNote } from '../../src/evidence/note.js'
import { isIncluded } from '../../src/evidence/verify/merkle.js'
import { DeliveringGateway } from '../delivery/gateway.js'
import { startSink } from '../delivery/sink.js'
import { cpuSeconds, parentOf } from '../support/cpu.js'
import { machine, median, note, print, table, verdict } from '../support/report.js'
import { type Subject, type Workspace, withWorkspace } from '../support/workspace.js'
import { measureDocuments } from './documents.js'

export interface EvidenceOptions {
  count: number
  rounds: number
  events: number
}

const EVENTS_PER_CHAIN = 4
const PROOFS = 200
const CHAINED = 50_000
/** Looked at seldom: the looking takes time from those looked at. */
const LOOK_MS = 250
const CHUNK = 100_000

/** What chaining and the log of events cost beside accepting and delivering, what documents cost, and a proof in a long log. */
export const benchEvidence = (options: EvidenceOptions): Promise<void> => withWorkspace(workspace => measure(workspace, options))

async function measure(workspace: Workspace, { count, rounds, events }: EvidenceOptions): Promise<void> {
  print(`${machine()}\n\n`)
  await measureCost(workspace, count, rounds)
  if (events > 0) await measureProofs(workspace, events)
}

const openLog = async (workspace: Workspace, subject: Subject): Promise<LogParts> => ({
  pool: subject.pool,
  key: await openLogKey(subject.pool, workspace.keys.sealing, 'https://bench.example'),
})

async function measureCost(workspace: Workspace, count: number, rounds: number): Promise<void> {
  const subject = await workspace.createSubject('evidence')
  const sink = await startSink(workspace)
  const gateway = await DeliveringGateway.start(workspace, subject, sink, null)
  const whole: number[] = []
  const lags: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const watch = watchLag(subject)
    const { cpu, seconds } = await gateway.pipeline(count)
    lags.push(await watch.end())
    whole.push(Object.values(cpu).reduce((sum, part) => sum + part, 0))
    note(`round ${round} of ${rounds}: ${Math.round(count / seconds)} a second, ${whole.at(-1)!.toFixed(2)} ms of CPU each`)
  }
  await gateway.stop()
  const { rows } = await subject.pool.query<{ notifications: number; events: number }>(
    'select count(distinct notification_id)::int as notifications, count(*)::int as events from event',
  )
  const { notifications, events } = rows[0]!
  // The same events once more into an empty log, by itself: its processor time is told apart from that of the rest.
  const log = await openLog(workspace, subject)
  const costs: { node: number; postgres: number }[] = []
  // A worker appends every second: the first round, with code that has not run yet, does not count.
  for (let round = 0; round <= rounds; round++) {
    await emptyLog(subject)
    const used = await usedBy(subject, () => extendLog(log))
    if (round === 0) continue
    costs.push({ node: (used.node * 1000) / notifications, postgres: (used.postgres * 1000) / notifications })
  }
  const chaining = chainingMs() * (events / notifications)
  const [node, postgres] = [median(costs.map(cost => cost.node)), median(costs.map(cost => cost.postgres))]
  const added = chaining + node + postgres
  print(
    table([
      ['CPU ms a notification', 'node', 'PostgreSQL', 'together'],
      ['accept and deliver, all included', '', '', median(whole).toFixed(3)],
      [`chaining (${(events / notifications).toFixed(1)} events)`, chaining.toFixed(3), '–', chaining.toFixed(3)],
      ['log and checkpoints', node.toFixed(3), postgres.toFixed(3), (node + postgres).toFixed(3)],
    ]),
  )
  print('\n')
  verdict('chaining and log, % of accept and deliver', (added / (median(whole) - added)) * 100, 'at most', 5)
  verdict('oldest event without a checkpoint under load, s', Math.max(...lags), 'at most', 5)
  await measureDocuments(workspace, subject)
}

async function emptyLog(subject: Subject): Promise<void> {
  await subject.admin.query("set session_replication_role = 'replica'")
  await subject.admin.query('truncate log_leaf, log_node, checkpoint, checkpoint_cosignature, checkpoint_time_stamp')
  await subject.admin.query(
    "update log_head set size = 0, peaks = '', transaction_id = null, notification_id = null, seq = null, server = null",
  )
  await subject.admin.query("set session_replication_role = 'origin'")
  await subject.admin.query('checkpoint')
}

async function usedBy(subject: Subject, work: () => Promise<void>): Promise<{ node: number; postgres: number }> {
  const { rows } = await subject.pool.query<{ pid: number }>('select pg_backend_pid() as pid')
  const postmaster = parentOf(rows[0]!.pid)
  const [before, own] = [cpuSeconds(postmaster), process.cpuUsage()]
  await work()
  const { user, system } = process.cpuUsage(own)
  return { node: (user + system) / 1e6, postgres: cpuSeconds(postmaster) - before }
}

/** Milliseconds for one event: its salted commitment and its hash. */
function chainingMs(): number {
  const data = {
    channel: 'email',
    carrier: 'smtp:127.0.0.1:2525/1f0c2a9b',
    attempt: 1,
    answer: '250 2.0.0 Ok: queued as 4ZkT1',
    ordinal: 1,
  }
  const salt = Buffer.alloc(16, 1)
  const started = process.cpuUsage()
  for (let seq = 1; seq <= CHAINED; seq++) {
    const at = '2026-11-15T14:00:00.000Z'
    chainEvent({
      notification: '01890a5d-ac96-774b-bcce-b302099a8057',
      seq,
      at,
      type: 'sent',
      source: 'worker',
      data,
      salt,
      prev: GENESIS,
    })
  }
  const { user, system } = process.cpuUsage(started)
  return (user + system) / 1e3 / CHAINED
}

/** The age of the oldest event that no checkpoint covers, the highest that was seen. */
function watchLag(subject: Subject): { end(): Promise<number> } {
  let worst = 0
  let watching = true
  const running = (async () => {
    while (watching) {
      const { rows } = await subject.admin.query<{ age: number | null }>(
        `select extract(epoch from clock_timestamp() - least(
           (select e.at from log_leaf l join event e on e.notification_id = l.notification_id and e.seq = l.seq
            where l.leaf = (select coalesce(max(size), 0) from checkpoint)),
           (select e.at from event e where e.transaction_id > (select coalesce(transaction_id, '0') from log_head)
            order by e.transaction_id limit 1)))::float8 as age`,
      )
      worst = Math.max(worst, rows[0]?.age ?? 0)
      await sleep(LOOK_MS)
    }
  })()
  return {
    async end() {
      watching = false
      await running
      return worst
    },
  }
}

async function measureProofs(workspace: Workspace, events: number): Promise<void> {
  const subject = await workspace.createSubject('proofs')
  for (let from = 0; from < events; from += CHUNK) {
    workspace.signal.throwIfAborted()
    note(`${from} of ${events} events`)
    await subject.admin.query('set statement_timeout = 0; set synchronous_commit = off')
    await subject.admin.query(
      `insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
       select id, seq, now(), 'note', 'bench', null, null, '', '', sha256(uuid_send(id) || int4send(seq))
       from (select uuidv7() as id from generate_series(1, $1::int)) made, generate_series(1, ${EVENTS_PER_CHAIN}) as seq`,
      [Math.min(CHUNK, events - from) / EVENTS_PER_CHAIN],
    )
  }
  const log = await openLog(workspace, subject)
  const started = performance.now()
  await extendLog(log)
  await extendLog({ ...log, checkpointEveryMs: 0 })
  const appendSeconds = (performance.now() - started) / 1000
  const { rows } = await subject.pool.query<{ id: string }>(
    'select notification_id as id from log_leaf where leaf in (select (random() * $1)::bigint from generate_series(1, $2::int))',
    [events - 1, PROOFS],
  )
  const proofs: { id: string; proof: LogProof; ms: number }[] = []
  for (const { id } of rows) {
    const asked = performance.now()
    const proof = (await readLogProof(subject.pool, id))!
    proofs.push({ id, proof, ms: performance.now() - asked })
  }
  const verifier = readVerifier(log.key.vkey)!
  const verified: number[] = []
  for (const { id, proof } of proofs) {
    const begun = performance.now()
    const signed = readNote(proof.checkpoint.note)!
    const { size, root } = readCheckpoint(signed.text)!
    let holds = verifyNote(signed, verifier) !== null
    for (const { seq, leaf: place, path: steps } of proof.events) {
      const number = Buffer.alloc(4)
      number.writeInt32BE(seq)
      const leaf = hash('sha256', Buffer.concat([Buffer.from(id.replaceAll('-', ''), 'hex'), number]), 'buffer')
      const path = steps.map(step => Buffer.from(step, 'hex'))
      holds &&= await isIncluded({ leaf, place, size, path, root }, nodeTools)
    }
    if (!holds) throw new Error(`the proof of ${id} does not hold`)
    verified.push(performance.now() - begun)
  }
  print(
    `\n${table([
      [`${events} events`, 'median', 'highest'],
      ['appended, events a second', Math.round(events / appendSeconds).toString(), ''],
      [
        `proof of ${EVENTS_PER_CHAIN} events, ms`,
        median(proofs.map(({ ms }) => ms)).toFixed(2),
        Math.max(...proofs.map(({ ms }) => ms)).toFixed(2),
      ],
      ['verification with its signature, ms', median(verified).toFixed(2), Math.max(...verified).toFixed(2)],
    ])}`,
  )
}
