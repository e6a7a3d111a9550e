import { describe, expect, test } from 'vitest'
import { openLog } from '../../src/app/log.js'
import { deriveKeys } from '../../src/domain/access/keys.js'
import { signToken } from '../../src/domain/access/token.js'
import { brazilianDate } from '../../src/domain/text/dates.js'
import { revokeToken } from '../../src/store/accounts/tokens.js'
import { gatewayForFile, issueToken, testKeys } from '../support/gateway/gateway.js'
import { errorBody, request, send, validSend } from '../support/gateway/requests.js'
import { rawRequest } from '../support/raw-http.js'

const lines: string[] = []

const { database, gateway, account } = await gatewayForFile({
  parts: { log: openLog('trace', 'api', { write: line => lines.push(line) }) },
})

interface Refused {
  hint: string | null
  reason: unknown
}

/** Section 7: the body is fixed. The hint is beside it, and the log has the reason and not the token. */
async function refuse(token: string): Promise<Refused> {
  lines.length = 0
  const { status, body, headers } = await send(gateway.url, token, validSend)
  expect([status, body]).toEqual([401, errorBody(401, 'Unauthorized', 'Unauthorized')])
  await expect.poll(() => lines.length).toBeGreaterThan(0)
  for (const part of token.split(/[ .]/)) if (part.length > 20) expect(lines.join('')).not.toContain(part)
  const hint = headers.get('www-authenticate')
  expect(hint).toMatch(/^JWT realm="carteiro", error_description="[\x20-\x21\x23-\x5b\x5d-\x7e]+"$/)
  return { hint, reason: JSON.parse(lines.at(-1)!).reason }
}

describe('5.6 a 401 says what is wrong, in WWW-Authenticate and in the log', () => {
  test('5.2 the prefix Bearer is named', async () => {
    for (const prefix of ['Bearer ', 'bearer ', 'Token ']) {
      const { hint, reason } = await refuse(`${prefix}${account.token}`)
      expect(hint).toContain('sem o prefixo Bearer')
      expect(reason).toBe('prefixo Bearer')
    }
  })

  test('an expired token is told when it ended', async () => {
    const expiresAt = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 60_000)
    const { token } = await issueToken(database.pool, account.id, { expiresAt })
    const { hint, reason } = await refuse(token)
    expect(hint).toContain(`token expirado em ${brazilianDate(expiresAt)} (Brasilia)`)
    expect(reason).toBe(`token expirado em ${brazilianDate(expiresAt)}`)
  })

  test('what is no token is named as such, and nothing of it is repeated', async () => {
    for (const text of ['oi', 'a.b', '"><script>', `${account.token} x`, account.token.repeat(15)]) {
      const { hint, reason } = await refuse(text)
      expect(hint).toContain('nao e um token')
      expect(reason).toBe('não é um token')
    }
  })

  test('a revoked token, one of another installation and one that was never issued read the same; the log tells them apart', async () => {
    const claims = { jti: account.jti, account: account.id, mode: 'live' as const, issuedAt: new Date(), expiresAt: null }
    const foreign = await signToken(deriveKeys(Buffer.alloc(32, 9)).tokenSigning, claims)
    const { token: revoked, jti } = await issueToken(database.pool, account.id)
    await revokeToken(database.pool, jti)
    await expect.poll(async () => (await send(gateway.url, revoked, validSend)).status).toBe(401)
    const unknown = await signToken(testKeys.tokenSigning, { ...claims, jti: '019a0000-0000-7000-8000-000000000001' })
    const answers = [await refuse(foreign), await refuse(revoked), await refuse(unknown)]
    expect(new Set(answers.map(({ hint }) => hint)).size).toBe(1)
    expect(answers.map(({ reason }) => reason)).toEqual([
      'assinatura de outra instalação, ou inválida',
      'revogado ou apagado',
      'revogado ou apagado',
    ])
  })

  test('a forged token with an end in the past does not learn that it has ended', async () => {
    const claims = {
      jti: account.jti,
      account: account.id,
      mode: 'live' as const,
      issuedAt: new Date(0),
      expiresAt: new Date(1_000),
    }
    const { hint } = await refuse(await signToken(deriveKeys(Buffer.alloc(32, 9)).tokenSigning, claims))
    expect(hint).not.toContain('expirado')
  })

  test('a missing header and a repeated one are named', async () => {
    const missing = await request(`${gateway.url}/gw/email`, { method: 'POST', body: validSend })
    expect(missing.headers.get('www-authenticate')).toContain('falta o token no cabecalho Authorization')
    const repeated = await rawRequest(gateway.url, [
      'GET /gw/webhooks HTTP/1.1',
      `Authorization: ${account.token}`,
      `Authorization: ${account.token}`,
    ])
    expect(repeated.status).toBe(401)
    expect(repeated.headers.get('www-authenticate')).toContain('veio mais de uma vez')
  })

  test('an accepted request has no such header', async () => {
    expect((await send(gateway.url, account.token, validSend)).headers.get('www-authenticate')).toBe(null)
  })
})

describe('2.1 members that nothing reads are accepted and named in X-Carteiro-Aviso', () => {
  const warned = async (body: unknown): Promise<string | null> => {
    const answer = await send(gateway.url, account.token, body)
    expect([answer.status, answer.body]).toEqual([200, { idEmail: expect.any(String) }])
    return answer.headers.get('x-carteiro-aviso')
  }

  test('a body of known members has no warning, whatever is in its free objects', async () => {
    expect(await warned(validSend)).toBe(null)
    const whatsapp = { number: '11987654321', variables: { template: 'x', qualquer: '1' } }
    expect(await warned({ ...validSend, whatsapp })).toBe(null)
  })

  test('a misspelt member is named with its path, in channels and in lists too', async () => {
    expect(await warned({ ...validSend, assunto: 'x' })).toBe('membro desconhecido: assunto')
    const sms = { number: '11987654321', mensagem: 'Oi' }
    const attachments = [{ name: 'a.txt', base64: 'YQ==', tipo: 'text/plain' }]
    expect(await warned({ ...validSend, sms, attachments })).toBe('membros desconhecidos: sms.mensagem, attachments[0].tipo')
  })

  test('a large body, which a thread reads, is told the same', async () => {
    expect(await warned({ ...validSend, content: `<p>${'x'.repeat(300_000)}</p>`, outro: 1 })).toBe('membro desconhecido: outro')
  })

  test('the header is bounded and no name can break out of it', async () => {
    const hostile = {
      'a\r\nSet-Cookie: x=1': 1,
      'sauda\u00e7\u00e3o, b': 1,
      ['y'.repeat(5_000)]: 1,
      ['\u{1f4e8}'.repeat(500)]: 1,
    }
    const answer = await send(gateway.url, account.token, { ...validSend, ...hostile })
    expect(answer.headers.get('set-cookie')).toBe(null)
    const names = answer.headers.get('x-carteiro-aviso')!.replace('membros desconhecidos: ', '').split(', ')
    expect(names.slice(0, 2)).toEqual(['a%0D%0ASet-Cookie%3A%20x%3D1', 'sauda%C3%A7%C3%A3o%2C%20b'])
    for (const name of names) expect(name).toMatch(/^[\x21-\x7e]{1,123}$/)
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`m${n}`, n]))
    expect(await warned({ ...validSend, ...many })).toMatch(/^membros desconhecidos: m0, m1, .*m9, e mais 490$/)
  })

  test('the other operations with a body warn too', async () => {
    const created = await request(`${gateway.url}/gw/webhooks`, {
      method: 'POST',
      token: account.token,
      body: { url: 'https://example.com/x', eventos: ['lido'] },
    })
    expect([created.status, created.headers.get('x-carteiro-aviso')]).toEqual([201, 'membro desconhecido: eventos'])
    const sequence = await request(`${gateway.url}/gw/sequence`, {
      method: 'PUT',
      token: account.token,
      body: { etapas: [{ canal: 'email', esperaMinutos: 0, condicao: 'sempre', espera: 1 }] },
    })
    expect([sequence.status, sequence.headers.get('x-carteiro-aviso')]).toEqual([200, 'membro desconhecido: etapas[0].espera'])
  })

  test('the OpenAPI document tells of both headers', async () => {
    const { body } = await request(`${gateway.url}/openapi.json`)
    const { paths } = body as { paths: Record<string, Record<string, { responses: Record<string, { headers?: object }> }>> }
    const { responses } = paths['/gw/email']!.post!
    expect(responses['200']!.headers).toHaveProperty('X-Carteiro-Aviso')
    expect(responses['401']!.headers).toHaveProperty('WWW-Authenticate')
    expect(paths['/gw/email/{idEmail}']!.get!.responses['200']!.headers).toBe(undefined)
  })
})
