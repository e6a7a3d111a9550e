import fc from 'fast-check'
import { expect, inject, test } from 'vitest'
import { gatewayForFile } from '../../support/gateway/gateway.js'
import { request } from '../../support/gateway/requests.js'
import { conforms, documentOf } from '../../support/openapi.js'
import { spreadsheet } from '../../support/programs/spreadsheet.js'

const { gateway, account } = await gatewayForFile()
const { url } = gateway
const { token } = account
const known = { seed: inject('seed'), numRuns: 120 }

const cell = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom(
    '',
    '"',
    '""',
    ';',
    '\u0000',
    '\r\n',
    'é',
    '=1+1',
    '{{ x }}',
    '__proto__',
    'constructor',
    'nome',
    'email',
    'sms.number',
  ),
)
const csv = fc
  .array(fc.array(cell, { minLength: 1, maxLength: 5 }), { maxLength: 6 })
  .map(rows => rows.map(row => row.join(';')).join('\n'))
const sheet = fc
  .tuple(
    fc.array(fc.array(fc.string({ maxLength: 6 }), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
    fc.nat(),
    fc.nat(255),
  )
  .map(([rows, at, byte]) => {
    const bytes = Buffer.from(spreadsheet(rows.map(row => row.map(text => text.replace(/[^\x20-\x7e]/g, '')))))
    bytes[at % bytes.length] = byte
    return bytes
  })
const file = fc.oneof(
  csv.map(text => Buffer.from(text)),
  csv.map(text => Buffer.from(text, 'latin1')),
  fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)),
  sheet,
)
const text = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.constantFrom('', '{', '{}', '[]', 'null', '{"a":1}', '{"nome":"to"}', '{"__proto__":"to"}', '\u0000'),
)

test('7 any file with any parameters is a batch or a refusal, and never an error of ours', async () => {
  const statuses = new Set<number>()
  await fc.assert(
    fc.asyncProperty(file, text, text, text, async (bytes, name, mapping, base) => {
      const search = new URLSearchParams({
        name: name.toWellFormed(),
        mapping: mapping.toWellFormed(),
        base: base.toWellFormed(),
      })
      const headers = { 'content-type': 'application/octet-stream' }
      const answer = await request(`${url}/gw/bulk?${search}`, { method: 'POST', token, body: bytes, headers })
      conforms(documentOf(gateway), 'POST', '/gw/bulk', answer)
      statuses.add(answer.status)
      expect([201, 400, 404, 409]).toContain(answer.status)
    }),
    known,
  )
  expect(statuses).toContain(400)
})

test('7 good files with odd names are batches, and other ids and names are not found', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ minLength: 1, maxLength: 60 }), text, async (name, id) => {
      const headers = { 'content-type': 'text/csv' }
      const search = new URLSearchParams({ name: name.toWellFormed() })
      const made = await request(`${url}/gw/bulk?${search}`, { method: 'POST', token, body: 'nome\nAna', headers })
      expect([201, 400]).toContain(made.status)
      for (const [method, path] of [
        ['GET', ''],
        ['POST', '/start'],
        ['POST', '/cancel'],
        ['GET', '/result'],
      ] as const) {
        const at = `/gw/bulk/${encodeURIComponent(id.toWellFormed())}x${path}`
        const answer = await request(url + at, { method, token })
        conforms(documentOf(gateway), method, at, answer)
        expect(answer.status).toBe(404)
      }
      const saved = `/gw/bulk/mappings/${encodeURIComponent(name.toWellFormed())}`
      expect([200, 400, 404]).toContain((await request(url + saved, { method: 'PUT', token, body: {} })).status)
      expect([200, 400, 404]).toContain((await request(url + saved, { method: 'DELETE', token })).status)
    }),
    { ...known, numRuns: 40 },
  )
})
