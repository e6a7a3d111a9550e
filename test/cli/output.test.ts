import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { printList, printRecord } from '../../src/cli/output.js'
import { addSuppression } from '../../src/store/accounts/suppressions.js'
import { runCommand } from '../support/gateway/command.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'
import { ROOT } from '../support/sources.js'

const { database, gateway, account } = await gatewayForFile({ account: { name: 'acme' } })
const { pool } = database

function printed(work: () => void): string {
  let text = ''
  const write = vi.spyOn(process.stdout, 'write').mockImplementation(part => {
    text += part
    return true
  })
  try {
    work()
  } finally {
    write.mockRestore()
  }
  return text
}

test('a list may have more rows than a call may have arguments', () => {
  const rows = Array.from({ length: 150_000 }, (_, id) => ({ id }))
  expect(printed(() => printList(rows, '', {})).split('\n')).toHaveLength(150_002)
})

test('control characters in a value forge no row and reach no terminal', () => {
  const name = 'acme\nfalsa  \x1b[2Jx\x7f\x9b1m'
  expect(printed(() => printList([{ id: 1, name }], '', {}))).toBe('id  nome\n1   acme falsa   [2Jx  1m\n')
  expect(printed(() => printRecord({ name, channels: ['a\rb'], detail: { name } }, {}))).toBe(
    'nome      acme falsa   [2Jx  1m\ncanais    a b\ndetalhes  {"name":"acme\\nfalsa  \\u001b[2Jx  1m"}\n',
  )
  // A program reads every value as it is.
  expect(JSON.parse(printed(() => printRecord({ name }, { json: true })))).toEqual({ name })
})

test('a list that is cut says so, whichever it is, and a whole list says nothing', async () => {
  const ids: string[] = []
  for (const _ of [1, 2]) ids.push(((await send(gateway.url, account.token, validSend)).body as { idEmail: string }).idEmail)
  for (const id of ids) expect(await runCommand(['legal-hold', id, '--reason', 'p'], database.url)).toMatchObject({ status: 0 })
  for (const recipient of ['a@example.com', 'b@example.com'])
    await addSuppression(pool, { account: account.id, mode: 'live', channel: 'email', recipient }, 'operator')
  const env = { CARTEIRO_URL: gateway.url, CARTEIRO_TOKEN: account.token }
  const list = async (args: string[], limit: number) => {
    const { status, stdout, stderr } = await runCommand([...args, '--json', '--limit', String(limit)], database.url, env)
    expect([args, status]).toEqual([args, 0])
    return [JSON.parse(stdout).length, stderr]
  }
  const cutAs = (kept: string) => [1, `A lista para em 1, ${kept}. Para ver mais, use --limit.\n`]
  const lists: [string[], string][] = [
    [['queue', 'list', '--state', 'queued'], 'as mais antigas'],
    [['legal-hold', '--list'], 'as mais novas'],
    [['suppression', 'list', '--account', 'acme'], 'os mais recentes'],
    [['list'], 'as mais novas'],
  ]
  for (const [args, kept] of lists) {
    expect(await list(args, 1), args.join(' ')).toEqual(cutAs(kept))
    expect(await list(args, 2), args.join(' ')).toEqual([2, ''])
  }
  await pool.query("update delivery set state = 'unresolved'")
  for (const id of ids)
    await database.tamper(
      `insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
       select $1, 900, now(), 'unresolved', 'test', '{"channel": "email", "restored": 1, "was": "queued"}', '\\x00', '\\x00', '\\x00', '\\x00'`,
      [id],
    )
  expect(await list(['restored', 'list'], 1)).toEqual(cutAs('as mais antigas'))
  expect(await list(['restored', 'list'], 2)).toEqual([2, ''])
})

test('an output on a full disk is told in a sentence, and the command ends with exit code 1', () => {
  const full = openSync('/dev/full', 'w')
  onTestFinished(() => closeSync(full))
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'bin/carteiro'), 'account', 'list'], {
    env: { PATH: process.env.PATH, DATABASE_URL: database.url, CARTEIRO_MASTER_KEY: '07'.repeat(32) },
    cwd: tmpdir(),
    encoding: 'utf8',
    stdio: ['ignore', full, 'pipe'],
  })
  expect([status, stderr]).toEqual([
    1,
    'A saída não pôde ser escrita (ENOSPC). Confira o espaço onde ela é gravada e repita o comando.\n',
  ])
})
