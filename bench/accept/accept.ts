import { readFileSync } from 'node:fs'
import { newId } from '../../src/domain/id.js'
import { CONNECTIONS, fullLoad, type PacedLoad, pacedLoad, type Target } from '../support/load.js'
import { machine, median, note, print, ratioOf, table, verdict } from '../support/report.js'
import { type Subject, type Workspace, withWorkspace } from '../support/workspace.js'
import { fill } from './fill.js'
import { startKannel } from './kannel.js'

export interface AcceptOptions {
  seconds: number
  rounds: number
  stored: number
}

interface Contestant {
  name: string
  /** null: not ours, so that neither its memory nor its transactions say anything. */
  subject: Subject | null
  start(): Promise<Running>
  rates: number[]
  paced: PacedLoad[]
  transactions: number[]
  peakMiB: number
  residentMiB: number
}

interface Running {
  target: Target
  pid: number | null
  stop(): Promise<void>
}

const WARM_UP_SECONDS = 2
const POOL = 10
const MAX_RESIDENT_MIB = 300

const SMS_TEXT = 'Maria, ha uma notificacao para voce: {SHORT_LINK}'
const CONTENT = `<p>${'Seu contrato vence em 30 dias. Regularize e evite a suspensão. '.repeat(20)}`.slice(0, 1000).concat('</p>')
const BODY = JSON.stringify({
  nameTo: 'Maria da Silva',
  to: 'maria@example.com',
  subject: 'Aviso de vencimento',
  content: CONTENT,
  sms: { number: '11987654321', customMessage: SMS_TEXT },
})

/**
 * How fast sends are accepted, against what this machine could do at most (the same server, all but the write), against one
 * transaction per request, with a full store, and against Kannel. All in one run, in turns, so that whatever else the
 * machine does hits all alike: only the ratios mean something elsewhere.
 */
export const benchAccept = (options: AcceptOptions): Promise<void> => withWorkspace(workspace => compare(workspace, options))

async function compare(workspace: Workspace, { seconds, rounds, stored }: AcceptOptions): Promise<void> {
  const ours = await gateway(workspace, 'ours', [])
  const limit = await gateway(workspace, 'limit: no write', ['--no-write'])
  const single = [
    await gateway(workspace, 'one transaction each, 10 at once', ['--group', '1', '--parallel', '10'], 10),
    await gateway(workspace, 'one transaction each, 20 at once', ['--group', '1', '--parallel', '20'], 20),
  ]
  const full = stored === 0 ? null : await gateway(workspace, `ours, ${stored} stored`, [])
  if (full !== null) await fill(full.subject!, stored, CONTENT, workspace.signal, count => note(`stored ${count} of ${stored}`))
  const kannel = await kannelOrReason(workspace)

  const peer = typeof kannel === 'string' ? null : kannel
  const others = [full, peer].filter(contestant => contestant !== null)
  await inTurns(rounds, [limit, ...single, ours, ...others], contestant => measureRate(workspace, contestant, seconds))
  const best = single.reduce((a, b) => (median(b.rates) > median(a.rates) ? b : a))
  const half = median(ours.rates) / 2
  const shown = [limit, best, ours, ...others]
  await inTurns(rounds, shown, contestant => measureLatency(workspace, contestant, half, seconds))

  print(`\n${machine()}; 1 KB of HTML, e-mail and SMS; ${CONNECTIONS} connections; median of ${rounds} × ${seconds} s\n\n`)
  print(tableOf(shown, half))
  if (typeof kannel === 'string') print(`kannel: skipped (${kannel})\n`)
  print('\n')
  const ratio = (a: Contestant, b: Contestant): number => ratioOf(a.rates, b.rates)
  verdict('ours / limit', ratio(ours, limit), 'at least', 0.6)
  verdict('ours / one transaction each', ratio(ours, best), 'at least', 2)
  if (full !== null) verdict(`${stored} stored / empty`, ratio(full, ours), 'at least', 0.8)
  verdict('peak resident memory, MiB', Math.max(ours.peakMiB, full?.peakMiB ?? 0), 'at most', MAX_RESIDENT_MIB)
  if (peer !== null)
    print(`${''.padEnd(14)}ours / kannel (one channel, no status, no wait for the disk): ${ratio(ours, peer).toFixed(2)}\n`)
}

const contestant = (name: string, subject: Subject | null, start: () => Promise<Running>): Contestant => ({
  name,
  subject,
  start,
  rates: [],
  paced: [],
  transactions: [],
  peakMiB: 0,
  residentMiB: 0,
})

/** Each on a database of its own; a fresh process for every measurement, so that nobody idles beside the one measured. */
async function gateway(workspace: Workspace, name: string, args: string[], poolSize = POOL): Promise<Contestant> {
  const subject = await workspace.createSubject(name.replace(/\W+/g, '_'))
  const headers = { authorization: subject.token, 'content-type': 'application/json' }
  return contestant(name, subject, async () => {
    const { address, pid, stop } = await workspace.startServer(subject, args, poolSize)
    return { target: { address, method: 'POST', path: '/gw/email', headers, body: BODY }, pid, stop }
  })
}

/** The contestant, or why there is none. */
async function kannelOrReason(workspace: Workspace): Promise<Contestant | string> {
  const start = async (): Promise<Running> => ({ pid: null, ...(await startKannel(workspace, SMS_TEXT)) })
  try {
    const trial = await start()
    await trial.stop()
    return contestant('kannel sendsms', null, start)
  } catch (error) {
    workspace.signal.throwIfAborted()
    return (error as Error).message
  }
}

async function inTurns(rounds: number, contestants: Contestant[], measure: (one: Contestant) => Promise<string>): Promise<void> {
  for (let round = 1; round <= rounds; round++) {
    // There and back: what grows or fades over minutes favours nobody.
    for (const one of round % 2 === 1 ? contestants : contestants.toReversed())
      note(`round ${round} of ${rounds}, ${one.name}: ${await measure(one)}`)
  }
}

async function measureRate(workspace: Workspace, one: Contestant, seconds: number): Promise<string> {
  const { subject } = one
  const before = subject && (await readCounters(subject))
  const running = await one.start()
  const warmUp = await fullLoad(workspace, running.target, WARM_UP_SECONDS)
  await subject?.admin.query('checkpoint')
  const { answered, perSecond } = await fullLoad(workspace, running.target, seconds)
  one.rates.push(perSecond)
  if (running.pid !== null) readMemory(one, running.pid)
  await running.stop()
  if (subject !== null && before !== null) {
    const after = await readCounters(subject, before.newest)
    // In the limit nothing is written at all; anywhere else an answer without its row is a lie.
    if (after.written > 0 && after.written < warmUp.answered + answered) throw new Error(`${one.name} lost notifications`)
    one.transactions.push((after.transactions - before.transactions) / (after.written || Number.NaN))
  }
  return `${Math.round(perSecond)} a second`
}

async function measureLatency(workspace: Workspace, one: Contestant, rate: number, seconds: number): Promise<string> {
  const running = await one.start()
  await fullLoad(workspace, running.target, WARM_UP_SECONDS)
  await one.subject?.admin.query('checkpoint')
  const result = await pacedLoad(running.target, rate, seconds)
  one.paced.push(result)
  await running.stop()
  return `p99 ${result.p99.toFixed(1)} ms at ${Math.round(result.perSecond)} a second`
}

interface Counters {
  transactions: number
  written: number
  newest: string
}

/** Exact only while no server runs: connections report their transactions when they end. */
async function readCounters({ pool }: Subject, since = newId(Date.now())): Promise<Counters> {
  const { rows } = await pool.query<{ transactions: number; written: number }>(
    `select xact_commit as transactions, (select count(*) from notification where id > $1) as written
     from pg_stat_database where datname = current_database()`,
    [since],
  )
  return { ...rows[0]!, newest: since }
}

function readMemory(one: Contestant, pid: number): void {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mebibytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
  one.peakMiB = Math.max(one.peakMiB, mebibytes('VmHWM'))
  one.residentMiB = Math.max(one.residentMiB, mebibytes('VmRSS'))
}

function tableOf(shown: Contestant[], half: number): string {
  const number = (value: number, digits = 0): string => (Number.isFinite(value) && value > 0 ? value.toFixed(digits) : '–')
  const latency = (one: Contestant, pick: 'p50' | 'p99'): string =>
    // Behind its schedule a queue only grows; its length says how long we measured, nothing else.
    median(one.paced.map(run => run.perSecond)) < half * 0.95 ? 'saturated' : number(median(one.paced.map(run => run[pick])), 1)
  return table([
    ['', 'requests/s', 'lowest–highest', `p50 ms at ${number(half)}/s`, 'p99 ms', 'RSS MiB', 'peak', 'transactions/notification'],
    ...shown.map(one => [
      one.name,
      number(median(one.rates)),
      `${number(Math.min(...one.rates))}–${number(Math.max(...one.rates))}`,
      latency(one, 'p50'),
      latency(one, 'p99'),
      number(one.residentMiB),
      number(one.peakMiB),
      number(median(one.transactions), 3),
    ]),
  ])
}
