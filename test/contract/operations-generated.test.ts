import { STATUS_CODES } from 'node:http'
import fc, { type Arbitrary } from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { newId } from '../../src/domain/id.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { conforms, documentOf, findOperation, operationsOf } from '../support/openapi.js'

/**
 * Generated requests for every operation (200, and 10,000 in the long run): odd ids, paths and queries, bodies that are nearly right, bodies
 * that are anything. Whatever comes, no 5xx, and every refusal has the three members of section 7.
 */
const REQUESTS = inject('generatedRequests')
/** Fewer than the connections of the pool: on a busy machine, waiting for one would end in an honest 503. */
const CONCURRENCY = 8

let database: TestDatabase
let gateway: Gateway
/** What only reads leaves nothing behind that the next operation could meet. */
let knownToReaders: Known

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  knownToReaders = await makeKnown()
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

interface Generated {
  path: string
  headers: Record<string, string>
  payload: string | Buffer | null
}

/** What exists when an operation is tried: ids are drawn from here too, so that some requests succeed. */
interface Known {
  account: TestAccount
  notifications: string[]
  templates: string[]
  webhooks: string[]
  listeners: string[]
}

const number = '11987654321'
const template = { nome: 'aviso', tipo: 'email', conteudo: '{{ nome }}{% for i in itens %}{{ i }}{% endfor %}' }
const everyChannel = { ...validSend, sms: { number }, whatsapp: { number }, voz: { number }, carta: {} }

async function makeKnown(): Promise<Known> {
  const [account, other] = [await createAccount(database.pool), await createAccount(database.pool)]
  const notifications: string[] = []
  const templates: string[] = []
  for (const { token } of [...Array<TestAccount>(9).fill(account), other]) {
    const sent = await send(gateway.url, token, everyChannel)
    notifications.push((sent.body as { idEmail: string }).idEmail)
    const made = await request(`${gateway.url}/gw/templates`, {
      method: 'POST',
      token,
      body: { ...template, nome: `aviso ${templates.length}` },
    })
    templates.push((made.body as { data: { id: string } }).data.id)
  }
  const make = async (path: string, { token }: TestAccount, body: object): Promise<string> => {
    const made = await request(`${gateway.url}${path}`, { method: 'POST', token, body })
    return (made.body as { data: { id: string } }).data.id
  }
  const owners = [account, account, account, other]
  const webhooks = await Promise.all(owners.map(owner => make('/gw/webhooks', owner, { url: 'https://example.com/' })))
  const listeners = await Promise.all(owners.map(owner => make('/gw/webhooks/listen', owner, {})))
  return { account, notifications, templates, webhooks, listeners }
}

// Parts of requests

const oddTexts = [
  '',
  ' ',
  'null',
  'undefined',
  'NaN',
  '__proto__',
  'constructor',
  'toString',
  '..',
  '.',
  '{id}',
  '%',
  '%%',
  "' or 1=1 --",
  '\u0000',
  '\ufffd',
  '🙂',
  'x'.repeat(3_000),
  'laudo',
  'status',
  'preview',
  '0',
  '-1',
  '1e999',
  '[object Object]',
  '\r\nx: y',
  '../../etc/passwd',
]
const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...oddTexts) },
  { weight: 3, arbitrary: fc.string({ maxLength: 40 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
)
const encoded = text.map(value => encodeURIComponent(value.toWellFormed()))
/** Straight into the path: what no client library would let through. */
const unencoded = fc.constantFrom(
  '%',
  '%zz',
  '%c3',
  '%c3%28',
  '%00',
  '%2e%2e',
  '%2f',
  '%252f',
  'a/b',
  'a//b',
  ';',
  'a;b=c',
  '@',
  '~',
  '*',
  '%ff%fe',
  '%u0041',
  '+',
  '?',
  '&',
  '=',
)

const idOf = (known: readonly string[]): Arbitrary<string> =>
  fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom(...known) },
    { weight: 1, arbitrary: fc.constantFrom(...known).map(id => id.toUpperCase()) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom(...known)
        .chain(id => fc.integer({ min: 0, max: 35 }).map(at => id.slice(0, at) + id.slice(at + 1))),
    },
    { weight: 1, arbitrary: fc.constantFrom(...known).chain(id => encoded.map(odd => id + odd)) },
    { weight: 2, arbitrary: fc.uuid() },
    {
      weight: 1,
      arbitrary: fc
        .date({ noInvalidDate: true, min: new Date(0), max: new Date('2300-01-01') })
        .map(date => newId(date.getTime())),
    },
    { weight: 4, arbitrary: encoded },
    { weight: 2, arbitrary: unencoded },
  )

const value = fc.oneof(encoded, unencoded, fc.constantFrom('1', '2', '3', '4', '5', '6', '99999999999999999999'))
const queryNames = [
  ...['type', 'versao', 'antesDe', 'mensagem', 'somenteFalhas', '__proto__', 'type[]', 'type[x]', 'x', ''],
  ...['customID', 'recipient', 'channel', 'status', 'from', 'to', 'cursor'],
]
const query = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  {
    weight: 3,
    arbitrary: fc
      .array(fc.tuple(fc.constantFrom(...queryNames), value), { maxLength: 4 })
      .map(pairs => `?${pairs.map(([name, given]) => `${name}=${given}`).join('&')}`),
  },
  { weight: 1, arbitrary: value.map(given => `?${given}`) },
)
const ending = fc.constantFrom('', '', '', '', '', '/', '/', '/', '//', '/x')

const plainHeaders = fc.constantFrom<Record<string, string>>(
  {},
  {},
  { 'content-type': 'application/json' },
  { accept: 'text/html', 'content-type': 'text/plain' },
)

/** Mostly what is expected, otherwise any JSON at all. */
const nearly = (expected: Arbitrary<unknown>): Arbitrary<unknown> =>
  fc.oneof(
    { weight: 8, arbitrary: expected },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
    { weight: 1, arbitrary: text },
  )

const members = (expected: Record<string, Arbitrary<unknown>>): Arbitrary<unknown> =>
  fc.record(Object.fromEntries(Object.entries(expected).map(([name, member]) => [name, nearly(member)])), { requiredKeys: [] })

/** A body that every rule accepts, with up to three members changed or left out. */
const changed = (valid: object, expected: Record<string, Arbitrary<unknown>>): Arbitrary<unknown> =>
  fc
    .subarray(Object.keys(expected), { maxLength: Math.min(3, Object.keys(expected).length) })
    .chain(names =>
      fc.record(Object.fromEntries(names.map(name => [name, fc.option(nearly(expected[name]!), { nil: undefined })]))),
    )
    .map(changes => ({ ...valid, ...changes }))

const freeObject = fc.dictionary(
  fc.oneof(fc.constantFrom('nome', 'itens', 'template', '__proto__', 'constructor'), fc.string({ maxLength: 8 })),
  fc.oneof({ weight: 12, arbitrary: fc.jsonValue({ maxDepth: 0 }) }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 1 }) }),
  { maxKeys: 4 },
)

const damage: Arbitrary<(json: string) => string | Buffer> = fc.oneof(
  { weight: 12, arbitrary: fc.constant((json: string) => json) },
  { weight: 1, arbitrary: fc.nat(200).map(at => (json: string) => json.slice(0, at)) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('\\ud800', '\\u0000', '"', '}', '\u0000', '1e999', '\\')
      .chain(odd => fc.nat(100).map(at => (json: string) => json.slice(0, at) + odd + json.slice(at))),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map(bytes => () => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('[]', 'null', '""', '0', '', ' ', '{"__proto__":{}}', '['.repeat(100), '{"a":'.repeat(40))
      .map(odd => () => odd),
  },
)
const bodyHeaders = fc.oneof(
  { weight: 15, arbitrary: fc.constant<Record<string, string>>({ 'content-type': 'application/json' }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Record<string, string>>(
      {},
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/json; charset=latin1' },
      { 'content-type': ';' },
    ),
  },
)
const payloadOf = (body: Arbitrary<unknown>): Arbitrary<string | Buffer> =>
  fc.tuple(body, damage).map(([given, damaged]) => damaged(JSON.stringify(given) ?? 'null'))

// Bodies

const oddNumber = fc.oneof(
  fc.constantFrom(number, '+5511987654321', '551133334444', '(11) 98765-4321', '123', ''),
  fc.string({ maxLength: 15 }),
)
const sendBody = changed(everyChannel, {
  nameTo: fc.constant('Maria'),
  to: fc.constantFrom('maria@example.com', '', null, 'a@b', 'a@b.com, c@d.com'),
  subject: fc.constant('Aviso'),
  content: fc.constant('<p>Aviso</p>'),
  customID: fc.string({ maxLength: 300 }),
  attachments: fc.array(
    members({ name: fc.constantFrom('a.pdf', '../a', 'a\nb'), base64: fc.constantFrom('YWJj', 'YWJ', 'data:x;base64,YWJj') }),
    { maxLength: 2 },
  ),
  validation: members({ question: fc.constant('Qual?'), reply: fc.constantFrom('Essa', '?!') }),
  sms: members({ number: oddNumber, typeSend: fc.constantFrom('1', '2', '3'), customMessage: fc.string({ maxLength: 150 }) }),
  whatsapp: members({ number: oddNumber, variables: freeObject }),
  voz: members({ number: oddNumber, template: text, payload: freeObject }),
  carta: members({ name: text, modelo: text, template: text, variables: freeObject }),
})
const liquid = fc
  .array(
    fc.constantFrom(
      '{{ nome }}',
      '{{',
      '}}',
      '{%',
      '%}',
      ' for i in itens ',
      ' endfor ',
      'if nome',
      'endif',
      '{{ nome | upcase }}',
      ' | ',
      'date: "%Y"',
      '(1..9)',
      'assign a = 1',
      '.',
      '{{ a.b }}',
      '"',
      'raw',
      '\n',
      'x',
      '🙂',
      "{% include 'x' %}",
    ),
    { maxLength: 12 },
  )
  .map(parts => parts.join(''))
const variables = fc.array(members({ nome: fc.constantFrom('nome', 'itens', 'a', '__proto__', ''), obrigatoria: fc.boolean() }), {
  maxLength: 3,
})
/** Most under a name that no other has. */
const named = fc.uuid().map(id => ({ ...template, nome: id }))
const templateBody = named.chain(given => changed(given, templateMembers))
const templateMembers = {
  nome: fc.constantFrom('aviso 1', 'x'.repeat(256), ' '),
  tipo: fc.constantFrom('email', 'sms', 'whatsapp', 'voz', 'carta', 'fax'),
  conteudo: liquid,
  templateId: fc.constantFrom('t-1', '', null),
  variaveis: variables,
  compartilhadoComEntidade: fc.boolean(),
  metadata: freeObject,
}
const sequenceBody = changed(
  { etapas: [] },
  {
    etapas: fc.array(
      members({
        canal: fc.constantFrom('email', 'sms', 'whatsapp', 'voz', 'carta', 'constructor'),
        esperaMinutos: fc.oneof(fc.integer({ min: 0, max: 129_600 }), fc.double()),
        condicao: fc.constantFrom('sempre', 'falhou', 'nao_entregue', 'nao_lido', 'nao_confirmado', 'toString'),
      }),
      { maxLength: 6 },
    ),
  },
)

const interests = {
  versao: fc.constantFrom('v1', 'v2', 'v3'),
  canais: fc.array(fc.constantFrom('email', 'sms', 'whatsapp', 'voz', 'carta', 'voice'), { maxLength: 3 }),
  situacoes: fc.array(fc.constantFrom('enviado', 'falhou', 'sent', '__proto__'), { maxLength: 3 }),
}
const oddUrl = fc.oneof(
  fc.constantFrom(
    'https://example.com/x',
    'http://2130706433',
    'https://[::1]/',
    'https://a:b@c.d/',
    'https://x:99999/',
    'data:,',
  ),
  fc.webUrl({ validSchemes: ['http', 'https'], withQueryParameters: true, withFragments: true }),
)
const moment = fc.constantFrom(
  '2026-07-18T01:01:32-03:00',
  '2026-13-45T99:99:99Z',
  '2026-07-18',
  '0000-00-00T00:00:00Z',
  '9999-12-31T23:59:59Z',
)

const bodies: Record<string, Arbitrary<unknown>> = {
  'POST /gw/email': sendBody,
  'POST /gw/templates': templateBody,
  'PUT /gw/templates/{id}': templateBody,
  'PATCH /gw/templates/{id}/status': changed({ ativo: true }, { ativo: fc.boolean() }),
  'POST /gw/templates/{id}/preview': changed({ variaveis: { nome: 'Ana', itens: '1 2' } }, { variaveis: freeObject }),
  'PUT /gw/sequence': sequenceBody,
  'POST /gw/webhooks': changed({ url: 'https://example.com/' }, { url: oddUrl, ...interests }),
  'PUT /gw/webhooks/{id}': changed({ versao: 'v1' }, { url: oddUrl, ...interests, ativo: fc.constant(true) }),
  'POST /gw/webhooks/{id}/replay': changed(
    { desde: '2026-07-18T01:01:32-03:00' },
    { mensagem: fc.uuid(), desde: moment, ate: moment, somenteFalhas: fc.boolean() },
  ),
  'POST /gw/webhooks/listen': changed({}, interests),
  'POST /gw/webhooks/listen/{id}': changed(
    {},
    {
      confirmados: fc.array(fc.oneof(fc.uuid(), fc.string({ maxLength: 5 })), { maxLength: 3 }),
      espera: fc.constantFrom(0, -1, 26, 0.5),
    },
  ),
}

/** Requests for an operation, from nearly right to anything. */
function requestsFor(name: string, { notifications, templates, webhooks, listeners }: Known): Arbitrary<Generated> {
  const [, template] = name.split(' ') as [string, string]
  const own = template.startsWith('/gw/webhooks/listen') ? listeners : template.startsWith('/gw/webhooks') ? webhooks : templates
  const id = template.includes('{idEmail}') ? idOf(notifications) : idOf(own)
  const path = fc
    .tuple(template.includes('{') ? id : fc.constant(''), ending, query)
    .map(([given, end, search]) => template.replace(/\{\w+\}/, () => given) + end + search)
  const body = bodies[name]
  return body === undefined
    ? fc.record({ path, headers: plainHeaders, payload: fc.constant(null) })
    : fc.record({ path, headers: bodyHeaders, payload: payloadOf(body) })
}

/** Exactly the three members of section 7. Written out, since it is asked two hundred thousand times. */
function isErrorBody(body: unknown, status: number): boolean {
  const { statusCode, message, error, ...rest } = body as Record<string, unknown>
  const texts = typeof message === 'string' && message.trim() !== '' && error === STATUS_CODES[status]
  return statusCode === status && texts && Object.keys(rest).length === 0
}

/** A reader that is asked the same again answers the same: of equal requests one is sent, and its answer counts for all. */
function groupEqual(requests: readonly Generated[]): { generated: Generated; times: number }[] {
  const groups = new Map<string, { generated: Generated; times: number }>()
  for (const generated of requests) {
    const key = JSON.stringify(generated)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { generated, times: 1 })
    else group.times++
  }
  return [...groups.values()]
}

/** A write is met by what it changed when it comes again; the fourth time tells nothing that the third did not, and counts with it. */
const MOST_EQUAL_WRITES = 3
const repeatAFewTimes = ({ generated, times }: ReturnType<typeof groupEqual>[number]): ReturnType<typeof groupEqual> =>
  Array.from({ length: Math.min(times, MOST_EQUAL_WRITES) }, (_, n) => ({
    generated,
    times: n === 0 ? Math.max(1, times - MOST_EQUAL_WRITES + 1) : 1,
  }))

/** Sends them all, a bounded number at a time, and counts the answers by status. */
async function sendAll(name: string, seed: number): Promise<Map<number, number>> {
  const [method] = name.split(' ') as [string]
  const isReader = method === 'GET' && !writers.includes(name)
  const known = isReader ? knownToReaders : await makeKnown()
  const document = documentOf(gateway)
  const counts = new Map<number, number>()
  const requests = fc.sample(requestsFor(name, known), { numRuns: REQUESTS, seed })
  const queue = isReader ? groupEqual(requests) : groupEqual(requests).flatMap(repeatAFewTimes)
  const sendOne = async ({ generated, times }: { generated: Generated; times: number }): Promise<void> => {
    const { path, headers, payload } = generated
    const { pathname } = new URL(path, gateway.url)
    const response = await gateway.app.inject({
      method: method as 'GET',
      url: path,
      headers: { ...headers, authorization: known.account.token },
      ...(payload === null ? {} : { payload }),
    })
    const { statusCode: status } = response
    counts.set(status, (counts.get(status) ?? 0) + times)
    try {
      const type = String(response.headers['content-type'])
      // What succeeds may be a file.
      const answered: unknown = type.startsWith('application/json') || status !== 200 ? JSON.parse(response.body) : response.body
      if (status >= 500) throw new Error(`${status}: ${response.body}`)
      if (status >= 400 && !isErrorBody(answered, status)) throw new Error(`no error body: ${response.body}`)
      // A path that became another one (a slash in an id) may be no operation at all: the shape above is all it owes.
      if (findOperation(document, method, pathname) !== undefined && status !== 404) {
        conforms(document, method, pathname, {
          status,
          headers: new Headers({ 'content-type': type }),
          body: answered,
        })
      }
    } catch (cause) {
      const shown = payload === null ? '' : ` with ${JSON.stringify(payload.toString()).slice(0, 2_000)}`
      throw new Error(`${method} ${path} ${JSON.stringify(headers)}${shown} (seed ${seed})`, { cause })
    }
  }
  const workers = Array.from({ length: CONCURRENCY }, async () => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) await sendOne(next)
  })
  await Promise.all(workers)
  return counts
}

const operations = [
  'POST /gw/email',
  'GET /gw/email/{idEmail}',
  'GET /gw/whatsapp/{idEmail}',
  'GET /gw/carta/{idEmail}',
  'GET /gw/sms/{idEmail}',
  'GET /gw/voz/{idEmail}',
  'GET /gw/full/{idEmail}',
  'GET /gw/events/{idEmail}',
  'GET /gw/evidence/{idEmail}',
  'GET /gw/notifications',
  'GET /gw/sending-proof/{idEmail}',
  'GET /gw/email/laudo/{idEmail}',
  'GET /gw/templates',
  'POST /gw/templates',
  'GET /gw/templates/{id}',
  'PUT /gw/templates/{id}',
  'PATCH /gw/templates/{id}/status',
  'DELETE /gw/templates/{id}',
  'POST /gw/templates/{id}/preview',
  'GET /gw/sequence',
  'PUT /gw/sequence',
  'GET /gw/sequence/{idEmail}',
  'GET /gw/usage',
  'GET /regua-notificacao/finalizar/{idEmail}',
  'GET /gw/webhooks',
  'POST /gw/webhooks',
  'GET /gw/webhooks/{id}',
  'PUT /gw/webhooks/{id}',
  'DELETE /gw/webhooks/{id}',
  'POST /gw/webhooks/{id}/rotate',
  'POST /gw/webhooks/{id}/test',
  'GET /gw/webhooks/{id}/attempts',
  'POST /gw/webhooks/{id}/replay',
  'POST /gw/webhooks/listen',
  'POST /gw/webhooks/listen/{id}',
]
/** Its method says that it reads, and it ends a sequence. */
const writers = ['GET /regua-notificacao/finalizar/{idEmail}']
/** These succeed once, or not at all, for each thing there is. */
const seldom = ['GET /gw/email/laudo/{idEmail}', 'DELETE /gw/webhooks/{id}']
/** These succeed until an account has as many as it may. */
const capped = ['POST /gw/webhooks', 'POST /gw/webhooks/listen']

describe('7 generated requests of each operation, no 5xx and no other shape of error', () => {
  test('every operation of the document is tried', () => {
    expect(
      operationsOf(documentOf(gateway))
        .map(({ name }) => name)
        // Files and their batches have generated requests of their own: test/engine/bulk/generated.test.ts.
        .filter(name => !name.includes(' /gw/bulk'))
        .sort(),
    ).toEqual([...operations].sort())
  })

  test.each(operations)('7 %s', async name => {
    const counts = await sendAll(name, inject('seed'))
    expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(REQUESTS)
    // Some must get through, or nothing behind the first check was tried.
    const passed = (counts.get(200) ?? 0) + (counts.get(201) ?? 0)
    if (!seldom.includes(name)) expect(passed).toBeGreaterThan(capped.includes(name) ? 10 : REQUESTS / 20)
    expect(passed).toBeLessThan(REQUESTS)
  })
})
