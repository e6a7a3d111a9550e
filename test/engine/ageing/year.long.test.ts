import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { channelModules, moduleOf } from '../../../src/channels/registry.js'
import { completeSettings } from '../../../src/domain/account.js'
import { sha256 } from '../../../src/domain/evidence/evidence.js'
import { newId } from '../../../src/domain/id.js'
import { type Acceptance, acceptedEvent, planDeliveries, type SendRequest } from '../../../src/domain/notification.js'
import { endTerms } from '../../../src/engine/ageing/retention.js'
import { recordChanges } from '../../../src/engine/record/record.js'
import { extendLog } from '../../../src/evidence/log.js'
import { sumUsage } from '../../../src/store/accounts/costs.js'
import { sumTallies } from '../../../src/store/console/counts.js'
import { deleteUnusedBlobs, storeBlobs } from '../../../src/store/files/blobs.js'
import { insertAcceptances } from '../../../src/store/notification/notifications.js'
import { createDatabase } from '../../support/database/database.js'
import { logParts } from '../../support/evidence/log.js'
import { runCommand } from '../../support/gateway/command.js'
import { createAccount } from '../../support/gateway/gateway.js'

/** A year of sends, with terms of 90 days, and 30 for contents: every month is dropped when it may be. */
const MONTHLY = 100
const TERMS = { 'retention.events': 90, 'retention.content': 30, 'retention.attachments': 30 }
const DAY = 86_400_000
const FOR_EVER = ['log_leaf', 'log_node', 'checkpoint', 'audit', 'dropped_month']

const database = await createDatabase()
const { pool } = database
const folder = mkdtempSync(join(tmpdir(), 'carteiro-year-'))
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await database.drop()
})

function acceptance(account: string, at: Date): Acceptance {
  const bytes = randomBytes(2_000)
  const request: SendRequest = {
    recipientName: 'Maria da Silva',
    subject: 'Aviso de vencimento',
    content: `<p>${'Seu contrato vence em 30 dias. '.repeat(40)}</p>`,
    customId: null,
    sendAt: null,
    attachments: [{ name: 'a.bin', bytes, sha256: sha256(bytes) }],
    validation: null,
    deliveries: [{ channel: 'email', recipient: 'maria@example.com', request: {}, template: null, turn: 'sequence' }],
  }
  const rules = { sequence: null, settings: completeSettings({}), revision: 1 }
  const deliveries = planDeliveries(request, rules, new Map(), moduleOf)
  const sender = { account, mode: 'live' as const, token: newId(at.getTime()), address: '127.0.0.1', rules }
  const id = newId(at.getTime())
  const event = acceptedEvent(id, at, request, sender, deliveries, randomBytes(16))
  const planned = { deliveries, event, rulesRevision: 1, idempotency: null }
  return { id, account, mode: 'live', acceptedAt: at, request, validation: null, ...planned }
}

async function sendMonth(account: string, start: number): Promise<void> {
  await pool.query('select ensure_month($1)', [new Date(start)])
  const group = Array.from({ length: MONTHLY }, (_, place) => acceptance(account, new Date(start + (place * 27 * DAY) / MONTHLY)))
  await storeBlobs(
    pool,
    group.flatMap(({ request }) => request.attachments),
  )
  await insertAcceptances(pool, group)
  for (const type of ['sent', 'delivered', 'read'] as const)
    await recordChanges(
      pool,
      () => start + 28 * DAY,
      group.map(({ id }) => ({
        kind: 'fact',
        notification: id,
        fact: {
          channel: 'email',
          type,
          at: new Date(start + 28 * DAY),
          source: type === 'read' ? 'recipient' : 'test',
          data: { answer: 'ok' },
        },
      })),
    )
}

/** Rows and bytes of every table. */
async function measure(): Promise<Record<string, { rows: number; bytes: number }>> {
  const { rows } = await database.asOwner(
    `select c.relname as name, (xpath('/row/n/text()', query_to_xml('select count(*) as n from ' || c.oid::regclass, false, true, '')))[1]::text::int as rows,
       case when c.relkind = 'r' then pg_total_relation_size(c.oid)
         else (select coalesce(sum(pg_total_relation_size(i.inhrelid)), 0) from pg_inherits i where i.inhparent = c.oid) end::float8 as bytes
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
  )
  return Object.fromEntries(rows.map(({ name, rows, bytes }) => [name, { rows, bytes }]))
}

test('after a year no table has more than after its terms, but for the hashes', async () => {
  const { id: account } = await createAccount(pool, { settings: TERMS })
  const parts = await logParts(pool)
  const uses = channelModules.flatMap(({ blobUses = [] }) => blobUses)
  const months = Array.from({ length: 13 }, (_, place) => Date.UTC(2025, place))
  const seen: Awaited<ReturnType<typeof measure>>[] = []
  for (const [place, start] of months.slice(0, 12).entries()) {
    const end = months[place + 1]!
    await sendMonth(account, start)
    // Open transactions of other files hold the log back for a moment.
    await expect
      .poll(async () => {
        await extendLog(parts)
        return (await pool.query('select size::int from log_head')).rows[0].size
      })
      .toBe((place + 1) * MONTHLY * 4)
    await endTerms({ pool, clock: () => end })
    await sumTallies(pool)
    await sumUsage(pool)
    await database.asOwner("update blob set touched_at = now() - interval '2 days'")
    await deleteUnusedBlobs(pool, uses)
    const old = new Date(end - 120 * DAY)
    if (old.getTime() >= months[0]!) {
      const month = old.toISOString().slice(0, 7)
      const out = join(folder, `${month}.gz`)
      const { status, stderr } = await runCommand(['month', 'drop', month, '--out', out], database.url, {
        DATABASE_OWNER_URL: database.ownerUrl,
      })
      expect([month, status, stderr]).toEqual([month, 0, ''])
    }
    seen.push(await measure())
  }
  const [fourth, last] = [seen[4]!, seen[11]!]
  for (const [name, { rows }] of Object.entries(last))
    if (!FOR_EVER.includes(name)) expect(rows, name).toBeLessThanOrEqual(fourth[name]!.rows + MONTHLY)
  expect(last.log_leaf!.rows).toBe(12 * MONTHLY * 4)
  expect(last.notification!.rows).toBeLessThanOrEqual(5 * MONTHLY)
  expect(last.blob!.rows).toBeLessThanOrEqual(2 * MONTHLY)
  const { stdout } = await runCommand(['audit', '--json'], database.url)
  process.exitCode = undefined
  expect(JSON.parse(stdout)).toMatchObject({ faults: [], log: { size: 12 * MONTHLY * 4 } })
})
