import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster } from './cluster.js'
import { LEASE_MS, loads } from './drill.js'
import { PrintService } from './print-carrier.js'
import { findRecordFaults } from './verdict.js'

/**
 * The exchange drill: the only print service takes letters and breaks the connection instead of answering. The operator puts another
 * service in its place, which knows nothing of those letters, says so to whoever asks, and reports every one of them as delivered.
 * Then the first service comes back and tells the truth.
 */
export interface ExchangeDrillOptions {
  /** How many of them are in an unknown state when the service is exchanged. */
  letters: number
  workers: number
  onProgress?(done: number, of: number): void
}

export interface ExchangeVerdict {
  answered: number
  stored: number
  /** Answered, but not in the database. */
  lost: number
  /** Letters of unknown outcome when the service was exchanged, and how many still were when the first one came back. */
  unknown: { before: number; after: number }
  /** Questions about and copies of the first service's letters that the second one got, and its reports on them that counted. */
  foreign: { asked: number; given: number; believed: number }
  /** Letters that were ordered more than once, at both services together. */
  doubles: number
  unfinished: number
  uncertain: number
  failed: number
  faults: string[]
  clean: boolean
}

const BATCH = 40
const STUCK_MS = 180_000
/** How often the unknown outcomes are made due while the second service is in place. */
const ROUNDS = 3

export async function runExchangeDrill({ letters, workers, onProgress }: ExchangeDrillOptions): Promise<ExchangeVerdict> {
  const cluster = new Cluster()
  const [first, second] = [new PrintService('segredo-da-primeira'), new PrintService('segredo-da-segunda')]
  try {
    const [firstUrl, secondUrl] = [await first.start(), await second.start()]
    await cluster.start({ apis: 1, workers, leaseMs: LEASE_MS, env: { LETTER_URL: firstUrl } })
    const old = await loseAnswers(cluster, first, letters, onProgress)
    const before = await countIn(cluster, 'uncertain')
    await exchange(cluster, secondUrl)
    const own = await sendLetters(cluster, Math.max(1, Math.floor(letters / 10)))
    // A service reports on what it got, not on what is still on its way to it. A worker of a busy machine may lose its lease before it
    // orders: then the letter's outcome is unknown, and is looked up when its time comes.
    const haveArrived = async (): Promise<boolean> => {
      await cluster.pool.query("update delivery set due_at = now() where state = 'uncertain' and reference = any($1)", [own])
      return countOf(own, second.orders) === own.length
    }
    if (!(await until('orders at the second service', haveArrived)))
      process.stderr.write(`${JSON.stringify(await statesOf(cluster, own))}\n`)
    for (let round = 0; round < ROUNDS; round++) await lookAgain(cluster)
    const believed = await tellAll(cluster, second, old)
    await tellAll(cluster, second, own)
    const after = await countIn(cluster, 'uncertain')
    const foreign = { asked: countOf(second.asked, old), given: countOf(second.orders, old), believed }

    first.losesAnswers = false
    await exchange(cluster, firstUrl)
    await cluster.pool.query("update delivery set due_at = now() where state = 'uncertain'")
    await until('resolved outcomes', async () => (await countIn(cluster, 'uncertain')) === 0)
    await tellAll(cluster, first, old)
    return await judge(cluster, [...old, ...own], [...first.orders, ...second.orders], { before, after }, foreign)
  } finally {
    await cluster.stop()
    await Promise.all([first.stop(), second.stop()])
  }
}

/** Sends letters until the outcome of as many is unknown. Returns our references of all. */
async function loseAnswers(
  cluster: Cluster,
  service: PrintService,
  letters: number,
  onProgress: ExchangeDrillOptions['onProgress'],
): Promise<string[]> {
  service.losesAnswers = true
  const sent: string[] = []
  for (let unknown = 0; unknown < letters; unknown = await countIn(cluster, 'uncertain')) {
    onProgress?.(unknown, letters)
    sent.push(...(await sendLetters(cluster, Math.min(BATCH, letters - unknown))))
    const isRecorded = async (): Promise<boolean> =>
      (await countIn(cluster, 'queued')) + (await countIn(cluster, 'sending')) === 0
    if (!(await until('orders', isRecorded))) break
  }
  return sent
}

/** Returns our references. */
async function sendLetters(cluster: Cluster, count: number): Promise<string[]> {
  const send = async (): Promise<string> => {
    const n = cluster.nextNumber()
    const body = { nameTo: 'Maria', subject: `Aviso ${n}`, content: '<p>Aviso</p>', ...loads.letter.request(n) }
    const response = await fetch(`${cluster.apis[0]!.url}/gw/email`, {
      method: 'POST',
      headers: { authorization: cluster.token, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (response.status !== 200) throw new Error(`a letter was answered with ${response.status}`)
    return `${((await response.json()) as { idEmail: string }).idEmail}.letter.1`
  }
  return Promise.all(Array.from({ length: count }, send))
}

/** What an operator does: another LETTER_URL, and a restart. */
async function exchange(cluster: Cluster, url: string): Promise<void> {
  const nodes = [...cluster.workers, ...cluster.apis]
  for (const node of nodes) {
    node.setEnv({ LETTER_URL: url })
    await node.stop()
  }
  for (const node of nodes.reverse()) await node.start()
}

/** Makes the unknown outcomes due, and waits until a worker has looked at each of them. */
async function lookAgain(cluster: Cluster): Promise<void> {
  await cluster.pool.query("update delivery set due_at = now() where state = 'uncertain'")
  await until('looks at unknown outcomes', async () => {
    const { rows } = await cluster.pool.query("select from delivery where state = 'uncertain' and due_at <= now()")
    return rows.length === 0
  })
}

/** Returns how many of the reports the gateway accepted. */
async function tellAll(cluster: Cluster, service: PrintService, references: readonly string[]): Promise<number> {
  let accepted = 0
  for (const reference of references) if ((await service.tellDelivered(cluster.apis[0]!.url, reference)) === 200) accepted++
  return accepted
}

/** What became of them, for whoever reads of a drill that is not clean. */
async function statesOf(cluster: Cluster, references: readonly string[]): Promise<object[]> {
  const { rows } = await cluster.pool.query<object>(
    `select d.reference, d.state, d.attempt, d.carrier, d.due_at - now() as due,
       (select data from event e where e.notification_id = d.notification_id order by seq desc limit 1) as latest
     from delivery d where d.notification_id = any($1::uuid[])`,
    [references.map(reference => reference.split('.')[0])],
  )
  return rows
}

const countOf = (names: readonly string[], among: readonly string[]): number => names.filter(name => among.includes(name)).length

async function countIn(cluster: Cluster, state: string): Promise<number> {
  const { rows } = await cluster.pool.query<{ count: number }>('select count(*)::int as count from delivery where state = $1', [
    state,
  ])
  return rows[0]!.count
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<boolean> {
  for (const since = Date.now(); Date.now() - since < STUCK_MS; await sleep(100)) if (await isSo()) return true
  process.stderr.write(`still waiting for ${what}\n`)
  return false
}

async function judge(
  cluster: Cluster,
  answered: readonly string[],
  orders: readonly string[],
  unknown: ExchangeVerdict['unknown'],
  foreign: ExchangeVerdict['foreign'],
): Promise<ExchangeVerdict> {
  const { rows } = await cluster.pool.query<{ reference: string; state: string; delivered: boolean; failed: boolean }>(
    `select reference, state, delivered_at is not null as delivered, failure is not null as failed from delivery where channel = 'letter'`,
  )
  const stored = new Set(rows.map(({ reference }) => reference))
  const verdict = {
    answered: answered.length,
    stored: rows.length,
    lost: answered.filter(reference => !stored.has(reference)).length,
    unknown,
    foreign,
    doubles: orders.length - new Set(orders).size,
    unfinished: rows.filter(({ state, delivered }) => state !== 'uncertain' && state !== 'unresolved' && !delivered).length,
    uncertain: rows.filter(({ state }) => state === 'uncertain' || state === 'unresolved').length,
    failed: rows.filter(({ failed }) => failed).length,
    faults: await findRecordFaults(cluster),
  }
  const { asked, given, believed } = foreign
  const counts = [verdict.lost, asked, given, believed, verdict.doubles, verdict.unfinished, verdict.uncertain, verdict.failed]
  const clean = counts.every(count => count === 0) && unknown.after === unknown.before && verdict.faults.length === 0
  return { ...verdict, clean: clean && new Set(orders).size === answered.length }
}

export const describeExchangeVerdict = (verdict: ExchangeVerdict): string => `
drill       exchange of the only print service
A answered  ${verdict.answered}
E stored    ${verdict.stored}   lost ${verdict.lost}
unknown     ${verdict.unknown.before} when the service was exchanged, ${verdict.unknown.after} when the first one came back
P second    asked about ${verdict.foreign.asked} letters of the first, given ${verdict.foreign.given}, believed on ${verdict.foreign.believed}
P both      doubles ${verdict.doubles}
open        unfinished ${verdict.unfinished}   uncertain ${verdict.uncertain}   failed ${verdict.failed}
faults      ${verdict.faults.length === 0 ? 'none: chains whole, statuses rebuilt, dates in order' : verdict.faults.slice(0, 20).join('\n            ')}
verdict     ${verdict.clean ? 'CLEAN' : 'NOT CLEAN'}
`
