import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openPool } from '../../src/store/postgres.js'
import { createDatabase, databaseForTest, type TestDatabase } from '../support/database/database.js'
import {
  createAccount,
  type Gateway,
  gatewayForTest,
  issueToken,
  startGateway,
  type TestAccount,
} from '../support/gateway/gateway.js'
import { type Answer, errorBody, request, send, validSend } from '../support/gateway/requests.js'
import { rawRequest } from '../support/raw-http.js'

const REGISTERED = { 'x-forwarded-for': '203.0.113.7' }
const OTHER = { 'x-forwarded-for': '198.51.100.9' }
const TOO_MANY = errorBody(429, 'Too Many Requests', 'Too Many Requests')

let database: TestDatabase
/** Behind a trusted proxy, so that a test can call from any address. */
let gateway: Gateway

beforeAll(async () => {
  database = await createDatabase()
  await stopMinutes(database)
  gateway = await startGateway(database.pool, { TRUSTED_PROXIES: '127.0.0.1' })
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

/** A minute that begins lasts longer than the test, however slow the machine is. */
const stopMinutes = ({ asOwner }: TestDatabase): Promise<unknown> =>
  asOwner(`create function stop_minute() returns trigger language plpgsql as $$
    begin new.started_at := now() + interval '1 hour'; return new; end $$;
    create trigger stop_minute before insert on rate_window for each row execute function stop_minute()`)

async function databaseOfItsOwn(): Promise<TestDatabase> {
  const own = await databaseForTest()
  await stopMinutes(own)
  return own
}

const limitedAccount = (registered: number, unregistered: number): Promise<TestAccount> =>
  createAccount(database.pool, {
    ranges: ['203.0.113.0/24'],
    settings: { 'limit.registered': registered, 'limit.unregistered': unregistered },
  })

/** A lookup that finds nothing: the cheapest request that counts. */
const lookUp = (url: string, token: string, headers: Record<string, string> = {}): Promise<Answer> =>
  request(`${url}/gw/no-such-route/${randomUUID()}`, { token, headers })

async function exhaust(token: string, headers: Record<string, string>, limit: number): Promise<void> {
  for (let count = 0; count < limit; count++) expect((await lookUp(gateway.url, token, headers)).status).toBe(404)
  expect((await lookUp(gateway.url, token, headers)).status).toBe(429)
}

/** The two headers, read; they must be there. */
function budgetOf(headers: Headers): { policy: string; quota: number; remaining: number; reset: number } {
  const [, policy, quota] = /^"([a-z-]+)";q=(\d+);w=60$/.exec(headers.get('ratelimit-policy') ?? '') ?? []
  const [, same, remaining, reset] = /^"([a-z-]+)";r=(\d+);t=(\d+)$/.exec(headers.get('ratelimit') ?? '') ?? []
  expect(policy).toMatch(/./)
  expect(same).toBe(policy)
  expect(Number(reset)).toBeGreaterThanOrEqual(1)
  expect(Number(reset)).toBeLessThanOrEqual(60)
  return { policy: policy!, quota: Number(quota), remaining: Number(remaining), reset: Number(reset) }
}

describe('8 two tiers', () => {
  test('8 the defaults are 6,000 a minute from a registered address and 120 from any other', async () => {
    const { id, token } = await createAccount(database.pool, { ranges: ['203.0.113.0/24'] })
    await database.pool.query("update account set settings = '{}' where id = $1", [id])
    const known = budgetOf((await lookUp(gateway.url, token, REGISTERED)).headers)
    expect(known).toMatchObject({ policy: 'registrado', quota: 6_000, remaining: 5_999 })
    const other = budgetOf((await lookUp(gateway.url, token, OTHER)).headers)
    expect(other).toMatchObject({ policy: 'nao-registrado', quota: 120, remaining: 119 })
  })

  test('8 each tier has a budget of its own: spending one leaves the other whole', async () => {
    const { token } = await limitedAccount(7, 3)
    await exhaust(token, OTHER, 3)
    await exhaust(token, REGISTERED, 7)
    const second = await limitedAccount(7, 3)
    await exhaust(second.token, REGISTERED, 7)
    await exhaust(second.token, OTHER, 3)
  })

  test('8 all addresses that are not registered share one budget: changing the address buys nothing', async () => {
    const { token } = await limitedAccount(100, 5)
    for (let count = 0; count < 5; count++) {
      expect((await lookUp(gateway.url, token, { 'x-forwarded-for': `198.51.100.${count}` })).status).toBe(404)
    }
    expect((await lookUp(gateway.url, token, { 'x-forwarded-for': '2001:db8::1' })).status).toBe(429)
  })

  test("8 an account's tokens of a mode share its budget; the other mode and other accounts have theirs", async () => {
    const account = await limitedAccount(3, 3)
    const [second, trial, secondTrial] = [
      await issueToken(database.pool, account.id),
      await issueToken(database.pool, account.id, { mode: 'test' }),
      await issueToken(database.pool, account.id, { mode: 'test' }),
    ]
    const statusOf = async (token: string) => (await lookUp(gateway.url, token, OTHER)).status
    for (const token of [trial.token, secondTrial.token, trial.token]) expect(await statusOf(token)).toBe(404)
    for (const token of [trial.token, secondTrial.token]) expect(await statusOf(token)).toBe(429)
    for (const token of [account.token, second.token, account.token]) expect(await statusOf(token)).toBe(404)
    for (const token of [account.token, second.token]) expect(await statusOf(token)).toBe(429)
    expect(await statusOf((await limitedAccount(3, 3)).token)).toBe(404)
  })

  test('8 sends, refused sends, lookups and unknown routes share the budget', async () => {
    const { token } = await limitedAccount(100, 4)
    expect((await send(gateway.url, token, validSend, OTHER)).status).toBe(200)
    expect((await send(gateway.url, token, { ...validSend, to: 'x' }, OTHER)).status).toBe(400)
    expect((await lookUp(gateway.url, token, OTHER)).status).toBe(404)
    const finish = await request(`${gateway.url}/regua-notificacao/no-such-route`, { token, headers: OTHER })
    expect(finish.status).toBe(404)
    expect((await send(gateway.url, token, validSend, OTHER)).status).toBe(429)
    expect((await lookUp(gateway.url, token, OTHER)).status).toBe(429)
  })
})

describe('8 what answers tell', () => {
  test('8 every answer bears RateLimit and RateLimit-Policy: 200, 400, 404, 401, 429', async () => {
    const { token } = await limitedAccount(100, 3)
    const answers = [
      await send(gateway.url, token, validSend, OTHER),
      await send(gateway.url, token, '{', OTHER),
      await lookUp(gateway.url, token, OTHER),
      await lookUp(gateway.url, token, OTHER),
    ]
    expect(answers.map(answer => answer.status)).toEqual([200, 400, 404, 429])
    expect(answers.map(answer => budgetOf(answer.headers))).toMatchObject(
      [2, 1, 0, 0].map(remaining => ({ policy: 'nao-registrado', quota: 3, remaining })),
    )
    for (const headers of [OTHER, REGISTERED]) {
      for (const refused of [undefined, 'x', `Bearer ${token}`]) {
        const answer = await request(`${gateway.url}/gw/email`, { headers, ...(refused === undefined ? {} : { token: refused }) })
        expect(answer.status).toBe(401)
        expect(budgetOf(answer.headers)).toMatchObject({ policy: 'autenticacao', quota: 600 })
      }
    }
  })

  test('8 a 403, a 413, a 422 and a replayed send bear them too', async () => {
    const { token } = await limitedAccount(100, 100)
    const small = await gatewayForTest(database.pool, { MAX_BODY_MIB: '1', TRUSTED_PROXIES: '127.0.0.1' })
    const key = { ...OTHER, 'idempotency-key': randomUUID() }
    const answers = [
      await send(small.url, token, { ...validSend, validation: { question: 'a', reply: 'b' } }, OTHER),
      await send(small.url, token, { ...validSend, content: 'x'.repeat(1_100_000) }, OTHER),
      await send(small.url, token, validSend, key),
      await send(small.url, token, validSend, key),
      await send(small.url, token, { ...validSend, subject: 'Outro' }, key),
    ]
    expect(answers.map(answer => answer.status)).toEqual([403, 413, 200, 200, 422])
    for (const answer of answers) expect(budgetOf(answer.headers).quota).toBe(100)
  })

  test('8 a 429 has the body of section 7 and says when to come back', async () => {
    const { token } = await limitedAccount(1, 1)
    await exhaust(token, OTHER, 1)
    for (const answer of [await lookUp(gateway.url, token, OTHER), await send(gateway.url, token, validSend, OTHER)]) {
      expect(answer.body).toEqual(TOO_MANY)
      expect(answer.status).toBe(429)
      expect(answer.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/)
      expect(Number(answer.headers.get('retry-after'))).toBe(budgetOf(answer.headers).reset)
    }
  })

  test('8 a send that was refused with 429 was not accepted', async () => {
    const { id, token } = await limitedAccount(100, 1)
    expect((await send(gateway.url, token, validSend, OTHER)).status).toBe(200)
    expect((await send(gateway.url, token, validSend, OTHER)).status).toBe(429)
    const { rows } = await database.pool.query('select id from notification where account_id = $1', [id])
    expect(rows).toHaveLength(1)
  })
})

describe('8 order: 401, then 429, then the body', () => {
  test('8 a bad token is 401 even where the budget is spent, and spends nothing', async () => {
    const { token } = await limitedAccount(2, 2)
    expect((await lookUp(gateway.url, `Bearer ${token}`, OTHER)).status).toBe(401)
    expect((await lookUp(gateway.url, `${token}x`, OTHER)).status).toBe(401)
    await exhaust(token, OTHER, 2)
    const answer = await lookUp(gateway.url, `Bearer ${token}`, OTHER)
    expect(answer.body).toEqual(errorBody(401, 'Unauthorized', 'Unauthorized'))
  })

  test('8 with the budget spent, the body is not looked at: 429 for bad JSON, bad fields, a wrong type, too large a body', async () => {
    const { token } = await limitedAccount(100, 1)
    await exhaust(token, OTHER, 1)
    for (const body of ['{', '[]', '"x"', '{"__proto__":1}', '{}', '\0', '[['.repeat(5_000)]) {
      expect((await send(gateway.url, token, body, OTHER)).body).toEqual(TOO_MANY)
    }
    expect((await send(gateway.url, token, 'x', { ...OTHER, 'content-type': 'text/plain' })).body).toEqual(TOO_MANY)
    expect((await send(gateway.url, token, validSend, { ...OTHER, 'idempotency-key': 'a b' })).body).toEqual(TOO_MANY)
    // Only the head of a 40 MiB body is sent: the answer comes without it.
    const answer = await rawRequest(gateway.url, [
      'POST /gw/email HTTP/1.1',
      `Authorization: ${token}`,
      'Content-Type: application/json',
      'Content-Length: 41943040',
      `X-Forwarded-For: ${OTHER['x-forwarded-for']}`,
    ])
    expect(answer.status).toBe(429)
    expect(answer.body).toEqual(TOO_MANY)
  })
})

/** Sends all at once, a few at a time, and gives the statuses in order. */
async function flood(count: number, ask: (index: number) => Promise<Answer>): Promise<number[]> {
  const statuses: number[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) {
      const index = next++
      statuses[index] = (await ask(index)).status
    }
  }
  await Promise.all(Array.from({ length: 16 }, worker))
  return statuses
}

const countOf = (statuses: number[], status: number): number => statuses.filter(one => one === status).length

describe('8 failed authentications', () => {
  test('8 from an address that nobody registered: 600 a minute are 401, the rest 429; valid tokens still pass', async () => {
    const own = await databaseOfItsOwn()
    const node = await gatewayForTest(own.pool, { TRUSTED_PROXIES: '127.0.0.1' })
    const { token } = await createAccount(own.pool, { ranges: ['203.0.113.0/24'] })
    const attempts = [undefined, 'x', `Bearer ${token}`]
    const fail = (index: number, headers: Record<string, string> = OTHER): Promise<Answer> => {
      const attempt = attempts[index % attempts.length]
      return request(`${node.url}/gw/email`, { headers, ...(attempt === undefined ? {} : { token: attempt }) })
    }
    const statuses = await flood(650, index => fail(index))
    expect(countOf(statuses, 401)).toBe(600)
    expect(countOf(statuses, 429)).toBe(50)
    const refused = await fail(0)
    expect(refused.body).toEqual(TOO_MANY)
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(budgetOf(refused.headers)).toMatchObject({ policy: 'autenticacao', quota: 600, remaining: 0 })

    expect((await send(node.url, token, validSend, OTHER)).status).toBe(200)
    expect((await fail(0, { 'x-forwarded-for': '198.51.100.10' })).status).toBe(401)
    expect((await fail(0, REGISTERED)).status).toBe(401)
  })

  test('8 one IPv6 network of 64 bits counts as one address', async () => {
    const own = await databaseOfItsOwn()
    const node = await gatewayForTest(own.pool, { TRUSTED_PROXIES: '127.0.0.1' })
    const fail = (address: string): Promise<Answer> =>
      request(`${node.url}/gw/email`, { headers: { 'x-forwarded-for': address } })
    const statuses = await flood(610, index => fail(`2001:db8:7:7:${index.toString(16)}::${(index * 7).toString(16)}`))
    expect(countOf(statuses, 401)).toBe(600)
    expect((await fail('2001:db8:7:7::1')).status).toBe(429)
    expect((await fail('2001:db8:7:8::1')).status).toBe(401)
  })

  test('8 from a registered address they are never limited, whoever registered it', async () => {
    const own = await databaseOfItsOwn()
    const node = await gatewayForTest(own.pool, { TRUSTED_PROXIES: '127.0.0.1' })
    await createAccount(own.pool, { ranges: ['203.0.113.0/24'] })
    const statuses = await flood(650, () => request(`${node.url}/gw/email`, { token: 'x', headers: REGISTERED }))
    expect(countOf(statuses, 401)).toBe(650)
  })
})

describe('8 several nodes on one database', () => {
  async function nodeOfItsOwn(): Promise<string> {
    const pool = openPool({ url: database.url, size: 5, onError: () => {} })
    onTestFinished(() => pool.end())
    return (await gatewayForTest(pool, { TRUSTED_PROXIES: '127.0.0.1' })).url
  }

  for (const limit of [120, 600]) {
    for (const [spread, share] of [
      ['nine to one', 10],
      ['one to one', 2],
    ] as const) {
      test(`8 two nodes hold a limit of ${limit} together, with the load spread ${spread}: never more, at most 10 % less`, async () => {
        const { token } = await limitedAccount(limit, limit)
        const [first, second] = [await nodeOfItsOwn(), await nodeOfItsOwn()]
        const statuses = await flood(limit + Math.max(60, limit / 4), index =>
          lookUp(index % share === 0 ? second : first, token, REGISTERED),
        )
        const allowed = countOf(statuses, 404)
        expect(allowed + countOf(statuses, 429)).toBe(statuses.length)
        expect(allowed).toBeLessThanOrEqual(limit)
        expect(allowed).toBeGreaterThanOrEqual(limit * 0.9)
      })
    }
  }

  test('8 a node that starts later finds the budget as the others left it', async () => {
    const { token } = await limitedAccount(20, 20)
    await exhaust(token, REGISTERED, 20)
    const answer = await lookUp(await nodeOfItsOwn(), token, REGISTERED)
    expect(answer.body).toEqual(TOO_MANY)
  })

  test('8 when the minute is over, requests pass again', async () => {
    const { id, token } = await limitedAccount(10, 10)
    await exhaust(token, REGISTERED, 10)
    const { rowCount } = await database.pool.query(
      "update rate_window set started_at = now() - interval '1 minute' where key like $1 || ' %'",
      [id],
    )
    expect(rowCount).toBe(1)
    const answer = await lookUp(await nodeOfItsOwn(), token, REGISTERED)
    expect(answer.status).toBe(404)
    expect(budgetOf(answer.headers)).toMatchObject({ quota: 10, remaining: 9 })
  })
})
