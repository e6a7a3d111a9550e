import { randomUUID } from 'node:crypto'
import { completeSettings } from '../../src/domain/account.js'
import { SALT_BYTES } from '../../src/domain/evidence/evidence.js'
import { lowestId, newId } from '../../src/domain/id.js'
import { type Acceptance, acceptedEvent, type PlannedDelivery, type SendRequest } from '../../src/domain/notification.js'
import { takeRandom } from '../../src/domain/random.js'
import { HOUR_MS } from '../../src/domain/units.js'
import { listNotifications } from '../../src/store/console/notification-list.js'
import { type ClaimQuestion, claimDeliveries, lastServed } from '../../src/store/delivery/claims.js'
import { findStatuses } from '../../src/store/delivery/deliveries.js'
import { readOpenMonths } from '../../src/store/delivery/open-months.js'
import { type IdMonths, monthsBetween, timeOfId, withinMonths } from '../../src/store/months.js'
import { insertAcceptances } from '../../src/store/notification/notifications.js'
import type { Pool } from '../../src/store/postgres.js'
import { clientOf } from '../support/console-client.js'

export interface GrowthTask {
  url: string
  /** Of the api that serves this process, and a session of its console. */
  address: string
  cookie: string
  accounts: readonly string[]
  stored: number
}

/** The work of an api and of a worker on a store. */
export const KINDS_OF_WORK = ['accept', 'lookup', 'claim', 'idle', 'list', 'page', 'pageOfAll'] as const
export type KindOfWork = (typeof KINDS_OF_WORK)[number]

interface Work {
  run(): Promise<unknown>
  /** Not measured. */
  afterwards?(): Promise<unknown>
}

export const LOOKUPS = 20
export const CLAIMED = 10
/** The size of the sample from which the accounts of pages are drawn. */
const SAMPLE = 50_000
/** Notifications of a month that are looked up: so many that they do not stay in the processor's caches. */
const KNOWN = 5_000

export async function openWork(pool: Pool, { address, cookie, accounts, stored }: GrowthTask): Promise<Record<KindOfWork, Work>> {
  const { rows } = await pool.query<{ account: string; at: Date }>(
    `select account_id as account, accepted_at as at
     from notification tablesample system (${Math.min(100, (100 * SAMPLE) / stored)}) order by random() limit 2000`,
  )
  const draw = () => rows[Math.floor(Math.random() * rows.length)]!
  // Of one month, the newest or the oldest: a statement is planned once for each month that is asked for.
  const accepted = rows.map(({ at }) => at).sort((a, b) => a.getTime() - b.getTime())
  const months = [accepted.at(-1)!, accepted[0]!].map(at => monthsBetween(at, at))
  const known = await Promise.all(months.map(month => drawFrom(pool, month)))
  let turn = 0
  const open = await readOpenMonths(pool)
  const owner = randomUUID()
  // Accounts take turns, as in a worker: it begins after the account that it served last.
  let after = accounts[Math.floor(Math.random() * accounts.length)]!
  const claimNext = async (channel: string): Promise<void> => {
    after = lastServed(await claimDeliveries(pool, { ...question, channel, after }), after)
  }
  const question: Omit<ClaimQuestion, 'channel'> = {
    mode: 'live',
    carrier: 'smtp:mail.example.com/1',
    rank: 0,
    owner,
    limit: CLAIMED,
    leaseMs: 60_000,
    months: open,
  }
  const putBack = () =>
    pool.query(
      `update delivery set state = 'queued', lease_owner = null, lease_until = null
       where state = 'sending' and lease_owner = $1 and ${withinMonths(open, 'notification_id')}`,
      [owner],
    )
  const ask = clientOf(address, cookie)
  const scopeOf = (account: string) => ({ account, mode: 'live' as const })
  const page = {
    mode: 'live',
    text: null,
    channel: null,
    status: null,
    notReached: false,
    fromMs: null,
    toMs: null,
    before: null,
  } as const
  return {
    accept: { run: () => insertAcceptances(pool, [send(accounts[Math.floor(Math.random() * accounts.length)]!)]) },
    lookup: {
      run() {
        const of = known[turn++ % known.length]!
        const asked = Array.from({ length: LOOKUPS }, () => of[Math.floor(Math.random() * of.length)]!)
        return findStatuses(
          pool,
          asked.map(({ id, account }) => ({ scope: scopeOf(account), notification: id, channel: 'email' })),
        )
      },
    },
    claim: { run: () => claimNext('email'), afterwards: putBack },
    idle: { run: () => claimNext('sms') },
    list: { run: () => listNotifications(pool, { ...page, accounts: [draw().account] }) },
    page: { run: () => ask(`/notifications?account=${draw().account}`) },
    pageOfAll: { run: () => ask('/notifications') },
  }
}

/** Notifications at random moments of a month: those of a sample of pages would be neighbours. */
async function drawFrom(pool: Pool, month: IdMonths): Promise<{ id: string; account: string }[]> {
  const [from, to] = [month.low, month.high].map(id => timeOfId(id).getTime())
  const until = Math.min(to!, Date.now())
  const moments = Array.from({ length: KNOWN }, () => lowestId(Math.floor(from! + Math.random() * (until - from!))))
  const { rows } = await pool.query<{ id: string; account: string }>(
    `select n.id, n.account_id as account from unnest($1::uuid[]) as drawn(id) cross join lateral (
       select id, account_id from notification where id >= drawn.id and ${withinMonths(month, 'id')} order by id limit 1
     ) n`,
    [moments],
  )
  return rows
}

/** The times that such work took, in milliseconds, one after the other for `forMs`. */
export async function timesOf({ run, afterwards }: Work, forMs: number): Promise<number[]> {
  const taken: number[] = []
  const end = performance.now() + forMs
  for (let began = performance.now(); began < end; began = performance.now()) {
    await run()
    taken.push(performance.now() - began)
    await afterwards?.()
  }
  return taken
}

function send(account: string): Acceptance {
  const acceptedAt = new Date()
  const id = newId(acceptedAt.getTime())
  const request: SendRequest = {
    ...{ customId: null, sendAt: null, recipientName: 'Maria', subject: 'Aviso', content: '<p>Aviso</p>', validation: null },
    attachments: [],
    deliveries: [],
  }
  const rules = { sequence: null, settings: completeSettings({}), revision: 0 }
  const sender = { account, mode: 'live', token: account, address: '', rules } as const
  const turn = { state: 'queued', waitMs: HOUR_MS, step: 1, condition: 'always' } as const
  const deliveries: PlannedDelivery[] = [
    { ...turn, channel: 'email', recipient: 'maria@example.com', request: {}, template: null },
  ]
  const event = acceptedEvent(id, acceptedAt, request, sender, deliveries, takeRandom(SALT_BYTES))
  return {
    id,
    account,
    mode: 'live',
    acceptedAt,
    request,
    validation: null,
    deliveries,
    event,
    rulesRevision: null,
    idempotency: null,
  }
}
