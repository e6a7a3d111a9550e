import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dataFolder, initialisedDataFolder } from '../support/database/data-folder.js'
import { emptyDatabaseForTest } from '../support/database/database.js'
import { request, send } from '../support/gateway/requests.js'
import { carteiro, ROOT as PROGRAM_ROOT, Program } from '../support/programs/carteiro-program.js'
import { temporaryFolder } from '../support/temporary-folder.js'

const isRoot = process.getuid?.() === 0

test('a first start prints the address, a token and a curl that reaches a person on all five channels', async () => {
  const program = await Program.start({ data: dataFolder(), env: { SIMULATOR_HTTP_PORT: undefined } })
  const simulator = /Caixa de entrada simulada +(\S+)/.exec(program.stdout)![1]!
  // 8025, or the next free one: other programs of this machine may have it.
  expect(Number(new URL(simulator).port)).toSatisfy((port: number) => port >= 8025 && port < 8125)
  expect(program.stdout).toContain(`curl ${program.url}/gw/email`)
  const body = /-d '(.*)'/.exec(program.stdout)![1]!
  const answer = await send(program.url, program.token, body)
  expect(answer).toMatchObject({ status: 200, body: { idEmail: expect.any(String) } })
  expect(answer.headers.get('x-carteiro-aviso')).toBe(null)
  const { idEmail } = answer.body as { idEmail: string }
  const status = (channel: string) => async () =>
    (await request(`${program.url}/gw/${channel}/${idEmail}`, { token: program.token })).body
  const date = expect.stringMatching(/^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d$/)
  const link = expect.stringMatching(/^https?:/)
  const reached = {
    email: { dateSend: date, dateDelivery: date, error: false, description: 'Entregue' },
    sms: { dateSend: date, description: 'Entregue' },
    whatsapp: { dateSent: date, dateDelivery: date, error: false, description: 'Lido' },
    voz: { dateSent: date, dateSuccessCall: date, linkCall: link, description: 'Entregue' },
    carta: {
      dateProcessing: date,
      datePreparation: date,
      dateSent: date,
      dateDelivery: date,
      sro: expect.stringMatching(/^[A-Z]{2}\d{9}BR$/),
      linkRastreio: link,
      linkSvcCartaComprovante: link,
      error: false,
      description: 'Entregue',
    },
  }
  for (const [channel, record] of Object.entries(reached)) {
    await expect.poll(status(channel), { interval: 250 }).toMatchObject(record)
  }
  expect(await program.stop()).toBe(0)
})

test('beside one that runs, a second start on its data folder or its port is refused, and commands work as they do while it is stopped', async () => {
  const data = initialisedDataFolder()
  const created = carteiro(['account', 'create', '--name', 'acme', '--entity', 'Grupo', '--validation', '--json'], { data })
  expect(JSON.parse(created.stdout)).toMatchObject({ name: 'acme', entity: 'Grupo' })
  expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false)
  const program = await Program.start({ data })

  const second = carteiro(['start'], { data })
  expect(second.status).toBe(1)
  expect(second.stderr).toContain('Já há um Carteiro em execução na pasta de dados')
  expect((await request(`${program.url}/readyz`)).status).toBe(200)

  const { port } = new URL(program.url)
  const third = carteiro(['start'], { data: initialisedDataFolder(), env: { PORT: port } })
  expect(third.status).toBe(1)
  expect(third.stderr).toContain(`A porta ${port} em 127.0.0.1 está em uso`)

  expect(carteiro(['account', 'set', '--account', 'acme', 'limit.registered=77'], { data }).status).toBe(0)
  await program.stop()
  const shown = JSON.parse(carteiro(['account', 'show', '--account', 'acme', '--json'], { data }).stdout)
  expect(shown).toMatchObject({ settings: { 'limit.registered': 77, validation: true } })
})

test('the roles do not read the password of the owner of the tables, neither from the environment nor from .env', async () => {
  const database = await emptyDatabaseForTest()
  const cwd = temporaryFolder()
  // A role that reads this setting does not start.
  writeFileSync(join(cwd, '.env'), 'DATABASE_OWNER_URL=mysql://h/db\n')
  const env = { DATABASE_URL: database.url, DATABASE_OWNER_URL: database.ownerUrl }
  const program = await Program.start({ data: dataFolder(), env, cwd })
  expect((await request(`${program.url}/readyz`)).status).toBe(200)
  expect(await program.stop()).toBe(0)
})

test('a node whose key file is missing is refused, and no other key is left in its place', async () => {
  const data = initialisedDataFolder()
  expect(carteiro(['migrate'], { data }).status).toBe(0)
  rmSync(join(data, 'master.key'))
  const { status, stderr } = carteiro(['start'], { data })
  expect([status, stderr]).toEqual([1, expect.stringMatching(/já tem uma chave mestra.*master\.key não existe/)])
  expect(existsSync(join(data, 'master.key'))).toBe(false)
  expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false)
})

test('a reader that goes away before the output is no error, and the database is stopped', () => {
  const data = initialisedDataFolder()
  const command = `"${process.execPath}" "${join(PROGRAM_ROOT, 'bin/carteiro')}" account list --json | true`
  const { stderr } = spawnSync('sh', ['-c', command], { env: { PATH: process.env.PATH, CARTEIRO_DATA: data }, encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(existsSync(join(data, 'postgres', 'postmaster.pid'))).toBe(false)
})

test.runIf(isRoot)('as root a data folder that the database cannot enter is refused with its cure', () => {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-private-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { status, stderr } = carteiro(['migrate'], { data: join(folder, 'data') })
  expect(status).toBe(1)
  expect(stderr).toContain('defina CARTEIRO_DATA com uma pasta em que todos possam entrar')
})
