import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { updateSettings } from '../../src/store/accounts/accounts.js'
import { revokeToken } from '../../src/store/accounts/tokens.js'
import { openPool } from '../../src/store/postgres.js'
import { createAccount, gatewayForFile, gatewayForTest, issueToken } from '../support/gateway/gateway.js'
import { errorBody, request, send, validSend } from '../support/gateway/requests.js'

const UNAUTHORIZED = errorBody(401, 'Unauthorized', 'Unauthorized')

const { database, gateway, account } = await gatewayForFile()

/** A request that needs a token and nothing else: 404 when it is accepted. */
const knock = async (url: string, token: string): Promise<number> => (await request(`${url}/gw/no-such-route`, { token })).status

async function modeOf(notification: string): Promise<unknown> {
  const { rows } = await database.pool.query(
    `select n.mode, d.mode as delivery_mode, e.data->>'mode' as event_mode, e.data->>'token' as token
     from notification n join delivery d on d.notification_id = n.id join event e on e.notification_id = n.id
     where n.id = $1`,
    [notification],
  )
  return rows
}

describe('5 modes', () => {
  for (const mode of ['live', 'test'] as const) {
    test(`5.4 what a ${mode} token sends is recorded as ${mode}, with the token that sent it`, async () => {
      const { token, jti } = await issueToken(database.pool, account.id, { mode })
      const { status, body } = await send(gateway.url, token, validSend)
      expect(status).toBe(200)
      const { idEmail } = body as { idEmail: string }
      expect(await modeOf(idEmail)).toEqual([{ mode, delivery_mode: mode, event_mode: mode, token: jti }])
    })
  }

  test('5.4 without the simulator a test token is answered 503 with the reason, and nothing is accepted', async () => {
    const live = await gatewayForTest(database.pool, { SIMULATOR: 'off' })
    const { token } = await issueToken(database.pool, account.id, { mode: 'test' })
    const customID = randomUUID()
    const answer = await send(live.url, token, { ...validSend, customID })
    expect(answer.body).toEqual(
      errorBody(
        503,
        'O token é de teste e o simulador está desligado neste servidor. Use um token de produção ou ligue o simulador.',
        'Service Unavailable',
      ),
    )
    expect(answer.status).toBe(503)
    const { rows } = await database.pool.query('select from notification where custom_id = $1', [customID])
    expect(rows).toEqual([])
  })

  test('5.4 without the simulator a live token sends, and both kinds may ask', async () => {
    const live = await gatewayForTest(database.pool, { SIMULATOR: 'off' })
    const trial = await issueToken(database.pool, account.id, { mode: 'test' })
    expect((await send(live.url, account.token, validSend)).status).toBe(200)
    expect(await knock(live.url, trial.token)).toBe(404)
  })

  test('5.4 a send that is wrong in itself is 400 before anybody speaks of the simulator', async () => {
    const live = await gatewayForTest(database.pool, { SIMULATOR: 'off' })
    const { token } = await issueToken(database.pool, account.id, { mode: 'test' })
    expect((await send(live.url, token, { ...validSend, to: 'x' })).status).toBe(400)
  })
})

describe('5.6 the end of a token', () => {
  test('5.6 a token that was accepted a moment ago is 401 once it expires', async () => {
    const { token } = await issueToken(database.pool, account.id, { expiresAt: new Date(Date.now() + 5_000) })
    expect(await knock(gateway.url, token)).toBe(404)
    await expect.poll(() => knock(gateway.url, token)).toBe(401)
    expect((await send(gateway.url, token, validSend)).body).toEqual(UNAUTHORIZED)
  })

  test('5.6 a token with a distant end is accepted', async () => {
    const { token } = await issueToken(database.pool, account.id, { expiresAt: new Date(Date.now() + 90 * 86_400_000) })
    expect((await send(gateway.url, token, validSend)).status).toBe(200)
  })

  test('5.6 a revocation holds on every node within a second, under load too', async () => {
    const secondPool = openPool({ url: database.url, size: 5, onError: () => {} })
    onTestFinished(() => secondPool.end())
    const second = await gatewayForTest(secondPool)
    const { token, jti } = await issueToken(database.pool, account.id)
    const nodes = [gateway.url, second.url]
    for (const url of nodes) expect(await knock(url, token)).toBe(404)

    expect(await revokeToken(database.pool, jti)).toBe(true)
    const revokedAt = performance.now()
    const watch = async (url: string): Promise<void> => {
      // Whatever is asked later than a second after the revocation must be refused; what is asked earlier may be.
      for (let asked = 0; asked <= 1_500; asked = performance.now() - revokedAt) {
        const startedAt = performance.now() - revokedAt
        const status = await knock(url, token)
        if (startedAt > 1_000) expect(status).toBe(401)
        else expect([401, 404]).toContain(status)
      }
    }
    await Promise.all(nodes.flatMap(url => [watch(url), watch(url)]))
    for (const url of nodes) expect((await send(url, token, validSend)).body).toEqual(UNAUTHORIZED)
  })

  test("5.6 a revocation ends one token, not its account's others", async () => {
    const [first, second] = [await issueToken(database.pool, account.id), await issueToken(database.pool, account.id)]
    await revokeToken(database.pool, first.jti)
    await expect.poll(() => knock(gateway.url, first.token)).toBe(401)
    expect(await knock(gateway.url, second.token)).toBe(404)
    expect(await knock(gateway.url, account.token)).toBe(404)
  })

  test('5.6 revoking twice is no error, an unknown token is told from a known one', async () => {
    const { jti } = await issueToken(database.pool, account.id)
    expect(await revokeToken(database.pool, jti)).toBe(true)
    expect(await revokeToken(database.pool, jti)).toBe(true)
    expect(await revokeToken(database.pool, randomUUID())).toBe(false)
  })

  test('5.6 a token that is issued while the gateway runs is accepted at once', async () => {
    const late = await createAccount(database.pool)
    expect((await send(gateway.url, late.token, validSend)).status).toBe(200)
  })
})

describe('settings of an account count without a restart', () => {
  const question = { ...validSend, validation: { question: 'Qual o nome da sua mãe?', reply: 'Ana' } }

  test('2.1 validation: 403 until it is enabled, 200 then, 403 again when it is taken back', async () => {
    const own = await createAccount(database.pool)
    const status = async (): Promise<number> => (await send(gateway.url, own.token, question)).status
    expect(await status()).toBe(403)
    await updateSettings(database.pool, own.id, { validation: true })
    await expect.poll(status).toBe(200)
    await updateSettings(database.pool, own.id, { validation: false })
    await expect.poll(status).toBe(403)
  })

  test('8 limits: the policy that answers announce follows the setting, up and down', async () => {
    const own = await createAccount(database.pool, { settings: { 'limit.registered': 50 } })
    const policy = async (): Promise<string | null> =>
      (await request(`${gateway.url}/gw/no-such-route`, { token: own.token })).headers.get('ratelimit-policy')
    expect(await policy()).toBe('"registrado";q=50;w=60')
    await updateSettings(database.pool, own.id, { 'limit.registered': 5_000 })
    await expect.poll(policy).toBe('"registrado";q=5000;w=60')
    await updateSettings(database.pool, own.id, { 'limit.registered': 1 })
    await expect.poll(policy).toBe('"registrado";q=1;w=60')
    expect(await knock(gateway.url, own.token)).toBe(429)
  })

  test('2.3 fallback.minutes: the SMS of a later send waits as long as the setting says', async () => {
    const own = await createAccount(database.pool)
    const waitOfNextSend = async (): Promise<number> => {
      const { body } = await send(gateway.url, own.token, { ...validSend, sms: { number: '11987654321' } })
      const { rows } = await database.pool.query<{ minutes: number }>(
        `select round(extract(epoch from d.due_at - n.accepted_at) / 60)::int as minutes
         from delivery d join notification n on n.id = d.notification_id where d.notification_id = $1 and d.channel = 'sms'`,
        [(body as { idEmail: string }).idEmail],
      )
      return rows[0]!.minutes
    }
    expect(await waitOfNextSend()).toBe(30)
    await updateSettings(database.pool, own.id, { 'fallback.minutes': 120 })
    await expect.poll(waitOfNextSend).toBe(120)
  })
})
