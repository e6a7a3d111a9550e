import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readConfig } from '../../src/app/config.js'
import { loadKeys } from '../../src/app/database/keys.js'
import { signToken } from '../../src/domain/access/token.js'
import { newId } from '../../src/domain/id.js'
import { addRange, insertAccount } from '../../src/store/accounts/accounts.js'
import { insertToken } from '../../src/store/accounts/tokens.js'
import { send, validSend } from '../support/gateway/requests.js'
import { Cluster, METRICS_TOKEN, Node } from './cluster.js'
import { LEASE_MS } from './drill.js'

/** The upload drill: clients send without pause, in turns without and with hostile uploads of another account and of strangers. */
export interface UploadDrillOptions {
  /** How often the two turns follow each other. */
  count: number
  clients: number
  onProgress?(done: number, of: number): void
}

interface Turn {
  p50Ms: number
  p99Ms: number
  sent: number
}

export interface UploadVerdict {
  calm: Turn
  attacked: Turn
  /** p99 with the attack, by p99 without it. */
  ratio: number
  /** Sends that were refused or not answered. */
  refused: number
  /** Answered 200, but not in the database. */
  lost: number
  /** Of the api, at its highest. */
  peakMib: number
  clean: boolean
}

const MOST = 2
const UPLOADER = fileURLToPath(new URL('./uploader.js', import.meta.url))
const TURN_MS = 10_000
/** Until the attack, or its end, has reached everything. */
const SETTLE_MS = 5_000
const PAUSE_MS = 5

export async function runUploadDrill({ count, clients, onProgress }: UploadDrillOptions): Promise<UploadVerdict> {
  const cluster = new Cluster()
  try {
    await cluster.start({ apis: 1, workers: 1, leaseMs: LEASE_MS })
    const { url } = cluster.apis[0]!
    const token = await createAttacker(cluster)
    const calm: number[] = []
    const attacked: number[] = []
    const answered: string[] = []
    let refused = 0
    let peakMib = 0
    const turn = async (times: number[]): Promise<void> => {
      const until = Date.now() + TURN_MS
      await Promise.all(Array.from({ length: clients }, () => sendUntil(until)))
      async function sendUntil(end: number): Promise<void> {
        while (Date.now() < end) {
          const began = performance.now()
          const answer = await send(url, cluster.token, validSend).catch(() => null)
          times.push(performance.now() - began)
          if (answer?.status === 200) answered.push((answer.body as { idEmail: string }).idEmail)
          else refused++
          await sleep(PAUSE_MS)
        }
      }
      peakMib = Math.max(peakMib, await readMemory(url))
    }
    // The first turn only warms up.
    await turn([])
    for (let n = 0; n < count; n++) {
      await turn(calm)
      const uploader = new Node('simulator', UPLOADER, [url, token], { PATH: process.env.PATH })
      await uploader.start()
      await sleep(SETTLE_MS)
      await turn(attacked)
      uploader.signal('SIGKILL')
      await uploader.ended()
      await sleep(SETTLE_MS)
      onProgress?.(n + 1, count)
    }
    const lost = answered.length - (await countStored(cluster, answered))
    const [without, during] = [summarise(calm), summarise(attacked)]
    const ratio = during.p99Ms / without.p99Ms
    const clean = ratio <= MOST && refused === 0 && lost === 0 && during.sent > 0
    return { calm: without, attacked: during, ratio, refused, lost, peakMib, clean }
  } finally {
    await cluster.stop()
  }
}

/** The hostile account has a valid token of its own. */
async function createAttacker({ env, pool }: Cluster): Promise<string> {
  const now = Date.now()
  const account = newId(now)
  const settings = { 'limit.registered': 10_000_000 }
  await insertAccount(pool, { id: account, name: 'hostil', entityId: newId(now), entityName: 'Hostil', settings })
  await addRange(pool, account, '127.0.0.0/8')
  const claims = { jti: newId(now), account, mode: 'live', issuedAt: new Date(now), expiresAt: null } as const
  await insertToken(pool, claims)
  return signToken(loadKeys(readConfig(env), false).tokenSigning, claims)
}

async function readMemory(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })).text()
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1] ?? Number.NaN) / 1_048_576
}

async function countStored({ pool }: Cluster, ids: readonly string[]): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    'select count(*)::int as count from notification where id = any($1::uuid[])',
    [ids],
  )
  return rows[0]!.count
}

function summarise(times: readonly number[]): Turn {
  const sorted = [...times].sort((one, other) => one - other)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { p50Ms: at(0.5), p99Ms: at(0.99), sent: sorted.length }
}

const describeTurn = ({ p50Ms, p99Ms, sent }: Turn): string =>
  `${sent} sends   p50 ${p50Ms.toFixed(1)} ms   p99 ${p99Ms.toFixed(1)} ms`

export const describeUploadVerdict = ({ calm, attacked, ratio, refused, lost, peakMib, clean }: UploadVerdict): string => `
drill       uploads
without     ${describeTurn(calm)}
with        ${describeTurn(attacked)}
ratio       ${ratio.toFixed(2)} (at most ${MOST})
others      refused ${refused}   lost ${lost}
memory      ${Math.round(peakMib)} MiB at most, of the api
verdict     ${clean ? 'CLEAN' : 'NOT CLEAN'}
`
