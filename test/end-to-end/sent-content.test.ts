import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDemo, demoToken } from '../../src/app/process/demo.js'
import { canonicalJson, type Json } from '../../src/domain/evidence/canonical-json.js'
import { findFaults } from '../../src/evidence/notification-faults.js'
import { listSentContent, readSentContent, readSentMessage } from '../../src/store/evidence/sent-content.js'
import { readEventLog } from '../../src/store/notification/event-log.js'
import { isSigned } from '../channels/email/dkim/verifier.js'
import { testKeys } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'

/** One send over all five channels: what is kept of each is what its carrier got, and what the sender gets of it hides the link. */
let stack: Stack
let notification: string
const folder = mkdtempSync(join(tmpdir(), 'carteiro-sent-'))
const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
const files = [
  { name: 'contrato nº 1.pdf', bytes: randomBytes(70_000) },
  { name: 'anexo.txt', bytes: Buffer.from('um texto curto') },
]

beforeAll(async () => {
  const keyFile = join(folder, 'dkim.pem')
  writeFileSync(keyFile, key)
  stack = await startStack(undefined, { DKIM_DOMAIN: 'gateway.example.net', DKIM_KEY_FILE: keyFile })
  const { pool } = stack.database
  await createDemo(pool)
  const token = (await demoToken(pool, testKeys))!
  const payload = { nome: 'Maria', contrato: '4711', vencimento: '10/08/2026' }
  const address = {
    logradouro: 'Rua das Flores',
    numero: '100',
    bairro: 'Centro',
    cidade: 'São Paulo',
    uf: 'SP',
    cep: '01000-001',
  }
  const { status, body } = await send(stack.gateway.url, token, {
    ...validSend,
    to: 'maria@simulador.test',
    attachments: files.map(({ name, bytes }) => ({ name, base64: bytes.toString('base64') })),
    sms: { number: '11900000001', typeSend: '2', customMessage: 'Há uma notificação: {SHORT_LINK}' },
    whatsapp: { number: '11900000001', variables: { template: 'notificacao_contrato', ...payload } },
    voz: { number: '11900000001', template: 'ligacao-lembrete', payload },
    carta: { template: 'notificacao-extrajudicial', modelo: 'registrada', variables: { ...payload, ...address } },
  })
  expect(status).toBe(200)
  notification = (body as { idEmail: string }).idEmail
})

afterAll(async () => {
  await stack.close()
  rmSync(folder, { recursive: true })
})

const digest = (...parts: (string | Uint8Array)[]): string =>
  parts.reduce((sum, part) => sum.update(part), createHash('sha256')).digest('hex')

/** The simulated carrier's message of a channel. */
async function received(channel: string): Promise<{ detail: Record<string, Json>; file(path: string): Promise<Buffer> }> {
  const messages = `${stack.simulator.url}/simulator/messages`
  const found = (await request(`${messages}?notification=${notification}`)).body as { id: string; channel: string }[]
  const { id } = found.find(message => message.channel === channel)!
  return {
    detail: (await request(`${messages}/${id}`)).body as Record<string, Json>,
    file: async path => Buffer.from(await (await fetch(`${messages}/${id}/${path}`)).arrayBuffer()),
  }
}

/** The message, the sender's copy of it and what the chain says of both. */
async function kept(channel: string) {
  const { pool } = stack.database
  const find = async () => (await listSentContent(pool, notification)).filter(content => content.channel === channel)
  await expect.poll(find, { timeout: 120_000 }).toHaveLength(1)
  const [listed] = await find()
  const message = (await readSentMessage(pool, notification, channel, 1))!
  const copy = (await readSentContent(pool, notification, channel, 1))!
  const { rows } = await pool.query('select type, data from event where notification_id = $1 and seq = $2', [
    notification,
    listed!.seq,
  ])
  const content = rows[0].data.content as Record<string, Json>
  expect([digest(copy), copy.length]).toEqual([content.sha256, content.size])
  expect(listed).toMatchObject({ sha256: content.sha256, size: content.size, contentType: content.type })
  return { ...message, copy, content, data: rows[0].data as Record<string, Json> }
}

/** Where the two differ: [position, length] of each run. */
function runsOf(bytes: Buffer, copy: Buffer): [number, number][] {
  const runs: [number, number][] = []
  for (const [at, byte] of bytes.entries()) {
    if (byte === copy[at]) continue
    const last = runs.at(-1)
    if (last !== undefined && last[0] + last[1] === at) last[1]++
    else runs.push([at, 1])
  }
  return runs
}

/** As docs/evidence.md says: the copy differs from the message in stars alone, and the commitment is to the bytes under them. */
function provesOnlyHidden({ bytes, copy, salt, content }: Awaited<ReturnType<typeof kept>>): string {
  expect(copy.length).toBe(bytes.length)
  const hidden = [...bytes].filter((byte, at) => byte !== copy[at])
  expect([...copy].filter((byte, at) => byte !== bytes[at]).every(byte => byte === 0x2a)).toBe(true)
  expect(content.hidden).toBe(hidden.length)
  expect(content.secret).toBe(digest(salt!, Buffer.from(JSON.stringify(runsOf(bytes, copy))), Uint8Array.from(hidden)))
  return Buffer.from(hidden).toString()
}

test('the e-mail: the bytes that the server got, with a signature that holds, and files that are not stored again', async () => {
  const email = await kept('email')
  const { file } = await received('email')
  expect(email.bytes.equals(await file('raw'))).toBe(true)
  expect(isSigned(email.bytes, key)).toBe(true)
  expect([email.contentType, email.extension]).toEqual(['message/rfc822', 'eml'])
  const { rows } = await stack.database.pool.query("select octet_length(bytes) as size from sent_content where channel = 'email'")
  expect(rows[0].size).toBeLessThan(10_000)
  const link = await stack.linkFor('maria@simulador.test')
  const code = link.slice(link.lastIndexOf('/') + 1)
  expect(provesOnlyHidden(email)).toContain(code)
  const copy = email.copy.toString('latin1').replaceAll('=\r\n', '')
  expect(copy).toContain(`/n/${'*'.repeat(code.length)}`)
  // Nor the addresses at which somebody could answer, or confirm the reading, in the recipient's name.
  for (const secret of [code, ...email.bytes.toString('latin1').match(/(?<=[br]\+[0-9a-f]{32}\.)[0-9a-f]{16}/g)!])
    expect(copy).not.toContain(secret)
  expect(copy).toMatch(/^Reply-To: \S+\s+<b\+[0-9a-f]{32}\.\*{16}@/m)
  expect(copy).toMatch(/^Disposition-Notification-To: <r\+[0-9a-f]{32}\.\*{16}@/m)
  expect(email.data).toMatchObject({
    smtp: {
      server: expect.any(String),
      tls: null,
      steps: expect.arrayContaining([expect.objectContaining({ command: 'DATA' })]),
    },
  })
})

test('the SMS: the text that the recipient reads', async () => {
  const sms = await kept('sms')
  const { detail } = await received('sms')
  expect(sms.bytes.toString()).toBe(detail.text)
  const code = /\/s\/(\w+)/.exec(detail.text as string)![1]!
  expect(provesOnlyHidden(sms)).toBe(code)
  expect(sms.copy.toString()).toMatch(/\/s\/\*{10}$/)
  expect(sms.data).toMatchObject({ segments: 1, encoding: expect.any(String) })
})

test('the WhatsApp message: the body of the request; the sender’s copy hides the code of the button', async () => {
  const whatsapp = await kept('whatsapp')
  expect(whatsapp.bytes.equals(await (await received('whatsapp')).file('raw'))).toBe(true)
  const code = provesOnlyHidden(whatsapp)
  expect(code).toMatch(/^\w{10}$/)
  expect(whatsapp.bytes.toString()).toContain(`"text":"${code}"`)
  expect(whatsapp.copy.toString()).toContain(`"text":"${'*'.repeat(10)}"`)
})

test('the call: what was said', async () => {
  const { bytes, copy, content } = await kept('voice')
  const texts = bytes
    .toString()
    .trim()
    .split(/\n\s*\n/)
  // The message is kept when the carrier takes the call; the words are said after the answer.
  const said = async (): Promise<string> => JSON.stringify((await received('voice')).detail.said)
  for (const words of ['4711', ...texts]) await expect.poll(said).toContain(JSON.stringify(words).slice(1, -1))
  expect([copy.equals(bytes), content.hidden]).toEqual([true, undefined])
})

test('the letter: the PDF that was printed; the sender’s copy is the sheet, without the code of the link', async () => {
  const { bytes, copy, content, contentType } = await kept('letter')
  const printed = await (await received('letter')).file('carta.pdf')
  expect(bytes.equals(printed)).toBe(true)
  expect(contentType).toBe('application/pdf')
  expect(content.message).toEqual({ type: 'application/pdf', size: printed.length, sha256: digest(printed) })
  const sheet = JSON.parse(copy.toString()) as Json
  expect(canonicalJson(sheet)).toBe(copy.toString())
  expect(copy.toString()).toContain('4711')
  expect(copy.toString()).not.toMatch(/\/[ns]\//)
})

test('the chain is whole, commits to the files and the request, and no answer to the sender has a link', async () => {
  const { pool } = stack.database
  for await (const page of readEventLog(pool)) expect(page.flatMap(findFaults)).toEqual([])
  const { rows } = await pool.query('select data from event where notification_id = $1 order by seq', [notification])
  expect(rows[0].data).toMatchObject({
    subject: validSend.subject,
    contentSha256: digest(validSend.content),
    attachments: files.map(({ name, bytes }) => ({ name, size: bytes.length, sha256: digest(bytes) })),
  })
  expect(JSON.stringify(rows)).not.toMatch(/\/[nos]\/[\w-]{6}/)
})
