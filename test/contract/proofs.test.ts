import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { makeVerificationCode, VERIFICATION_KEY } from '../../src/domain/evidence/verification-code.js'
import { makeLinkCode } from '../../src/domain/recipient/link.js'
import { createAccount, gatewayForFile, gatewayForTest, testKeys } from '../support/gateway/gateway.js'
import { errorBody, request, send, validSend } from '../support/gateway/requests.js'
import { happen } from '../support/gateway/webhooks.js'
import { conformingRequests } from '../support/openapi.js'
import { needPrograms } from '../support/programs/needed-programs.js'

/** The documents over HTTP. What they say is tested in test/evidence/documents. */
const { database, gateway, account } = await gatewayForFile({
  account: { settings: { 'sender.legalName': 'Acme Cobranças S.A.', 'sender.document': '11222333000181' } },
})
const ask = conformingRequests(gateway, { token: account.token })
const folder = mkdtempSync(join(tmpdir(), 'carteiro-proofs-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function accept(token = account.token, body: object = {}): Promise<string> {
  const answer = await send(gateway.url, token, { ...validSend, ...body })
  expect(answer.status).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}
const smtp = 'smtp:mail.example/1'
const sent = (id: string) => happen(database.pool, id, 'email', 'sent', { carrier: smtp, attempt: 1, answer: '250 2.0.0 Ok' })

async function proofOf(id: string, token = account.token): Promise<Buffer> {
  const { body, status } = await request(`${gateway.url}/gw/sending-proof/${id}`, { token })
  expect([status, Object.keys(body as object)]).toEqual([200, ['content']])
  return Buffer.from((body as { content: string }).content, 'base64')
}
async function reportOf(id: string, token = account.token): Promise<Buffer> {
  const answer = await fetch(`${gateway.url}/gw/email/laudo/${id}`, { headers: { authorization: token } })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/pdf'])
  return Buffer.from(await answer.arrayBuffer())
}
function fileOf(pdf: Buffer): string {
  const file = join(folder, `${Math.random()}.pdf`)
  writeFileSync(file, pdf)
  return file
}
const textOf = (pdf: Buffer): string => execFileSync('pdftotext', ['-layout', fileOf(pdf), '-'], { encoding: 'utf8' })

needPrograms('pdftotext', 'pdfdetach', 'pdfsig', 'qpdf')

describe('GET /gw/sending-proof', () => {
  test('4 says why there is none before a channel was sent, and is the PDF in base64 as soon as one was', async () => {
    const id = await accept()
    expect((await ask(`/gw/sending-proof/${id}`)).body).toEqual({
      message: expect.stringMatching(/^Ainda não há o que comprovar/),
    })
    await sent(id)
    expect((await ask(`/gw/sending-proof/${id}`)).status).toBe(200)
    const pdf = await proofOf(id)
    expect(pdf.subarray(0, 5).toString()).toBe('%PDF-')
    const text = textOf(pdf)
    for (const words of [id, 'Enviado', 'Acme Cobranças S.A.', '11.222.333/0001-81', validSend.to]) expect(text).toContain(words)
  })

  test('4 the same facts are the same bytes', async () => {
    const id = await accept()
    await sent(id)
    const [first, second] = await Promise.all([proofOf(id), proofOf(id)])
    expect(second.equals(first)).toBe(true)
    await happen(database.pool, id, 'email', 'delivered', { carrier: smtp, answer: '250' })
    expect((await proofOf(id)).equals(first)).toBe(false)
  })
})

describe('GET /gw/email/laudo', () => {
  test('4 is 404 while nothing but the acceptance happened, then the PDF itself with the file of evidence inside', async () => {
    const id = await accept()
    expect((await ask(`/gw/email/laudo/${id}`)).body).toEqual(errorBody(404, 'Registro não encontrado', 'Not Found'))
    await sent(id)
    expect((await ask(`/gw/email/laudo/${id}`)).status).toBe(200)
    const pdf = await reportOf(id)
    expect(textOf(pdf)).toContain('250 2.0.0 Ok')
    expect(execFileSync('pdfdetach', ['-list', fileOf(pdf)], { encoding: 'utf8' })).toContain('evidencia.zip')
  })

  test('4 exists for a notification that failed on every channel without having been sent', async () => {
    const id = await accept()
    await happen(database.pool, id, 'email', 'failed', {
      failure: 'rejected',
      failureDetail: 'A mensagem foi recusada.',
      answer: '554 no',
    })
    expect((await ask(`/gw/sending-proof/${id}`)).body).toEqual({ message: expect.stringMatching(/^Não há envio a comprovar/) })
    expect(textOf(await reportOf(id))).toContain('A mensagem foi recusada.')
  })
})

test('4 both are signed over their whole length: pdfsig accepts them, and one changed byte is found', async () => {
  const id = await accept()
  await sent(id)
  for (const pdf of [await proofOf(id), await reportOf(id)]) {
    const check = (bytes: Buffer): string => spawnSync('pdfsig', ['-nocert', fileOf(bytes)], { encoding: 'utf8' }).stdout
    expect(check(pdf)).toContain('Signature is Valid')
    expect(check(pdf)).toContain('Total document signed')
    const changed = Buffer.from(pdf)
    const at = pdf.indexOf('stream') + 40
    changed[at] = changed[at]! ^ 1
    expect(check(changed)).not.toContain('Signature is Valid')
    expect(execFileSync('qpdf', ['--check', fileOf(pdf)], { encoding: 'utf8' })).toContain('No syntax or stream encoding errors')
  }
})

test('4 neither has the recipient’s link, and both have the code of the public page, which knows the notification', async () => {
  const id = await accept()
  const link = makeLinkCode(testKeys.link, id, 0)
  await sent(id)
  await happen(database.pool, id, 'email', 'answered', { answer: `vi em ${gateway.url}/n/${link}`, answerId: '1' })
  const code = makeVerificationCode(testKeys.derive(VERIFICATION_KEY), id)
  for (const pdf of [await proofOf(id), await reportOf(id)]) {
    const text = textOf(pdf).replaceAll(/[\s\u200b]/g, '')
    expect(text).toContain(`/verificar/${code}`)
    expect(text).not.toContain(link.slice(-16))
  }
  expect((await fetch(`${gateway.url}/verificar/${code}`)).status).toBe(200)
})

test('4 what test tokens send says SIMULADO, and is no business of a live token', async () => {
  const tester = await createAccount(database.pool, { mode: 'test' })
  // Test tokens need a gateway that has the simulator.
  const other = await gatewayForTest(database.pool, { SIMULATOR: 'on' })
  const answer = await send(other.url, tester.token, validSend)
  const { idEmail: id } = answer.body as { idEmail: string }
  await sent(id)
  expect(textOf(await reportOf(id, tester.token))).toContain('SIMULADO')
  expect(textOf(await proofOf(id, tester.token))).toContain('SIMULADO')
  for (const path of ['sending-proof', 'email/laudo']) expect((await ask(`/gw/${path}/${id}`)).status).toBe(404)
})

describe('members of evidence', () => {
  test('4 the timeline says whose word each event is, and its hash', async () => {
    const id = await accept()
    await sent(id)
    await happen(database.pool, id, 'email', 'read', { by: 'open', address: '198.51.100.1', signals: [] })
    const { data } = (await ask(`/gw/events/${id}`)).body as { data: { prova: object; hash: string; detalhes: object }[] }
    expect(data.map(({ prova }) => prova)).toEqual([
      { grau: 'sistema', descricao: 'Registro próprio' },
      { grau: 'sistema', descricao: 'Registro próprio' },
      { grau: 'sistema', descricao: 'Registro próprio' },
    ])
    const { rows } = await database.pool.query(
      "select encode(hash, 'hex') as hash from event where notification_id = $1 order by seq",
      [id],
    )
    expect(data.map(({ hash }) => hash)).toEqual(rows.map(({ hash }) => hash))
  })

  test('4 full tells the facts of each channel with their grade, and the head of the chain', async () => {
    const id = await accept()
    await sent(id)
    const { evidencias } = (await ask(`/gw/full/${id}`)).body as {
      evidencias: { eventos: number; ultimoHash: string; fatos: object[] }
    }
    expect(evidencias).toMatchObject({
      eventos: 2,
      ultimoHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      fatos: [{ seq: 2, canal: 'email', label: 'Enviado', prova: { grau: 'sistema' } }],
    })
  })
})
