import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { createAccount, type Gateway, readMetrics, startGateway, type TestAccount } from '../support/gateway.js'
import { conforms, documentOf, operationsOf } from '../support/openapi.js'
import { type Answer, errorBody, request, send, validSend } from '../support/requests.js'

/** Every route of the contract, walked without a token and with the tokens of others: nothing of an account gets out or changes. */
let database: TestDatabase
let gateway: Gateway
let owner: TestAccount
/** Of the owner's entity. */
let sibling: TestAccount
let stranger: TestAccount
let notification: string
let templates: { unshared: string; shared: string }
let webhook: string
let listener: string

const secrets = {
  customID: 'custom-xyzzy',
  nameTo: 'Destinatária-xyzzy',
  to: 'para-xyzzy@example.com',
  subject: 'Assunto-xyzzy',
  content: 'conteudo-xyzzy',
}
const idempotencyKey = 'chave-xyzzy'
const body = {
  ...validSend,
  ...secrets,
  sms: { number: '11987657171' },
  whatsapp: { number: '11987657171' },
  voz: { number: '1133337171' },
  carta: { name: 'Carta-xyzzy' },
}
const unsharedTemplate = {
  nome: 'modelo-xyzzy',
  tipo: 'carta',
  conteudo: 'modelo-conteudo-xyzzy',
  templateId: 'tid-xyzzy',
  metadata: { m: 'meta-xyzzy' },
}
const sharedTemplate = { nome: 'compartilhado', tipo: 'carta', conteudo: 'para a entidade', compartilhadoComEntidade: true }

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  owner = await createAccount(database.pool, { name: 'conta-xyzzy', entity: 'Grupo' })
  sibling = await createAccount(database.pool, { entity: 'Grupo' })
  stranger = await createAccount(database.pool)
  const accepted = await send(gateway.url, owner.token, body, { 'idempotency-key': idempotencyKey })
  notification = (accepted.body as { idEmail: string }).idEmail
  const create = async (template: object): Promise<string> => {
    const made = await request(`${gateway.url}/gw/templates`, { method: 'POST', token: owner.token, body: template })
    expect(made.status).toBe(201)
    return (made.body as { data: { id: string } }).data.id
  }
  templates = { unshared: await create(unsharedTemplate), shared: await create(sharedTemplate) }
  const watching = { method: 'POST', token: owner.token }
  const made = await request(`${gateway.url}/gw/webhooks`, { ...watching, body: { url: 'https://xyzzy.example.com/avisos' } })
  webhook = (made.body as { data: { id: string } }).data.id
  const opened = await request(`${gateway.url}/gw/webhooks/listen`, { ...watching, body: {} })
  listener = (opened.body as { data: { id: string } }).data.id
  const etapas = [
    { canal: 'email', esperaMinutos: 0, condicao: 'sempre' },
    { canal: 'voz', esperaMinutos: 70_171, condicao: 'nao_lido' },
  ]
  expect((await request(`${gateway.url}/gw/sequence`, { method: 'PUT', token: owner.token, body: { etapas } })).status).toBe(200)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

type Target = keyof typeof templates
type Caller = 'sibling' | 'stranger'
type Outcome = 'no status' | 'no report' | 'no template' | 'no webhook' | 'forbidden' | 'their own' | 'shared with them'

interface Rule {
  body?: (target: Target) => object
  outcome: Outcome | ((caller: Caller, target: Target) => Outcome)
}

const readable = (caller: Caller, target: Target): Outcome =>
  caller === 'sibling' && target === 'shared' ? 'shared with them' : 'no template'

/** What others get from each operation for something of the owner's. A new operation says so here. */
const rules: Record<string, Rule> = {
  'POST /gw/email': { body: target => ({ ...validSend, carta: { template: templates[target] } }), outcome: 'their own' },
  'GET /gw/email/{idEmail}': { outcome: 'no status' },
  'GET /gw/sms/{idEmail}': { outcome: 'no status' },
  'GET /gw/whatsapp/{idEmail}': { outcome: 'no status' },
  'GET /gw/voz/{idEmail}': { outcome: 'no status' },
  'GET /gw/carta/{idEmail}': { outcome: 'no status' },
  'GET /gw/full/{idEmail}': { outcome: 'no status' },
  'GET /gw/sending-proof/{idEmail}': { outcome: 'no status' },
  'GET /gw/email/laudo/{idEmail}': { outcome: 'no report' },
  'GET /regua-notificacao/finalizar/{idEmail}': { outcome: 'no status' },
  'GET /gw/sequence': { outcome: 'their own' },
  'PUT /gw/sequence': { body: () => ({ etapas: [] }), outcome: 'their own' },
  'GET /gw/sequence/{idEmail}': { outcome: 'no status' },
  'GET /gw/templates': { outcome: 'their own' },
  'POST /gw/templates': { body: () => ({ nome: 'meu', tipo: 'sms', conteudo: 'x' }), outcome: 'their own' },
  'GET /gw/templates/{id}': { outcome: readable },
  'POST /gw/templates/{id}/preview': { body: () => ({}), outcome: readable },
  'PUT /gw/templates/{id}': { body: () => ({ nome: 'tomado', compartilhadoComEntidade: true }), outcome: 'forbidden' },
  'PATCH /gw/templates/{id}/status': { body: () => ({ ativo: false }), outcome: 'forbidden' },
  'DELETE /gw/templates/{id}': { outcome: 'forbidden' },
  'GET /gw/webhooks': { outcome: 'their own' },
  'POST /gw/webhooks': { body: () => ({ url: 'https://example.com/meu' }), outcome: 'their own' },
  'GET /gw/webhooks/{id}': { outcome: 'no webhook' },
  'PUT /gw/webhooks/{id}': { body: () => ({ url: 'https://example.com/tomado' }), outcome: 'no webhook' },
  'DELETE /gw/webhooks/{id}': { outcome: 'no webhook' },
  'POST /gw/webhooks/{id}/rotate': { outcome: 'no webhook' },
  'POST /gw/webhooks/{id}/test': { outcome: 'no webhook' },
  'GET /gw/webhooks/{id}/attempts': { outcome: 'no webhook' },
  'POST /gw/webhooks/{id}/replay': { body: () => ({ desde: '2026-01-01T00:00:00-03:00' }), outcome: 'no webhook' },
  'POST /gw/webhooks/listen': { body: () => ({}), outcome: 'their own' },
  'POST /gw/webhooks/listen/{id}': { body: () => ({}), outcome: 'no webhook' },
}

const answers: Record<Exclude<Outcome, 'their own' | 'shared with them'>, object> = {
  'no status': errorBody(404, 'Email sem status!', 'Not Found'),
  'no report': errorBody(404, 'Registro não encontrado', 'Not Found'),
  'no template': errorBody(404, 'Template não encontrado. Verifique o identificador.', 'Not Found'),
  'no webhook': errorBody(404, 'Webhook não encontrado. Verifique o identificador.', 'Not Found'),
  forbidden: errorBody(
    403,
    'Você não tem permissão para editar este template. Só a conta que o criou pode editá-lo.',
    'Forbidden',
  ),
}

const call = async (name: string, target: Target, token: string | undefined): Promise<Answer> => {
  const [method, template] = name.split(' ') as [string, string]
  const id = template.startsWith('/gw/webhooks/listen')
    ? listener
    : template.startsWith('/gw/webhooks')
      ? webhook
      : templates[target]
  const path = template.replace('{idEmail}', notification).replace('{id}', id)
  const given = rules[name]!.body?.(target)
  const answer = await request(`${gateway.url}${path}`, {
    method,
    ...(token === undefined ? {} : { token }),
    ...(given && { body: given }),
  })
  conforms(documentOf(gateway), method, path, answer)
  return answer
}

/** Everything stored that belongs to the owner. */
async function belongings(): Promise<unknown> {
  const tables = [
    'select * from account where id = $1',
    'select * from notification where account_id = $1 order by id',
    'select * from delivery where account_id = $1 order by notification_id, channel',
    'select * from event where notification_id in (select id from notification where account_id = $1) order by notification_id, seq',
    'select * from template where account_id = $1 order by id',
    'select v.* from template_version v join template t on t.id = v.template_id where t.account_id = $1 order by 1, 2',
    'select * from webhook_endpoint where account_id = $1 order by id',
    'select m.* from webhook_message m join webhook_endpoint w on w.id = m.endpoint_id where w.account_id = $1 order by m.id',
    'select * from idempotency where account_id = $1 order by key',
    'select * from token where account_id = $1',
    'select * from address_range where account_id = $1',
  ]
  return Promise.all(tables.map(async sql => (await database.pool.query(sql, [owner.id])).rows))
}

function expectNoSecret(text: string): void {
  const found = ['xyzzy', ':70171,', '987657171', '1133337171', owner.id, owner.jti, owner.token].filter(secret =>
    text.includes(secret),
  )
  expect([found, text]).toEqual([[], text])
}

test('every operation of the contract has its rule', () => {
  expect(
    operationsOf(documentOf(gateway))
      .map(({ name }) => name)
      .sort(),
  ).toEqual(Object.keys(rules).sort())
})

describe('without a token', () => {
  test.each(Object.keys(rules))('5.6 %s is 401 and changes nothing', async name => {
    const before = await belongings()
    const answer = await call(name, 'shared', undefined)
    expect(answer.body).toEqual(errorBody(401, 'Unauthorized', 'Unauthorized'))
    expect(answer.status).toBe(401)
    expect(await belongings()).toEqual(before)
  })

  test.each(Object.keys(rules))("5.2 %s with the prefix Bearer before the owner's token is 401", async name => {
    expect((await call(name, 'shared', `Bearer ${owner.token}`)).body).toEqual(errorBody(401, 'Unauthorized', 'Unauthorized'))
  })

  test.each(['/healthz', '/readyz', '/openapi.json', '/docs', '/docs/json'])('%s tells nothing of any account', async path => {
    const response = await fetch(`${gateway.url}${path}`)
    expect(response.status).toBe(200)
    expectNoSecret(await response.text())
  })

  test('/metrics tells nothing of any account', async () => {
    expectNoSecret(await readMetrics(gateway.url))
  })
})

describe('with the token of another account', () => {
  const cases = Object.keys(rules).flatMap(name =>
    (['sibling', 'stranger'] as const).flatMap(caller =>
      (['unshared', 'shared'] as const).map(target => [name, caller, target] as const),
    ),
  )

  test.each(cases)('%s by a %s, template %s', async (name, caller, target) => {
    const before = await belongings()
    const answer = await call(name, target, { sibling, stranger }[caller].token)
    const { outcome } = rules[name]!
    const expected = typeof outcome === 'function' ? outcome(caller, target) : outcome
    if (expected === 'their own') expect([200, 201]).toContain(answer.status)
    else if (expected === 'shared with them') expect(answer.status).toBe(200)
    else {
      expect(answer.body).toEqual(answers[expected])
      expect(answer.status).toBe((answers[expected] as { statusCode: number }).statusCode)
    }
    // Whose template it is, the entity may know; the rest stays with its owner.
    const { body: told } = answer
    const text = JSON.stringify(told).replaceAll('"criadoPor":"conta-xyzzy"', '')
    if (expected !== 'shared with them' && !(name === 'GET /gw/templates' && caller === 'sibling'))
      expect(text).toBe(JSON.stringify(told))
    expectNoSecret(text)
    expect(await belongings()).toEqual(before)
  })

  test('a sibling lists the shared template and a stranger none', async () => {
    const [fresh, outsider] = [await createAccount(database.pool, { entity: 'Grupo' }), await createAccount(database.pool)]
    const list = async ({ token }: TestAccount) => (await request(`${gateway.url}/gw/templates`, { token })).body
    expect(await list(fresh)).toMatchObject({ data: [{ id: templates.shared, conteudo: 'para a entidade' }], statusCode: 200 })
    expect(await list(outsider)).toEqual({ data: [], statusCode: 200 })
  })

  test("the owner's idempotency key is another's own key", async () => {
    for (const { token } of [sibling, stranger]) {
      const answer = await send(gateway.url, token, body, { 'idempotency-key': idempotencyKey })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('idempotency-replayed')).toBe(null)
      expect((answer.body as { idEmail: string }).idEmail).not.toBe(notification)
    }
    const replayed = await send(gateway.url, owner.token, body, { 'idempotency-key': idempotencyKey })
    expect(replayed.body).toEqual({ idEmail: notification })
    expect(replayed.headers.get('idempotency-replayed')).toBe('true')
  })

  test('the owner still sees everything, as it was', async () => {
    expect((await call('GET /gw/email/{idEmail}', 'unshared', owner.token)).body).toMatchObject({ customID: secrets.customID })
    expect((await call('GET /gw/templates/{id}', 'unshared', owner.token)).body).toMatchObject({
      data: { ...unsharedTemplate, ativo: true },
    })
    expect(JSON.stringify((await call('GET /gw/sequence', 'unshared', owner.token)).body)).toContain('70171')
  })
})
