import { existsSync, renameSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { Node } from '../drills/cluster.js'
import { loads } from '../drills/drill.js'
import { initialisedDataFolder } from '../support/database/data-folder.js'
import { filesFolder } from '../support/files.js'
import { send } from '../support/gateway/requests.js'
import { carteiro, Program } from '../support/programs/carteiro-program.js'

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url))
const SIMULATOR_KEY = '53'.repeat(32)
const files = filesFolder()

interface Sent {
  channel: string
  to: string
}

/** Carriers that know, whatever happens to the gateway, what they were given. */
async function simulatorForTest(): Promise<Node> {
  const env = { PATH: process.env.PATH, LOG_LEVEL: 'fatal', SIMULATOR_KEY }
  const simulator = new Node('simulator', MAIN, ['simulate', '--http-port', '0'], env)
  await simulator.start()
  onTestFinished(() => simulator.stop())
  return simulator
}

test('the way to another major version of the embedded server: stop, backup, set aside, restore, start; nothing is held, and what was queued goes out once', async () => {
  const simulator = await simulatorForTest()
  const data = initialisedDataFolder()
  const copy = join(data, 'copia.carteiro')
  const env = {
    SIMULATOR: 'on',
    SIMULATOR_URL: simulator.url,
    SIMULATOR_KEY,
    FILES_URL: files.url,
    CARTEIRO_BACKUP_PASSPHRASE: 'senha da troca de versao',
  }
  const command = (...args: string[]): string => {
    const { status, stdout, stderr } = carteiro(args, { data, env })
    expect(status, `${args.join(' ')}: ${stderr}`).toBe(0)
    return stdout
  }
  const sent = async (channel: string): Promise<string[]> =>
    ((await (await fetch(`${simulator.url}/simulator/log`)).json()) as Sent[])
      .filter(entry => entry.channel === channel)
      .map(({ to }) => to)
  const queued = (): number =>
    (JSON.parse(command('queue', 'count', '--json')) as { count: number }[]).reduce((sum, { count }) => sum + count, 0)

  let program = await Program.start({ data, env })
  const { token } = program
  const submit = async (n: number): Promise<void> => {
    const parts = [loads.email, loads.letter].map(({ request }) => request(n))
    const body = Object.assign({ nameTo: 'Maria', subject: `Aviso ${n}`, content: '<p>Aviso</p>' }, ...parts)
    expect(await send(program.url, token, body)).toMatchObject({ status: 200 })
  }
  const [first, second, third] = [1, 2, 3].map(n => `entregue+${n}@simulador.test`)
  await submit(1)
  await expect.poll(() => sent('email')).toEqual([first])
  await expect.poll(() => sent('letter')).toHaveLength(1)
  await expect.poll(queued, { interval: 500 }).toBe(0)
  command('hold', '--all', '--reason', 'troca de versão')
  await submit(2)
  expect(await program.stop()).toBe(0)

  command('backup', copy)
  renameSync(join(data, 'postgres'), join(data, 'postgres-anterior'))
  const before = files.names()
  expect(before).toHaveLength(1)
  const told = command('restore', copy)
  expect(told).toContain('Nada aconteceu nesta máquina depois da cópia')
  expect(told).toMatch(/retidas +0/)

  program = await Program.start({ data, env })
  expect(JSON.parse(command('restored', 'count', '--json'))).toEqual([])
  expect(queued()).toBe(2)
  command('resume', '--all')
  await expect.poll(() => sent('email')).toEqual([first, second])
  await expect.poll(() => sent('letter')).toHaveLength(2)
  await submit(3)
  // By now whatever else was to go out again has had its turn.
  await expect.poll(() => sent('email')).toEqual([first, second, third])
  await expect.poll(() => sent('letter')).toHaveLength(3)
  await expect.poll(queued, { interval: 500 }).toBe(0)

  const { otherFolders } = JSON.parse(command('files', 'check', '--json')) as {
    otherFolders: { folder: string; files: number }[]
  }
  expect(otherFolders).toMatchObject([{ folder: before[0]!.slice(0, 32), files: 1 }])
  const longAgo = new Date(Date.now() - 25 * 60 * 60_000)
  for (const name of before) utimesSync(join(files.path, name), longAgo, longAgo)
  command('files', 'drop', otherFolders[0]!.folder, '--yes')
  expect(files.names().filter(name => before.includes(name))).toEqual([])
  expect(JSON.parse(command('files', 'check', '--json'))).toMatchObject({ files: 3, missing: [], otherFolders: [] })
  expect(JSON.parse(command('audit', '--json'))).toMatchObject({ faults: [] })
  expect(await program.stop()).toBe(0)
  expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false)
})
