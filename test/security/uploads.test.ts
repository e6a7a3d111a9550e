import { connect } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'

/** Uploads that never end, against a whole gateway. */
let database: TestDatabase
let gateway: Gateway
let hostile: TestAccount
let honest: TestAccount

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool, { SIMULATOR: 'on', SIMULATOR_URL: 'http://127.0.0.1:9' })
  hostile = await createAccount(database.pool)
  honest = await createAccount(database.pool)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const MEBIBYTE = 1_048_576

/** Writes what it is given, and then nothing more. The answer is what has come back so far. */
function stall(head: string, body: Uint8Array): { answer(): string } {
  const { port } = new URL(gateway.url)
  const socket = connect(Number(port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  let text = ''
  socket.on('error', () => {})
  socket.on('data', chunk => {
    text += chunk.toString('latin1')
  })
  socket.write(head)
  socket.write(body)
  return { answer: () => text }
}

test('645 requests that declare a small body and send a byte of it keep nobody from sending', async () => {
  const head = `POST /gw/email HTTP/1.1\r\nhost: x\r\nauthorization: ${hostile.token}\r\ncontent-type: application/json\r\ncontent-length: 262144\r\n\r\n`
  for (let n = 0; n < 645; n++) stall(head, Buffer.from('{'))
  // The gateway has got them all once it has answered the last one of those that it can answer.
  const probe = stall(head.replace('262144', '1'), Buffer.from('{'))
  await expect.poll(probe.answer, { timeout: 30_000 }).toMatch(/^HTTP\/1\.1 400 /)
  const large = { ...validSend, attachments: [{ name: 'a.bin', base64: Buffer.alloc(MEBIBYTE).toString('base64') }] }
  for (const body of [validSend, large])
    for (const { token } of [honest, hostile]) expect((await send(gateway.url, token, body)).status).toBe(200)
})

test('150 callbacks that stall before their last byte hold a few bodies, not all of them', async () => {
  const size = 4 * MEBIBYTE
  const head = `POST /callbacks/simulator/twilio HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: ${size}\r\n\r\n`
  const body = Buffer.alloc(size - 1, 'x')
  const before = process.memoryUsage().arrayBuffers
  const callers = Array.from({ length: 150 }, () => stall(head, body))
  // 32 callers of one address wait for room and a few hold their bodies; the others are refused.
  await expect
    .poll(() => callers.filter(({ answer }) => answer().startsWith('HTTP/1.1 503 ')).length, { timeout: 30_000 })
    .toBeGreaterThan(70)
  const grown = process.memoryUsage().arrayBuffers - before
  // Dropped bytes that are not collected yet count too. All the bodies together are 600 MiB.
  expect(grown / MEBIBYTE).toBeLessThan(120)
  // Accounts do not share with strangers.
  expect((await send(gateway.url, honest.token, validSend)).status).toBe(200)
})

test('a template that takes for ever holds up no other request', async () => {
  const conteudo = '{% assign none = (1..900000) | where_exp: "x", "x == 0 or x == 0 or x == 0" %}{{ none.size }}'
  const created = await request(`${gateway.url}/gw/templates`, {
    method: 'POST',
    token: hostile.token,
    body: { nome: 'sem fim', tipo: 'voz', conteudo },
  })
  const { id } = (created.body as { data: { id: string } }).data
  let ended = false
  const preview = request(`${gateway.url}/gw/templates/${id}/preview`, {
    method: 'POST',
    token: hostile.token,
    body: {},
  }).finally(() => {
    ended = true
  })
  for (let n = 0; n < 5; n++) expect((await send(gateway.url, honest.token, validSend)).status).toBe(200)
  expect(ended).toBe(false)
  expect(await preview).toMatchObject({ status: 400, body: { message: expect.stringContaining('demora ou cresce demais') } })
})
