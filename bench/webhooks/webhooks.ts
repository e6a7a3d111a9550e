import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { newId } from '../../src/domain/id.js'
import { type ActParts, act, createEndpoint } from '../../src/webhooks/endpoints.js'
import { cpuSeconds, parentOf } from '../support/cpu.js'
import { machine, median, note, print, ratioOf, verdict } from '../support/report.js'
import { type Subject, type Workspace, withWorkspace } from '../support/workspace.js'

export interface WebhookBenchOptions {
  events: number
  rounds: number
}

const RECEIVER = fileURLToPath(new URL('./receiver.js', import.meta.url))
const CLIENT = fileURLToPath(new URL('./client.js', import.meta.url))
/** As many as the worker has under way at one endpoint. */
const AT_ONCE = 16
/** Of a v2 message about an e-mail. */
const BODY_BYTES = 560
const POOL = 10
const ENDPOINTS = 10
const LONGEST_MS = 120_000

type Tally = { count: number; firstMs: number; lastMs: number }

/**
 * How fast events leave, against the bare HTTP client in a loop to the same receiver, as many requests at once; then ten
 * endpoints, and the same ten with one that takes connections and never answers. Ratios count, in turns, the median of rounds.
 */
export const benchWebhooks = (options: WebhookBenchOptions): Promise<void> =>
  withWorkspace(workspace => compare(workspace, options))

async function compare(workspace: Workspace, { events, rounds }: WebhookBenchOptions): Promise<void> {
  const receiver = await startReceiver(workspace)
  const rates = { bare: [] as number[], ours: [] as number[], ten: [] as number[], dead: [] as number[] }
  const cpu = { bare: [] as number[], ours: [] as number[], database: [] as number[] }
  let queries = Number.NaN
  for (let round = 1; round <= rounds; round++) {
    const bare = await measureBare(workspace, receiver, events)
    rates.bare.push(bare.perSecond)
    cpu.bare.push(bare.cpuMs)
    const one = await measureOurs(workspace, receiver, `one_${round}`, ['/a'], events)
    rates.ours.push(one.perSecond)
    cpu.ours.push(one.cpuMs)
    cpu.database.push(one.databaseMs)
    queries = one.transactions
    const paths = Array.from({ length: ENDPOINTS }, (_, n) => `/e${n}`)
    rates.ten.push((await measureOurs(workspace, receiver, `ten_${round}`, paths, events)).perSecond)
    rates.dead.push((await measureOurs(workspace, receiver, `dead_${round}`, ['/hang', ...paths.slice(1)], events)).perSecond)
    note(
      `round ${round} of ${rounds}: ${Object.entries(rates)
        .map(([name, list]) => `${name} ${Math.round(list.at(-1)!)}`)
        .join(', ')}`,
    )
  }
  print(`\n${machine()}; ${events} events, ${AT_ONCE} at once; median of ${rounds}\n\n`)
  print(`bare client          ${Math.round(median(rates.bare))} a second, ${median(cpu.bare).toFixed(3)} ms of processor each\n`)
  print(
    `ours, one endpoint   ${Math.round(median(rates.ours))} a second, ${queries.toFixed(3)} transactions an event, ${median(cpu.ours).toFixed(3)} ms of processor, PostgreSQL's ${median(cpu.database).toFixed(3)}\n`,
  )
  print(`nine of ten          ${Math.round(median(rates.ten))} a second\n`)
  print(`nine, the tenth dead ${Math.round(median(rates.dead))} a second\n\n`)
  verdict('ours / bare client', ratioOf(rates.ours, rates.bare), 'at least', 0.6)
  verdict('nine beside a dead one / beside a living one', ratioOf(rates.dead, rates.ten), 'at least', 0.9)
}

class Receiver {
  readonly address: string
  readonly #child: ChildProcess

  constructor(child: ChildProcess, address: string) {
    this.#child = child
    this.address = address
  }

  async ask(what: 'read' | 'reset'): Promise<Record<string, Tally>> {
    const answer = once(this.#child, 'message')
    this.#child.send(what)
    const [message] = (await answer) as [{ counts: Record<string, Tally> }]
    return message.counts
  }
}

async function startReceiver(workspace: Workspace): Promise<Receiver> {
  const child = workspace.keep(fork(RECEIVER, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }))
  const [message] = (await once(child, 'message')) as [{ ready: string }]
  return new Receiver(child, message.ready)
}

async function measureBare(workspace: Workspace, receiver: Receiver, requests: number) {
  await receiver.ask('reset')
  const child = workspace.spawn(process.execPath, [
    CLIENT,
    `${receiver.address}/bare`,
    String(requests),
    String(AT_ONCE),
    String(BODY_BYTES),
  ])
  const [[code], cpu] = (await Promise.all([once(child, 'exit'), text(child.stdout!)])) as [[number], string]
  if (code !== 0) throw new Error('the bare client failed')
  return { perSecond: perSecond((await receiver.ask('read'))['/bare']!), cpuMs: Number(cpu) / requests }
}

const perSecond = ({ count, firstMs, lastMs }: Tally): number => (count / (lastMs - firstMs)) * 1_000

/** Events queued beforehand for each path alike; how fast all but a dead path get theirs, from their first to their last. */
async function measureOurs(workspace: Workspace, receiver: Receiver, name: string, paths: string[], events: number) {
  const subject = await workspace.createSubject(`webhooks_${name}`)
  await fillQueue(
    workspace,
    subject,
    paths.map(path => `${receiver.address}${path}`),
    events,
  )
  await receiver.ask('reset')
  const before = await readTransactions(subject)
  const database = parentOf((await subject.pool.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid)
  const databaseBefore = cpuSeconds(database)
  const worker = await workspace.startRole('webhooks', subject, { poolSize: POOL })
  const watched = paths.filter(path => path !== '/hang' && (paths.length === 1 || path !== '/e0'))
  const wanted = Math.floor(events / paths.length)
  const deadline = Date.now() + LONGEST_MS
  for (;;) {
    const counts = await receiver.ask('read')
    if (watched.every(path => (counts[path]?.count ?? 0) >= wanted)) break
    if (Date.now() > deadline) throw new Error(`only ${JSON.stringify(counts)} arrived`)
    await sleep(100)
  }
  const tallies = Object.entries(await receiver.ask('read'))
    .filter(([path]) => watched.includes(path))
    .map(([, tally]) => tally)
  const cpuMs = (1_000 * cpuSeconds(worker.pid)) / events
  const databaseMs = (1_000 * (cpuSeconds(database) - databaseBefore)) / events
  await worker.stop()
  const all: Tally = {
    count: tallies.reduce((sum, tally) => sum + tally.count, 0),
    firstMs: Math.min(...tallies.map(tally => tally.firstMs)),
    lastMs: Math.max(...tallies.map(tally => tally.lastMs)),
  }
  return { perSecond: perSecond(all), transactions: ((await readTransactions(subject)) - before) / events, cpuMs, databaseMs }
}

/** Exact only while no worker runs: connections report their transactions when they end. */
async function readTransactions({ pool }: Subject): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select xact_commit as count from pg_stat_database where datname = current_database()',
  )
  return rows[0]!.count
}

/** Notifications that were accepted and sent, and a message of the second event for one of the endpoints each. */
async function fillQueue(workspace: Workspace, { pool, admin, account }: Subject, urls: string[], events: number): Promise<void> {
  const parts = { pool, sealing: workspace.keys.sealing, rules: { allowed: [], loopback: true } }
  const endpoints: string[] = []
  for (const url of urls) {
    const draft = { url, version: 'v2' as const, channels: null, statuses: null }
    const make = (within: ActParts) => createEndpoint(within, { account, mode: 'live' }, draft, Date.now())
    endpoints.push((await act(parts, make)).endpoint.id)
  }
  for (let done = 0; done < events; done += 1_000) {
    workspace.signal.throwIfAborted()
    const rows = Array.from({ length: Math.min(1_000, events - done) }, (_, n) => ({
      id: newId(Date.now()),
      endpoint: endpoints[(done + n) % endpoints.length],
    }))
    await pool.query(FILL, [JSON.stringify(rows)])
  }
  await admin.query('analyze')
  await admin.query('checkpoint')
}

const FILL = `
  with given as (select * from json_to_recordset($1) as g(id uuid, endpoint uuid)),
  accepted as (
    insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
    select id, 1, now(), 'accepted', 'api', jsonb_build_object('account', gen_random_uuid(), 'mode', 'live', 'token', gen_random_uuid(),
      'address', '127.0.0.1', 'customId', 'pedido-1', 'recipientName', 'Maria da Silva', 'subject', 'Aviso de vencimento',
      'contentSha256', repeat('0', 64), 'attachments', '[]'::jsonb, 'deliveries', jsonb_build_array(jsonb_build_object('channel', 'email',
      'recipient', 'maria@example.com', 'state', 'queued', 'waitMs', 0, 'step', 0, 'condition', 'always', 'requestSha256', repeat('0', 64),
      'template', null))), '\\x00', '\\x00', '\\x00', '\\x00' from given
  ), sent as (
    insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
    select id, 2, now(), 'sent', 'smtp', '{"channel":"email","carrier":"smtp","attempt":1,"answer":"250 OK"}', '\\x00', '\\x00', '\\x00', '\\x00'
    from given
  )
  insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq)
  select ordered_id(), endpoint, id, 'email', 2 from given`
