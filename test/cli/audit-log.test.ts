import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { recordAudit } from '../../src/store/audit.js'
import { transaction } from '../../src/store/postgres.js'
import { refuseAudit } from '../support/database/audit.js'
import { databaseForTest } from '../support/database/database.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount } from '../support/gateway/gateway.js'

interface Entry {
  id: number
  at: string
  actor: string
  action: string
  target: string
  detail: Record<string, unknown>
  hash: string
  prev: string
}

test('the log of actions is read by time, actor and action, newest first, for people and for programs', async () => {
  const database = await databaseForTest()
  const acts = [
    { actor: 'command:ana', action: 'account create', subject: 'acme', detail: { entity: 'Acme' } },
    { actor: 'command:ana', action: 'token issue', subject: 'acme' },
    { actor: 'operator:bia@example.com', action: 'token revoke', subject: 'acme' },
  ]
  for (const act of acts) await transaction(database.pool, db => recordAudit(db, act))
  const read = async (...args: string[]): Promise<Entry[]> => {
    const { status, stdout, stderr } = await runCommand(['audit-log', ...args, '--json'], database.url)
    expect([status, stderr]).toEqual([0, ''])
    return JSON.parse(stdout) as Entry[]
  }
  const actionsOf = async (...args: string[]): Promise<string[]> => (await read(...args)).map(({ action }) => action)
  const all = await read()
  expect(all.map(({ action }) => action)).toEqual(['token revoke', 'token issue', 'account create'])
  expect(all[2]).toMatchObject({ id: 1, actor: 'command:ana', target: 'acme', detail: { entity: 'Acme' } })
  expect(all[0]!.prev).toBe(all[1]!.hash)
  expect(await actionsOf('--actor', 'command:ana')).toEqual(['token issue', 'account create'])
  expect(await actionsOf('--action', 'token')).toEqual(['token revoke', 'token issue'])
  expect(await actionsOf('--action', 'token issue')).toEqual(['token issue'])
  expect(await actionsOf('--action', 'tok')).toEqual([])
  const first = await runCommand(['audit-log', '--limit', '1', '--json'], database.url)
  expect(JSON.parse(first.stdout).map(({ action }: { action: string }) => action)).toEqual(['token revoke'])
  // A list that is cut says so: somebody may take it for all of them.
  expect([first.status, first.stderr]).toEqual([0, 'A lista para em 1, as mais novas. Para ver mais, use --limit.\n'])
  expect(await actionsOf('--limit', '3')).toHaveLength(3)
  expect(await actionsOf('--since', all[1]!.at)).toEqual(['token revoke', 'token issue'])
  expect(await actionsOf('--until', all[1]!.at)).toEqual(['account create'])
  const { stdout } = await runCommand(['audit-log', '--action', 'account'], database.url)
  expect(stdout).toMatch(
    /^id {2}em +autor +ação +sobre +detalhes\n1 {3}\d\d\/\d\d\/\d{4} .*command:ana {2}account create {2}acme/,
  )
  const { stdout: none } = await runCommand(['audit-log', '--since', '01/01/2099 00:00:00'], database.url)
  expect(none).toBe('Nenhuma ação. Amplie --since e --until, ou retire --actor e --action.\n')
})

test('an entry is written in the transaction of its act: without it nothing happens, and not over the pool', async () => {
  const database = await databaseForTest()
  const { pool, url } = database
  await createAccount(pool, { name: 'acme' })
  const file = join(tmpdir(), `carteiro-template-${process.pid}.txt`)
  writeFileSync(file, 'Olá')
  onTestFinished(() => rmSync(file))
  const run = (...args: string[]) => runCommand([...args, '--account', 'acme', '--json'], url)
  const { id } = JSON.parse((await run('webhook', 'create', '--url', 'https://example.com/x')).stdout) as { id: string }
  const stored = async () =>
    (
      await pool.query(
        "select to_jsonb(w) - 'waiting' as row from webhook_endpoint w union all select to_jsonb(t) from template t",
      )
    ).rows
  const before = await stored()
  const refuses = await refuseAudit(database)
  for (const order of [
    ['webhook', 'create', '--url', 'https://example.com/y'],
    ['webhook', 'edit', id, '--url', 'https://example.com/z'],
    ['webhook', 'rotate', id],
    ['webhook', 'delete', id],
    ['template', 'create', '--name', 'aviso', '--channel', 'sms', '--file', file],
  ]) {
    const { status, stderr } = await run(...order)
    expect([order, status, stderr]).toEqual([order, 1, expect.stringContaining('no entry')])
  }
  await refuses.end()
  expect(await stored()).toEqual(before)
  // Its lock would end with its statement, and two writers would take the same place in the chain.
  const entry = { actor: 'a', action: 'b', subject: 'c' }
  // @ts-expect-error
  await expect(recordAudit(pool, entry)).rejects.toThrow('in a transaction')
})
