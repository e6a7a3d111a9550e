import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FATES, formatPostcode } from '../../simulator/letter/fates.js'
import type { Simulator } from '../../simulator/simulator.js'
import { findFaults } from '../../src/evidence/notification-faults.js'
import { verifyPdf } from '../../src/evidence/signature/pdf/verification.js'
import { removeLogo, saveLogo } from '../../src/store/accounts/accounts.js'
import { readEventLog } from '../../src/store/notification/event-log.js'
import type { TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, type TestAccount } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { pngOf } from '../support/programs/pictures.js'
import { readSource } from '../support/sources.js'

/** From POST to every date over real sockets: the gateway, its worker, the simulated print shop and the simulated post. */
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
  account = await createAccount(database.pool, {
    settings: {
      'letter.name': 'Banco Exemplo S.A.',
      'letter.address': 'Av. Paulista; 1000; 10º andar; Bela Vista; São Paulo; SP; 01310-100',
    },
  })
  const made = await request(`${gateway.url}/gw/templates`, {
    method: 'POST',
    token: account.token,
    body: {
      nome: 'notificacao',
      tipo: 'carta',
      conteudo: '<p>Prezada {{ nome }},</p><p>O contrato <b>{{ contrato }}</b> venceu.</p>',
    },
  })
  expect(made.status).toBe(201)
})

afterAll(() => stack.close())

const brt = /^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d$/
const address = { logradouro: 'Rua das Flores', numero: '100', bairro: 'Centro', cidade: 'São Paulo', uf: 'SP', cep: '01000-001' }
const values = { nome: 'Maria', contrato: '2026/1' }
const letter = (variables: object = {}, more: object = {}) => ({
  carta: {
    name: 'Maria da Silva',
    modelo: 'registrada',
    template: 'notificacao',
    variables: { ...address, ...values, ...variables },
    ...more,
  },
})

async function accept(body: object): Promise<string> {
  const { to: _, ...rest } = validSend
  const answer = await send(gateway.url, account.token, { ...rest, ...body })
  expect(answer.status).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}

const statusOf = async (id: string): Promise<Record<string, unknown>> =>
  (await request(`${gateway.url}/gw/carta/${id}`, { token: account.token })).body as Record<string, unknown>

/** Tests that run at the same time pass an `expect` of their own. */
const settled = (id: string, description: string, { poll } = expect) =>
  poll(() => statusOf(id), { interval: 100 }).toMatchObject({ description })

const messagesOf = async (id: string) =>
  ((await request(`${simulator.url}/simulator/log`)).body as { reference: string }[]).filter(({ reference }) =>
    reference?.startsWith(id),
  )

test('a letter is made, printed, posted and delivered: every member of its status is filled in its turn', async () => {
  const id = await accept(letter())
  const early = await statusOf(id)
  expect(early).toMatchObject({ error: false })
  for (const member of ['dateDelivery', 'sro', 'linkRastreio']) expect(early).not.toHaveProperty(member)
  await settled(id, 'Entregue')
  const status = await statusOf(id)
  expect(status).toEqual({
    description: 'Entregue',
    error: false,
    dateProcessing: expect.stringMatching(brt),
    datePreparation: expect.stringMatching(brt),
    dateSent: expect.stringMatching(brt),
    dateDelivery: expect.stringMatching(brt),
    sro: expect.stringMatching(/^YJ\d{9}BR$/),
    linkSvcCartaComprovante: expect.stringContaining(`${gateway.url}/comprovante/carta/`),
    linkArCartaComprovante: status.linkSvcCartaComprovante,
    linkRastreio: `https://rastreamento.correios.com.br/app/index.php?objetos=${status.sro}`,
  })
  const { rows } = await database.pool.query(
    'select processed_at <= prepared_at and prepared_at <= sent_at and sent_at <= delivered_at as ordered from delivery where notification_id = $1',
    [id],
  )
  expect(rows).toEqual([{ ordered: true }])
  expect(await messagesOf(id)).toHaveLength(1)
})

describe('each fixed fate ends in its documented status', () => {
  const endings: Record<string, string> = {
    entregue: 'Entregue',
    atrasada: 'Entregue',
    extraviada: 'Extraviada',
    recusada: 'Falha no processamento',
    'recusada-depois': 'Falha no processamento',
    temporaria: 'Entregue',
    'sem-resposta': 'Entregue',
    limite: 'Entregue',
    silencio: 'Entregue',
  }
  const guide = readSource('docs/carta.md')
  test.concurrent.for(FATES.map(fate => [fate.name, fate.postcode, fate.meaning] as const))(
    '%s (%s)',
    async ([name, cep, meaning], { expect }) => {
      const ending = endings[name] ?? meaning
      expect(guide).toMatch(new RegExp(`^\\| \`${formatPostcode(cep)}\` .*\\| \`${ending}\` \\|$`, 'm'))
      const id = await accept(letter({ cep }))
      await settled(id, ending, expect)
      expect((await statusOf(id)).error).toBe(ending !== 'Entregue')
      // However often it was tried, one letter at most was printed.
      expect(await messagesOf(id)).toHaveLength(name === 'recusada' ? 0 : 1)
    },
  )
})

test.each(['simples', 'padrao', undefined])('a letter of modelo %s has no tracking: it stays sent', async modelo => {
  const id = await accept(letter({}, { modelo, template: undefined }))
  await settled(id, 'Enviado')
  const status = await statusOf(id)
  expect(status).toMatchObject({ dateSent: expect.stringMatching(brt) })
  for (const member of ['sro', 'linkRastreio', 'dateDelivery']) expect(status).not.toHaveProperty(member)
})

test.each([
  ['no address', { carta: {} }, /Falta o endereço/],
  ['a postcode of another state', letter({ cep: '20000-000' }), /é de RJ, não de SP/],
  ['an unknown template', letter({}, { template: 'outro' }), /não existe/],
  ['an unknown layout', letter({}, { modelo: 'dourada' }), /simples, registrada/],
  ['a missing variable', letter({ contrato: '' }), /informe carta\.variables\.contrato/],
])('%s: accepted, then the channel’s error with its reason', async (_, body, reason) => {
  const id = await accept(body)
  await settled(id, 'Falha no processamento')
  const failureReason = expect.stringMatching(reason)
  const status = await statusOf(id)
  expect(status).toMatchObject({ error: true, failureReason })
  for (const member of ['linkSvcCartaComprovante', 'linkArCartaComprovante']) expect(status).not.toHaveProperty(member)
  const full = (await request(`${gateway.url}/gw/full/${id}`, { token: account.token })).body
  expect(full).toMatchObject({ lastStatus: { carta: { label: 'Falha no processamento', reason: failureReason } } })
})

test('the receipt is a signed PDF at an address that cannot be guessed', async () => {
  const id = await accept(letter())
  await settled(id, 'Entregue')
  const link = (await statusOf(id)).linkSvcCartaComprovante as string
  const answer = await fetch(link)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/pdf'])
  const pdf = new Uint8Array(await answer.arrayBuffer())
  expect(Buffer.from(pdf.subarray(0, 5)).toString()).toBe('%PDF-')
  expect(verifyPdf(pdf)).toMatchObject({ valid: true, signatures: [{ reason: 'Comprovante de carta' }] })
  const code = /carta\/([\w-]+)\.pdf$/.exec(link)![1]!
  for (const wrong of [code.replace(/.$/, code.endsWith('A') ? 'B' : 'A'), 'x', `${code}x`]) {
    expect((await fetch(link.replace(code, wrong))).status).toBe(404)
  }
})

test('the receipt shows the logo that was printed, after the account has changed it', async () => {
  await saveLogo(database.pool, account.id, { type: 'image/png', bytes: pngOf(300, 100) })
  const id = await accept(letter())
  await settled(id, 'Entregue')
  await saveLogo(database.pool, account.id, {
    type: 'image/svg+xml',
    bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
  })
  const answer = await fetch((await statusOf(id)).linkSvcCartaComprovante as string)
  await removeLogo(database.pool, account.id)
  expect(Buffer.from(await answer.arrayBuffer()).toString('latin1')).toMatch(/\/Width 300\s/)
})

test('what the simulated recipient’s post does by hand is what the status says', async () => {
  const id = await accept(letter({ cep: '01000-020' }))
  const found = () =>
    request(`${simulator.url}/simulator/messages?channel=letter&limit=10000`).then(
      ({ body }) => body as { id: string; reference: string; sro: string | null }[],
    )
  await expect
    .poll(async () => (await found()).find(({ reference }) => reference.startsWith(id))?.sro ?? null, { timeout: 120_000 })
    .not.toBeNull()
  const message = (await found()).find(({ reference }) => reference.startsWith(id))!
  const act = await request(`${simulator.url}/simulator/messages/${message.id}/actions`, {
    method: 'POST',
    body: { action: 'return', text: '4' },
  })
  expect(act.status).toBe(202)
  await settled(id, 'Devolvida: Recusado')
  const page = await (await fetch(`${simulator.url}/mensagens/${message.id}`)).text()
  expect(page).toContain('/carta.pdf')
  expect(page).toContain(message.sro)
})

test('the statuses are what the events add up to, and every chain is whole', async () => {
  const faults: string[] = []
  for await (const page of readEventLog(database.pool)) faults.push(...page.flatMap(findFaults))
  expect(faults).toEqual([])
})
