import { setTimeout as sleep } from 'node:timers/promises'
import { readConfig } from '../../src/app/config.js'
import { loadKeys } from '../../src/app/database/keys.js'
import { signToken } from '../../src/domain/access/token.js'
import { newId } from '../../src/domain/id.js'
import { addRange, insertAccount } from '../../src/store/accounts/accounts.js'
import { insertToken } from '../../src/store/accounts/tokens.js'
import { Cluster } from './cluster.js'
import { LEASE_MS } from './drill.js'
import { type Durations, newPaces, type Pace, type Paces, senders, sendSingles } from './paces.js'

/**
 * The drill of batches: a file of many lines is sent while two accounts, one of them the batch's own, send single notifications; then all
 * processes are killed twice. Each line must be one notification, and single sends must not wait for the batch. The batch is paused now and
 * then, so that single sends without it are measured on the machine of the same minutes.
 */
export interface BulkDrillOptions {
  lines: number
  /** How long single sends are measured at a time, without the batch or beside it. */
  turnMs?: number
  /** How often the batch is paused to measure them without it: evenly over its lines, before each death of the processes and after it. */
  calmTurns?: number
  /** Workers yield the processor to others, as those of `carteiro start` do. Beside other tests they would hardly get it. */
  yields?: boolean
  /** `note`: how fast it goes, and how long the rest takes. */
  onProgress?(done: number, of: number, note: string): void
}

export interface BulkVerdict {
  lines: number
  accepted: number
  /** Recipients with more than one notification, and without any. */
  twice: number
  lost: number
  unsent: number
  kills: number
  /** From the upload until all lines were accepted, without the pauses. */
  seconds: number
  calm: Paces
  beside: Paces
  /** The highest p99 beside the batch, by the same without it. */
  ratio: number
  clean: boolean
}

const MOST_RATIO = 1.5
const KILLS = 2
const TURN_MS = 6_000
const WARM_UP_LINES = 600
const CALM_TURNS = 40

export async function runBulkDrill(options: BulkDrillOptions): Promise<BulkVerdict> {
  const { lines, turnMs = TURN_MS, calmTurns = CALM_TURNS, yields = true, onProgress } = options
  const cluster = new Cluster()
  try {
    await cluster.start({ apis: 1, workers: 2, leaseMs: LEASE_MS, workerArgs: yields ? ['--yield'] : [] })
    const tokens = { own: cluster.token, other: await createSender(cluster) }
    const [calm, beside] = [newPaces(), newPaces()]
    const warmUp = (): Promise<void> => sendSingles(cluster, tokens, newPaces(), turnMs)
    // New processes run slowly until their code is compiled: that of batches too, by a batch that is not counted.
    await Promise.all([upload(cluster, WARM_UP_LINES, 'aquecimento'), warmUp()])
    await warmUp()
    await drained(cluster)
    await sendSingles(cluster, tokens, calm, turnMs)
    const began = Date.now()
    const uploading = upload(cluster, lines, 'lote')
    await sendSingles(cluster, tokens, beside, turnMs)
    const batch = await uploading
    let pausedMs = 0
    let nextCalmTurn = 1
    const watch = async (): Promise<BatchProgress> => {
      const progress = await ask(cluster, `/${batch}`)
      const { aceitas, porMinuto, segundosRestantes } = progress
      onProgress?.(aceitas, lines, `${Math.round((porMinuto ?? 0) / 60)} lines/s, ${segundosRestantes ?? '?'} s left`)
      return progress
    }
    const isBelow = async (end: number): Promise<boolean> => {
      const { aceitas, situacao } = await ask(cluster, `/${batch}`)
      return aceitas < end && situacao !== 'done'
    }
    for (let part = 1; part <= KILLS + 1; part++) {
      const end = Math.floor((lines * part) / (KILLS + 1))
      while (await isBelow(end)) {
        await sendSingles(cluster, tokens, beside, turnMs)
        const { situacao, aceitas } = await watch()
        if (situacao !== 'sending' || aceitas < (lines * nextCalmTurn) / calmTurns) continue
        const from = Date.now()
        await ask(cluster, `/${batch}/pause`, 'POST').catch(() => {})
        await drained(cluster)
        await sendSingles(cluster, tokens, calm, turnMs)
        nextCalmTurn = Math.floor((aceitas * calmTurns) / lines) + 1
        pausedMs += Date.now() - from
        await ask(cluster, `/${batch}/resume`, 'POST')
      }
      if (part > KILLS) break
      for (const node of [...cluster.workers, ...cluster.apis]) node.signal('SIGKILL')
      await Promise.all([...cluster.workers, ...cluster.apis].map(node => node.ended()))
      await cluster.revive()
      await warmUp()
      await warmUp()
    }
    while ((await watch()).situacao !== 'done') await sleep(500)
    const seconds = (Date.now() - began - pausedMs) / 1_000
    await drained(cluster)
    const { rows } = await cluster.pool.query<{ accepted: number; recipients: number; most: number; unsent: number }>(
      `with sent as (
         select d.recipient, count(*)::int as count, count(*) filter (where d.sent_at is null)::int as unsent from delivery d
         where d.channel = 'email' and d.recipient like 'lote%@example.com' group by d.recipient
       )
       select coalesce(sum(count), 0)::int as accepted, count(*)::int as recipients, count(*) filter (where count > 1)::int as most,
         coalesce(sum(unsent), 0)::int as unsent from sent`,
    )
    const { accepted, recipients, most, unsent } = rows[0]!
    const ratio = Math.max(...senders.flatMap(who => ratiosOf(calm[who], beside[who])))
    const lost = lines - recipients
    const clean = most === 0 && lost === 0 && unsent === 0 && ratio <= MOST_RATIO
    return { lines, accepted, twice: most, lost, unsent, kills: KILLS, seconds, calm, beside, ratio, clean }
  } finally {
    await cluster.stop()
  }
}

async function createSender({ env, pool }: Cluster): Promise<string> {
  const now = Date.now()
  const account = newId(now)
  await insertAccount(pool, { id: account, name: 'avulsa', entityId: newId(now), entityName: 'Avulsa', settings: {} })
  await addRange(pool, account, '127.0.0.0/8')
  const claims = { jti: newId(now), account, mode: 'live', issuedAt: new Date(now), expiresAt: null } as const
  await insertToken(pool, claims)
  return signToken(loadKeys(readConfig(env), false).tokenSigning, claims)
}

const ratiosOf = (calm: Pace, beside: Pace): number[] =>
  (['answer', 'sent'] as const).map(what => beside[what].quantile(0.99) / calm[what].quantile(0.99))

/** Lines of one piece of an upload: in many small pieces it would keep this process busy, and the single sends would be measured late. */
const PIECE = 1_000

async function upload({ apis, token }: Cluster, lines: number, recipient: string): Promise<string> {
  async function* file(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('nome;email\n')
    for (let from = 0; from < lines; from += PIECE) {
      const count = Math.min(PIECE, lines - from)
      const written = Array.from({ length: count }, (_, at) => `Pessoa ${from + at};${recipient}${from + at}@example.com\n`)
      yield Buffer.from(written.join(''))
    }
  }
  const base = JSON.stringify({ subject: 'Aviso', content: '<p>Olá {{ nome }}</p>' })
  const answer = await fetch(`${apis[0]!.url}/gw/bulk?${new URLSearchParams({ name: recipient, base, start: '1' })}`, {
    method: 'POST',
    headers: { authorization: token, 'content-type': 'text/csv' },
    body: ReadableStream.from(file()),
    duplex: 'half',
  } as RequestInit)
  const { data, message } = (await answer.json()) as { data: { id: string }; message?: string }
  if (!answer.ok) throw new Error(message)
  return data.id
}

interface BatchProgress {
  situacao: string
  aceitas: number
  porMinuto: number | null
  segundosRestantes: number | null
}

async function ask({ apis, token }: Cluster, path: string, method = 'GET'): Promise<BatchProgress> {
  const answer = await fetch(`${apis[0]!.url}/gw/bulk${path}`, { method, headers: { authorization: token } })
  const { data, message } = (await answer.json()) as { data: BatchProgress; message?: string }
  if (!answer.ok) throw new Error(message)
  return data
}

async function drained({ pool }: Cluster): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ count: number }>(
      "select count(*)::int as count from delivery where state in ('queued', 'sending', 'uncertain') and channel = 'email'",
    )
    if (rows[0]!.count === 0) return
    await sleep(500)
  }
}

const describeDurations = (durations: Durations): string =>
  [0.5, 0.99].map(part => durations.quantile(part).toFixed(0)).join(' / ')

const describePace = ({ answer, sent }: Pace): string =>
  `answered in ${describeDurations(answer)} ms, at the carrier in ${describeDurations(sent)} ms (p50 / p99 of ${answer.count})`

const describeSender = (who: 'own' | 'other', { calm, beside }: BulkVerdict): string => {
  const [answer, sent] = ratiosOf(calm[who], beside[who])
  return `${who.padEnd(12)}without the batch ${describePace(calm[who])}
            beside it         ${describePace(beside[who])}
            p99 by p99        answered ${answer!.toFixed(2)}, at the carrier ${sent!.toFixed(2)}`
}

export const describeBulkVerdict = (verdict: BulkVerdict): string => `
batch       ${verdict.lines} lines in ${verdict.seconds.toFixed(0)} s (${(verdict.lines / verdict.seconds).toFixed(0)} a second), all processes killed ${verdict.kills} times
accepted    ${verdict.accepted}   twice ${verdict.twice}   lost ${verdict.lost}   unsent ${verdict.unsent}
${senders.map(who => describeSender(who, verdict)).join('\n')}
ratio       ${verdict.ratio.toFixed(2)} (at most ${MOST_RATIO})
verdict     ${verdict.clean ? 'CLEAN' : 'NOT CLEAN'}
`
