import { expect, test } from 'vitest'
import { monthOfId } from '../../../src/store/months.js'
import { readPlans } from '../../support/database/plans.js'
import { consoleClient, consoleRoutes } from '../../support/gateway/console.js'
import { createAccount, gatewayForFile } from '../../support/gateway/gateway.js'

/**
 * The plan of every list query of the console: each reads ranges of indexes, in their order. The tables here are small, so scans of whole
 * tables are made expensive: what is left of them has no index to use. `npm run bench -- console` measures a million notifications.
 */
const { database, gateway, account } = await gatewayForFile()
const { pool } = database
const { url } = gateway
const small = await createAccount(pool)
const operator = await consoleClient(pool, url)
const sender = await consoleClient(pool, url, { email: 'remetente@example.com', role: 'sender', account: small.id })

const ROWS = 3_000
const id = `(lpad(to_hex(${Date.now()} - n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid`
const rows = `generate_series(1, ${ROWS}) n`
const fills = [
  `insert into notification (id, account_id, mode, accepted_at, custom_id, recipient_name, subject)
   select ${id}, '${account.id}', 'live', now(), 'c-' || n, 'Pessoa ' || n, 'Aviso ' || n from ${rows}`,
  `insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, recipient, request, failure)
   select ${id}, 'email', '${account.id}', 'live', (array['done', 'done', 'done', 'done', 'dead', 'unresolved', 'uncertain', 'queued'])[1 + n % 8],
     now(), now(), 1, 'always', 'p' || n || '@example.com', '{}', case when n % 8 = 4 then 'rejected' end from ${rows}`,
  `insert into suppression (account_id, mode, channel, recipient, reason, created_at)
   select '${account.id}', 'live', 'email', 's' || n || '@example.com', 'hard bounce', now() - n * interval '1 minute' from ${rows}`,
  `insert into token (jti, account_id, mode, issued_at) select uuidv7(-n * interval '1 minute'), '${account.id}', 'live', now() from ${rows}`,
  `insert into webhook_endpoint (id, account_id, mode, url, payload_version, secret)
   select uuidv7(-n * interval '1 minute'), a, 'live', 'https://127.0.0.1/' || n, 'v2', 'x'
   from unnest(array['${account.id}', '${small.id}']::uuid[]) a, generate_series(1, 5) n`,
  `insert into webhook_message (id, endpoint_id, notification_id, channel, event_seq, state)
   select ${id}, (select id from webhook_endpoint where account_id = '${account.id}' order by id limit 1), ${id}, 'email', 1, 'done' from ${rows}`,
  `insert into webhook_attempt (endpoint_id, message_id, attempt, url, payload_version, at, duration_ms, status, error)
   select endpoint_id, id, 1, 'x', 'v2', now(), 1, 500, 'x' from webhook_message`,
  `insert into audit (id, at, actor, action, subject, detail, prev, hash)
   select 1000 + n, now(), 'operator:' || n % 50, 'x', 'y', '{}', '', sha256(n::text::bytea) from ${rows}`,
  `insert into checkpoint (size, root, note, at) select n, sha256(n::text::bytea), 'x', now() from ${rows}`,
  `insert into delivery_count (unit, mode, starts_at, account_id, channel)
   select u, 'live', date_trunc(u, now()) - n * ('1 ' || u)::interval, '${account.id}', 'email' from ${rows}, unnest(array['hour', 'day']) u`,
]
for (const fill of fills) await database.tamper(fill)
await database.asOwner('analyze')

/** Tables that grow without end. Accounts, endpoints, templates and people are few: at most some hundreds are listed. */
const LARGE =
  /Seq Scan on (notification|delivery_20|delivery_count|event|suppression|token|webhook_message|webhook_attempt|audit|checkpoint)(?!_tally)/
const endpoint = (await pool.query('select endpoint_id as id from webhook_attempt limit 1')).rows[0].id
const lists: Readonly<Record<string, readonly string[]>> = {
  '/overview': ['', '?period=30d'],
  '/bulk': ['', '?mode=test'],
  '/notifications': [
    ...[
      '',
      '?status=falhou',
      '?status=lido',
      '?status=queued',
      '?channel=email',
      '?status=nao-alcancada',
      '?from=2026-01-01',
      '?mode=test',
    ],
    ...['?q=c-77', '?q=p77@example.com', '?q=Aviso%20777', '?q=01a1e5cb-6ddf-7b25-a9e2-6604e1dee546'],
  ],
  '/operations/queue': [''],
  '/operations/deliveries': ['?state=dead', '?state=dead&channel=sms', '?state=unresolved', '?state=uncertain'],
  '/operations/suppressions': ['', '?channel=email', '?recipient=s7@example.com'],
  '/operations/evidence': [''],
  '/webhooks': [''],
  '/webhooks/:id/attempts': ['', '?failed=true', '?before=2000'],
  '/accounts': [''],
  '/accounts/:id/tokens': [''],
  '/accounts/:id/addresses': [''],
  '/templates': [`?account=${account.id}`],
  '/audit': ['', '?cursor=2000', '?actor=operator:7'],
  '/operators': [''],
}
const ofOverseers = ['/operations/evidence', '/webhooks/:id/attempts', '/accounts/:id/tokens', '/accounts/:id/addresses']
const isSeenBySenders = (path: string): boolean => ![...ofOverseers, '/templates', '/audit', '/operators'].includes(path)

test('every list of the console is named here', () => {
  const others =
    /\/(me|installation|live|carriers|simulator|compose|sequence|samples|chain|setup)\b|:id$|:id\/(status|content|proof|report|bundle|verification|versions)|\.csv|\*/
  const paths = consoleRoutes(gateway)
    .filter(({ method, path }) => method === 'GET' && !others.test(path))
    .map(({ path }) => path.slice('/console/api'.length))
  expect(Object.keys(lists).sort()).toEqual(paths.sort())
})

test.each(Object.keys(lists))('no statement of %s reads a large table as a whole, or sorts one', async path => {
  const at = path.replace('/webhooks/:id', `/webhooks/${endpoint}`).replace('/accounts/:id', `/accounts/${account.id}`)
  for (const query of lists[path]!) {
    for (const client of isSeenBySenders(path) ? [operator, sender] : [operator]) {
      const asked = `${at}${query}`
      const plans = await readPlans(
        pool,
        async () => {
          const answer = await client.get(asked)
          expect(answer.status, JSON.stringify(answer.body)).toBe(200)
        },
        ['enable_seqscan = off'],
        true,
      )
      expect(plans.length).toBeGreaterThan(0)
      for (const { sql, plan } of plans) {
        expect(plan, `${asked}\n${sql}`).not.toMatch(LARGE)
        expect(plan, `${asked}\n${sql}`).not.toMatch(ofOthers[path] ?? LARGE)
        for (const rows of sortedRows(plan))
          expect(rows, `${asked}\n${plan}`).toBeLessThanOrEqual(mostSorted[path] ?? MOST_SORTED)
        if (readsNothingElse.includes(path)) expect(plan, `${asked}\n${sql}`).not.toMatch(/Rows Removed by Filter: \d{3}/)
      }
    }
  }
})

test.each(['?status=queued', '?status=nao-alcancada', '?status=lido', '?channel=email', '?q=Aviso%20777'])(
  'the rows of a page "%s" are looked up in the months that its ids are of, and the other months are left out',
  async query => {
    const plans = await readPlans(pool, async () => expect((await operator.get(`/notifications${query}`)).status).toBe(200))
    const ofIds = plans.filter(({ sql }) => /= any\(\$1::uuid\[\]\)|unnest\(\$1::uuid\[\]\) as page/.test(sql))
    const pages = ofIds.filter(({ sql }) => !sql.includes('from account'))
    expect(pages.length).toBeGreaterThanOrEqual(2)
    for (const { sql, plan, values } of pages) {
      const ids = values[0] as string[]
      expect(ids.length).toBeGreaterThan(0)
      const months = new Set(ids.map(id => monthOfId(id)!.name))
      expect(new Set([...plan.matchAll(/ on (?:delivery|notification)_(\d{4}_\d\d)/g)].map(([, month]) => month)), plan).toEqual(
        months,
      )
      // The plan of the statement that reads the rows has few other months, here none.
      if (!sql.includes('as page')) expect(plan).toMatch(/Subplans Removed: [1-9]/)
    }
  },
)

test('a page of one account asks for that account, and for no list of accounts', async () => {
  const plans = await readPlans(pool, async () => {
    expect((await operator.get(`/notifications?account=${account.id}`)).status).toBe(200)
    expect((await sender.get(`/notifications?account=${account.id}`)).status).toBe(404)
  })
  const ofAccounts = plans.filter(({ sql }) => /\bfrom account\b/.test(sql))
  // Whether it may be seen, and what it is called.
  expect(ofAccounts.map(({ values }) => values)).toEqual([[[account.id]], [[account.id]]])
})

/** An index that has the rows of others too: whoever has few rows would read all of theirs. */
const ofOthers: Readonly<Record<string, RegExp>> = {
  '/webhooks/:id/attempts': /Parallel/,
  // The events of what waits for a person are of meaning in a restored copy alone.
  '/operations/queue': / on event_20/,
  '/operations/deliveries': /on delivery_20\d\d_\d\d[^\n]*\n\s*Index Cond: (?![^\n]*(account_id|notification_id))/,
}
/** What the step below each sort gave it. */
const sortedRows = (plan: string): number[] =>
  [...plan.matchAll(/Sort .*\n(?:(?!.*->).*\n)*.*->.* \(actual rows=([\d.]+) loops=(\d+)/g)].map(
    ([, rows, loops]) => Number(rows) * Number(loops),
  )

/** Lists of a state: every row of the index that is read is shown or counted. There are 375 rows of each state, and none of the small account. */
const readsNothingElse = ['/overview', '/operations/queue', '/operations/deliveries']
/** Some pages of each account are merged. */
const MOST_SORTED = 2_000
/** The counts of the overview are grouped; its oldest delivery is the first of an index, not the first of a sorted queue. */
const mostSorted: Readonly<Record<string, number>> = { '/overview': 100 }
