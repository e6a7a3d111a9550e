import { createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MAX_TOKEN_BYTES, TOKEN_ISSUER } from '../../src/domain/access/token.js'
import { newId } from '../../src/domain/id.js'
import { revokeToken } from '../../src/store/accounts/tokens.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, issueToken, startGateway, type TestAccount, testKeys } from '../support/gateway/gateway.js'
import { errorBody, request, send, validSend } from '../support/gateway/requests.js'
import { rawRequest } from '../support/raw-http.js'

const UNAUTHORIZED = { statusCode: 401, message: 'Unauthorized', error: 'Unauthorized' }

let database: TestDatabase
let gateway: Gateway
let account: TestAccount
let stranger: TestAccount

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
  stranger = await createAccount(database.pool)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

type Members = Record<string, unknown>

const encode = (members: unknown): string => Buffer.from(JSON.stringify(members)).toString('base64url')
const now = (): number => Math.floor(Date.now() / 1000)

/** What a genuine token of the account claims; attacks change one thing at a time. */
const claims = (changes: Members = {}): Members => ({
  iss: TOKEN_ISSUER,
  sub: account.id,
  jti: account.jti,
  iat: now() - 10,
  mode: 'live',
  ...changes,
})

const eddsa = { alg: 'EdDSA', typ: 'JWT' }

function signed(header: Members, payload: Members, key: KeyObject = testKeys.tokenSigning): string {
  const input = `${encode(header)}.${encode(payload)}`
  return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`
}

function hmacSigned(header: Members, secret: string | Buffer, hash = 'sha256'): string {
  const input = `${encode(header)}.${encode(claims())}`
  return `${input}.${createHmac(hash, secret).update(input).digest('base64url')}`
}

const without = (name: string): Members => {
  const { [name]: _, ...rest } = claims()
  return rest
}

const own = generateKeyPairSync('ed25519')
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const publicJwk = testKeys.tokenVerifying.export({ format: 'jwk' })
const publicPem = testKeys.tokenVerifying.export({ type: 'spki', format: 'pem' }) as string
const publicDer = testKeys.tokenVerifying.export({ type: 'spki', format: 'der' })

/** Doors below which a token is asked for: a known route, a lookup, unknown ones, and the one outside /gw. */
const routes: [string, string][] = [
  ['POST', '/gw/email'],
  ['GET', `/gw/email/${randomUUID()}`],
  ['GET', '/gw/no-such-route'],
  ['DELETE', '/gw/email'],
  ['GET', '/gw'],
  ['PUT', `/regua-notificacao/no-such-route/${randomUUID()}`],
]

async function expectRefusal(token: string | undefined): Promise<void> {
  const refusals = routes.map(async ([method, path]) => {
    const body = method === 'POST' || method === 'PUT' ? { body: validSend } : {}
    const answer = await request(`${gateway.url}${path}`, { method, ...(token === undefined ? {} : { token }), ...body })
    expect(answer.body, `${method} ${path}`).toEqual(UNAUTHORIZED)
    expect(answer.status).toBe(401)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  })
  await Promise.all(refusals)
}

describe('controls: what the attacks below are made from', () => {
  test('5 a token made by hand from genuine claims is accepted, so that each attack fails for its own reason alone', async () => {
    const { status } = await send(gateway.url, signed(eddsa, claims()), validSend)
    expect(status).toBe(200)
  })

  test('5 with a valid token the doors open: unknown routes are 404', async () => {
    for (const [method, path] of routes.slice(2)) {
      const { status } = await request(`${gateway.url}${path}`, { method, token: account.token })
      expect(status, `${method} ${path}`).toBe(404)
    }
  })

  test('5.2 white space around a header value is no part of it (RFC 9110, 5.5)', async () => {
    const { status } = await rawRequest(gateway.url, ['GET /gw/no-such-route HTTP/1.1', `Authorization:  \t${account.token} \t`])
    expect(status).toBe(404)
  })

  test('5.2 the name of the header counts in any case', async () => {
    const { status } = await rawRequest(gateway.url, ['GET /gw/no-such-route HTTP/1.1', `aUTHORIZATION: ${account.token}`])
    expect(status).toBe(404)
  })
})

describe('5.6 each of these tokens is answered 401 with the body of section 7, on known and unknown routes', () => {
  test('none at all', () => expectRefusal(undefined))

  for (const alg of ['none', 'nOnE', 'None', 'NONE', '']) {
    test(`alg "${alg}" without a signature, with an empty one, and with a borrowed one`, async () => {
      const input = `${encode({ alg, typ: 'JWT' })}.${encode(claims())}`
      await expectRefusal(`${input}.`)
      await expectRefusal(input)
      await expectRefusal(`${input}.${account.token.split('.')[2]}`)
    })
  }

  const secrets: Record<string, string | Buffer> = {
    'PEM text': publicPem,
    'PEM text without its last line break': publicPem.trimEnd(),
    'DER bytes': publicDer,
    'DER in base64': publicDer.toString('base64'),
    'raw 32 bytes': Buffer.from(publicJwk.x!, 'base64url'),
    'raw bytes in base64url': publicJwk.x!,
    'raw bytes in hexadecimal': Buffer.from(publicJwk.x!, 'base64url').toString('hex'),
    'JWK text': JSON.stringify(publicJwk),
    nothing: '',
  }
  for (const [form, secret] of Object.entries(secrets)) {
    test(`HMAC with the public key as secret: ${form}`, async () => {
      await expectRefusal(hmacSigned({ alg: 'HS256', typ: 'JWT' }, secret))
      await expectRefusal(hmacSigned({ alg: 'HS512', typ: 'JWT' }, secret, 'sha512'))
      await expectRefusal(hmacSigned(eddsa, secret))
    })
  }

  for (const kid of ['../../../../../../dev/null', 'file:///dev/null', "' union select '' -- ", '\0', 'http://127.0.0.1/key']) {
    test(`kid ${JSON.stringify(kid)}`, async () => {
      await expectRefusal(hmacSigned({ alg: 'HS256', kid }, ''))
      await expectRefusal(signed({ ...eddsa, kid }, claims(), own.privateKey))
    })
  }

  test('a key that the token itself brings along: jwk, x5c, and a key of another kind', async () => {
    const jwk = own.publicKey.export({ format: 'jwk' })
    const x5c = [own.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')]
    await expectRefusal(signed(eddsa, claims(), own.privateKey))
    await expectRefusal(signed({ ...eddsa, jwk }, claims(), own.privateKey))
    await expectRefusal(signed({ ...eddsa, jwk: { ...jwk, kid: 'carteiro' }, kid: 'carteiro' }, claims(), own.privateKey))
    await expectRefusal(signed({ ...eddsa, x5c }, claims(), own.privateKey))
  })

  test('a key at an address (jku, x5u), which is never asked for', async () => {
    let asked = 0
    const keys = createServer((_request, response) => {
      asked++
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ keys: [own.publicKey.export({ format: 'jwk' })] }))
    })
    await new Promise<void>(resolve => keys.listen(0, '127.0.0.1', resolve))
    try {
      const address = `http://127.0.0.1:${(keys.address() as AddressInfo).port}/keys`
      await expectRefusal(signed({ ...eddsa, jku: address }, claims(), own.privateKey))
      await expectRefusal(signed({ ...eddsa, x5u: address }, claims(), own.privateKey))
    } finally {
      await new Promise(resolve => keys.close(resolve))
    }
    expect(asked).toBe(0)
  })

  test('other algorithms, signed by keys of their own kind', async () => {
    const asymmetric = (alg: string, key: KeyObject): string => {
      const input = `${encode({ alg })}.${encode(claims())}`
      return `${input}.${sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
    }
    await expectRefusal(asymmetric('RS256', rsa.privateKey))
    await expectRefusal(asymmetric('ES256', elliptic.privateKey))
    await expectRefusal(signed({ alg: 'Ed25519' }, claims()))
  })

  test('a genuine signature over other content: changed claims, changed header, borrowed signature, cut short', async () => {
    const [header, , signature] = account.token.split('.') as [string, string, string]
    await expectRefusal(`${header}.${encode(claims({ sub: stranger.id, jti: stranger.jti }))}.${signature}`)
    await expectRefusal(`${encode({ ...eddsa, kid: 'x' })}.${account.token.split('.')[1]}.${signature}`)
    await expectRefusal(`${stranger.token.split('.').slice(0, 2).join('.')}.${signature}`)
    await expectRefusal(account.token.slice(0, -2))
    await expectRefusal(account.token.slice(0, account.token.lastIndexOf('.') + 1))
  })

  test('header parameters that must be understood and are not (crit, b64)', async () => {
    await expectRefusal(signed({ ...eddsa, crit: ['exp2'], exp2: 1 }, claims()))
    await expectRefusal(signed({ ...eddsa, crit: ['b64'], b64: false }, claims()))
  })

  test('expired, by a second and by years', async () => {
    for (const age of [1, 100_000_000]) {
      await expectRefusal(signed(eddsa, claims({ exp: now() - age })))
    }
  })

  test('expired by the records, though the token itself names no end', async () => {
    const { jti } = await issueToken(database.pool, account.id, { expiresAt: new Date(Date.now() - 1_000) })
    await expectRefusal(signed(eddsa, claims({ jti })))
  })

  test('not yet valid (nbf)', () => expectRefusal(signed(eddsa, claims({ nbf: now() + 3_600 }))))

  test('times that are no numbers', async () => {
    await expectRefusal(signed(eddsa, claims({ exp: '9999999999' })))
    await expectRefusal(signed(eddsa, claims({ nbf: 'never' })))
    await expectRefusal(signed(eddsa, claims({ iat: 'yesterday' })))
  })

  for (const iss of ['', 'Carteiro', 'carteiro ', 'https://example.com', null, ['carteiro']]) {
    test(`issuer ${JSON.stringify(iss)}`, () => expectRefusal(signed(eddsa, claims({ iss }))))
  }

  for (const name of ['iss', 'sub', 'jti', 'iat', 'mode']) {
    test(`claim ${name} missing`, () => expectRefusal(signed(eddsa, without(name))))
  }

  test('claims of the wrong form: mode, jti, sub', async () => {
    for (const mode of ['admin', 'LIVE', '', true, ['live']]) await expectRefusal(signed(eddsa, claims({ mode })))
    for (const jti of ['', 'x', "' or true --", `${account.jti}\0`, [account.jti], { toString: 1 }, 7]) {
      await expectRefusal(signed(eddsa, claims({ jti })))
    }
    for (const sub of ['', 'x', "' or true --", [account.id], 7]) await expectRefusal(signed(eddsa, claims({ sub })))
  })

  test('a payload that is no object', async () => {
    for (const payload of [[], 'text', 1, null]) {
      const input = `${encode(eddsa)}.${encode(payload)}`
      await expectRefusal(`${input}.${sign(null, Buffer.from(input), testKeys.tokenSigning).toString('base64url')}`)
    }
  })

  test('revoked before its first use', async () => {
    const { token, jti } = await issueToken(database.pool, account.id)
    await revokeToken(database.pool, jti)
    await expectRefusal(token)
  })

  test('a genuine signature over a jti that was never issued', () =>
    expectRefusal(signed(eddsa, claims({ jti: newId(Date.now()) }))))

  test("a genuine signature over another account than its jti's", () =>
    expectRefusal(signed(eddsa, claims({ sub: stranger.id }))))

  test('an unknown account', () => expectRefusal(signed(eddsa, claims({ sub: randomUUID() }))))
})

describe('5.2 the token stands alone in the header', () => {
  for (const prefix of ['Bearer ', 'bearer ', 'BEARER ', 'Bearer', 'JWT ', 'Token ', 'Basic ', 'token=', '"', ',', '.', 'x ']) {
    test(`with ${JSON.stringify(prefix)} before it, it is 401`, () => expectRefusal(prefix + account.token))
  }

  for (const suffix of [' x', ',', ';', '.', '"', '=', '\u00a0', ' Bearer', '\t.']) {
    test(`with ${JSON.stringify(suffix)} after it, it is 401`, () => expectRefusal(account.token + suffix))
  }

  test('twice in one header it is 401', async () => {
    await expectRefusal(`${account.token} ${account.token}`)
    await expectRefusal(`${account.token}, ${account.token}`)
  })

  test('in two Authorization headers it is 401, whichever of them is genuine', async () => {
    for (const [first, second] of [
      [account.token, account.token],
      [account.token, 'x'],
      ['x', account.token],
      [account.token, stranger.token],
      [account.token, ''],
      ['', account.token],
    ]) {
      for (const path of ['/gw/email', '/gw/no-such-route']) {
        const answer = await rawRequest(gateway.url, [
          `GET ${path} HTTP/1.1`,
          `Authorization: ${first}`,
          `authorization: ${second}`,
        ])
        expect(answer.status).toBe(401)
        expect(answer.body).toEqual(UNAUTHORIZED)
      }
    }
  })

  test('in any other place it is 401: Proxy-Authorization, X-Access-Token, a cookie, the query', async () => {
    for (const name of ['proxy-authorization', 'x-access-token', 'x-authorization', 'token']) {
      const answer = await request(`${gateway.url}/gw/email/${randomUUID()}`, { headers: { [name]: account.token } })
      expect(answer.body, name).toEqual(UNAUTHORIZED)
    }
    const cookie = await request(`${gateway.url}/gw/no-such-route`, { headers: { cookie: `authorization=${account.token}` } })
    expect(cookie.body).toEqual(UNAUTHORIZED)
    const query = await request(`${gateway.url}/gw/no-such-route?authorization=${account.token}&token=${account.token}`)
    expect(query.body).toEqual(UNAUTHORIZED)
  })
})

describe('5 the size of a token', () => {
  /** A genuine token of nearly so many bytes, and no more. */
  const padded = (bytes: number): string => {
    for (let length = Math.ceil(bytes * 0.75); length > 0; length--) {
      const token = signed(eddsa, claims({ padding: 'x'.repeat(length) }))
      if (token.length <= bytes) return token
    }
    throw new Error('too small')
  }

  test('up to 4 KiB a genuine token is accepted', async () => {
    const token = padded(MAX_TOKEN_BYTES)
    expect(token.length).toBeGreaterThan(MAX_TOKEN_BYTES - 3)
    const { status } = await send(gateway.url, token, validSend)
    expect(status).toBe(200)
  })

  test('over 4 KiB it is 401, however genuine', async () => {
    await expectRefusal(padded(MAX_TOKEN_BYTES + 4))
    await expectRefusal(padded(12_000))
  })

  test('20 kB are too large for the headers: 431 in the shape of section 7', async () => {
    for (const path of ['/gw/email', '/gw/no-such-route']) {
      for (const token of ['x'.repeat(20_000), padded(20_000)]) {
        const answer = await rawRequest(gateway.url, [`GET ${path} HTTP/1.1`, `Authorization: ${token}`])
        expect(answer.status).toBe(431)
        expect(answer.body).toEqual(errorBody(431, expect.stringMatching(/cabeçalhos.*\.$/), 'Request Header Fields Too Large'))
        expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
        expect(answer.headers.get('x-request-id')).toMatch(/\S/)
      }
    }
  })
})

test('5.6 every method is refused alike below /gw, and so are paths written in other ways', async () => {
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']) {
    for (const path of ['/gw/email', '/gw/', '/gw//email', '/gw/../gw/email', '/gw/email/', '/gw/%2e%2e/healthz', '/gw?x=1']) {
      const { status } = await rawRequest(gateway.url, [`${method} ${path} HTTP/1.1`, 'Content-Length: 0'])
      expect(status, `${method} ${path}`).toBe(401)
    }
  }
})

test('5.6 a path below /gw that cannot be decoded asks for the token first', async () => {
  for (const path of ['/gw/email/%', '/gw/email/%zz', '/gw/%c3%28', '/regua-notificacao/finalizar/%']) {
    const { status, headers, body } = await rawRequest(gateway.url, [`GET ${path} HTTP/1.1`])
    expect(body, path).toEqual(UNAUTHORIZED)
    expect(status).toBe(401)
    expect(headers.get('x-request-id')).toMatch(/\S/)
    const known = await rawRequest(gateway.url, [`GET ${path} HTTP/1.1`, `Authorization: ${account.token}`])
    expect(known.status).toBe(400)
  }
})

test('5.6 an id of any length asks for the token first; with it, it is simply unknown', async () => {
  for (const length of [100, 101, 1_000, 15_000]) {
    const lines = [`GET /gw/email/${'a'.repeat(length)} HTTP/1.1`]
    expect((await rawRequest(gateway.url, lines)).body).toEqual(UNAUTHORIZED)
    const known = await rawRequest(gateway.url, [...lines, `Authorization: ${account.token}`])
    expect(known.status, `${length} characters`).toBe(404)
  }
})

test('5.6 a refused send leaves nothing behind', async () => {
  const count = async (): Promise<number> =>
    (await database.pool.query<{ count: number }>('select count(*) from notification')).rows[0]!.count
  const before = await count()
  await expectRefusal(`Bearer ${account.token}`)
  expect(await count()).toBe(before)
})
