import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FATES } from '../../simulator/email/fates.js'
import type { Simulator } from '../../simulator/simulator.js'
import { findFaults } from '../../src/evidence/notification-faults.js'
import { saveLogo } from '../../src/store/accounts/accounts.js'
import { readEventLog } from '../../src/store/notification/event-log.js'
import { IDENTITY } from '../channels/email/frames.js'
import type { TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, type TestAccount } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'

/** From POST to every date over real sockets: the gateway, its worker and the simulated carriers, each on its own port. */
let database: TestDatabase
let simulator: Simulator
let gateway: Gateway
let stack: Stack
let account: TestAccount

beforeAll(async () => {
  stack = await startStack()
  database = stack.database
  simulator = stack.simulator
  gateway = stack.gateway
  account = await createAccount(database.pool)
})

afterAll(() => stack.close())

const sms = { number: '11987654321' }
const brt = /^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d$/

async function accept(body: object, token = account.token): Promise<string> {
  const answer = await send(gateway.url, token, { ...validSend, ...body })
  expect(answer.status).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}

const statusOf = async (channel: string, id: string): Promise<Record<string, unknown>> =>
  (await request(`${gateway.url}/gw/${channel}/${id}`, { token: account.token })).body as Record<string, unknown>

const settled = (channel: string, id: string, description: string) =>
  expect.poll(() => statusOf(channel, id), { interval: 100 }).toMatchObject({ description })

describe('each fixed fate ends in its documented status', () => {
  test('entregue: sent and delivered, and the SMS of typeSend 1 stays', async () => {
    const id = await accept({ to: 'entregue@simulador.test', sms })
    await settled('email', id, 'Entregue')
    expect(await statusOf('email', id)).toMatchObject({
      dateSend: expect.stringMatching(brt),
      dateDelivery: expect.stringMatching(brt),
      dateReading: null,
      error: false,
    })
    expect(await statusOf('sms', id)).toMatchObject({ description: 'Não enviado: e-mail entregue', dateSend: '' })
  })

  test('lido: the tracking image, loaded by a mail program, is the reading', async () => {
    const id = await accept({ to: 'lido@simulador.test' })
    await settled('email', id, 'Lido')
    expect(await statusOf('email', id)).toMatchObject({ dateReading: expect.stringMatching(brt) })
  })

  test('robo: what a link scanner loads is recorded, flagged, and no reading', async () => {
    const id = await accept({ to: 'robo@simulador.test' })
    await settled('email', id, 'Entregue')
    const notes = () =>
      database.pool
        .query("select data from event where notification_id = $1 and type = 'note'", [id])
        .then(({ rows }) => rows.map(row => row.data.automated))
    await expect.poll(notes).toContain(true)
    expect(await statusOf('email', id)).toMatchObject({ dateReading: null, description: 'Entregue' })
  })

  test.each([
    ['devolvido', 'Devolvido'],
    ['devolvido-depois', 'Devolvido'],
    ['cheia', 'Devolvido'],
    ['recusado', 'Falha no envio'],
  ])('%s: %s, and the SMS of typeSend 1 goes', async (fate, description) => {
    const id = await accept({ to: `${fate}+${Date.now()}@simulador.test`, sms })
    await settled('email', id, description)
    expect(await statusOf('email', id)).toMatchObject({ error: true, failureReason: null })
    await settled('sms', id, 'Entregue')
    if (fate === 'devolvido-depois')
      expect(await statusOf('email', id)).toMatchObject({ dateDelivery: expect.stringMatching(brt) })
  })

  test('every fate ends in the status that its table names', async () => {
    const asking = await createAccount(database.pool, { settings: { 'email.receipt': true } })
    const ids = await Promise.all(FATES.map(({ name }) => accept({ to: `${name}+tabela@simulador.test` }, asking.token)))
    const descriptions = () =>
      Promise.all(
        ids.map(async (id, place) => {
          const { body } = await request(`${gateway.url}/gw/email/${id}`, { token: asking.token })
          return { name: FATES[place]!.name, ends: (body as { description: string }).description }
        }),
      )
    await expect.poll(descriptions, { interval: 200 }).toEqual(FATES.map(({ name, ends }) => ({ name, ends })))
  })

  test('temporario: put off twice, then delivered under the same reference', async () => {
    const id = await accept({ to: `temporario+${Date.now()}@simulador.test` })
    await settled('email', id, 'Entregue')
    const { rows } = await database.pool.query('select attempt, reference from delivery where notification_id = $1', [id])
    expect(rows).toEqual([{ attempt: 3, reference: `${id}.email.1` }])
  })

  test('lento: a slow server is waited for', async () => {
    await settled('email', await accept({ to: 'lento@simulador.test' }), 'Entregue')
  })

  test('confirma: where the account asks for it, a reading receipt sent by a person is a reading; otherwise none comes', async () => {
    const asking = await createAccount(database.pool, { settings: { 'email.receipt': true } })
    const asked = await accept({ to: 'confirma+pedida@simulador.test' }, asking.token)
    const ofAsking = async () => (await request(`${gateway.url}/gw/email/${asked}`, { token: asking.token })).body
    const unasked = await accept({ to: 'confirma@simulador.test' })
    await expect.poll(ofAsking, { interval: 100 }).toMatchObject({ description: 'Lido' })
    await settled('email', unasked, 'Entregue')
    const notes = await database.pool.query("select from event where notification_id = $1 and source = 'report:mdn'", [unasked])
    expect(notes.rows).toEqual([])
  })

  test('responde: a reply comes back as a fact; ausente: our mail calls itself automatic, so no machine answers it', async () => {
    const [person, machine] = [await accept({ to: 'responde@simulador.test' }), await accept({ to: 'ausente@simulador.test' })]
    const note = (id: string) =>
      database.pool
        .query("select data->>'answer' as reply from event where notification_id = $1 and type = 'answered'", [id])
        .then(({ rows }) => rows)
    await expect
      .poll(() => note(person), { timeout: 120_000 })
      .toEqual([{ reply: expect.stringContaining('Recebido, obrigado.') }])
    await settled('email', machine, 'Entregue')
    expect(await note(machine)).toEqual([])
  })

  test('responde: the reply is forwarded once to the mailbox that the account names, without the recipient’s link', async () => {
    const mailbox = 'entregue+caixa@simulador.test'
    const { token } = await createAccount(database.pool, { settings: { 'email.replies.forward': mailbox } })
    const to = 'responde+encaminha@simulador.test'
    const id = await accept({ to }, token)
    const inbox = async () =>
      (await request(`${simulator.url}/simulator/messages?to=${encodeURIComponent(mailbox)}`)).body as { id: string }[]
    await expect.poll(inbox, { timeout: 120_000 }).toHaveLength(1)
    const [{ id: forwarded }] = (await inbox()) as [{ id: string }]
    const mail = (await request(`${simulator.url}/simulator/messages/${forwarded}`)).body as {
      text: string
      links: string[]
      headers: Record<string, string>
    }
    expect(mail.text).toContain('Recebido, obrigado.')
    expect(mail.text).toContain(id)
    expect(mail.links).toEqual([])
    const raw = await (await fetch(`${simulator.url}/simulator/messages/${forwarded}/raw`)).text()
    expect(raw).toMatch(new RegExp(`^Reply-To: Maria da Silva\\s+<${to.replace('+', '\\+')}>`, 'm'))
    expect(raw).toContain('Auto-Submitted: auto-generated')
    const link = new URL(await stack.linkFor(to)).pathname.slice(3)
    expect(raw.replaceAll(/=\r\n/g, '')).not.toContain(link)
    const events = async () =>
      ((await request(`${gateway.url}/gw/events/${id}`, { token })).body as { data: { label: string }[] }).data.map(
        ({ label }) => label,
      )
    await expect.poll(events).toContain('Resposta encaminhada')
    expect(await inbox()).toHaveLength(1)
  })

  test.each([
    ['inexistente.test', 'Domínio inexistente'],
    ['sem-correio.test', 'Domínio não recebe e-mail'],
    ['sem-mx.test', 'Domínio não recebe e-mail'],
    ['mailinator.com', 'E-mail descartável'],
  ])('an address at %s fails the validation made before sending: %s', async (domain, failureReason) => {
    const id = await accept({ to: `maria@${domain}`, sms })
    await settled('email', id, 'Falha na validação')
    expect(await statusOf('email', id)).toMatchObject({
      error: true,
      failureReason,
      failureReasonDescription: expect.stringMatching(/\.$/),
      dateSend: '',
    })
    await settled('sms', id, 'Entregue')
  })

  test('a resolver that fails proves nothing: the e-mail goes on', async () => {
    await settled('email', await accept({ to: 'maria@falha-dns.test' }), 'Entregue')
  })
})

test('the message shows the brand, the logo that the gateway serves, and who sends it', async () => {
  const { id, token } = await createAccount(database.pool, { settings: IDENTITY })
  // The smallest PNG: its first chunk has the size, 2 by 1.
  const bytes = Buffer.from('89504e470d0a1a0a0000000d494844520000000200000001', 'hex')
  const sha256 = await saveLogo(database.pool, id, { type: 'image/png', bytes })
  const to = 'entregue+marca@simulador.test'
  await accept({ to }, token)
  const base = new URL(await stack.linkFor(to)).origin
  const [{ id: message }] = (await request(`${simulator.url}/simulator/messages?to=${encodeURIComponent(to)}`)).body as [
    { id: string },
  ]
  const raw = await (await fetch(`${simulator.url}/simulator/messages/${message}/raw`)).text()
  expect(raw).toMatch(/^From: Banco Aurora <[^>]+>\r$/m)
  const decoded = raw.replaceAll('=\r\n', '').replaceAll('=3D', '=')
  expect(decoded).toContain(`<img src="${base}/r/logo/${sha256}" width="88" height="44" alt="Logotipo de Banco Aurora"`)
  expect(decoded.split('CNPJ: 11.222.333/0001-81')).toHaveLength(3)
  const served = await fetch(`${base}/r/logo/${sha256}`)
  expect([served.headers.get('content-type'), Buffer.from(await served.arrayBuffer())]).toEqual(['image/png', bytes])
})

test('an address that bounced for good, or complained, is suppressed for that account alone', async () => {
  const to = `devolvido+suppressed@simulador.test`
  await settled('email', await accept({ to }), 'Devolvido')
  const again = await accept({ to })
  await settled('email', again, 'Falha na validação')
  expect(await statusOf('email', again)).toMatchObject({ failureReason: 'Endereço suprimido' })
  const complains = `reclama+suppressed@simulador.test`
  await settled('email', await accept({ to: complains }), 'Entregue')
  await expect
    .poll(async () => (await database.pool.query('select reason from suppression where recipient = $1', [complains])).rows, {
      timeout: 120_000,
    })
    .toEqual([{ reason: 'complaint' }])
  const other = await createAccount(database.pool)
  const answer = await send(gateway.url, other.token, { ...validSend, to })
  const id = (answer.body as { idEmail: string }).idEmail
  const ofOther = async () => (await request(`${gateway.url}/gw/email/${id}`, { token: other.token })).body
  await expect.poll(ofOther).toMatchObject({ description: 'Devolvido' })
})

test('a mailbox that the server refuses because it does not exist is suppressed, in whatever case it is written next', async () => {
  const refused = await accept({ to: 'Recusado+Suppressed@simulador.test' })
  await settled('email', refused, 'Falha no envio')
  const kept = () =>
    database.pool
      .query("select reason, notification_id as id from suppression where recipient = 'recusado+suppressed@simulador.test'")
      .then(({ rows }) => rows)
  await expect.poll(kept).toEqual([{ reason: 'hard bounce', id: refused }])
  const again = await accept({ to: 'RECUSADO+suppressed@simulador.test' })
  await settled('email', again, 'Falha na validação')
  expect(await statusOf('email', again)).toMatchObject({ failureReason: 'Endereço suprimido' })
})

test('the SMS of typeSend 1 goes when no delivery is confirmed in time', async () => {
  const slow = await createAccount(database.pool)
  // The carrier never answers: the e-mail stays under way.
  const answer = await send(gateway.url, slow.token, { ...validSend, to: 'silencio@simulador.test', sms })
  const id = (answer.body as { idEmail: string }).idEmail
  const smsStatus = async () => (await request(`${gateway.url}/gw/sms/${id}`, { token: slow.token })).body
  expect(await smsStatus()).toMatchObject({ description: 'Aguardando o e-mail' })
  await database.pool.query("update delivery set due_at = now() where notification_id = $1 and channel = 'sms'", [id])
  await expect.poll(smsStatus).toMatchObject({ description: 'Entregue' })
  const { rows } = await database.pool.query(
    "select data->>'reason' as reason from event where notification_id = $1 and type = 'released'",
    [id],
  )
  expect(rows).toEqual([{ reason: 'SMS liberado: entrega não confirmada no prazo' }])
})

test('what comes next can be asked, with its moment and its condition', async () => {
  const id = await accept({ to: 'lento@simulador.test', sms })
  const { status, body } = await request(`${gateway.url}/gw/sequence/${id}`, { token: account.token })
  expect(status).toBe(200)
  expect((body as { data: object[] }).data.at(-1)).toEqual({
    canal: 'sms',
    dataPrevista: expect.stringMatching(brt),
    condicao: 'nao_entregue',
    descricao: expect.stringMatching(/^SMS em .*, se a entrega pelos canais anteriores não for confirmada\.$/),
  })
})

test('the message that arrives is the one that was asked for: addressed, signed back, with its file and its text', async () => {
  const to = `entregue+conteudo@simulador.test`
  const attachments = [{ name: 'boleto.pdf', base64: Buffer.from('%PDF-1.4 teste').toString('base64') }]
  const id = await accept({ to, subject: 'Aviso nº 7 — ação', content: '<p>Olá, <b>Maria</b>!</p>', attachments })
  const found = await request(`${simulator.url}/simulator/messages?to=${encodeURIComponent(to)}&wait=20s`)
  const [{ id: messageId }] = found.body as [{ id: string }]
  const message = (await request(`${simulator.url}/simulator/messages/${messageId}`)).body
  expect(message).toMatchObject({
    subject: 'Aviso nº 7 — ação',
    envelope: {
      from: expect.stringMatching(/^b\+[0-9a-f]{32}\.[0-9a-f]{16}@retorno\.carteiro\.localhost$/),
      envid: `${id}.email.1`,
    },
    text: expect.stringContaining('Olá, Maria!'),
    html: expect.stringContaining(`${gateway.url}/o/`),
    attachments: [{ name: 'boleto.pdf', size: 14 }],
  })
})

test('a protected message does not carry its content in the e-mail', async () => {
  const owner = await createAccount(database.pool, { settings: { validation: true } })
  const to = `entregue+protegido@simulador.test`
  await send(gateway.url, owner.token, {
    ...validSend,
    to,
    content: '<p>segredo-7731</p>',
    validation: { question: 'Cor?', reply: 'azul' },
  })
  const found = await request(`${simulator.url}/simulator/messages?to=${encodeURIComponent(to)}&wait=20s`)
  const [{ id }] = found.body as [{ id: string }]
  const raw = await (await fetch(`${simulator.url}/simulator/messages/${id}/raw`)).text()
  expect(raw).not.toContain('segredo-7731')
})

test('the statuses are what the events add up to, and every chain is whole', async () => {
  const faults: string[] = []
  for await (const page of readEventLog(database.pool)) faults.push(...page.flatMap(findFaults))
  expect(faults).toEqual([])
})
