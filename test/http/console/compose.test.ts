import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { moduleOf } from '../../../src/channels/registry.js'
import { completeSettings } from '../../../src/domain/account.js'
import { simulateSequence } from '../../../src/domain/send/sequence-simulation.js'
import { checkActionLog } from '../../../src/engine/record/action-log.js'
import { consoleClient } from '../../support/gateway/console.js'
import { createAccount, gatewayForFile } from '../../support/gateway/gateway.js'
import { request, send, validSend } from '../../support/gateway/requests.js'

/** What the console writes: sends, templates and sequences. */
const { database, gateway, account } = await gatewayForFile()
const { pool } = database
const { url } = gateway
const operator = await consoleClient(pool, url)
const sender = await consoleClient(pool, url, { email: 'remetente@example.com', role: 'sender', account: account.id })
const auditor = await consoleClient(pool, url, { email: 'auditor@example.com', role: 'auditor' })
const other = await createAccount(pool)
const own = `account=${account.id}`
const foreign = `account=${other.id}`
const KEY = '6b1c7f0e-0000-4000-8000-000000000001'

const acts = async (action: string) =>
  (
    await pool.query<{ actor: string; subject: string; detail: object }>(
      'select actor, subject, detail from audit where action = $1 order by id',
      [action],
    )
  ).rows

test('a send is accepted as one of the API, once for each key, in the name of the account, and is in the log of actions', async () => {
  const answer = await sender.post(`/compose/send?${own}`, { key: KEY, request: validSend })
  expect(answer.status).toBe(200)
  const { id } = answer.body as { id: string }
  expect((await sender.post(`/compose/send?${own}`, { key: KEY, request: validSend })).body).toEqual({ id })
  const changed = { key: KEY, request: { ...validSend, subject: 'Outro' } }
  expect((await sender.post(`/compose/send?${own}`, changed)).status).toBe(422)
  const { rows } = await pool.query('select account_id, mode from notification where id = $1', [id])
  expect(rows).toEqual([{ account_id: account.id, mode: 'live' }])
  const status = await request(`${url}/gw/full/${id}`, { headers: { authorization: account.token } })
  expect(status.status).toBe(200)
  expect(await acts('send notification')).toEqual([
    {
      actor: 'operator:remetente@example.com',
      subject: id,
      detail: { account: account.id, mode: 'live', channels: ['email'] },
    },
  ])
  const [event] = (await pool.query('select data from event where notification_id = $1', [id])).rows
  expect(event.data.token).toMatch(/^console:[0-9a-f-]{36}$/)
})

test('a message that was changed after it was accepted is not sent under the same key, and the answer names the accepted one', async () => {
  const key = randomUUID()
  const { id } = (await sender.post(`/compose/send?${own}`, { key, request: validSend })).body as { id: string }
  const changed = { ...validSend, subject: 'Mudado depois que a resposta se perdeu' }
  const refused = await sender.post(`/compose/send?${own}`, { key, request: changed })
  expect(refused).toMatchObject({ status: 422, body: { statusCode: 422, accepted: id } })
  expect((await pool.query('select from notification where subject = $1', [changed.subject])).rowCount).toBe(0)
  expect((await sender.post(`/compose/send?${own}`, { key: randomUUID(), request: changed })).status).toBe(200)
})

test('sends spend the budget of the account that the API spends, of the tier of the address they come from', async () => {
  const settings = { 'limit.registered': 3, 'limit.unregistered': 2 }
  const [near, far] = [
    await createAccount(pool, { settings }),
    await createAccount(pool, { settings, ranges: ['203.0.113.0/24'] }),
  ]
  const compose = async (of: { id: string }) =>
    operator.post(`/compose/send?account=${of.id}`, { key: randomUUID(), request: validSend })
  const first = await compose(near)
  expect([first.status, first.headers.get('ratelimit-policy')]).toEqual([200, '"registrado";q=3;w=60'])
  expect((await send(url, near.token, validSend)).status).toBe(200)
  expect((await compose(near)).status).toBe(200)
  const refused = await compose(near)
  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true])
  expect((await send(url, near.token, validSend)).status).toBe(429)
  const statuses = [await compose(far), await compose(far), await compose(far)].map(({ status }) => status)
  expect(statuses).toEqual([200, 200, 429])
  expect((await pool.query('select from notification where account_id = any($1)', [[near.id, far.id]])).rowCount).toBe(5)
})

test('a refused send names its field, and leaves no act', async () => {
  const before = (await acts('send notification')).length
  const bad = { ...validSend, sms: { number: '123' } }
  const refused = await operator.post(`/compose/send?${own}`, { key: `${KEY}2`, request: bad })
  expect(refused.status).toBe(400)
  expect((refused.body as { message: string }).message).toContain('sms.number')
  const api = await send(url, account.token, bad)
  expect(refused.body).toEqual(api.body)
  expect((await operator.post(`/compose/send?${own}`, { key: 'x', request: validSend })).status).toBe(400)
  expect((await acts('send notification')).length).toBe(before)
})

test('the preview shows each message as its delivery would make it, says when it goes, and stores nothing', async () => {
  const count = async () =>
    (await pool.query('select (select count(*) from notification) + (select count(*) from link) as n')).rows[0].n
  const before = await count()
  const asked = {
    ...validSend,
    sms: { number: '11987654321', customMessage: `${'á'.repeat(100)} {SHORT_LINK}` },
    voz: { number: '11987654321' },
    carta: { variables: { cep: '01310-100', logradouro: 'Avenida Paulista', numero: '1000', cidade: 'São Paulo', uf: 'SP' } },
  }
  const answer = await auditor.post(`/compose/preview?${own}`, { request: asked })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  const { deliveries } = answer.body as {
    deliveries: {
      channel: string
      message: Record<string, unknown>
      problem: string
      waitMinutes: number
      dueAt: string | null
    }[]
  }
  const by = Object.fromEntries(deliveries.map(delivery => [delivery.channel, delivery]))
  expect(by.email!.message).toMatchObject({ kind: 'mail', subject: validSend.subject, html: expect.stringContaining('</html>') })
  expect(by.sms!.message).toMatchObject({
    kind: 'parts',
    encoding: 'gsm7',
    parts: [expect.stringMatching(/^a{100} http.*\/s\/exemplo123$/)],
  })
  expect([by.sms!.waitMinutes, by.sms!.dueAt]).toEqual([30, null])
  // Of a send for later each channel has its own moment, and the wait of its step stays what the sequence says.
  const sendAt = Math.floor(Date.now() / 1_000) * 1_000 + 86_400_000
  const scheduled = await auditor.post(`/compose/preview?${own}`, {
    request: { ...asked, sendAt: new Date(sendAt).toISOString() },
  })
  expect(scheduled.body).toMatchObject({
    deliveries: expect.arrayContaining([
      expect.objectContaining({ channel: 'email', waitMinutes: 0, dueAt: new Date(sendAt).toISOString() }),
      expect.objectContaining({ channel: 'sms', waitMinutes: 30, dueAt: new Date(sendAt + 1_800_000).toISOString() }),
    ]),
  })
  expect(by.voz).toMatchObject({ message: null, problem: expect.stringContaining('voz.template') })
  expect(by.carta!.message).toMatchObject({ kind: 'pdf', pages: 1 })
  expect(
    Buffer.from(by.carta!.message.base64 as string, 'base64')
      .subarray(0, 5)
      .toString(),
  ).toBe('%PDF-')
  expect(await count()).toBe(before)
  const unfinished = await auditor.post(`/compose/preview?${own}`, { request: { to: 'x' } })
  expect(unfinished).toMatchObject({ status: 200, body: { deliveries: [], problem: expect.stringContaining('nameTo') } })
})

test('templates: made, edited into versions, switched off, with every act in the log; a preview counts parts and names faults', async () => {
  const draft = { name: 'aviso', channel: 'sms', content: 'Olá {{ nome }}', variables: null, externalId: null, shared: false }
  const made = (await sender.post(`/templates?${own}`, draft)).body as { id: string; version: number; editable: boolean }
  expect(made).toMatchObject({ version: 1, editable: true })
  const path = `/templates/${made.id}`
  expect((await operator.put(`${path}?${own}`, { content: 'Oi {{ nome }}' })).body).toMatchObject({ version: 2 })
  expect((await operator.put(`${path}?${own}`, { active: false, shared: true })).body).toMatchObject({
    version: 2,
    active: false,
    shared: true,
    versions: [{ version: 2 }, { version: 1 }],
  })
  expect((await auditor.get(`${path}/versions/1?${own}`)).body).toMatchObject({ content: 'Olá {{ nome }}' })
  expect(
    (await acts('create template')).concat(await acts('edit template')).map(({ actor, subject }) => [actor, subject]),
  ).toEqual([
    ['operator:remetente@example.com', made.id],
    ['operator:ana@example.com', made.id],
    ['operator:ana@example.com', made.id],
  ])
  expect((await sender.post(`/templates?${own}`, draft)).status).toBe(409)
  expect((await sender.post(`/templates?${own}`, { ...draft, name: ' ' })).status).toBe(400)
  expect((await operator.put(`${path}?${own}`, {})).status).toBe(400)
  const preview = (content: string) =>
    auditor.post(`/templates/preview?${own}`, { channel: 'sms', content, values: { nome: 'Ana' } })
  expect((await preview('Oi {{ nome }} {{ x }}')).body).toMatchObject({
    text: 'Oi Ana [x]',
    variables: ['nome', 'x'],
    parts: { count: 1, encoding: 'gsm7' },
  })
  expect((await preview('Oi {{ nome }}')).body).toMatchObject({ warnings: [] })
  expect((await preview('{{ nome }}, sua dívida')).body).toMatchObject({
    problem: null,
    warnings: [expect.stringContaining('“dívida”')],
  })
  expect((await preview('Oi {nome}')).body).toMatchObject({ text: null, problem: expect.stringContaining('{{ nome }}') })
  expect((await auditor.get(`/templates?${own}&channel=sms`)).body).toMatchObject({ rows: [{ name: 'aviso', editable: false }] })
})

test('the sequence that was set is that of the API, and the simulation follows the rules of real deliveries', async () => {
  const steps = [
    { channel: 'email', waitMinutes: 0, condition: 'sempre' },
    { channel: 'sms', waitMinutes: 60, condition: 'nao_lido' },
  ]
  const { revision } = (await sender.get(`/sequence?${own}`)).body as { revision: string }
  expect((await sender.put(`/sequence?${own}`, { steps, revision })).body).toMatchObject({ steps })
  const { body } = await request(`${url}/gw/sequence`, { headers: { authorization: account.token } })
  expect(body).toMatchObject({
    data: { etapas: [{ canal: 'email' }, { canal: 'sms', esperaMinutos: 60, condicao: 'nao_lido' }] },
  })
  expect((await acts('set sequence')).map(({ subject, detail }) => ({ subject, detail }))).toEqual([
    { subject: account.id, detail: { steps } },
  ])
  for (const wrong of [
    [steps[0], steps[0]],
    [{ ...steps[0], channel: 'fax' }],
    [{ ...steps[0], condition: 'nunca' }],
    [{ ...steps[0], waitMinutes: 129_601 }],
    [{ ...steps[0], waitMinutes: -1 }],
  ])
    expect((await sender.put(`/sequence?${own}`, { steps: wrong, revision })).status, JSON.stringify(wrong)).toBe(400)
  const play = async (outcome: string, minutes: number) => {
    const reactions = [
      { channel: 'email', outcome, minutes },
      { channel: 'sms', outcome: 'silent', minutes: 0 },
    ]
    const answer = (await auditor.post(`/sequence/simulation?${own}`, { steps, reactions })).body as {
      start: string
      events: { channel: string; type: string; at: string }[]
    }
    return answer.events.map(
      ({ channel, type, at }) => `${channel} ${type} ${(Date.parse(at) - Date.parse(answer.start)) / 60_000}`,
    )
  }
  expect(await play('read', 10)).toEqual(['email sent 0', 'email delivered 10', 'email read 10', 'sms cancelled 10'])
  expect(await play('read', 90)).toEqual([
    'email sent 0',
    'sms released 60',
    'sms sent 60',
    'email delivered 90',
    'email read 90',
  ])
  expect(await play('failed', 5)).toEqual(['email sent 0', 'email failed 5', 'sms released 5', 'sms sent 5'])
  expect(await play('silent', 0)).toEqual(['email sent 0', 'sms released 60', 'sms sent 60'])
})

test('of two people who save a sequence that both have read, the second one is told and saves nothing', async () => {
  const step = (channel: string) => ({ channel, waitMinutes: 0, condition: 'sempre' })
  const read = async () => (await sender.get(`/sequence?${own}`)).body as { steps: object[]; revision: string }
  const save = (revision: string, ...channels: string[]) =>
    sender.put(`/sequence?${own}`, { steps: channels.map(step), revision })
  const { revision } = await read()
  expect((await save(revision, 'voz', 'email')).status).toBe(200)
  const late = await save(revision, 'sms')
  expect(late.status).toBe(409)
  expect(late.body).toMatchObject({ message: expect.stringMatching(/^Outra pessoa mudou a régua .* Nada foi salvo/) })
  expect(await read()).toMatchObject({ steps: [step('voz'), step('email')] })
  // The same steps once more, as by a person who got no answer.
  expect((await save(revision, 'voz', 'email')).status).toBe(200)
  const changed = { etapas: [{ canal: 'sms', esperaMinutos: 0, condicao: 'sempre' }] }
  const seen = await read()
  const headers = { authorization: account.token, 'content-type': 'application/json' }
  await request(`${url}/gw/sequence`, { method: 'PUT', headers, body: JSON.stringify(changed) })
  expect((await save(seen.revision, 'email')).status).toBe(409)
  expect((await save((await read()).revision, 'email')).status).toBe(200)
})

test('without a sequence the simulation sends everything at once, but for a fallback', () => {
  const start = new Date('2026-07-18T12:00:00Z')
  const reactions = ['email', 'sms', 'whatsapp'].map(channel => ({ channel, outcome: 'silent' as const, minutes: 0 }))
  const events = simulateSequence({ sequence: null, settings: completeSettings({}) }, reactions, start, moduleOf)
  expect(
    events.filter(({ type }) => type === 'sent').map(({ channel, at }) => [channel, (at.getTime() - start.getTime()) / 60_000]),
  ).toEqual([
    ['email', 0],
    ['whatsapp', 0],
    ['sms', 30],
  ])
})

test('nobody reaches another account, and an auditor changes nothing', async () => {
  const theirs = (
    await operator.post(`/templates?${foreign}`, {
      name: 'deles',
      channel: 'sms',
      content: 'Oi',
      variables: null,
      externalId: null,
      shared: false,
    })
  ).body as { id: string }
  const sendBody = { key: `${KEY}3`, request: validSend }
  const changes: [path: string, method: 'get' | 'post' | 'put', body?: object][] = [
    ['/sequence?', 'get'],
    ['/sequence?', 'put', { steps: [], revision: '' }],
    ['/sequence/simulation?', 'post', { steps: [], reactions: [] }],
    ['/templates?', 'get'],
    ['/templates?', 'post', { name: 'x', channel: 'sms', content: 'x', variables: null, externalId: null, shared: false }],
    ['/templates/preview?', 'post', { channel: 'sms', content: 'x', values: {} }],
    [`/templates/${theirs.id}?`, 'get'],
    [`/templates/${theirs.id}?`, 'put', { active: false }],
    [`/templates/${theirs.id}/versions/1?`, 'get'],
    ['/compose?', 'get'],
    ['/compose/preview?', 'post', { request: validSend }],
    ['/compose/send?', 'post', sendBody],
  ]
  for (const [path, method, body] of changes) {
    expect((await sender[method](path + foreign, body!)).status, `${method} ${path}`).toBe(404)
    expect((await operator[method](`${path}account=`, body!)).status, `${method} ${path}`).toBe(404)
  }
  // Through one's own account another's template cannot be reached either.
  expect((await sender.get(`/templates/${theirs.id}?${own}`)).status).toBe(404)
  expect((await sender.put(`/templates/${theirs.id}?${own}`, { active: false })).status).toBe(403)
  for (const [path, body] of [
    ['/sequence?', { steps: [], revision: '' }],
    [`/templates/${theirs.id}?`, { active: false }],
  ] as const)
    expect((await auditor.put(path + foreign, body)).status, path).toBe(403)
  expect((await auditor.post(`/compose/send?${own}`, sendBody)).status).toBe(403)
  expect(await checkActionLog(pool)).toMatchObject({ fault: null })
})

test('the form asks for a template only where there is nothing to say without one', async () => {
  const { channels } = (await auditor.get(`/compose?${own}`)).body as { channels: { channel: string; needsTemplate: boolean }[] }
  expect(channels.filter(({ needsTemplate }) => needsTemplate).map(({ channel }) => channel)).toEqual(['whatsapp', 'voz'])
})

test('files go with a message, as large as the API takes them', async () => {
  const file = Buffer.alloc(6 * 1_048_576, 'carteiro')
  const attachments = [{ name: 'contrato.pdf', base64: file.toString('base64') }]
  const answer = await sender.post(`/compose/send?${own}`, { key: `${KEY}9`, request: { ...validSend, attachments } })
  expect([answer.status, answer.body]).toEqual([200, { id: expect.any(String) }])
  const { id } = answer.body as { id: string }
  const { rows } = await pool.query('select data from event where notification_id = $1 order by seq limit 1', [id])
  expect(rows[0].data.attachments).toMatchObject([{ name: 'contrato.pdf', size: file.length }])
  const unnamed = { key: `${KEY}8`, request: { ...validSend, attachments: [{ name: '', base64: 'eA==' }] } }
  expect((await sender.post(`/compose/send?${own}`, unnamed)).body).toMatchObject({
    message: expect.stringContaining('attachments'),
  })
})

test('what a channel reads of the metadata of a template is kept, and makes no version', async () => {
  const draft = { name: 'aprovado', channel: 'whatsapp', content: 'Olá', variables: null, externalId: null, shared: false }
  const made = (await sender.post(`/templates?${own}`, { ...draft, metadata: { botaoLink: 0 } })).body as { id: string }
  expect(made).toMatchObject({ metadata: { botaoLink: 0 } })
  const edited = await sender.put(`/templates/${made.id}?${own}`, { metadata: { botaoLink: 1, idioma: 'en_US' } })
  expect(edited.body).toMatchObject({ version: 1, metadata: { botaoLink: 1, idioma: 'en_US' } })
})
