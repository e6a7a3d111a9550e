import { expect, test } from 'vitest'
import { checkActionLog } from '../../../src/engine/record/action-log.js'
import { recordChanges } from '../../../src/engine/record/record.js'
import { findFaults } from '../../../src/evidence/notification-faults.js'
import type { ShownNotification, Verification } from '../../../src/http/console/notifications/notification-schema.js'
import { updateSequence } from '../../../src/store/accounts/accounts.js'
import { readEventLog } from '../../../src/store/notification/event-log.js'
import { type ConsoleClient, consoleClient } from '../../support/gateway/console.js'
import { createAccount, gatewayForFile } from '../../support/gateway/gateway.js'
import { refused, ScriptedCarrier, startTestWorker, type TestLane } from '../../support/gateway/lanes.js'
import { request, send, validSend } from '../../support/gateway/requests.js'

/** One notification in the console: what it shows, what each role may decide, and what stays hidden. */
const { database, gateway, account } = await gatewayForFile()
const { pool } = database
const { url } = gateway
await updateSequence(pool, account.id, [
  { channel: 'email', waitMinutes: 0, condition: 'always' },
  { channel: 'sms', waitMinutes: 60, condition: 'not delivered' },
  { channel: 'voice', waitMinutes: 60, condition: 'failed' },
])
const other = await createAccount(pool)
const operator = await consoleClient(pool, url, { email: 'operadora@example.com' })
const auditor = await consoleClient(pool, url, { email: 'auditor@example.com', role: 'auditor' })
const sender = await consoleClient(pool, url, { email: 'remetente@example.com', role: 'sender', account: account.id })
const stranger = await consoleClient(pool, url, { email: 'outra@example.com', role: 'sender', account: other.id })

const XSS = '<script>parent.hacked = 1</script><img src="https://mal.example/x.png" onerror="x()"><p>Vence amanhã.</p>'
const accept = async (body: object = {}): Promise<string> =>
  (
    (
      await send(url, account.token, {
        ...validSend,
        content: XSS,
        sms: { number: '11987654321' },
        voz: { number: '11987654321' },
        ...body,
      })
    ).body as { idEmail: string }
  ).idEmail
const read = async (id: string, client = operator): Promise<ShownNotification> =>
  (await client.get(`/notifications/${id}`)).body as ShownNotification
const lane = async (id: string, channel: string, client = operator) =>
  (await read(id, client)).lanes.find(found => found.channel === channel)!
const decide = (client: ConsoleClient, id: string, channel: string, decision: string) =>
  client.post(`/notifications/${id}/channels/${channel}/decision`, { decision })
const audited = async (id: string): Promise<{ action: string; actor: string }[]> =>
  (await pool.query('select action, actor from audit where subject = $1 order by id', [id])).rows

async function work<T>(scripted: TestLane, run: () => Promise<T>): Promise<T> {
  const worker = startTestWorker(pool, [scripted])
  try {
    return await run()
  } finally {
    await worker.stop()
  }
}

test('every channel is a lane, and what comes next says when and why', async () => {
  const id = await accept()
  const shown = await read(id)
  expect(shown.lanes.map(({ channel, state }) => [channel, state])).toEqual([
    ['email', 'queued'],
    ['sms', 'waiting'],
    ['voz', 'waiting'],
  ])
  expect(shown.coming.map(({ channel, waits }) => [channel, waits])).toEqual([
    ['email', false],
    ['sms', true],
    ['voz', true],
  ])
  expect(shown.coming[1]!.text).toMatch(/se a entrega pelos canais anteriores não for confirmada/)
  expect(shown.events.map(({ type, channel }) => [type, channel])).toEqual([['accepted', null]])
  const { body } = await operator.get(`/notifications/${id}/status`)
  expect(body).toEqual((await request(`${url}/gw/full/${id}`, { token: account.token })).body)
})

test('send now sends without waiting, cancel never sends, and both are audited with their fact', async () => {
  const id = await accept()
  expect((await decide(sender, id, 'sms', 'release')).status).toBe(200)
  expect(await lane(id, 'sms')).toMatchObject({ state: 'queued', reason: 'Enviado sem esperar, a pedido de um operador.' })
  expect((await decide(sender, id, 'sms', 'release')).status).toBe(409)
  expect((await decide(operator, id, 'voz', 'cancel')).status).toBe(200)
  expect(await lane(id, 'voz')).toMatchObject({ state: 'cancelled', label: 'Finalizado', reason: 'Cancelado por um operador.' })
  expect((await decide(operator, id, 'carta', 'cancel')).status).toBe(404)
  const carrier = new ScriptedCarrier()
  await work({ channel: 'sms', carrier }, () => expect.poll(async () => (await lane(id, 'sms')).label).toBe('Enviado'))
  expect(carrier.got.map(({ notification }) => notification)).toContain(id)
  const { events } = await read(id)
  expect(events.find(({ type }) => type === 'released')).toMatchObject({ channel: 'sms', source: 'operator' })
  expect(events.find(({ type, channel }) => type === 'sent' && channel === 'sms')).toMatchObject({ answer: '250 OK', attempt: 1 })
  expect((await audited(id)).map(({ action }) => action)).toEqual(['delivery release', 'delivery cancel'])
})

test('a delivery that gave up is sent again, an unknown outcome is settled by operators alone', async () => {
  const id = await accept()
  await work({ carrier: new ScriptedCarrier(() => Promise.reject(refused('temporary'))), options: { retryDelaysMs: [] } }, () =>
    expect.poll(async () => (await lane(id, 'email')).state).toBe('dead'),
  )
  expect(await lane(id, 'email')).toMatchObject({ tone: 'bad', decisions: ['retry'], reason: 'Motivo: temporary' })
  expect((await decide(operator, id, 'email', 'sent')).status).toBe(409)
  expect(await lane(id, 'email', auditor)).toMatchObject({ decisions: [] })
  expect((await decide(auditor, id, 'email', 'retry')).status).toBe(403)
  expect((await decide(sender, id, 'email', 'retry')).status).toBe(200)
  await work({ carrier: new ScriptedCarrier(() => Promise.reject(refused('uncertain'))), whenUnknown: 'never' }, () =>
    expect.poll(async () => (await lane(id, 'email')).state).toBe('unresolved'),
  )
  expect(await lane(id, 'email')).toMatchObject({ tone: 'warn', label: 'Em verificação', decisions: ['retry', 'sent', 'failed'] })
  expect(await lane(id, 'email', sender)).toMatchObject({ decisions: ['retry'] })
  expect((await decide(sender, id, 'email', 'sent')).status).toBe(403)
  expect((await decide(operator, id, 'email', 'sent')).status).toBe(200)
  expect(await lane(id, 'email')).toMatchObject({ label: 'Enviado', decisions: [] })
  expect((await audited(id)).map(({ action }) => action)).toEqual(['delivery retry', 'delivery sent'])
})

test('finalize cancels what waits, once, and is audited once', async () => {
  const id = await accept()
  expect((await read(id)).mayFinalize).toBe(true)
  expect((await sender.post(`/notifications/${id}/finalize`)).status).toBe(200)
  expect((await sender.post(`/notifications/${id}/finalize`)).status).toBe(200)
  expect((await read(id)).lanes.map(({ state }) => state)).toEqual(['queued', 'cancelled', 'cancelled'])
  expect((await read(id)).mayFinalize).toBe(false)
  expect(await audited(id)).toEqual([
    { action: 'notification finalize', actor: expect.stringContaining('remetente@example.com') },
  ])
})

test('the content is shown without scripts, and without anything from elsewhere', async () => {
  const id = await accept()
  const answer = await fetch(`${url}/console/api/notifications/${id}/content`, { headers: { cookie: auditor.cookie } })
  const policy = answer.headers.get('content-security-policy')!
  expect(policy).toMatch(/default-src 'none'; img-src data:;.*; sandbox$/)
  const html = await answer.text()
  expect(html).toContain('Vence amanhã.')
  expect(html).not.toMatch(/<script|onerror/)
})

test('proof, report and bundle are downloads that the verifier confirms, as are the copies of what left', async () => {
  const id = await accept()
  const before = (await auditor.get(`/notifications/${id}/verification`)).body as Verification
  expect(before.files.map(({ name, state }) => [name, state])).toEqual([
    ['proof', 'missing'],
    ['report', 'missing'],
    ['bundle', 'holds'],
  ])
  expect((await auditor.get(`/notifications/${id}/proof.pdf`)).status).toBe(404)
  const carrier = new ScriptedCarrier()
  carrier.contentOf = () => ({ type: 'text/plain', extension: 'txt', bytes: Buffer.from('<b>Olá</b>') })
  await work({ carrier }, () => expect.poll(async () => (await lane(id, 'email')).label).toBe('Enviado'))
  const { files } = (await auditor.get(`/notifications/${id}/verification`)).body as Verification
  expect(files.map(({ name, state }) => [name, state])).toEqual([
    ['proof', 'holds'],
    ['report', 'holds'],
    ['bundle', 'holds'],
  ])
  expect(files[2]!.steps.map(({ state }) => state)).not.toContain('broken')
  for (const [path, type, head] of [
    ['proof.pdf', 'application/pdf', '%PDF'],
    ['report.pdf', 'application/pdf', '%PDF'],
    ['bundle.zip', 'application/zip', 'PK'],
    ['contents/email/1', 'application/octet-stream', '<b>Olá</b>'],
  ] as const) {
    const answer = await fetch(`${url}/console/api/notifications/${id}/${path}`, { headers: { cookie: auditor.cookie } })
    expect([answer.status, answer.headers.get('content-type')], path).toEqual([200, type])
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment/)
    expect(answer.headers.get('content-security-policy')).toMatch(/^sandbox/)
    expect((await answer.text()).startsWith(head), path).toBe(true)
  }
  expect((await read(id)).contents).toMatchObject([{ channel: 'email', ordinal: 1, preview: '<b>Olá</b>' }])
  expect((await auditor.get(`/notifications/${id}/contents/email/2`)).status).toBe(404)
})

test('nobody reads or decides about another account’s notification, and an auditor decides nothing', async () => {
  const id = await accept()
  for (const path of [
    '',
    '/status',
    '/content',
    '/verification',
    '/proof.pdf',
    '/report.pdf',
    '/bundle.zip',
    '/contents/email/1',
  ])
    expect((await stranger.get(`/notifications/${id}${path}`)).status, path).toBe(404)
  expect((await stranger.post(`/notifications/${id}/finalize`)).status).toBe(404)
  expect((await decide(stranger, id, 'sms', 'release')).status).toBe(404)
  expect((await auditor.post(`/notifications/${id}/finalize`)).status).toBe(403)
  expect((await decide(auditor, id, 'sms', 'release')).status).toBe(403)
  expect((await read(id, auditor)).lanes.flatMap(({ decisions }) => decisions)).toEqual([])
  expect((await read(id)).lanes.map(({ state }) => state)).toEqual(['queued', 'waiting', 'waiting'])
  expect((await operator.get('/notifications/nada')).status).toBe(404)
})

test('what a recipient wrote is told as text, and every chain stays whole', async () => {
  const id = await accept()
  const fact = {
    channel: 'email',
    type: 'answered',
    at: new Date(),
    source: 'test',
    data: { answer: '<img src=x onerror=alert(1)>' },
  } as const
  await recordChanges(pool, Date.now, [{ kind: 'fact', notification: id, fact }])
  expect((await read(id)).events.find(({ type }) => type === 'answered')).toMatchObject({
    reply: '<img src=x onerror=alert(1)>',
    answer: null,
  })
  for await (const page of readEventLog(pool)) expect(page.flatMap(findFaults)).toEqual([])
  expect((await checkActionLog(pool)).fault).toBeNull()
})
