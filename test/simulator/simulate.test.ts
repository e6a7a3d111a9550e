import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test, vi } from 'vitest'
import { nextFreePort } from '../../simulator/addresses.js'
import { request } from '../support/gateway/requests.js'
import { simulatorForTest } from './carriers.js'

interface Running {
  child: ChildProcess
  messages: unknown[]
  stdout(): string
  stderr(): string
}

const COMMAND = new URL('../../simulator/main.js', import.meta.url).href

function start(args: string[], ipc: boolean): Running {
  const program = `import { simulateCommand } from ${JSON.stringify(COMMAND)}; await simulateCommand().parseAsync(process.argv)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program, 'simulate', ...args], {
    stdio: ['ignore', 'pipe', 'pipe', ...(ipc ? ['ipc' as const] : [])],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  const [messages, output, errors]: [unknown[], string[], string[]] = [[], [], []]
  child.on('message', message => messages.push(message))
  child.stdout!.on('data', chunk => output.push(String(chunk)))
  child.stderr!.on('data', chunk => errors.push(String(chunk)))
  return { child, messages, stdout: () => output.join(''), stderr: () => errors.join('') }
}

const printed =
  /^Simulador {2}(http:\/\/127\.0\.0\.1:\d+)\nChave {2}([0-9a-f]{64})\nSMTP {2}(smtp:\/\/127\.0\.0\.1:\d+)\nSMPP {2}smpp:\/\/\S+\n$/

async function ready({ stdout, stderr }: Running): Promise<[url: string, smtpUrl: string, key: string]> {
  await vi.waitFor(() => expect(stdout(), stderr()).toMatch(printed), { timeout: 120_000, interval: 50 })
  const [, url, key, smtpUrl] = printed.exec(stdout())!
  return [url!, smtpUrl!, key!]
}

test('the page is at port 8025 or at the next free one, where people look for it', async () => {
  const taken = await simulatorForTest()
  const port = Number(new URL(taken.url).port)
  expect(await nextFreePort(port, '127.0.0.1')).toBeGreaterThan(port)
  const running = [start([], false), start([], false)]
  const ports = await Promise.all(running.map(async one => Number(new URL((await ready(one))[0]).port)))
  expect(new Set(ports).size).toBe(2)
  for (const found of ports) expect([found, found >= 8025 && found < 8125]).toEqual([found, true])
})

test('simulate prints its addresses, reports them to its parent and ends on SIGTERM', async () => {
  const running = start([], true)
  const [url, smtpUrl, key] = await ready(running)
  await expect.poll(() => running.messages).toEqual([{ ready: url }])
  const headers = { authorization: `Bearer ${key}` }
  expect((await request(`${url}/simulator/carriers`, { headers })).body).toMatchObject({ email: smtpUrl })
  running.child.kill('SIGTERM')
  expect(await once(running.child, 'exit')).toEqual([0, null])
})

test('simulate ends with its parent, even while a connection is open', async () => {
  const running = start([], true)
  const [url] = await ready(running)
  const waiting = request(`${url}/simulator/messages?wait=60s`).catch(() => null)
  running.child.disconnect()
  expect(await once(running.child, 'exit')).toEqual([0, null])
  await waiting
})

test('simulate without a parent listens on the ports it is given and ends on SIGINT', async () => {
  const other = await simulatorForTest()
  const [httpPort, smtpPort] = [new URL(other.url).port, new URL(other.smtpUrl).port]
  await other.close()
  const running = start(['--http-port', httpPort, '--smtp-port', smtpPort], false)
  expect((await ready(running)).slice(0, 2)).toEqual([other.url, other.smtpUrl])
  running.child.kill('SIGINT')
  expect(await once(running.child, 'exit')).toEqual([0, null])
})

test('a port that is taken or is not a number is refused with one sentence', async () => {
  const other = await simulatorForTest()
  for (const [args, message] of [
    [['--http-port', new URL(other.url).port], /A porta pedida para o simulador está em uso/],
    [['--smtp-port', new URL(other.smtpUrl).port], /A porta pedida para o simulador está em uso/],
    [['--http-port', '70000'], /Informe uma porta de 0 a 65535\./],
  ] as const) {
    const running = start([...args], false)
    const [code] = await once(running.child, 'close')
    expect(code).toBe(1)
    expect(running.stderr()).toMatch(message)
    expect(running.stdout()).toBe('')
  }
})
