import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Simulator } from '../../simulator/simulator.js'
import { FATES, fateNumber } from '../../simulator/whatsapp/fates.js'
import { simulatorSecret } from '../../src/domain/access/keys.js'
import { findFaults } from '../../src/evidence/notification-faults.js'
import { readEventLog } from '../../src/store/notification/event-log.js'
import type { TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, type TestAccount, testKeys } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { showAbsent } from '../support/record-members.js'
import { readSource } from '../support/sources.js'

/** From POST to every date over real sockets: the gateway, its worker and the simulated Cloud API, each on its own port. */
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
  await createTemplate('aviso_contrato', { botaoLink: 0, cabecalho: ['titulo'] })
})

afterAll(() => stack.close())

const brt = /^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d$/
const at = expect.stringMatching(brt)
const PATIENCE = { timeout: 120_000, interval: 100 }
const CALLBACK = '/callbacks/simulator/whatsapp-cloud'

async function createTemplate(
  nome: string,
  metadata: object,
  conteudo = '{{ titulo }}: {{ nome }}, {{ contrato }}',
): Promise<string> {
  const { body, status } = await request(`${gateway.url}/gw/templates`, {
    method: 'POST',
    token: account.token,
    body: { nome, tipo: 'whatsapp', conteudo, metadata },
  })
  expect(status).toBe(201)
  return (body as { data: { id: string } }).data.id
}

const OWN = { template: 'aviso_contrato', titulo: 'Aviso', nome: 'Maria', contrato: '4711' }

async function accept(number: string, variables: object = OWN, more: object = {}): Promise<string> {
  const answer = await send(gateway.url, account.token, { ...validSend, to: undefined, whatsapp: { number, variables }, ...more })
  expect(answer.status).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}

const statusOf = async (id: string): Promise<Record<string, unknown>> =>
  (await request(`${gateway.url}/gw/whatsapp/${id}`, { token: account.token })).body as Record<string, unknown>

const settled = (id: string, record: object) =>
  expect.poll(async () => showAbsent(await statusOf(id), record), PATIENCE).toMatchObject(record)

const numberOf = (name: string, area = '11'): string => fateNumber(FATES.find(fate => fate.name === name)!, area)

interface Got {
  wamid: string
  waId: string
  link: string | null
  request: Record<string, unknown>
}

/** What the carrier got under the notification's reference. */
async function gotBy(id: string): Promise<Got[]> {
  const log = (await request(`${simulator.url}/simulator/log`)).body as { id: string; reference: string }[]
  const mine = log.filter(({ reference }) => reference === `${id}.whatsapp.1`)
  return Promise.all(mine.map(async entry => (await request(`${simulator.url}/simulator/messages/${entry.id}`)).body as Got))
}

async function callBack(value: object, secret = simulatorSecret(testKeys.simulator, 'whatsapp-cloud')): Promise<number> {
  const changes = [{ field: 'messages', value: { metadata: { phone_number_id: '106540352242922' }, ...value } }]
  const body = JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '1', changes }] })
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': signature }
  return (await fetch(gateway.url + CALLBACK, { method: 'POST', headers, body })).status
}

test('the whole record, to its last member: sent, delivered, read', async () => {
  const id = await accept('11987654321', OWN, { customID: 'pedido-7' })
  await settled(id, { description: 'Lido' })
  expect(await statusOf(id)).toEqual({
    description: 'Lido',
    dateSent: at,
    dateDelivery: at,
    error: false,
    failureReason: null,
    customID: 'pedido-7',
    idEmail: id,
  })
})

describe('each fixed fate ends in its documented status', () => {
  const delivered = { description: 'Entregue', dateSent: at, dateDelivery: at, error: false }
  const read = { description: 'Lido', dateSent: at, dateDelivery: at, error: false }
  const answered = { description: 'Respondido', dateDelivery: at, dateResponse: at }
  const undelivered = (reason: RegExp) => ({
    description: 'Não entregue',
    error: true,
    dateDelivery: undefined,
    failureReason: expect.stringMatching(reason),
  })
  const rejected = (reason: RegExp) => ({
    description: 'Falha no envio',
    error: true,
    dateSent: undefined,
    failureReason: expect.stringMatching(reason),
  })
  const ends: Record<string, { description: string; [member: string]: unknown }> = {
    entregue: delivered,
    lido: read,
    'so-lido': read,
    responde: answered,
    'responde-solto': answered,
    'toca-botao': answered,
    'abre-link': { ...read, dateAccessLink: at },
    robo: { ...delivered, dateAccessLink: undefined },
    'sem-whatsapp': undelivered(/não tem WhatsApp/),
    'fora-da-janela': undelivered(/24 horas/),
    retida: undelivered(/reteve/),
    saiu: undelivered(/pediu para não receber/),
    'sem-template': rejected(/não existe na Meta/),
    'variaveis-erradas': rejected(/número de variáveis/),
    limitado: delivered,
    instavel: delivered,
    lento: delivered,
    emudece: delivered,
    'sem-noticia': { description: 'Enviado', dateSent: at, dateDelivery: undefined },
    'fora-de-ordem': read,
  }

  test('every fate is listed here, and in the guide', () => {
    expect(Object.keys(ends)).toEqual(FATES.map(({ name }) => name))
    const guide = readSource('docs/whatsapp.md')
    for (const fate of FATES)
      expect(guide).toMatch(new RegExp(`^\\| \`${fateNumber(fate)}\` .*\\| \`${ends[fate.name]!.description}\` \\|$`, 'm'))
  })

  const ids = new Map<string, string>()
  // All under way at once; an area code where WhatsApp knows numbers without their ninth digit.
  beforeAll(async () => {
    for (const name of Object.keys(ends)) ids.set(name, await accept(numberOf(name, '31')))
  })

  test.each(Object.entries(ends))('%s', async (name, record) => {
    await settled(ids.get(name)!, record)
  })

  test('a carrier that says to slow down gets the same message once it may', async () => {
    const id = await accept(numberOf('limitado', '21'))
    await settled(id, { description: 'Entregue' })
    expect(await gotBy(id)).toHaveLength(1)
    const { rows } = await database.pool.query('select attempt from delivery where notification_id = $1', [id])
    expect(rows).toEqual([{ attempt: 3 }])
  })
})

describe('what the carrier gets', () => {
  test('an own template: header, body in the declared order, the link’s suffix in its button, our reference', async () => {
    const id = await accept(numberOf('entregue'))
    await settled(id, { description: 'Entregue' })
    const [message] = await gotBy(id)
    const { rows } = await database.pool.query('select code from link where notification_id = $1', [id])
    expect(message!.request).toEqual({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: '5511900000001',
      type: 'template',
      template: {
        name: 'aviso_contrato',
        language: { code: 'pt_BR' },
        components: [
          { type: 'header', parameters: [{ type: 'text', text: 'Aviso' }] },
          {
            type: 'body',
            parameters: [
              { type: 'text', text: 'Maria' },
              { type: 'text', text: '4711' },
            ],
          },
          { type: 'button', sub_type: 'url', index: '0', parameters: [{ type: 'text', text: rows[0].code }] },
        ],
      },
      biz_opaque_callback_data: `${id}.whatsapp.1`,
    })
    expect(message!.link).toBe(`${gateway.url}/s/${rows[0].code}`)
  })

  test('an own template with another name at the carrier, named parameters and another language', async () => {
    const template = await createTemplate('Aviso em inglês', { idioma: 'en_US', parametros: 'nomeados' }, 'Hi {{ nome }}')
    await request(`${gateway.url}/gw/templates/${template}`, {
      method: 'PUT',
      token: account.token,
      body: { templateId: 'notice_en' },
    })
    const id = await accept(numberOf('entregue', '12'), { template, nome: 'Mary' })
    await settled(id, { description: 'Entregue' })
    expect((await gotBy(id))[0]!.request.template).toEqual({
      name: 'notice_en',
      language: { code: 'en_US' },
      components: [{ type: 'body', parameters: [{ type: 'text', parameter_name: 'nome', text: 'Mary' }] }],
    })
  })

  test('a template that is unknown here goes by its name, with named or numbered variables, and the link where it is asked for', async () => {
    const named = await accept(numberOf('entregue', '13'), { template: 'so_na_meta', nome: 'Ana', link: 'Veja {SHORT_LINK}' })
    const numbered = await accept(numberOf('entregue', '14'), {
      template: 'so_na_meta',
      '10': 'j',
      '2': 'b',
      '1': 'a\n\nc',
      ...nine(),
    })
    for (const id of [named, numbered]) await settled(id, { description: 'Entregue' })
    const components = async (id: string) => ((await gotBy(id))[0]!.request.template as { components: unknown[] }).components
    const { rows } = await database.pool.query('select code from link where notification_id = $1', [named])
    expect(await components(named)).toEqual([
      {
        type: 'body',
        parameters: [
          { type: 'text', parameter_name: 'link', text: `Veja ${gateway.url}/s/${rows[0].code}` },
          { type: 'text', parameter_name: 'nome', text: 'Ana' },
        ],
      },
    ])
    expect(await components(numbered)).toEqual([
      { type: 'body', parameters: ['a c', 'b', '3', '4', '5', '6', '7', '8', '9', 'j'].map(text => ({ type: 'text', text })) },
    ])
  })

  const nine = () => Object.fromEntries(['3', '4', '5', '6', '7', '8', '9'].map(number => [number, number]))
})

describe('what cannot be sent says why, and nothing leaves', () => {
  test.each<[string, object, RegExp]>([
    ['no template', { nome: 'Maria' }, /Falta indicar o template/],
    [
      'a name that no template can have',
      { template: 'Não existe' },
      /"Não existe" \(whatsapp\.variables\.template\) não existe, está inativo/,
    ],
    ['a missing obligatory variable', { ...OWN, contrato: '' }, /obrigatória contrato: informe whatsapp\.variables\.contrato/],
    ['an empty variable', { template: 'so_na_meta', nome: ' ' }, /não aceita variável vazia: informe whatsapp\.variables\.nome/],
    ['names and numbers together', { template: 'so_na_meta', nome: 'x', '1': 'y' }, /só números .* ou só nomes/],
    ['a gap in the numbers', { template: 'so_na_meta', '1': 'a', '3': 'c' }, /Falta o valor da variável 2/],
    ['a language that is none', { template: 'so_na_meta', idioma: 'português' }, /idioma/],
  ])('%s', async (_, variables, reason) => {
    const id = await accept('11987650000', variables)
    await settled(id, {
      description: 'Falha no envio',
      error: true,
      dateSent: undefined,
      failureReason: expect.stringMatching(reason),
    })
    expect(await gotBy(id)).toEqual([])
  })

  test('a template that was switched off here does not leave by its name at the carrier', async () => {
    const template = await createTemplate('aviso_antigo', {}, 'Olá')
    const path = `${gateway.url}/gw/templates/${template}/status`
    await request(path, { method: 'PATCH', token: account.token, body: { ativo: false } })
    const id = await accept('11987650000', { template: 'aviso_antigo' })
    await settled(id, { description: 'Falha no envio', failureReason: expect.stringContaining('"aviso_antigo"') })
  })

  test('a number that the account must not write to', async () => {
    await database.pool.query(
      "insert into suppression (account_id, mode, channel, recipient, reason) values ($1, 'live', 'whatsapp', '+5511987659999', 'complaint')",
      [account.id],
    )
    await settled(await accept('11987659999'), {
      failureReason: 'O destinatário não aceita mensagens desta conta pelo WhatsApp.',
    })
  })
})

describe('answers', () => {
  const answersOf = async (id: string) =>
    (await database.pool.query("select answers from delivery where notification_id = $1 and channel = 'whatsapp'", [id])).rows[0]
      .answers

  test('of a number that WhatsApp writes without its ninth digit are the newest message’s, or the quoted one’s', async () => {
    const older = await accept(numberOf('sem-noticia', '81'))
    await settled(older, { description: 'Enviado' })
    const newer = await accept(numberOf('sem-noticia', '81'))
    await settled(newer, { description: 'Enviado' })
    const [{ wamid, waId } = { wamid: '', waId: '' }] = await gotBy(older)
    expect(waId).toBe('558100000025')
    const text = { from: waId, timestamp: String(Math.floor(Date.now() / 1000)), type: 'text' }
    const loose = { ...text, id: 'wamid.a', text: { body: 'Recebi' } }
    const quoting = { ...text, id: 'wamid.b', text: { body: 'Este não é meu' }, context: { id: wamid } }
    expect(await callBack({ messages: [loose, quoting, loose] })).toBe(200)
    expect(await callBack({ messages: [loose] })).toBe(200)
    expect(await answersOf(newer)).toEqual([{ id: 'wamid.a', text: 'Recebi' }])
    expect(await answersOf(older)).toEqual([{ id: 'wamid.b', text: 'Este não é meu' }])
    expect(await statusOf(newer)).toMatchObject({ description: 'Respondido', dateResponse: at })
  })
})

describe('callbacks', () => {
  const quiet = async (): Promise<{ id: string; status: (status: string) => object }> => {
    const id = await accept(numberOf('sem-noticia', '19'))
    await settled(id, { description: 'Enviado' })
    const [{ wamid } = { wamid: '' }] = await gotBy(id)
    const timestamp = String(Math.floor(Date.now() / 1000))
    return { id, status: status => ({ id: wamid, status, timestamp, biz_opaque_callback_data: `${id}.whatsapp.1` }) }
  }
  const final = { description: 'Lido', dateSent: at, dateDelivery: at, error: false, failureReason: null }

  test.each([
    ['sent', 'delivered', 'read'],
    ['sent', 'read', 'delivered'],
    ['delivered', 'sent', 'read'],
    ['delivered', 'read', 'sent'],
    ['read', 'sent', 'delivered'],
    ['read', 'delivered', 'sent'],
  ])('in the order %s, %s, %s end the same', async (...order) => {
    const { id, status } = await quiet()
    for (const name of order) expect(await callBack({ statuses: [status(name)] })).toBe(200)
    expect(await statusOf(id)).toMatchObject(final)
  })

  test('all at once and a hundred times in parallel, with our name or the carrier’s alone, end the same', async () => {
    const { id, status } = await quiet()
    const bare = (name: string) => ({ ...status(name), biz_opaque_callback_data: undefined })
    const bodies = Array.from({ length: 100 }, (_, index) => ({
      statuses: index % 2 === 0 ? [status('read'), status('delivered')] : [bare('delivered'), bare('read')],
    }))
    expect(new Set(await Promise.all(bodies.map(body => callBack(body))))).toEqual(new Set([200]))
    expect(await statusOf(id)).toMatchObject(final)
    const { rows } = await database.pool.query('select type from event where notification_id = $1 order by seq', [id])
    const told = rows.map(row => row.type).slice(2)
    expect(told.filter(type => type === 'read')).toHaveLength(1)
    expect(told.filter(type => type === 'delivered').length).toBeLessThanOrEqual(1)
  })

  test('that nobody signed, or somebody else did, are refused and change nothing', async () => {
    const { id, status } = await quiet()
    const before = await statusOf(id)
    expect(await callBack({ statuses: [status('read')] }, 'somebody else')).toBe(401)
    const body = JSON.stringify({ entry: [{ changes: [{ field: 'messages', value: { statuses: [status('read')] } }] }] })
    const unsigned = await fetch(gateway.url + CALLBACK, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    expect(unsigned.status).toBe(401)
    expect(await unsigned.json()).toEqual({ statusCode: 401, message: 'Unauthorized', error: 'Unauthorized' })
    expect(await statusOf(id)).toEqual(before)
  })

  test('of real carriers are not served while none is configured', async () => {
    expect((await fetch(`${gateway.url}/callbacks/whatsapp-cloud`, { method: 'POST' })).status).toBe(404)
  })
})

test('a send whose answer is lost is settled by the carrier’s report, and sent once', async () => {
  const setFaults = (whatsapp: object) => request(`${simulator.url}/simulator/faults`, { method: 'PUT', body: { whatsapp } })
  await setFaults({ resetAfterAccept: true, lateReportsMs: 1_000 })
  const id = await accept(numberOf('entregue', '15'))
  await settled(id, { description: 'Em verificação' })
  await setFaults({})
  await settled(id, { description: 'Entregue', dateSent: at })
  expect(await gotBy(id)).toHaveLength(1)
  // The carrier's name was learned from its report: a later one that bears it alone is understood.
  const [{ wamid } = { wamid: '' }] = await gotBy(id)
  await callBack({ statuses: [{ id: wamid, status: 'read', timestamp: '1800000000' }] })
  await settled(id, { description: 'Lido' })
})

test('the statuses are what the events add up to, and every chain is whole', async () => {
  const faults: string[] = []
  for await (const page of readEventLog(database.pool)) faults.push(...page.flatMap(findFaults))
  expect(faults).toEqual([])
})
