import { Validator } from '@seriousme/openapi-schema-validator'
import { Compile } from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, gatewayForTest, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { errorBody, request, send, validSend } from '../support/gateway/requests.js'
import { conforms, findOperation, type OpenApiDocument, operationsOf, type Schema } from '../support/openapi.js'
import { recordMembers } from '../support/record-members.js'

let database: TestDatabase
let gateway: Gateway
let account: TestAccount
let document: OpenApiDocument

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
  document = (await request(`${gateway.url}/openapi.json`)).body as OpenApiDocument
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

/** Everything in the document, with the path that leads to it. */
function* nodes(value: unknown, path = '#'): Generator<[path: string, node: Record<string, unknown>]> {
  if (value === null || typeof value !== 'object') return
  if (!Array.isArray(value)) yield [path, value as Record<string, unknown>]
  for (const [key, member] of Object.entries(value)) yield* nodes(member, `${path}/${key.replaceAll('/', '~1')}`)
}

const isDescription = (text: unknown): boolean => typeof text === 'string' && /^\S.{5,}/s.test(text)

/** Every schema of an operation: of parameters, of the body, of answers, and what they hold. */
function* schemasOf(schema: Schema): Generator<Schema> {
  yield schema
  for (const member of Object.values(schema.properties ?? {})) yield* schemasOf(member)
  if (schema.items !== undefined) yield* schemasOf(schema.items)
}

const operations: [string, string][] = [
  ['POST', '/gw/email'],
  ['GET', '/gw/email/{idEmail}'],
  ['GET', '/gw/whatsapp/{idEmail}'],
  ['GET', '/gw/carta/{idEmail}'],
  ['GET', '/gw/sms/{idEmail}'],
  ['GET', '/gw/voz/{idEmail}'],
  ['PUT', '/gw/templates/{id}'],
  ['PATCH', '/gw/templates/{id}/status'],
  ['GET', '/regua-notificacao/finalizar/{idEmail}'],
]

/** They answer 201. */
const making = [
  'POST /gw/bulk',
  'POST /gw/templates',
  'POST /gw/webhooks',
  'POST /gw/webhooks/{id}/test',
  'POST /gw/webhooks/listen',
]
/** All is said by the path. */
const bodiless = [
  'POST /gw/webhooks/{id}/test',
  'POST /gw/webhooks/{id}/rotate',
  ...['start', 'pause', 'resume', 'cancel'].map(act => `POST /gw/bulk/{id}/${act}`),
]
/** Their body is a file. */
const filed = ['POST /gw/bulk']

describe('/openapi.json', () => {
  test('9 is OpenAPI 3.1 and describes version 1.0, and needs no token', async () => {
    const answer = await request(`${gateway.url}/openapi.json`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(document.openapi).toMatch(/^3\.1\.\d+$/)
    expect(document.info).toMatchObject({ title: 'Carteiro', version: '1.0' })
  })

  test('1 names the address under which the service is reached, and the support', async () => {
    const other = await gatewayForTest(database.pool, {
      PUBLIC_URL: 'https://carteiro.example/',
      SUPPORT_EMAIL: 'ajuda@carteiro.example',
    })
    const { body } = await request(`${other.url}/openapi.json`)
    expect((body as OpenApiDocument).servers).toEqual([{ url: '/' }, { url: 'https://carteiro.example' }])
    expect(JSON.stringify((body as OpenApiDocument).info)).toContain('ajuda@carteiro.example')
  })

  test.each(operations)('4 has %s %s', (method, path) => {
    expect(document.paths[path]).toHaveProperty(method.toLowerCase())
  })

  test('is valid by the published schema of OpenAPI', async () => {
    const result = await new Validator().validate(structuredClone(document) as unknown as Record<string, unknown>)
    expect(result).toEqual({ valid: true })
    const broken = { ...structuredClone(document), info: {} } as unknown as Record<string, unknown>
    expect(await new Validator().validate(broken)).toMatchObject({ valid: false })
  })

  test('4 has every route of the contract, and nothing that is not part of it', () => {
    const registered = routesOf(gateway)
      .filter(route => /^\S+ \/(gw|regua-notificacao)\//.test(route) && !route.startsWith('HEAD '))
      .map(route => route.replace(/:(\w+)/g, '{$1}'))
    expect(
      operationsOf(document)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(registered.sort())
    expect(registered.length).toBeGreaterThan(operations.length)
  })

  test('5 the token is an API key in the header Authorization, and every operation asks for it', () => {
    expect(document.components.securitySchemes).toEqual({
      token: expect.objectContaining({ type: 'apiKey', in: 'header', name: 'Authorization' }),
    })
    for (const { name, operation } of operationsOf(document)) expect([name, operation.security]).toEqual([name, [{ token: [] }]])
  })

  test('7 every operation tells its success and every error that can happen to it', () => {
    for (const { name, path, operation } of operationsOf(document)) {
      const statuses = Object.keys(operation.responses)
      expect([name, statuses.filter(status => status.startsWith('2'))]).toEqual([name, [making.includes(name) ? '201' : '200']])
      expect([name, statuses]).toEqual([name, expect.arrayContaining(['400', '401', '429', '500', '503'])])
      if (path.includes('{')) expect([name, statuses]).toEqual([name, expect.arrayContaining(['404'])])
      if (operation.requestBody !== undefined) expect([name, statuses]).toEqual([name, expect.arrayContaining(['413'])])
    }
    for (const edit of [
      'PUT /gw/templates/{id}',
      'PATCH /gw/templates/{id}/status',
      'DELETE /gw/templates/{id}',
      'POST /gw/email',
    ])
      expect(operationsOf(document).find(({ name }) => name === edit)!.operation.responses).toHaveProperty('403')
  })

  test('7 every error is JSON with exactly three members', () => {
    for (const { name, operation } of operationsOf(document)) {
      for (const [status, response] of Object.entries(operation.responses)) {
        if (Number(status) < 400) continue
        expect([name, status, Object.keys(response.content!)]).toEqual([name, status, ['application/json']])
        const { type, properties, required } = response.content!['application/json']!.schema
        const types = Object.fromEntries(Object.entries(properties!).map(([member, { type }]) => [member, type]))
        expect([name, status, type, types, [...required!].sort()]).toEqual([
          name,
          status,
          'object',
          { statusCode: 'integer', message: 'string', error: 'string' },
          ['error', 'message', 'statusCode'],
        ])
      }
    }
  })

  test('every answer has a description and a schema, the report is a PDF and the bundle a ZIP', () => {
    const files: Record<string, string> = {
      'GET /gw/email/laudo/{idEmail}': 'application/pdf',
      'GET /gw/evidence/{idEmail}': 'application/zip',
      'GET /gw/bulk/{id}/rejects': 'text/csv',
      'GET /gw/bulk/{id}/result': 'text/csv',
    }
    for (const { name, operation } of operationsOf(document)) {
      for (const [status, { description, content }] of Object.entries(operation.responses)) {
        expect([name, status, typeof description]).toEqual([name, status, 'string'])
        const media = (status === '200' ? files[name] : undefined) ?? 'application/json'
        expect([name, status, Object.keys(content!)]).toEqual([name, status, [media]])
        expect(content![media]!.schema.type).toBeDefined()
      }
    }
  })

  test('every parameter of a path is declared, and nothing else is called one', () => {
    for (const { name, path, operation } of operationsOf(document)) {
      const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1])
      const declared = (operation.parameters ?? []).filter(parameter => parameter.in === 'path')
      expect([name, declared.map(parameter => parameter.name)]).toEqual([name, wanted])
      for (const parameter of operation.parameters ?? []) {
        expect(['path', 'query', 'header']).toContain(parameter.in)
        expect(parameter.schema.type).toBe('string')
        if (parameter.in === 'path') expect(parameter.required).toBe(true)
      }
    }
  })

  test('bodies belong to POST, PUT and PATCH, are JSON and required', () => {
    for (const { name, method, operation } of operationsOf(document)) {
      const { requestBody } = operation
      expect([name, requestBody !== undefined]).toEqual([
        name,
        ['POST', 'PUT', 'PATCH'].includes(method) && !bodiless.includes(name),
      ])
      if (requestBody === undefined) continue
      expect([name, requestBody.required]).toEqual([name, true])
      const types = Object.keys(requestBody.content)
      if (filed.includes(name)) expect(types).toEqual(expect.arrayContaining(['text/csv', 'application/octet-stream']))
      else expect([name, types]).toEqual([name, ['application/json']])
    }
  })

  test('schemas speak JSON Schema 2020-12: known types, required members that exist, nothing of OpenAPI 3.0', () => {
    const known = ['string', 'integer', 'number', 'boolean', 'object', 'array', 'null']
    const roots = operationsOf(document).flatMap(({ operation }) => [
      ...(operation.parameters ?? []).map(parameter => parameter.schema),
      ...Object.values(operation.requestBody?.content ?? {}).map(media => media.schema),
      ...Object.values(operation.responses).flatMap(response => Object.values(response.content ?? {}).map(media => media.schema)),
    ])
    const all = roots.flatMap(root => [...schemasOf(root)])
    expect(all.length).toBeGreaterThan(300)
    for (const schema of all) {
      const types = [schema.type ?? []].flat()
      expect(types.every(type => known.includes(type))).toBe(true)
      if (types.length === 0) expect(schema.enum).toBeInstanceOf(Array)
      for (const keyword of ['nullable', 'example', '$id', '~kind']) expect(schema).not.toHaveProperty([keyword])
      if (schema.properties !== undefined)
        expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(schema.required ?? []))
      if (types.includes('array')) expect(schema.items).toBeDefined()
    }
  })

  test('every parameter and every member of every schema has a description, in Portuguese for people', () => {
    const silent: string[] = []
    let seen = 0
    const look = (where: string, { properties = {}, items }: Schema): void => {
      for (const [name, member] of Object.entries(properties)) {
        seen++
        if (!isDescription(member.description)) silent.push(`${where}.${name}`)
        look(`${where}.${name}`, member)
      }
      if (items !== undefined) look(`${where}[]`, items)
    }
    for (const { name, operation } of operationsOf(document)) {
      for (const parameter of operation.parameters ?? []) {
        if (!isDescription(parameter.description)) silent.push(`${name} ${parameter.in} ${parameter.name}`)
      }
      for (const media of Object.values(operation.requestBody?.content ?? {})) look(`${name} body`, media.schema)
      for (const [status, response] of Object.entries(operation.responses))
        for (const media of Object.values(response.content ?? {})) look(`${name} ${status}`, media.schema)
    }
    expect(silent).toEqual([])
    expect(seen).toBeGreaterThan(300)
  })

  test('the send has one example, by all channels, and the example is a valid send', () => {
    const { schema, example, ...others } = findOperation(document, 'POST', '/gw/email')!.requestBody!.content['application/json']!
    expect(others).toEqual({})
    expect(Object.keys(example as object)).toEqual(expect.arrayContaining(['to', 'sms', 'whatsapp', 'voz', 'carta']))
    expect(Compile(schema).Check(example)).toBe(true)
  })

  test('every reference leads somewhere, and no two operations bear one name', () => {
    const references = [...nodes(document)].flatMap(([path, node]) => (typeof node.$ref === 'string' ? [[path, node.$ref]] : []))
    const places = new Set([...nodes(document)].map(([path]) => path))
    for (const [path, reference] of references) expect([path, places.has(reference!)]).toEqual([path, true])
    const names = operationsOf(document).flatMap(({ operation }) => ('operationId' in operation ? [operation.operationId] : []))
    expect(new Set(names).size).toBe(names.length)
    for (const { name, operation } of operationsOf(document))
      expect([name, operation.summary]).toEqual([name, expect.stringMatching(/\S/)])
  })

  test('2.1 the send request is described as it is read: three required members, the rest optional', () => {
    const schema = findOperation(document, 'POST', '/gw/email')!.requestBody!.content['application/json']!.schema
    const extensions = ['template', 'variables']
    const ours = ['sendAt', 'allowDuplicate']
    expect(schema.required!.toSorted()).toEqual(['content', 'nameTo', 'subject'])
    expect(Object.keys(schema.properties!).sort()).toEqual(
      [
        ...'nameTo to subject content customID attachments validation sms whatsapp voz carta'.split(' '),
        ...extensions,
        ...ours,
      ].sort(),
    )
    const sms = schema.properties!.sms!.properties!
    expect(Object.keys(sms).sort()).toEqual(['customMessage', 'number', 'typeSend', ...extensions].sort())
    for (const name of ours) expect(schema.properties![name]).toMatchObject({ description: expect.stringMatching(/^Extensão: /) })
    for (const described of [schema.properties!, sms])
      for (const name of extensions) expect(described[name]).toMatchObject({ description: expect.stringMatching(/^Extensão: /) })
    for (const channel of ['sms', 'whatsapp', 'voz']) expect(schema.properties![channel]!.required).toEqual(['number'])
  })

  test('2.5 the records are described with every member of section 2.5; required are those that are always there', () => {
    for (const [channel, { always, later }] of Object.entries(recordMembers)) {
      const { schema } = findOperation(document, 'GET', `/gw/${channel}/x`)!.responses[200]!.content!['application/json']!
      expect(schema.required!.toSorted()).toEqual(always.toSorted())
      expect(Object.keys(schema.properties!).sort()).toEqual([...always, ...later].sort())
      for (const name of later) expect([name, schema.properties![name]!.type]).toEqual([name, 'string'])
    }
  })
})

describe('conformance of answers', () => {
  const headers = new Headers({ 'content-type': 'application/json; charset=utf-8' })

  test('a real answer conforms', async () => {
    conforms(document, 'POST', '/gw/email', await send(gateway.url, account.token, validSend))
    conforms(document, 'POST', '/gw/email', await send(gateway.url, account.token, {}))
    conforms(document, 'GET', '/gw/email/x/', await request(`${gateway.url}/gw/email/x/`, { token: account.token }))
  })

  test.each<[string, string, string, number, unknown]>([
    ['an undocumented path', 'GET', '/gw/nada', 200, {}],
    ['an undocumented method', 'PUT', '/gw/email', 200, {}],
    ['an undocumented status', 'POST', '/gw/email', 418, {}],
    ['a missing member', 'POST', '/gw/email', 200, {}],
    ['a member of another type', 'POST', '/gw/email', 200, { idEmail: 1 }],
    ['a member that is not described', 'POST', '/gw/email', 200, { idEmail: '01980000-0000-7000-8000-000000000000', extra: 1 }],
    ['an error with a fourth member', 'GET', '/gw/email/x', 404, { ...errorBody(404, 'x', 'Not Found'), code: 'E1' }],
    ['an error whose message is a list', 'GET', '/gw/email/x', 404, errorBody(404, ['x'], 'Not Found')],
    ['a null where there is none', 'GET', '/gw/sequence', 200, { data: null, statusCode: 200 }],
    [
      'an undescribed member deep inside',
      'GET',
      '/gw/sequence',
      200,
      { data: { etapas: [{ canal: 'sms', esperaMinutos: 1, condicao: 'sempre', x: 1 }] }, statusCode: 200 },
    ],
  ])('%s does not', (_, method, path, status, body) => {
    expect(() => conforms(document, method, path, { status, headers, body })).toThrow(`${method} ${path} → ${status}`)
  })

  test('another media type does not', () => {
    const html = new Headers({ 'content-type': 'text/html' })
    const body = errorBody(404, 'x', 'Not Found')
    expect(() => conforms(document, 'GET', '/gw/email/x', { status: 404, headers: html, body })).toThrow('text/html')
  })
})

describe('/docs', () => {
  async function load(path: string): Promise<{ status: number; type: string; text: string; headers: Headers }> {
    const response = await fetch(new URL(path, gateway.url))
    return {
      status: response.status,
      type: response.headers.get('content-type') ?? '',
      text: await response.text(),
      headers: response.headers,
    }
  }

  test.each(['/docs', '/docs/'])('%s comes with every script, style and icon that it names, from the same server', async path => {
    const page = await load(path)
    expect(page.status).toBe(200)
    expect(page.type).toMatch(/^text\/html/)
    expect(page.text).toContain('Carteiro')
    const named = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(match => match[1]!)
    expect(named.filter(name => name.endsWith('.js')).length).toBeGreaterThan(1)
    expect(named.filter(name => name.endsWith('.css')).length).toBeGreaterThan(0)
    for (const name of named) {
      const target = new URL(name, `${gateway.url}${path}`)
      expect([name, target.origin]).toEqual([name, new URL(gateway.url).origin])
      const file = await load(target.pathname)
      expect([name, file.status]).toEqual([name, 200])
      expect([name, file.type]).toEqual([name, expect.stringMatching(/javascript|css|image/)])
      expect(file.text.length).toBeGreaterThan(0)
    }
  })

  test('names no other server, and may reach none', async () => {
    for (const path of ['/docs', '/docs/static/swagger-initializer.js', '/docs/static/index.css']) {
      const text = (await load(path)).text.replace(/^\s*\/\/.*$/gm, '')
      expect([path, [...text.matchAll(/https?:\/\/[^"'\s)]+/g)].map(match => match[0])]).toEqual([path, []])
      expect([path, /(?:src|href)="\/\//.test(text)]).toEqual([path, false])
    }
    const policy = (await load('/docs')).headers.get('content-security-policy')!
    const rules = new Map(policy.split(';').map(rule => [rule.trim().split(' ')[0]!, rule.trim().split(' ').slice(1)]))
    expect(rules.get('default-src')).toEqual(["'self'"])
    expect(rules.get('object-src')).toEqual(["'none'"])
    expect(rules.get('frame-ancestors')).toEqual(["'none'"])
    expect(rules.has('script-src')).toBe(false)
    expect(policy).not.toMatch(/https?:|\*/)
  })

  test('keeps the token over a reload, and speaks Portuguese', async () => {
    expect((await load('/docs/static/swagger-initializer.js')).text).toMatch(/"persistAuthorization":\s*true/)
    const page = await load('/docs')
    expect(page.text).toContain('/docs/static/theme/pt-br.js')
    expect((await load('/docs/static/theme/pt-br.js')).text).toContain('Executar')
  })

  test('shows the same document', async () => {
    expect(JSON.parse((await load('/docs/json')).text)).toEqual(document)
  })

  test.each([
    '/docs/static/nada.js',
    '/docs/static/..%2f..%2fpackage.json',
    '/docs/static/%2e%2e/%2e%2e/package.json',
    '/docs/nada',
  ])('7 %s is 404 in the one shape of errors', async path => {
    const { status, text } = await load(path)
    expect(JSON.parse(text)).toEqual(errorBody(404, expect.any(String), 'Not Found'))
    expect(status).toBe(404)
  })
})

/** Every route that the server knows, read from its tree: "GET /gw/email/:idEmail". */
function routesOf({ app }: Gateway): string[] {
  const parents: string[] = []
  return app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap(line => {
      const match = /^([│ ]*)[├└]── (\S*) ?(?:\((.+)\))?$/.exec(line)
      if (match === null) return []
      const [, indent, part, methods] = match as unknown as [string, string, string, string | undefined]
      const depth = indent.length / 4
      const path = (depth === 0 ? '' : parents[depth - 1]!) + part
      parents[depth] = path
      return (methods?.split(', ') ?? []).map(method => `${method} ${path}`)
    })
}
