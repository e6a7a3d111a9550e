import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDemo, demoToken } from '../../src/app/process/demo.js'
import { testKeys } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { recordMembers, showAbsent } from '../support/record-members.js'

/** One POST with all five channels, with the templates of a first start: each record ends as its simulated recipient decides. */
let stack: Stack
let token: string

beforeAll(async () => {
  stack = await startStack()
  await createDemo(stack.database.pool)
  token = (await demoToken(stack.database.pool, testKeys))!
})

afterAll(() => stack.close())

interface Recipients {
  to: string
  sms: string
  whatsapp: string
  voz: string
  cep: string
}

const date = expect.stringMatching(/^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d$/)
const link = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\//)
const code = expect.stringMatching(/^[A-Z]{2}\d{9}BR$/)
/** Null or empty, as the contract says of each member. */
const none = expect.toSatisfy(value => value === null || value === '')
/** What `showAbsent` shows of a member whose key is not there. */
const absent = undefined
const reason = expect.stringMatching(/\w{3}/)

/** Existing clients know these rules only: a key is there or not (WhatsApp, voice, letter), a member has a text or not (e-mail, SMS). */
const clients: Record<string, (record: Record<string, unknown>) => string> = {
  email: ({ error, dateReading, dateDelivery }) =>
    error ? 'falha' : dateReading !== null ? 'lido' : dateDelivery !== '' ? 'entregue' : 'pendente',
  sms: ({ answered, dateSend }) => ((answered as string[]).length > 0 ? 'respondido' : dateSend !== '' ? 'enviado' : 'pendente'),
  whatsapp: record => (record.error ? 'falha' : 'dateResponse' in record ? 'respondido' : 'pendente'),
  voz: record => ('dateSuccessCall' in record ? 'ouvida' : 'dateFailureCall' in record ? 'falha' : 'pendente'),
  carta: record => (record.error ? 'falha' : 'dateDelivery' in record ? 'entregue' : 'pendente'),
}

const cases: [string, Recipients, Record<string, object>, Record<string, string>][] = [
  [
    'who read, answer and receive',
    { to: 'lido+5@simulador.test', sms: '11900000007', whatsapp: '11900000004', voz: '11900000001', cep: '01000-001' },
    {
      email: {
        dateSend: date,
        dateDelivery: date,
        dateReading: date,
        dateAcceptance: none,
        error: false,
        description: 'Lido',
        failureReason: null,
        failureReasonDescription: null,
      },
      sms: {
        dateSend: date,
        dateReading: none,
        description: 'Respondido',
        dateAnswered: date,
        answered: ['Recebido, obrigado.'],
      },
      whatsapp: {
        description: 'Respondido',
        dateSent: date,
        dateDelivery: date,
        dateResponse: date,
        dateAccessLink: absent,
        error: false,
        failureReason: null,
      },
      voz: { dateSent: date, dateSuccessCall: date, description: 'Entregue', linkCall: link },
      carta: {
        description: 'Entregue',
        error: false,
        dateProcessing: date,
        datePreparation: date,
        dateSent: date,
        dateDelivery: date,
        sro: code,
        linkSvcCartaComprovante: link,
        linkArCartaComprovante: link,
        linkRastreio: expect.stringMatching(/^https:\/\//),
      },
    },
    { email: 'lido', sms: 'respondido', whatsapp: 'respondido', voz: 'ouvida', carta: 'entregue' },
  ],
  [
    'who cannot be reached',
    { to: 'devolvido+5@simulador.test', sms: '11900000002', whatsapp: '11900000011', voz: '11900000008', cep: '01000-010' },
    {
      email: {
        dateSend: date,
        dateDelivery: none,
        dateReading: none,
        dateAcceptance: none,
        error: true,
        description: 'Devolvido',
      },
      sms: { dateSend: date, dateReading: none, description: 'Não entregue', dateAnswered: none, answered: [] },
      whatsapp: {
        description: 'Não entregue',
        dateSent: date,
        dateDelivery: absent,
        dateResponse: absent,
        dateAccessLink: absent,
        error: true,
        failureReason: reason,
      },
      voz: { dateSent: date, dateSuccessCall: absent, description: 'Falha na chamada' },
      carta: {
        description: expect.stringContaining('Mudou-se'),
        error: true,
        dateProcessing: date,
        datePreparation: date,
        dateSent: date,
        sro: code,
        linkSvcCartaComprovante: link,
      },
    },
    { email: 'falha', sms: 'enviado', whatsapp: 'falha', voz: 'falha', carta: 'falha' },
  ],
  [
    'whose carriers refuse',
    { to: 'recusado+5@simulador.test', sms: '11900000006', whatsapp: '11900000015', voz: '11900000009', cep: '01000-090' },
    {
      email: { dateSend: none, dateDelivery: none, error: true },
      sms: { dateSend: none, description: 'Falha no envio', answered: [] },
      whatsapp: { dateSent: absent, dateDelivery: absent, error: true, failureReason: reason },
      voz: { dateSent: absent, dateSuccessCall: absent, description: 'Falha na chamada', linkCall: absent },
      carta: { error: true, dateDelivery: absent, sro: absent, linkRastreio: absent },
    },
    { email: 'falha', sms: 'pendente', whatsapp: 'falha', voz: 'falha', carta: 'falha' },
  ],
]

test.each(cases)(
  'people %s: every record says so, with every member',
  async (_, { to, sms, whatsapp, voz, cep }, records, known) => {
    const payload = { nome: 'Maria', contrato: '4711', vencimento: '10/08/2026' }
    const address = { logradouro: 'Rua das Flores', numero: '100', bairro: 'Centro', cidade: 'São Paulo', uf: 'SP', cep }
    const { status, body } = await send(stack.gateway.url, token, {
      ...validSend,
      customID: 'pedido-5',
      to,
      sms: { number: sms, typeSend: '2', customMessage: 'Ha uma notificacao: {SHORT_LINK}' },
      whatsapp: { number: whatsapp, variables: { template: 'notificacao_contrato', ...payload } },
      voz: { number: voz, template: 'ligacao-lembrete', payload },
      carta: { template: 'notificacao-extrajudicial', modelo: 'registrada', variables: { ...payload, ...address } },
    })
    expect(status).toBe(200)
    const { idEmail } = body as { idEmail: string }
    for (const [channel, record] of Object.entries(records)) {
      const read = async () =>
        (await request(`${stack.gateway.url}/gw/${channel}/${idEmail}`, { token })).body as Record<string, unknown>
      await expect.poll(async () => showAbsent(await read(), record), { interval: 100 }).toMatchObject(record)
      const { always, later } = recordMembers[channel]!
      const found = await read()
      expect([channel, clients[channel]!(found)]).toEqual([channel, known[channel]])
      const members = Object.keys(found)
      expect(members).toEqual(expect.arrayContaining([...always]))
      expect([...always, ...later]).toEqual(expect.arrayContaining(members))
    }
  },
)

test('a worker takes the turn of what one node does for all, the end of terms among it', async () => {
  const turns = async () => (await stack.database.pool.query('select chore from chore_turn')).rows.map(({ chore }) => chore)
  await expect.poll(turns).toEqual(expect.arrayContaining(['terms of personal data', 'unused attachments', 'idempotency keys']))
})
