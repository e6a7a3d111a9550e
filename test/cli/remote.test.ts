import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { buildProgram } from '../../src/cli/program.js'
import { dataFolder } from '../support/database/data-folder.js'
import { runCommand } from '../support/gateway/command.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { ScriptedCarrier, startTestWorker } from '../support/gateway/lanes.js'
import { readSource } from '../support/sources.js'

const { gateway, account, database } = await gatewayForFile()
const env = { CARTEIRO_URL: gateway.url, CARTEIRO_TOKEN: account.token }
const run = (...args: string[]) => runCommand(args, database.url, env)
const ID = /^[0-9a-f-]{36}$/

async function runJson(...args: string[]) {
  const { status, stdout, stderr } = await run(...args, '--json')
  expect([args, status, stderr]).toEqual([args, 0, ''])
  return JSON.parse(stdout)
}

const message = ['--name', 'Maria', '--to', 'maria@example.com', '--subject', 'Fatura', '--content', '<p>Vence amanhã.</p>']

test('send, status, events, list and finalize speak of the same notification', async () => {
  const anexo = join(dataFolder(), 'fatura.txt')
  writeFileSync(anexo, 'fatura')
  const extra = ['--set', 'sms.number=11987654321', '--set', 'sms.typeSend=1', '--custom-id', 'f-1', '--attach', anexo]
  const { idEmail } = await runJson('send', ...message, ...extra)
  expect(idEmail).toMatch(ID)
  expect((await runJson('status', idEmail)).lastStatus).toMatchObject({ email: { label: expect.any(String) }, sms: {} })
  expect((await run('status', idEmail)).stdout).toMatch(/^canal {2,}descrição {2,}em {2,}motivo\nemail {2,}/)
  expect((await runJson('events', idEmail))[0]).toMatchObject({ type: 'accepted' })
  expect((await run('events', idEmail)).stdout).toMatch(/^em {2,}canal {2,}descrição {2,}operadora {2,}motivo {2,}prova\n/)
  expect((await runJson('list', '--custom-id', 'f-1')).map((row: { idEmail: string }) => row.idEmail)).toEqual([idEmail])
  expect((await run('list', '--limit', '1')).stdout).toContain(`${idEmail}  `)
  expect((await run('list', '--custom-id', 'nenhum')).stdout).toBe('Nenhuma notificação. Envie uma com: carteiro send\n')
  expect((await runJson('finalize', idEmail)).message).toMatch(/\S/)
  const { rows } = await database.pool.query('select name from attachment where notification_id = $1', [idEmail])
  expect(rows).toEqual([{ name: 'fatura.txt' }])
})

test('a request in a file is sent; options go over it; the same key sends once', async () => {
  const file = join(dataFolder(), 'pedido.json')
  writeFileSync(file, JSON.stringify({ nameTo: 'Ana', to: 'ana@example.com', subject: 'Um', content: '<p>x</p>' }))
  const first = await runJson('send', file, '--subject', 'Dois', '--key', 'k-1')
  expect(await runJson('send', file, '--subject', 'Dois', '--key', 'k-1')).toEqual(first)
  expect((await runJson('list', '--recipient', 'ana@example.com')).map((row: { subject: string }) => row.subject)).toEqual([
    'Dois',
  ])
})

test('a request in a file is UTF-8, with or without its mark, and any other encoding is refused', async () => {
  const file = join(dataFolder(), 'pedido.json')
  const text = JSON.stringify({ nameTo: 'João', to: 'joao@example.com', subject: 'Aviso', content: '<p>x</p>' })
  writeFileSync(file, Buffer.from(text, 'latin1'))
  const { status, stderr } = await run('send', file)
  expect([status, stderr]).toEqual([1, expect.stringMatching(/pedido\.json.*UTF-8/)])
  writeFileSync(file, `\ufeff${text}`)
  expect((await runJson('send', file)).idEmail).toMatch(ID)
})

test.each<[string[], RegExp]>([
  [['send', '--name', 'Ana'], /^O gateway recusou \(400\): .*subject/],
  [['send', '--set', 'sms'], /^--set: "sms" não é campo=valor/],
  [['send', ...message, '--set', 'to.x=1'], /^--set: "to" já tem outro valor no pedido/],
  [['send', 'não-há.json'], /^Não foi possível ler não-há\.json/],
  [['send', 'package.json', '--url', 'x'], /não é um endereço/],
  [['send', ...message, '--url', 'localhost:8080'], /^--url: "localhost:8080" não é um endereço .*http:\/\//],
  [['listen', '--forward-to', 'http://127.0.0.1:9/', '--url', 'localhost:8080'], /^--url: "localhost:8080" não é um endereço/],
  [['send', ...message, '--url', 'https://x.example.com/?a=1'], /^--url: .*sem usuário, \? ou #/],
  [['status', 'x'], /idEmail/],
  [['status', '01900000-0000-7000-8000-000000000000'], /^O gateway recusou \(404\)/],
  [['list', '--url', 'http://127.0.0.1:9'], /^O gateway não respondeu em http:\/\/127\.0\.0\.1:9/],
  [['send', ...message, '--url', 'http://127.0.0.1:9', '--key', 'k-2'], /pode ter sido aceito.*repita o comando com --key k-2/],
  [['list', '--token', 'x'], /^O gateway recusou \(401\)/],
])('%j is refused in a sentence, with exit code 1', async (args, sentence) => {
  const { status, stdout, stderr } = await run(...args)
  expect([status, stdout, stderr]).toEqual([1, '', expect.stringMatching(sentence)])
})

test('status --watch shows events as they happen, until it is interrupted', async () => {
  const { idEmail } = await runJson('send', ...message)
  const before = process.listenerCount('SIGINT')
  const watched = run('status', idEmail, '--watch', '--json')
  await expect.poll(() => process.listenerCount('SIGINT')).toBeGreaterThan(before)
  // Reads along with what the command prints.
  const { write } = process.stdout
  let printed = ''
  process.stdout.write = (text: string | Uint8Array): boolean => {
    printed += text
    return write.call(process.stdout, text)
  }
  const worker = startTestWorker(database.pool, [{ name: 'relay', carrier: new ScriptedCarrier(async () => ({})) }])
  await expect.poll(() => printed).toContain('"type":"sent"')
  await worker.stop()
  process.emit('SIGINT')
  const { status, stdout } = await watched
  const seqs = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line).seq)
  expect([status, seqs]).toEqual([0, [...seqs.keys()].map(place => seqs[0] + place)])
})

test('a request with attachments that are no list is refused before a file is added to them', async () => {
  const file = join(dataFolder(), 'pedido.json')
  writeFileSync(file, JSON.stringify({ attachments: 5 }))
  const { status, stderr } = await run('send', file, '--attach', file)
  expect([status, stderr]).toEqual([1, 'O campo attachments do pedido não é uma lista. Corrija-o, ou retire --attach.\n'])
})

test('another site at the address is named, without a stack', async () => {
  const site = createServer((_, response) => response.end('<h1>site</h1>'))
  await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void site.close())
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const { status, stderr } = await run('list', '--url', url)
  expect([status, stderr]).toEqual([1, `${url} não respondeu como a API. Confira --url (ou CARTEIRO_URL).\n`])
})

test('doctor tells the warnings of a start', async () => {
  const { stdout } = await runCommand(['doctor'], database.url, { ...env, SIMULATOR_KEY: 'ab'.repeat(32) })
  expect(stdout).toMatch(/^atenção Configurações: SIMULATOR_KEY não tem efeito sem SIMULATOR_URL\.\n {8}→ Corrija/m)
  expect((await run('doctor')).stdout).toMatch(/^certo {3}Configurações: nenhum aviso$/m)
})

test('doctor says what holds, what does not, and what to do', async () => {
  const findings: { name: string; state: string; advice: string | null }[] = await runJson('doctor')
  const stateOf = (name: string) => findings.find(finding => finding.name === name)?.state
  expect(['Banco de dados', 'Relógio', 'Disco', 'Operadoras', 'PUBLIC_URL', 'Checkpoints'].map(stateOf)).toEqual([
    ...['ok', 'ok', expect.stringMatching(/ok|warn/), 'warn', 'warn', 'warn'],
  ])
  for (const { name, state, advice } of findings) expect([name, advice === null], name).toEqual([name, state === 'ok'])
  const away = { ...env, PUBLIC_URL: 'http://nenhum.invalid' }
  const { status, stdout } = await runCommand(['doctor'], database.url, away)
  expect(status).toBe(1)
  expect(stdout).toMatch(/^FALHA {3}PUBLIC_URL: http:\/\/nenhum\.invalid não responde\n {8}→ Confira o DNS/m)
})

test.each(['http://carteiro.localhost:9', 'http://127.0.0.2:9', 'http://[::1]:9'])(
  'doctor warns that %s is an address of this machine alone',
  async url => {
    const { stdout } = await runCommand(['doctor'], database.url, { ...env, PUBLIC_URL: url })
    expect(stdout).toContain(`PUBLIC_URL: ${url} só vale nesta máquina`)
  },
)

test('retry is queue retry', async () => {
  const { status, stderr } = await run('retry', '--channel', 'email')
  expect([status, stderr]).toEqual([1, 'Informe o idEmail, ou --carrier e --since.\n'])
})

test.each(['bash', 'zsh', 'fish'])('completion %s knows every command', async shell => {
  const { status, stdout } = await run('completion', shell)
  expect(status).toBe(0)
  for (const { name } of (await buildProgram([])).commands.map(command => ({ name: command.name() })))
    expect(stdout).toContain(name)
})

test('bash completes commands, verbs, options and values', async () => {
  const { stdout: script } = await run('completion', 'bash')
  const complete = (...words: string[]): string[] => {
    const line = `${script}\nCOMP_WORDS=(carteiro "$@"); COMP_CWORD=$#; _carteiro; printf '%s\\n' "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['-c', line, 'bash', ...words], { encoding: 'utf8' })
      .trim()
      .split('\n')
  }
  expect(complete('fin')).toEqual(['finalize'])
  expect(complete('queue', 're')).toEqual(['retry'])
  expect(complete('queue', 'retry', '--car')).toEqual(['--carrier'])
  expect(complete('queue', 'list', '--state', 'de')).toEqual(['dead'])
  expect(complete('list', '--channel', 'vo')).toEqual(['voz'])
})

test('docs/comandos.md names every command', async () => {
  const page = readSource('docs/comandos.md')
  for (const command of (await buildProgram([])).commands) expect(page).toContain(`\`${command.name()}`)
})
