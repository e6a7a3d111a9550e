import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Mode } from '../../src/domain/access/token.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import {
  createAccount,
  type Gateway,
  issueToken,
  readMetrics,
  startGateway,
  type TestAccount,
} from '../support/gateway/gateway.js'
import { type Answer, errorBody, request, send, validSend } from '../support/gateway/requests.js'
import { conforms, documentOf, operationsOf } from '../support/openapi.js'

/**
 * Every route of the contract, walked without a token, with the tokens of others, and with the account's own tokens of the other mode:
 * nothing gets out or changes.
 */
let database: TestDatabase
let gateway: Gateway
let owner: TestAccount
/** Of the owner's entity. */
let sibling: TestAccount
let stranger: TestAccount
/** The owner's token of each mode. */
let tokens: Record<Mode, string>
/** What the owner has in each mode. */
let things: Record<Mode, Things>

interface Things {
  notification: string
  templates: { unshared: string; shared: string }
  webhook: string
  listener: string
  batch: string
}

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
  tokens = { live: owner.token, test: (await issueToken(database.pool, owner.id, { mode: 'test' })).token }
  things = { live: await make(tokens.live), test: await make(tokens.test) }
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

async function make(token: string): Promise<Things> {
  const accepted = await send(gateway.url, token, body, { 'idempotency-key': idempotencyKey })
  const create = async (path: string, given: object): Promise<string> => {
    const made = await request(`${gateway.url}${path}`, { method: 'POST', token, body: given })
    expect(made.status).toBe(201)
    return (made.body as { data: { id: string } }).data.id
  }
  return {
    notification: (accepted.body as { idEmail: string }).idEmail,
    templates: {
      unshared: await create('/gw/templates', unsharedTemplate),
      shared: await create('/gw/templates', sharedTemplate),
    },
    webhook: await create('/gw/webhooks', { url: 'https://xyzzy.example.com/avisos' }),
    listener: await create('/gw/webhooks/listen', {}),
    batch: await uploadBatch(token),
  }
}

/** With personal data in its cells, of which nobody else may see anything. */
async function uploadBatch(token: string): Promise<string> {
  const headers = { 'content-type': 'text/csv' }
  const body = 'nome;email\nPessoa-xyzzy;lote-xyzzy@example.com\n'
  const made = await request(`${gateway.url}/gw/bulk?name=arquivo`, { method: 'POST', token, body, headers })
  await request(`${gateway.url}/gw/bulk/mappings/mapa`, { method: 'PUT', token, body: {} })
  return (made.body as { data: { id: string } }).data.id
}

type Target = keyof Things['templates']
type Caller = 'sibling' | 'stranger'
type Outcome = keyof typeof answers | 'their own' | 'shared with them'

interface Rule {
  body?: (target: Target) => object
  file?: string
  outcome: Outcome | ((caller: Caller, target: Target) => Outcome)
  /** What a token of the owner gets for something of the other mode, by the mode of the token; the same as others where it is not given. */
  otherMode?: Record<Mode, Outcome>
  /** It lists what the token itself sent, in the same words as in the other mode: only the ids tell the two apart. */
  listsOwn?: boolean
}

const readable = (caller: Caller, target: Target): Outcome =>
  caller === 'sibling' && target === 'shared' ? 'shared with them' : 'no template'

/** The templates of the account are for both modes to use; those that a test token made are for test tokens alone. */
const used: Record<Mode, Outcome> = { test: 'shared with them', live: 'no template' }
const edited: Record<Mode, Outcome> = { test: "the account's template", live: 'no template' }

/** What others get from each operation for something of the owner's. A new operation says so here. */
let names = 0
const rules: Record<string, Rule> = {
  'POST /gw/email': {
    body: target => ({ ...validSend, carta: { template: things.live.templates[target] } }),
    outcome: 'their own',
  },
  'GET /gw/email/{idEmail}': { outcome: 'no status' },
  'GET /gw/sms/{idEmail}': { outcome: 'no status' },
  'GET /gw/whatsapp/{idEmail}': { outcome: 'no status' },
  'GET /gw/voz/{idEmail}': { outcome: 'no status' },
  'GET /gw/carta/{idEmail}': { outcome: 'no status' },
  'GET /gw/full/{idEmail}': { outcome: 'no status' },
  'GET /gw/events/{idEmail}': { outcome: 'no status' },
  'GET /gw/evidence/{idEmail}': { outcome: 'no status' },
  'GET /gw/notifications': { outcome: 'their own', listsOwn: true },
  'GET /gw/sending-proof/{idEmail}': { outcome: 'no status' },
  'GET /gw/email/laudo/{idEmail}': { outcome: 'no report' },
  'GET /regua-notificacao/finalizar/{idEmail}': { outcome: 'no status' },
  'GET /gw/sequence': { outcome: 'their own', otherMode: { test: 'shared with them', live: 'their own' } },
  'PUT /gw/sequence': {
    body: () => ({ etapas: [] }),
    outcome: 'their own',
    otherMode: { test: "the account's sequence", live: 'their own' },
  },
  'GET /gw/sequence/{idEmail}': { outcome: 'no status' },
  'GET /gw/usage': { outcome: 'their own' },
  'GET /gw/templates': { outcome: 'their own', otherMode: { test: 'shared with them', live: 'their own' } },
  'POST /gw/templates': { body: () => ({ nome: `meu ${++names}`, tipo: 'sms', conteudo: 'x' }), outcome: 'their own' },
  'GET /gw/templates/{id}': { outcome: readable, otherMode: used },
  'POST /gw/templates/{id}/preview': { body: () => ({}), outcome: readable, otherMode: used },
  'PUT /gw/templates/{id}': {
    body: () => ({ nome: 'tomado', compartilhadoComEntidade: true }),
    outcome: 'forbidden',
    otherMode: edited,
  },
  'PATCH /gw/templates/{id}/status': { body: () => ({ ativo: false }), outcome: 'forbidden', otherMode: edited },
  'DELETE /gw/templates/{id}': { outcome: 'forbidden', otherMode: edited },
  'GET /gw/webhooks': { outcome: 'their own' },
  'POST /gw/webhooks': { body: () => ({ url: 'https://example.com/meu' }), outcome: 'their own' },
  'GET /gw/webhooks/{id}': { outcome: 'no webhook' },
  'PUT /gw/webhooks/{id}': { body: () => ({ url: 'https://example.com/tomado' }), outcome: 'no webhook' },
  'DELETE /gw/webhooks/{id}': { outcome: 'no webhook' },
  'POST /gw/webhooks/{id}/rotate': { outcome: 'no webhook' },
  'POST /gw/webhooks/{id}/test': { outcome: 'no webhook' },
  'GET /gw/webhooks/{id}/attempts': { outcome: 'no webhook' },
  'POST /gw/webhooks/{id}/replay': { body: () => ({ desde: '2026-01-01T00:00:00-03:00' }), outcome: 'no webhook' },
  'GET /gw/bulk': { outcome: 'their own' },
  'POST /gw/bulk': { file: 'nome;email\nAna;ana@example.com\n', outcome: 'their own' },
  'GET /gw/bulk/{id}': { outcome: 'no batch' },
  'GET /gw/bulk/{id}/rejects': { outcome: 'no batch' },
  'GET /gw/bulk/{id}/result': { outcome: 'no batch' },
  'POST /gw/bulk/{id}/check': { body: () => ({}), outcome: 'no batch' },
  'POST /gw/bulk/{id}/start': { outcome: 'no batch' },
  'POST /gw/bulk/{id}/pause': { outcome: 'no batch' },
  'POST /gw/bulk/{id}/resume': { outcome: 'no batch' },
  'POST /gw/bulk/{id}/cancel': { outcome: 'no batch' },
  'GET /gw/bulk/mappings': { outcome: 'their own' },
  'PUT /gw/bulk/mappings/{name}': { body: () => ({}), outcome: 'their own' },
  'DELETE /gw/bulk/mappings/{name}': { outcome: 'no mapping' },
  'POST /gw/webhooks/listen': { body: () => ({}), outcome: 'their own' },
  'POST /gw/webhooks/listen/{id}': { body: () => ({}), outcome: 'no webhook' },
}

const answers = {
  'no status': errorBody(404, 'Email sem status!', 'Not Found'),
  'no report': errorBody(404, 'Registro não encontrado', 'Not Found'),
  'no template': errorBody(404, 'Template não encontrado. Verifique o identificador.', 'Not Found'),
  'no batch': errorBody(404, 'Lote não encontrado. Verifique o identificador.', 'Not Found'),
  'no mapping': errorBody(
    404,
    'Não há um mapeamento salvo com o nome "nenhum". Veja os salvos em GET /gw/bulk/mappings.',
    'Not Found',
  ),
  'no webhook': errorBody(404, 'Webhook não encontrado. Verifique o identificador.', 'Not Found'),
  forbidden: errorBody(
    403,
    'Você não tem permissão para editar este template. Só a conta que o criou pode editá-lo.',
    'Forbidden',
  ),
  "the account's template": errorBody(
    403,
    'Em modo de teste, os templates da conta podem ser lidos e usados, não mudados. Crie outro com o token de teste ou repita com um token de produção.',
    'Forbidden',
  ),
  "the account's sequence": errorBody(
    403,
    'Em modo de teste, a régua da conta vale para os envios e não pode ser mudada. Repita com um token de produção.',
    'Forbidden',
  ),
}

const call = async (name: string, target: Target, token: string | undefined, mode: Mode = 'live'): Promise<Answer> => {
  const [method, template] = name.split(' ') as [string, string]
  const { notification, templates, webhook, listener, batch } = things[mode]
  const id = template.startsWith('/gw/webhooks/listen')
    ? listener
    : template.startsWith('/gw/webhooks')
      ? webhook
      : template.startsWith('/gw/bulk')
        ? batch
        : templates[target]
  const path = template
    .replace('{idEmail}', notification)
    .replace('{id}', id)
    .replace('{name}', method === 'DELETE' ? 'nenhum' : 'mapa')
  const { file } = rules[name]!
  const given = file ?? rules[name]!.body?.(target)
  const answer = await request(`${gateway.url}${path}`, {
    method,
    ...(token === undefined ? {} : { token }),
    ...(given && { body: given }),
    ...(file && { headers: { 'content-type': 'text/csv' } }),
  })
  conforms(documentOf(gateway), method, path, answer)
  return answer
}

/** Everything stored that belongs to the owner, in one mode or in both. The account's configuration belongs to the live mode. */
async function belongings(mode: Mode | null = null): Promise<unknown> {
  const own = 'account_id = $1 and ($2::text is null or mode = $2)'
  const configured = "$1 and $2::text is distinct from 'test'"
  const tables = [
    `select * from account where id = ${configured}`,
    `select * from notification where ${own} order by id`,
    `select * from delivery where ${own} order by notification_id, channel`,
    `select * from event where notification_id in (select id from notification where ${own}) order by notification_id, seq`,
    `select * from template where ${own} order by id`,
    `select v.* from template_version v join template t on t.id = v.template_id where ${own} order by 1, 2`,
    `select * from webhook_endpoint where ${own} order by id`,
    `select m.* from webhook_message m join webhook_endpoint w on w.id = m.endpoint_id where ${own} order by m.id`,
    `select * from suppression where ${own} order by channel, recipient`,
    `select * from idempotency where ${own} order by mode, key`,
    `select * from bulk_batch where ${own} order by id`,
    `select * from bulk_mapping where ${own} order by name`,
    `select * from token where ${own} order by jti`,
    `select * from address_range where account_id = ${configured}`,
  ]
  return Promise.all(tables.map(async sql => (await database.pool.query(sql, [owner.id, mode])).rows))
}

function expectRefusal(answer: Answer, expected: keyof typeof answers): void {
  expect(answer.body).toEqual(answers[expected])
  expect(answer.status).toBe(answers[expected].statusCode)
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
    else expectRefusal(answer, expected)
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
    expect(await list(fresh)).toMatchObject({
      data: [{ id: things.live.templates.shared, conteudo: 'para a entidade' }],
      statusCode: 200,
    })
    expect(await list(outsider)).toEqual({ data: [], statusCode: 200 })
  })

  test("the owner's idempotency key is another's own key", async () => {
    for (const { token } of [sibling, stranger]) {
      const answer = await send(gateway.url, token, body, { 'idempotency-key': idempotencyKey })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('idempotency-replayed')).toBe(null)
      expect((answer.body as { idEmail: string }).idEmail).not.toBe(things.live.notification)
    }
    const replayed = await send(gateway.url, owner.token, body, { 'idempotency-key': idempotencyKey })
    expect(replayed.body).toEqual({ idEmail: things.live.notification })
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

describe("with the account's own token of the other mode", () => {
  const cases = Object.keys(rules).flatMap(name =>
    (['test', 'live'] as const).flatMap(mode => (['unshared', 'shared'] as const).map(target => [name, mode, target] as const)),
  )

  test.each(cases)('%s by a %s token, template %s', async (name, mode, target) => {
    const other = mode === 'live' ? 'test' : 'live'
    const before = await belongings(other)
    const answer = await call(name, target, tokens[mode], other)
    const { outcome, otherMode, listsOwn = false } = rules[name]!
    const expected = otherMode?.[mode] ?? (outcome as Outcome)
    if (expected === 'their own' || expected === 'shared with them') expect([200, 201]).toContain(answer.status)
    else expectRefusal(answer, expected)
    const text = JSON.stringify(answer.body)
    const words = listsOwn ? [] : [secrets.customID, secrets.nameTo, secrets.to, secrets.subject]
    const told = [...words, ...idsOf(other)].filter(secret => text.includes(secret))
    if (listsOwn) expect(text).toContain(things[mode].notification)
    if (expected !== 'shared with them') expect([told, text]).toEqual([[], text])
    expect(await belongings(other)).toEqual(before)
  })

  const idsOf = (mode: Mode): string[] => {
    const { notification, templates, webhook, listener } = things[mode]
    return [notification, templates.unshared, templates.shared, webhook, listener]
  }

  test('an idempotency key of one mode is another key in the other', async () => {
    for (const mode of ['live', 'test'] as const) {
      const replayed = await send(gateway.url, tokens[mode], body, { 'idempotency-key': idempotencyKey })
      expect(replayed.body).toEqual({ idEmail: things[mode].notification })
      expect(replayed.headers.get('idempotency-replayed')).toBe('true')
    }
    expect(things.live.notification).not.toBe(things.test.notification)
  })

  test.each(['live', 'test'] as const)('a %s token still sees its own, as it was', async mode => {
    expect((await call('GET /gw/email/{idEmail}', 'unshared', tokens[mode], mode)).body).toMatchObject({
      customID: secrets.customID,
    })
    expect((await call('GET /gw/templates/{id}', 'unshared', tokens[mode], mode)).body).toMatchObject({
      data: { ...unsharedTemplate, ativo: true },
    })
    expect((await call('GET /gw/webhooks/{id}', 'unshared', tokens[mode], mode)).status).toBe(200)
  })
})
