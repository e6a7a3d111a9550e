import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Mode, modes, signToken, type TokenClaims } from '../../src/domain/access/token.js'
import { newId } from '../../src/domain/id.js'
import { insertToken } from '../../src/store/accounts/tokens.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, issueToken, startGateway, type TestAccount, testKeys } from '../support/gateway/gateway.js'
import { type Answer, errorBody, request, send, validSend } from '../support/gateway/requests.js'
import { createWebhook, happen } from '../support/gateway/webhooks.js'

/** Test mode is a world of its own: isolation.test.ts walks the routes, this file follows what goes on behind them. */
let database: TestDatabase
let gateway: Gateway

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

interface Owner {
  account: TestAccount
  tokens: Record<Mode, string>
}

async function createOwner(options: Parameters<typeof createAccount>[1] = {}): Promise<Owner> {
  const account = await createAccount(database.pool, options)
  const trial = await issueToken(database.pool, account.id, { mode: 'test' })
  return { account, tokens: { live: account.token, test: trial.token } }
}

const post = (path: string, token: string, body: object = {}): Promise<Answer> =>
  request(`${gateway.url}${path}`, { method: 'POST', token, body })

const idOf = ({ body }: Answer): string => (body as { data: { id: string } }).data.id

async function accept(token: string, body: object = {}): Promise<string> {
  const answer = await send(gateway.url, token, { ...validSend, ...body })
  expect(answer.status).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}

describe('events', () => {
  test('a webhook and a listener hear of the mode of the token that made them, and of nothing else', async () => {
    const { tokens } = await createOwner()
    const made = async (mode: Mode) => ({
      webhook: (await createWebhook(gateway.url, tokens[mode], { url: 'https://example.com/avisos' })).id,
      listener: idOf(await post('/gw/webhooks/listen', tokens[mode])),
      notification: await accept(tokens[mode]),
    })
    const worlds = { live: await made('live'), test: await made('test') }
    for (const mode of modes) await happen(database.pool, worlds[mode].notification, 'email', 'sent')
    for (const mode of modes) {
      const { webhook, listener, notification } = worlds[mode]
      const { rows } = await database.pool.query('select notification_id as id from webhook_message where endpoint_id = $1', [
        webhook,
      ])
      expect(rows).toEqual([{ id: notification }])
      const heard = await post(`/gw/webhooks/listen/${listener}`, tokens[mode])
      const bodies = (heard.body as { data: { corpo: string }[] }).data.map(({ corpo }) => JSON.parse(corpo))
      expect(bodies).toMatchObject([{ notificationID: notification, channel: 'email', description: 'Enviado' }])
    }
  })
})

describe('templates', () => {
  const number = '11987654321'
  const make = async (token: string, conteudo: string, more: object = {}): Promise<string> => {
    const made = await post('/gw/templates', token, { nome: 'aviso', tipo: 'whatsapp', conteudo, ...more })
    expect(made.status).toBe(201)
    return idOf(made)
  }
  const usedBy = async (token: string, template: string): Promise<string | null> => {
    const id = await accept(token, { to: undefined, whatsapp: { number, variables: { template } } })
    const { rows } = await database.pool.query('select template_id as id from delivery where notification_id = $1', [id])
    return rows[0].id
  }

  test('a test send uses the templates of the account, and one of its own under the same name before them', async () => {
    const { tokens } = await createOwner()
    const ofAccount = await make(tokens.live, 'da conta')
    expect(await usedBy(tokens.test, 'aviso')).toBe(ofAccount)
    const ofTest = await make(tokens.test, 'em teste')
    expect(await usedBy(tokens.test, 'aviso')).toBe(ofTest)
    expect(await usedBy(tokens.test, ofAccount)).toBe(ofAccount)
    // A newer template of the account does not take the place of the one under test.
    await make(tokens.live, 'da conta, mais novo', { nome: 'outro', templateId: 'aviso' })
    expect(await usedBy(tokens.test, 'aviso')).toBe(ofTest)
  })

  test('a live send never uses what a test token made, by name or by id, not even one that is shared', async () => {
    const { account, tokens } = await createOwner({ entity: 'Grupo' })
    const sibling = await createAccount(database.pool, { entity: 'Grupo' })
    const ofTest = await make(tokens.test, 'em teste', { compartilhadoComEntidade: true })
    for (const token of [account.token, sibling.token])
      for (const name of ['aviso', ofTest]) expect(await usedBy(token, name)).toBeNull()
    const trial = await issueToken(database.pool, sibling.id, { mode: 'test' })
    expect(await usedBy(trial.token, 'aviso')).toBe(ofTest)
  })

  test('a template under test says so, and its owner edits it with a test token', async () => {
    const { tokens } = await createOwner()
    const id = await make(tokens.test, 'em teste')
    const edited = await request(`${gateway.url}/gw/templates/${id}`, {
      method: 'PUT',
      token: tokens.test,
      body: { conteudo: 'em teste, segunda versão' },
    })
    expect(edited.body).toMatchObject({ data: { id, versao: 2, teste: true }, statusCode: 200 })
    const ofAccount = await make(tokens.live, 'da conta')
    expect((await request(`${gateway.url}/gw/templates/${ofAccount}`, { token: tokens.test })).body).not.toHaveProperty(
      'data.teste',
    )
  })
})

describe('limits', () => {
  test('listeners of test tokens leave the live ones their number and their polls', async () => {
    const { tokens } = await createOwner()
    const open = (token: string) => post('/gw/webhooks/listen', token)
    const listener = idOf(await open(tokens.test))
    for (let opened = 1; opened < 20; opened++) expect((await open(tokens.test)).status).toBe(201)
    expect((await open(tokens.test)).status).toBe(409)
    const ofLive = await open(tokens.live)
    expect(ofLive.status).toBe(201)

    const waiting = Array.from({ length: 8 }, () => post(`/gw/webhooks/listen/${listener}`, tokens.test, { espera: 20 }))
    const ninth = async () => (await post(`/gw/webhooks/listen/${listener}`, tokens.test, { espera: 1 })).status
    await expect.poll(ninth).toBe(429)
    expect((await post(`/gw/webhooks/listen/${idOf(ofLive)}`, tokens.live, { espera: 1 })).status).toBe(200)
    await happen(database.pool, await accept(tokens.test), 'email', 'sent')
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(Array(8).fill(200))
  })
})

test.each(modes)('a signed %s token whose row was issued for the other mode is 401', async mode => {
  const { account } = await createOwner()
  const claims: TokenClaims = { jti: newId(Date.now()), account: account.id, mode, issuedAt: new Date(), expiresAt: null }
  await insertToken(database.pool, { ...claims, mode: mode === 'live' ? 'test' : 'live' })
  const forged = await signToken(testKeys.tokenSigning, claims)
  const answer = await send(gateway.url, forged, validSend)
  expect(answer.body).toEqual(errorBody(401, 'Unauthorized', 'Unauthorized'))
})
