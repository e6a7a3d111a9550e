import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeLinkCode } from '../../src/domain/recipient/link.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, startGateway, type TestAccount, testKeys } from '../support/gateway/gateway.js'
import { errorBody, send, validSend } from '../support/gateway/requests.js'
import { happen } from '../support/gateway/webhooks.js'
import { type Ask, conformingRequests } from '../support/openapi.js'

/** GET /gw/events/{idEmail}: everything that happened to a notification. */
let database: TestDatabase
let gateway: Gateway
let account: TestAccount
let ask: Ask

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool, { settings: { validation: true } })
  ask = conformingRequests(gateway, { token: account.token })
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const number = '11987654321'

async function accept(body: object = {}): Promise<string> {
  const answer = await send(gateway.url, account.token, { ...validSend, ...body })
  expect(answer.status).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}

async function eventsOf(id: string): Promise<Record<string, unknown>[]> {
  const answer = await ask(`/gw/events/${id}`)
  expect(answer.status).toBe(200)
  return (answer.body as { data: Record<string, unknown>[] }).data
}

describe('the timeline', () => {
  test('4 tells the acceptance, attempts with the raw answer, decisions and outcomes, in order and in words', async () => {
    const id = await accept({ customID: 'c-9', sms: { number } })
    const carrier = 'smtp:mail.example/1'
    const attempt = { carrier, attempt: 1, reason: 'O servidor pediu para esperar.', answer: '451 4.7.1 Greylisted' }
    await happen(database.pool, id, 'email', 'retried', attempt)
    await happen(database.pool, id, 'email', 'sent', { carrier, attempt: 2, answer: '250 2.0.0 Ok' })
    await happen(database.pool, id, 'email', 'failed', { failure: 'bounced', failureDetail: 'A caixa não existe.' })
    const events = await eventsOf(id)
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
    const date = expect.stringMatching(/^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d$/)
    expect(events).toMatchObject([
      { type: 'accepted', label: 'Aceita para processamento', origem: 'api', detalhes: { customId: 'c-9' }, dateTime: date },
      {
        type: 'retried',
        label: 'Tentativa sem sucesso: outra está marcada',
        canal: 'email',
        tentativa: 1,
        operadora: carrier,
        motivo: 'O servidor pediu para esperar.',
        respostaOperadora: '451 4.7.1 Greylisted',
        dateTime: date,
      },
      { type: 'sent', label: 'Enviado', tentativa: 2, respostaOperadora: '250 2.0.0 Ok' },
      { type: 'failed', label: 'Devolvido', motivo: 'A caixa não existe.', detalhes: { failure: 'bounced' } },
      { type: 'released', label: 'Etapa liberada para envio', canal: 'sms', origem: 'sequence', motivo: expect.any(String) },
    ])
    expect(JSON.stringify(events)).not.toContain(account.jti)
  })

  test('4 tells a reply with its text, and what did not count with the reason', async () => {
    const id = await accept({ whatsapp: { number } })
    await happen(database.pool, id, 'whatsapp', 'answered', { answer: 'Recebi, obrigada', answerId: 'wamid.1' })
    await happen(database.pool, id, 'email', 'read')
    await happen(database.pool, id, 'email', 'failed', { failure: 'bounced' })
    await happen(database.pool, id, 'email', 'note', { automated: true, by: 'image' })
    const [, answered, , bounce, robot] = await eventsOf(id)
    expect(answered).toMatchObject({
      type: 'answered',
      label: 'Respondido',
      canal: 'whatsapp',
      respostaDestinatario: 'Recebi, obrigada',
    })
    expect(answered).not.toHaveProperty('respostaOperadora')
    expect(answered!.detalhes).toEqual({})
    expect(bounce).toMatchObject({ type: 'note', label: 'Não contou: Devolvido (já havia leitura)' })
    expect(robot).toMatchObject({ type: 'note', label: 'Acesso automático' })
  })

  test('4 never shows the recipient’s link or the reply of the validation', async () => {
    const id = await accept({ validation: { question: 'Cidade natal?', reply: 'Uberlandia-xyzzy' }, whatsapp: { number } })
    const code = makeLinkCode(testKeys.link, id, 0)
    const quoted = `550 recusado: veja https://notifica.example/n/${code} ou https:\\/\\/notifica.example\\/n\\/${code}`
    await happen(database.pool, id, 'email', 'retried', { answer: quoted, reason: quoted, attempt: 1 })
    await happen(database.pool, id, 'whatsapp', 'answered', { answer: `abri ${quoted}` })
    // As if it had been recorded by mistake.
    await database.tamper(
      "update event set data = data || jsonb_build_object('answer', $2::text) where notification_id = $1 and seq = 2",
      [id, quoted],
    )
    const text = JSON.stringify(await eventsOf(id))
    expect(text).toContain('/n/…')
    for (const secret of [code, code.slice(0, 12), 'xyzzy']) expect(text).not.toContain(secret)
  })

  test('an event whose data were erased is still told', async () => {
    const id = await accept()
    await happen(database.pool, id, 'email', 'sent', { answer: '250 Ok' })
    await database.tamper('update event set data = null, salt = null where notification_id = $1', [id])
    expect(await eventsOf(id)).toMatchObject([
      { type: 'accepted', detalhes: {} },
      { type: 'sent', label: 'Enviado', detalhes: {} },
    ])
  })

  test('4 no such notification, or somebody else’s: 404', async () => {
    const stranger = await createAccount(database.pool)
    const foreign = (await send(gateway.url, stranger.token, validSend)).body as { idEmail: string }
    for (const id of [foreign.idEmail, 'nada', '%00']) {
      const answer = await ask(`/gw/events/${id}`)
      expect([id, answer.status, answer.body]).toEqual([id, 404, errorBody(404, 'Email sem status!', 'Not Found')])
    }
  })
})
