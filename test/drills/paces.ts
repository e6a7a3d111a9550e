import { setTimeout as sleep } from 'node:timers/promises'
import { send, validSend } from '../support/gateway/requests.js'
import type { Cluster } from './cluster.js'

/** How long single sends take, measured by sending them one after the other. */

/** From 0.1 ms to a week. */
const BUCKETS = 1_200
const LEAST_MS = 0.1
const GROWTH = 1.02

/** Durations, counted in buckets that are 2 % wide: memory does not grow with the run. */
export class Durations {
  readonly #counts = new Uint32Array(BUCKETS)
  count = 0

  add(ms: number): void {
    const place = Math.ceil(Math.log(Math.max(ms, LEAST_MS) / LEAST_MS) / Math.log(GROWTH))
    this.#counts[Math.min(place, BUCKETS - 1)]!++
    this.count++
  }

  /** The upper end of the bucket that holds this part of them. */
  quantile(part: number): number {
    let left = Math.max(1, Math.ceil(this.count * part))
    const place = this.#counts.findIndex(count => {
      left -= count
      return left <= 0
    })
    return place === -1 ? Number.NaN : LEAST_MS * GROWTH ** place
  }
}

export interface Pace {
  /** From the request to its answer. */
  answer: Durations
  /** From the acceptance until the carrier had it. */
  sent: Durations
}

export type Paces = Readonly<Record<'own' | 'other', Pace>>
export const senders = ['own', 'other'] as const

const newPace = (): Pace => ({ answer: new Durations(), sent: new Durations() })
export const newPaces = (): Paces => ({ own: newPace(), other: newPace() })

const PAUSE_MS = 60

/** Single sends of both accounts for a while. */
export async function sendSingles(
  cluster: Cluster,
  tokens: Readonly<Record<'own' | 'other', string>>,
  paces: Paces,
  forMs: number,
): Promise<void> {
  const { url } = cluster.apis[0]!
  const sendAs = async (who: 'own' | 'other'): Promise<void> => {
    const ids: string[] = []
    for (const end = Date.now() + forMs; Date.now() < end; await sleep(PAUSE_MS)) {
      const began = performance.now()
      const { body } = await send(url, tokens[who], validSend)
      paces[who].answer.add(performance.now() - began)
      ids.push((body as { idEmail: string }).idEmail)
    }
    for (const ms of await sentTimes(cluster, ids)) paces[who].sent.add(ms)
  }
  await Promise.all(senders.map(sendAs))
}

async function sentTimes({ pool }: Cluster, ids: readonly string[]): Promise<number[]> {
  for (;;) {
    const { rows } = await pool.query<{ ms: number | null }>(
      `select (extract(epoch from d.sent_at - n.accepted_at) * 1000)::float8 as ms from delivery d join notification n on n.id = d.notification_id
       where d.notification_id = any($1::uuid[]) and d.channel = 'email'`,
      [ids],
    )
    if (rows.length === ids.length && rows.every(({ ms }) => ms !== null)) return rows.map(({ ms }) => ms!)
    await sleep(100)
  }
}
