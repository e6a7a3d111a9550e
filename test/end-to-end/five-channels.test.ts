import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDemo, demoToken } from '../../src/app/demo.js'
import { testKeys } from '../support/gateway.js'
import { recordMembers } from '../support/record-members.js'
import { request, send, validSend } from '../support/requests.js'
import { type Stack, startStack } from '../support/stack.js'

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
const reason = expect.stringMatching(/\w{3}/)

const cases: [string, Recipients, Record<string, object>][] = [
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
        dateAccessLink: none,
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
        linkRastreio: expect.stringMatching(/^https:\/\//),
      },
    },
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
        dateDelivery: none,
        dateResponse: none,
        dateAccessLink: none,
        error: true,
        failureReason: reason,
      },
      voz: { dateSent: date, dateSuccessCall: none, description: 'Falha na chamada' },
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
  ],
  [
    'whose carriers refuse',
    { to: 'recusado+5@simulador.test', sms: '11900000006', whatsapp: '11900000015', voz: '11900000009', cep: '01000-090' },
    {
      email: { dateSend: none, dateDelivery: none, error: true },
      sms: { dateSend: none, description: 'Falha no envio', answered: [] },
      whatsapp: { dateSent: none, dateDelivery: none, error: true, failureReason: reason },
      voz: { dateSent: none, dateSuccessCall: none, description: 'Falha na chamada', linkCall: none },
      carta: { error: true, dateDelivery: none, sro: none },
    },
  ],
]

test.each(cases)('people %s: every record says so, with every member', async (_, { to, sms, whatsapp, voz, cep }, records) => {
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
    const read = async () => (await request(`${stack.gateway.url}/gw/${channel}/${idEmail}`, { token })).body
    await expect.poll(read, { interval: 100 }).toMatchObject(record)
    expect(Object.keys((await read()) as object)).toEqual(expect.arrayContaining([...recordMembers[channel]!]))
  }
})
