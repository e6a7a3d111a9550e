import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../support/gateway/command.js'
import { gatewayForFile, startGateway } from '../support/gateway/gateway.js'
import { receiverForTest } from '../support/gateway/receiver.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { happen } from '../support/gateway/webhooks.js'
import { ROOT } from '../support/sources.js'

const { database, gateway, account } = await gatewayForFile({ account: { name: 'acme' } })

const ONE = '018f0000-0000-7000-8000-000000000001'

/** One verb; its JSON, or why it failed. */
async function webhook(verb: string, ...args: string[]): Promise<Record<string, unknown>> {
  const command = ['webhook', verb, '--account', 'acme', '--json', ...args]
  const { status, stdout, stderr } = await runCommand(command, database.url)
  return status === 0 ? JSON.parse(stdout) : { status, stderr }
}

const accept = async (): Promise<string> =>
  ((await send(gateway.url, account.token, validSend)).body as { idEmail: string }).idEmail

describe('carteiro webhook', () => {
  test('an endpoint is made, changed, tested, repaired and taken away', async () => {
    const made = await webhook('create', '--url', 'https://example.com/x', '--channels', 'email,voz', '--statuses', 'falhou')
    expect(made).toMatchObject({ mode: 'live', channels: ['email', 'voz'], statuses: ['falhou'], active: true })
    expect(made.secret).toMatch(/^whsec_/)
    const id = made.id as string
    expect(await webhook('edit', id, '--channels', 'voz,carta')).toMatchObject({ channels: ['voz', 'carta'] })
    expect(await webhook('edit', id, '--channels', 'todos', '--statuses', 'todas')).toMatchObject({
      channels: 'todos',
      statuses: 'todas',
    })
    expect((await webhook('rotate', id)).secret).not.toBe(made.secret)
    await happen(database.pool, await accept(), 'email', 'sent')
    expect(await webhook('replay', id, '--since', '2026-01-01T00:00:00-03:00')).toEqual({ id, messages: 1 })
    expect(await webhook('disable', id)).toMatchObject({ active: false, reason: 'manual', waiting: 1 })
    expect(await webhook('list')).toMatchObject([{ id, payload: 'v1' }])
    expect(await webhook('delete', id)).toEqual({ id, deleted: true })
    const { rows } = await database.pool.query('select action from audit where subject = $1 order by id', [id])
    const verbs = ['create', 'edit', 'edit', 'rotate', 'replay', 'edit', 'delete']
    expect(rows.map(row => row.action)).toEqual(verbs.map(verb => `webhook ${verb}`))
  })

  test('an endpoint of test mode is found in test mode alone', async () => {
    const { id } = (await webhook('create', '--mode', 'test', '--url', 'https://example.com/x')) as { id: string }
    expect(await webhook('list', '--mode', 'test')).toMatchObject([{ id, mode: 'test' }])
    expect((await webhook('show', id)).stderr).toContain('Webhook não encontrado')
  })

  test.each([
    [['create', '--url', 'https://10.0.0.1/'], 'não é um endereço público'],
    [['create', '--url', 'https://example.com/', '--statuses', 'toString'], 'Use nomes desta lista: enviado'],
    [
      ['create', '--url', 'https://example.com/', '--channels', 'voice'],
      'Use nomes desta lista: email, sms, whatsapp, voz, carta',
    ],
    [['show', ONE], 'Webhook não encontrado'],
    [['replay', ONE], 'Informe --message ou --since.'],
    [['replay', ONE, '--message', ONE, '--failed'], '--failed não tem efeito com --message.'],
    [
      ['replay', ONE, '--message', ONE, '--until', '18/07/2026 01:01:32', '--failed'],
      '--until e --failed não têm efeito com --message.',
    ],
    [
      ['replay', ONE, '--since', '18/07/2026 01:01:32', '--until', '17/07/2026 01:01:32'],
      '--since deve ser antes de --until (sem ele, antes de agora).',
    ],
    [['replay', ONE, '--since', '01/01/2999 00:00:00'], '--since deve ser antes de --until (sem ele, antes de agora).'],
  ])('%j fails and says why', async (args, reason) => {
    const [verb, ...rest] = args as [string, ...string[]]
    const failed = await webhook(verb, ...rest)
    expect(failed.status).toBe(1)
    expect(failed.stderr).toContain(reason)
  })
})

describe('carteiro listen', () => {
  test('an address without http is refused at once', async () => {
    const { status, stderr } = await runCommand(['listen', '--token', 'x', '--forward-to', 'localhost:3000/avisos'])
    expect([status, stderr]).toEqual([1, expect.stringContaining('--forward-to deve ser uma URL de http ou https')])
  })

  test('Ctrl-C before the API has ever answered ends it without a complaint', async () => {
    const listening = listen('--forward-to', 'http://localhost:1/', '--url', 'http://127.0.0.1:1')
    await expect.poll(listening.errors).toContain('Sem conexão')
    listening.process.kill('SIGINT')
    expect((await once(listening.process, 'exit'))[0]).toBe(0)
    expect(listening.errors()).not.toContain('TypeError')
  })

  interface Listening {
    process: ChildProcess
    lines(): Record<string, unknown>[]
    errors(): string
  }

  function listen(...args: string[]): Listening {
    let [stdout, stderr] = ['', '']
    const child = spawn(process.execPath, [join(ROOT, 'bin/carteiro'), 'listen', '--json', ...args], {
      env: { PATH: process.env.PATH, CARTEIRO_TOKEN: account.token },
      cwd: tmpdir(),
    })
    child.stdout.on('data', chunk => {
      stdout += chunk
    })
    child.stderr.on('data', chunk => {
      stderr += chunk
    })
    onTestFinished(() => {
      child.kill('SIGKILL')
    })
    const lines = () =>
      stdout
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line) as Record<string, unknown>)
    return { process: child, lines, errors: () => stderr }
  }

  const patient = { timeout: 120_000, interval: 50 }

  test('events reach the developer’s machine signed and in order, across a gateway and a machine that go away', async () => {
    const first = await startGateway(database.pool)
    const { port } = new URL(first.url)
    const receiver = await receiverForTest()
    const listening = listen('--forward-to', receiver.url, '--url', first.url)
    await expect.poll(() => listening.lines().length, patient).toBe(1)
    const { secret, listener } = listening.lines()[0] as { secret: string; listener: string }
    const id = await accept()
    await happen(database.pool, id, 'email', 'sent')
    await expect.poll(() => receiver.got.length, patient).toBe(1)
    expect(new Webhook(secret).verify(receiver.got[0]!.body, receiver.got[0]!.headers)).toMatchObject({ notificationID: id })

    await first.close()
    await happen(database.pool, id, 'email', 'delivered')
    await expect.poll(listening.errors, patient).toContain('Sem conexão')
    await receiver.close()
    const again = await startGateway(database.pool, { PORT: port })
    onTestFinished(() => again.close())
    await happen(database.pool, id, 'email', 'read')
    await expect.poll(listening.errors, patient).toContain('não respondeu')
    const revived = await receiverForTest(undefined, Number(new URL(receiver.url).port))
    await expect.poll(() => revived.got.length, patient).toBe(2)
    expect(revived.got.map(({ json }) => json.description)).toEqual(['Entregue', 'Lido'])

    listening.process.kill('SIGINT')
    expect((await once(listening.process, 'exit'))[0]).toBe(0)
    const gone = await request(`${again.url}/gw/webhooks/listen/${listener}`, { method: 'POST', token: account.token, body: {} })
    expect(gone.status).toBe(404)
    expect(
      listening
        .lines()
        .slice(1)
        .map(line => line.status),
    ).toEqual([204, 204, 204])
  })

  test('a page that is no API ends it at once', async () => {
    const site = createServer((_, response) => response.writeHead(404).end('<h1>Not Found</h1>'))
    await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void site.close())
    const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
    const listening = listen('--forward-to', 'http://127.0.0.1:9/', '--url', url)
    expect((await once(listening.process, 'exit'))[0]).toBe(1)
    expect(listening.errors()).toContain(`${url} respondeu 404, e não como a API. Confira --url`)
  })

  test('a wrong token ends it at once', async () => {
    const listening = listen('--forward-to', 'http://127.0.0.1:9/', '--url', gateway.url, '--token', 'x')
    expect((await once(listening.process, 'exit'))[0]).toBe(1)
    expect(listening.errors()).toContain('A API recusou (401): Unauthorized')
  })
})
