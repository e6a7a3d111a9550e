import { randomUUID } from 'node:crypto'
import { completeSettings } from '../src/domain/account.js'
import { SALT_BYTES } from '../src/domain/evidence.js'
import { newId } from '../src/domain/id.js'
import { type Acceptance, acceptedEvent, type PlannedDelivery, type SendRequest } from '../src/domain/notification.js'
import { takeRandom } from '../src/domain/random.js'
import { listNotifications } from '../src/store/console/notification-list.js'
import { type ClaimQuestion, claimDeliveries } from '../src/store/delivery/claims.js'
import { findStatuses } from '../src/store/delivery/deliveries.js'
import { readOpenSince } from '../src/store/delivery/open-months.js'
import { insertAcceptances } from '../src/store/notification/notifications.js'
import { openPool, type Pool } from '../src/store/postgres.js'
import { fillGrowth, type GrowthSize } from './growth-fill.js'
import { machine, median, note, print, table } from './report.js'
import { type Workspace, withWorkspace } from './workspace.js'

/** What the database needs for each kind of work, on stores of growing age: the same work on an empty one is the measure. */
export interface GrowthOptions {
  stored: number[]
  months: number[]
  accounts: number[]
  runs: number
}

type Measured = Record<'accept' | 'lookup' | 'claim' | 'idle' | 'list', number>

const EMPTY: GrowthSize = { stored: 1_000, months: 1, accounts: 10 }
const LOOKUPS = 20
const CLAIMED = 10
const MOST = 1.2

export const benchGrowth = (options: GrowthOptions): Promise<void> => withWorkspace(workspace => measure(workspace, options))

async function measure(workspace: Workspace, { stored, months, accounts, runs }: GrowthOptions): Promise<void> {
  const sizes = stored.flatMap(count =>
    months.flatMap(span => accounts.map(of => ({ stored: count, months: span, accounts: of }))),
  )
  const empty = await measureSize(workspace, 'growth-empty', EMPTY, runs)
  const rows = [['stored', 'months', 'accounts', 'accept', 'lookup', 'claim', 'claim of nothing', 'console list']]
  const cells = (measured: Measured): string[] =>
    Object.entries(measured).map(([name, ms]) => `${ms.toFixed(2)} (${(ms / empty[name as keyof Measured]).toFixed(2)})`)
  rows.push([String(EMPTY.stored), String(EMPTY.months), String(EMPTY.accounts), ...cells(empty)])
  let isMet = true
  for (const [n, size] of sizes.entries()) {
    const measured = await measureSize(workspace, `growth-${n}`, size, runs)
    rows.push([String(size.stored), String(size.months), String(size.accounts), ...cells(measured)])
    isMet &&= Object.entries(measured).every(([name, ms]) => ms <= MOST * empty[name as keyof Measured])
  }
  print(
    `\n${machine()}; median of ${runs}; milliseconds of one statement (ratio to the first line): a send, ${LOOKUPS} lookups of a month, a claim of ${CLAIMED}, a page\n\n`,
  )
  print(table(rows))
  print(`\n${isMet ? 'PASS' : 'above target'}  each at most ${MOST} × of the first line\n`)
}

async function measureSize(workspace: Workspace, name: string, size: GrowthSize, runs: number): Promise<Measured> {
  const subject = await workspace.createSubject(name)
  const accounts = await fillGrowth(subject, size, workspace.signal, note)
  // One connection: a statement is planned once, and then measured.
  const pool = openPool({ url: subject.url, size: 1, onError: () => {} })
  try {
    return await measureStore(pool, accounts, runs)
  } finally {
    await pool.end()
  }
}

async function measureStore(pool: Pool, accounts: readonly string[], runs: number): Promise<Measured> {
  const { rows } = await pool.query<{ id: string; account: string; month: string }>(
    "select id, account_id as account, to_char(accepted_at, 'YYYY-MM') as month from notification order by random() limit 2000",
  )
  const months = [
    rows
      .map(({ month }) => month)
      .sort()
      .at(-1)!,
    rows.map(({ month }) => month).sort()[0]!,
  ]
  let turn = 0
  const draw = () => rows[Math.floor(Math.random() * rows.length)]!
  const since = await readOpenSince(pool)
  const question = (channel: string): ClaimQuestion => ({
    ...{
      channel,
      mode: 'live',
      carrier: 'smtp:mail.example.com/1',
      rank: 0,
      owner: randomUUID(),
      limit: CLAIMED,
      leaseMs: 60_000,
      since,
    },
  })
  const putBack = () =>
    pool.query("update delivery set state = 'queued', lease_owner = null, lease_until = null where state = 'sending'")
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
    accept: await time(runs, () => insertAcceptances(pool, [send(accounts[0]!)])),
    lookup: await time(runs, () => {
      // Of one month, the newest or the oldest: a statement is planned once for each month that is asked for.
      const month = months[turn++ % 2]!
      const asked = rows.filter(row => row.month === month).slice(0, LOOKUPS)
      return findStatuses(
        pool,
        asked.map(({ id, account }) => ({ scope: scopeOf(account), notification: id, channel: 'email' })),
      )
    }),
    claim: await time(runs, () => claimDeliveries(pool, question('email')), putBack),
    idle: await time(runs, () => claimDeliveries(pool, question('sms'))),
    list: await time(runs, () => listNotifications(pool, { ...page, accounts: [draw().account] })),
  }
}

async function time(runs: number, work: () => Promise<unknown>, afterwards?: () => Promise<unknown>): Promise<number> {
  const taken: number[] = []
  for (let run = -4; run < runs; run++) {
    const start = performance.now()
    await work()
    // The first ones plan.
    if (run >= 0) taken.push(performance.now() - start)
    await afterwards?.()
  }
  return median(taken)
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
  const turn = { state: 'queued', waitMs: 3_600_000, step: 1, condition: 'always' } as const
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
