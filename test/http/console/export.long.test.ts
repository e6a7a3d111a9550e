import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { readPlans } from '../../support/database/plans.js'
import { consoleClient } from '../../support/gateway/console.js'
import { gatewayForFile } from '../../support/gateway/gateway.js'

/** Many rows: the export streams, and no list reads what it does not show. */
const ROWS = 100_000
const { database, gateway, account } = await gatewayForFile()
const { pool } = database
const { url } = gateway
const operator = await consoleClient(pool, url)

const id = `(lpad(to_hex(${Date.now()} - n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid`
await database.tamper(
  `insert into notification (id, account_id, mode, accepted_at, custom_id, recipient_name, subject)
   select ${id}, '${account.id}', 'live', now(), 'c-' || n, 'Pessoa ' || n, 'Aviso ' || n from generate_series(1, ${ROWS}) n`,
)
await database.tamper(
  `insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, recipient, request)
   select ${id}, 'email', '${account.id}', 'live', 'done', now(), now(), 1, 'always', 'p' || n || '@example.com', '{}' from generate_series(1, ${ROWS}) n`,
)
await database.tamper(
  `insert into token (jti, account_id, mode, issued_at) select uuidv7(), '${account.id}', 'test', now() from generate_series(1, 20000)`,
)
await database.tamper(
  `insert into audit (id, at, actor, action, subject, detail, prev, hash)
   select 1000 + n, now(), 'operator:' || n % 50, 'x', 'y', '{}', '', sha256(n::text::bytea) from generate_series(1, 20000) n`,
)
for (const table of ['notification', 'delivery', 'token', 'audit']) await database.asOwner(`analyze ${table}`)

/** The tallies are small: they are summed up within seconds. */
const LARGE = /Seq Scan on (notification|delivery(?!_tally|_count)|token|audit)/

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const heldMb = (): number => {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 1_048_576
}

test('an export of 100,000 rows holds no more memory at its end than at its beginning', async () => {
  const { body } = await fetch(`${url}/console/api/notifications.csv`, { headers: { cookie: operator.cookie } })
  let lines = 0
  let bytes = 0
  let early = 0
  let most = 0
  for await (const chunk of body!) {
    bytes += chunk.length
    const before = Math.floor(lines / 10_000)
    for (const byte of chunk) if (byte === 10) lines++
    if (Math.floor(lines / 10_000) === before) continue
    if (early === 0) early = heldMb()
    else most = Math.max(most, heldMb())
  }
  expect(lines).toBe(ROWS + 1)
  expect(bytes).toBeGreaterThan(15_000_000)
  // All of it in memory would be twice the bytes of the file.
  expect(most - early).toBeLessThan(8)
})

test.each([
  ['/notifications'],
  ['/notifications?status=falhou'],
  ['/notifications?status=nao-alcancada'],
  ['/notifications?channel=email'],
  ['/notifications?q=c-77'],
  ['/notifications?q=p77@example.com'],
  ['/notifications?q=Aviso%2077777'],
  [`/accounts/${account.id}/tokens`],
  ['/audit'],
  ['/audit?cursor=12000'],
  ['/audit?actor=operator:7'],
  ['/operators'],
  ['/overview'],
])('no statement of %s reads a large table as a whole, or counts it', async path => {
  const plans = await readPlans(pool, async () => {
    expect((await operator.get(path)).status).toBe(200)
  })
  expect(plans.length).toBeGreaterThan(0)
  for (const { sql, plan } of plans) expect(plan, sql).not.toMatch(LARGE)
})
