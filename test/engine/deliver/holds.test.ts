import { afterEach, expect, test } from 'vitest'
import { holdInstallation } from '../../../src/app/database/hold-installation.js'
import { placeHold } from '../../../src/store/delivery/holds.js'
import { runCommand } from '../../support/gateway/command.js'
import { createAccount, gatewayForFile } from '../../support/gateway/gateway.js'
import { endWork, ScriptedCarrier, startTestWorker, type TestLane, type TestWorker } from '../../support/gateway/lanes.js'
import { request, send, validSend } from '../../support/gateway/requests.js'

let worker: TestWorker | undefined

const { database, gateway, account } = await gatewayForFile({ account: { name: 'acme' } })
const other = await createAccount(database.pool, { name: 'outra' })

afterEach(async () => {
  await endWork(database.pool, worker)
  await database.pool.query('delete from hold')
})

const work = (...lanes: TestLane[]): void => {
  worker = startTestWorker(database.pool, lanes)
}
const accept = async (token = account.token): Promise<string> =>
  ((await send(gateway.url, token, validSend)).body as { idEmail: string }).idEmail
const idsOf = ({ got }: ScriptedCarrier): string[] => got.map(({ notification }) => notification)
const run = async (...args: string[]): Promise<unknown> => {
  const { status, stdout, stderr } = await runCommand([...args, '--json'], database.url)
  expect([args, status, stderr]).toEqual([args, 0, ''])
  return JSON.parse(stdout)
}
const queued = async (id: string): Promise<string> =>
  (await database.pool.query('select state, attempt from delivery where notification_id = $1', [id])).rows
    .map(({ state, attempt }) => `${state} ${attempt}`)
    .join()

test('a held account stays in the queue while the others go, and goes when it is resumed', async () => {
  expect(await run('hold', '--account', 'acme', '--reason', 'conteúdo errado')).toMatchObject({ account: 'acme', channel: null })
  const carrier = new ScriptedCarrier()
  work({ carrier })
  const held = await accept()
  const free = await accept(other.token)
  await expect.poll(() => idsOf(carrier)).toEqual([free])
  expect(await queued(held)).toBe('queued 0')
  const { body } = await request(`${gateway.url}/gw/sequence/${held}`, { token: account.token })
  expect(body).toMatchObject({ data: [{ canal: 'email', descricao: expect.stringContaining('um operador reteve os envios') }] })
  expect(await run('hold', '--list')).toMatchObject([
    { account: 'acme', reason: 'conteúdo errado', by: expect.stringMatching(/^command:/) },
  ])
  expect(await run('resume', '--account', 'acme')).toMatchObject({ resumed: true, stillHeld: 0 })
  await expect.poll(() => idsOf(carrier)).toEqual([free, held])
  const { rows } = await database.pool.query(
    "select action, subject, detail from audit where action in ('hold', 'resume') order by id",
  )
  expect(rows).toMatchObject([
    { action: 'hold', subject: account.id, detail: { reason: 'conteúdo errado' } },
    { action: 'resume', subject: account.id },
  ])
})

test('a held channel and a held installation send nothing, neither first attempts nor failovers', async () => {
  const carriers = [new ScriptedCarrier(), new ScriptedCarrier()]
  for (const scope of [['--channel', 'email'], ['--all']]) {
    await run('hold', ...scope, '--reason', 'manutenção')
    work(...carriers.map((carrier, rank) => ({ name: `carrier ${rank}`, carrier })))
    const id = await accept()
    const failover = await accept()
    await database.pool.query("update delivery set tried = '{0}' where notification_id = $1", [failover])
    // Both loops have looked at the queue.
    await expect.poll(() => worker!.lanes.map(({ isHeld }) => isHeld)).toEqual([true, true])
    for (const lane of worker!.lanes) expect([(await lane.work()).count, (await lane.failover()).count]).toEqual([0, 0])
    expect([await queued(id), await queued(failover)]).toEqual(['queued 0', 'queued 0'])
    expect(carriers.flatMap(idsOf)).toEqual([])
    await run('resume', ...scope)
    await expect.poll(() => carriers.flatMap(idsOf).sort()).toEqual([id, failover].sort())
    await endWork(database.pool, worker)
    for (const { got } of carriers) got.length = 0
  }
})

test('while a carrier is held, the next one of its channel takes what it would have got', async () => {
  const [first, second] = [new ScriptedCarrier(), new ScriptedCarrier()]
  await run('hold', '--carrier', 'smtp', '--reason', 'contrato suspenso')
  work({ name: 'smtp:host/1', carrier: first }, { name: 'mx:host/2', carrier: second })
  const id = await accept()
  await expect.poll(() => idsOf(second)).toEqual([id])
  expect(idsOf(first)).toEqual([])
  await run('resume', '--carrier', 'smtp')
  await expect.poll(() => worker!.lanes[0]!.open).toBe(true)
  const next = await accept()
  await expect.poll(() => idsOf(first)).toEqual([next])
})

test('start --paused holds everything once, and a hold that nobody can explain or find is refused', async () => {
  await holdInstallation(database.pool)
  await holdInstallation(database.pool)
  expect(await run('hold', '--list')).toMatchObject([{ channel: null, carrier: null, account: null, reason: 'start --paused' }])
  const refusals: [string[], string][] = [
    [['hold', '--all'], '--reason'],
    [['hold', '--all', '--reason', 'x'], 'já está retido'],
    [['hold', '--reason', 'x'], 'ou só --all'],
    [['hold', '--all', '--channel', 'sms', '--reason', 'x'], 'ou só --all'],
    [['resume', '--channel', 'sms'], 'não está retido'],
    [['hold', '--account', 'nenhuma', '--reason', 'x'], 'Não existe a conta'],
  ]
  for (const [args, words] of refusals) {
    const { status, stderr } = await runCommand(args, database.url)
    expect([args, status]).toEqual([args, 1])
    expect(stderr).toContain(words)
  }
  const carrier = new ScriptedCarrier()
  work({ carrier })
  const id = await accept()
  expect((await worker!.lanes[0]!.work()).count).toBe(0)
  await run('resume', '--all')
  await expect.poll(() => idsOf(carrier)).toEqual([id])
})

test.each([
  ['', []],
  [' ', []],
  ['zenvai', []],
  ['zenvai:host/1', []],
  ['zenvia', ['--channel', 'email']],
])(
  'a hold on the carrier %j %j, which no provider of ours serves, is refused with the names, and holds nothing',
  async (carrier, scope) => {
    const { status, stderr } = await runCommand(['hold', '--carrier', carrier, ...scope, '--reason', 'x'], database.url)
    expect([status, stderr]).toEqual([1, expect.stringMatching(/--carrier.*\bsmtp, mx\b/)])
    expect(await run('hold', '--list')).toEqual([])
    await run('hold', '--carrier', 'simulator/smtp', '--reason', 'x')
  },
)

test('a hold on a carrier without a name leaves the place of the hold on the whole installation free, and can be lifted', async () => {
  await placeHold(database.pool, { channel: null, carrier: '', account: null, reason: 'x', by: 'x' })
  await placeHold(database.pool, { channel: null, carrier: 'gone', account: null, reason: 'x', by: 'x' })
  await holdInstallation(database.pool)
  expect(await run('hold', '--list')).toMatchObject([{ carrier: '' }, { carrier: 'gone' }, { carrier: null }])
  await run('resume', '--carrier', '')
  await run('resume', '--carrier', 'gone')
  expect(await run('resume', '--all')).toMatchObject({ stillHeld: 0 })
})

test('nothing is claimed on a server that was started since somebody looked, or in a clone of the database', async () => {
  const carrier = new ScriptedCarrier()
  for (const change of ["started_at = started_at - interval '1 second'", 'database = 1', 'started_at = null']) {
    await database.asOwner(`update home_server set ${change}`)
    work({ carrier })
    const id = await accept()
    expect((await worker!.lanes[0]!.work()).count).toBe(0)
    expect(await queued(id)).toBe('queued 0')
    await database.asOwner(`update home_server set started_at = pg_postmaster_start_time(),
      database = (select oid from pg_database where datname = current_database())`)
    await expect.poll(() => idsOf(carrier)).toContain(id)
    await endWork(database.pool, worker)
  }
})
