import { STATUS_CODES } from 'node:http'
import fc from 'fast-check'
import { expect, inject, test } from 'vitest'
import { brokenChains } from '../support/evidence/chain.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { type Answer, send } from '../support/gateway/requests.js'

/** A failure names the seed, with the place of the body in the run. */
const SEED = inject('seed')
const BODIES = inject('generatedRequests')
const CONNECTIONS = 16

const { database, gateway, account } = await gatewayForFile()

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Every member that the contract names. */
const complete: Json = {
  nameTo: 'Maria da Silva',
  to: 'maria@example.com',
  subject: 'Aviso de vencimento',
  content: '<p>Seu contrato vence em 30 dias.</p>',
  customID: 'contrato-4711',
  attachments: [
    { name: 'contrato.pdf', base64: 'JVBERi0xLjc=' },
    { name: 'boleto.txt', base64: 'Ym9sZXRv' },
  ],
  sms: { number: '11987654321', typeSend: '1', customMessage: 'Leia: {SHORT_LINK}' },
  whatsapp: { number: '5511987654321', variables: { template: 'aviso', nome: 'Maria', itens: '1, 2' } },
  voz: { number: '1133334444', template: 'lembrete', payload: { nome: 'Maria', valor: 10.5 } },
  carta: { name: 'Maria', modelo: 'simples', template: 'carta', variables: { rua: 'Rua A', numero: 10 } },
}

const oddTexts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  // UTF-16 units on their own: lone surrogates among them.
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 }).map(units => String.fromCharCode(...units)),
  fc.constantFrom(
    '',
    ' ',
    '\u0000',
    '\ud800',
    '\udfff\ud800',
    '\u202e',
    '\ufeff',
    '\r\nBcc: x@example.com',
    '../../etc/passwd',
    "' or 1=1 --",
    '{{constructor}}',
    '#{7*7}',
    '(11) 98765-4321',
    '+551133334444',
    '0',
    '-1',
    'NaN',
    'true',
    'null',
    '[object Object]',
    'a@b',
    `a@${'a.'.repeat(200)}com`,
    'data:text/plain;base64,YQ==',
    'YQ',
    '=',
    '3',
    'ﷺ'.repeat(141),
    '👨‍👩‍👧‍👦'.repeat(40),
    'x'.repeat(300),
    'x'.repeat(100_000),
  ),
)

const oddNumbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom(0, -0, 1e308, -1e308, 5e-324, 2 ** 53 + 2, -(2 ** 63), 2 ** 31, 1.5),
)

const nest = (levels: number, inside: Json, asObject: boolean): Json => {
  let value = inside
  for (let level = 0; level < levels; level++) value = asObject ? { a: value } : [value]
  return value
}

const oddValues: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: oddTexts },
  { weight: 2, arbitrary: oddNumbers },
  { weight: 2, arbitrary: fc.constantFrom<Json>(null, true, false, [], {}, [null], [[]], { length: 1 }, { toString: 'x' }) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json> },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(1, 5, 27, 28, 29, 30, 31, 32, 33, 100, 1_000), fc.boolean())
      .map(([levels, asObject]) => nest(levels, 'x', asObject)),
  },
)

/** Every place in a value, as the list of keys that leads to it. */
function places(value: Json, path: string[] = []): string[][] {
  if (value === null || typeof value !== 'object') return [path]
  return [path, ...Object.entries(value).flatMap(([key, member]) => places(member, [...path, key]))]
}

type Change = { path: string[]; remove: boolean; value: Json; key: string | null }

const paths = places(complete).filter(path => path.length > 0)
const changes: fc.Arbitrary<Change> = fc.record({
  path: fc.constantFrom(...paths),
  remove: fc.boolean(),
  value: oddValues,
  // A key of its own beside the place, instead of another value in it.
  key: fc.option(fc.oneof(oddTexts, fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'length', 'then')), {
    freq: 5,
  }),
})

function apply(body: Json, { path, remove, value, key }: Change): void {
  let parent = body as { [key: string]: Json }
  for (const step of path.slice(0, -1)) {
    const next = parent[step]
    if (next === null || typeof next !== 'object') return
    parent = next as { [key: string]: Json }
  }
  const last = path.at(-1)!
  if (key !== null && !Array.isArray(parent))
    Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true })
  else if (remove && Array.isArray(parent)) (parent as Json[]).splice(Number(last), 1)
  else if (remove) delete parent[last]
  else parent[last] = value
}

/** Mostly absent: the account may not use it, so that it is 403 at best. */
const validations: fc.Arbitrary<Json | undefined> = fc.oneof(
  { weight: 12, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant<Json>({ question: 'Qual é o seu CPF?', reply: '123' }) },
  { weight: 1, arbitrary: oddValues },
  { weight: 1, arbitrary: fc.record({ question: oddValues, reply: oddValues }) },
)

const mutated = fc
  .tuple(
    fc.subarray(['customID', 'attachments', 'sms', 'whatsapp', 'voz', 'carta']),
    validations,
    fc.array(changes, { maxLength: 3 }),
  )
  .map(([left, validation, list]) => {
    const body = structuredClone(complete) as { [key: string]: Json }
    for (const member of left) delete body[member]
    if (validation !== undefined) body.validation = validation
    for (const change of list) apply(body, change)
    return JSON.stringify(body)
  })

/** JSON text with something put in, taken out or put in place of something. */
const edited = fc
  .record({
    text: mutated,
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    cut: fc.integer({ min: 0, max: 12 }),
    put: fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }),
      fc.constantFrom(
        '\\u0000',
        '\\ud800',
        '\\ud83d\\ude00',
        '1e999',
        '-1e999',
        '1e-999',
        '"',
        '\\',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
      ),
      fc.constantFrom('"__proto__":{},', '"__proto__":1,', '{"__proto__":null}', '"to":"a@b.com","to":"c@d.com",'),
      fc.constantFrom('[', '{"a":').map(open => open.repeat(4_000)),
      fc.constantFrom('0x1', '01', '.5', '+1', 'Infinity', 'undefined', '//', '/**/', "'", '\u2028', '\ufeff', '\u0000'),
    ),
  })
  .map(({ text, at, cut, put }) => {
    const from = Math.floor(at * text.length)
    return text.slice(0, from) + put + text.slice(from + cut)
  })

const bodies: fc.Arbitrary<string | Uint8Array> = fc.oneof(
  { weight: 10, arbitrary: mutated },
  { weight: 5, arbitrary: edited },
  { weight: 2, arbitrary: fc.json({ maxDepth: 6 }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
  // Single bytes of a good body changed: broken UTF-8 among them.
  {
    weight: 2,
    arbitrary: fc
      .tuple(mutated, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 3 }))
      .map(([text, edits]) => {
        const bytes = Buffer.from(text)
        for (const [place, byte] of edits) bytes[place % bytes.length] = byte
        return bytes
      }),
  },
)

/** What is wrong with an answer, or null. */
function findFault({ status, body, headers }: Answer): string | null {
  if (headers.get('x-request-id') === null) return 'no x-request-id'
  const answer = body as Record<string, unknown> | null
  const members = Object.keys(answer ?? {})
    .sort()
    .join()
  if (status === 200) return members === 'idEmail' && typeof answer!.idEmail === 'string' ? null : 'a 200 without idEmail'
  if (status !== 400 && status !== 403) return 'unexpected status'
  if (members !== 'error,message,statusCode') return 'members other than those of section 7'
  if (typeof answer!.message !== 'string' || answer!.message === '') return 'a message that is no text'
  if (answer!.statusCode !== status || answer!.error !== STATUS_CODES[status]) return 'a status that disagrees with the body'
  return null
}

test(`7 ${BODIES} generated bodies: never a 5xx, every refusal in the shape of section 7, every 200 stored`, async () => {
  const samples = fc.sample(bodies, { seed: SEED, numRuns: BODIES })
  const ids: string[] = []
  const seen = new Map<number, number>()
  const faults: string[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let index = next++; index < samples.length; index = next++) {
      const answer = await send(gateway.url, account.token, samples[index])
      seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1)
      const fault = findFault(answer)
      if (fault !== null) {
        const body = Buffer.from(samples[index]!).toString('latin1').slice(0, 1_000)
        faults.push(`seed ${SEED}, body ${index}: ${answer.status} ${fault}: ${JSON.stringify(answer.body)} for ${body}`)
      } else if (answer.status === 200) ids.push((answer.body as { idEmail: string }).idEmail)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work))
  expect(faults.slice(0, 10)).toEqual([])

  const { rows } = await database.pool.query<{ id: string }>(
    'select n.id from notification n where exists (select from delivery d where d.notification_id = n.id)',
  )
  expect(new Set(rows.map(row => row.id))).toEqual(new Set(ids))
  expect(rows).toHaveLength(ids.length)
  expect(await brokenChains(database.pool)).toEqual([])
  // Every kind must come up often, or the run proves nothing.
  expect(seen.get(200)).toBeGreaterThan(BODIES / 5)
  expect(seen.get(400)).toBeGreaterThan(BODIES / 5)
  expect(seen.get(403)).toBeGreaterThan(BODIES / 100)
})
