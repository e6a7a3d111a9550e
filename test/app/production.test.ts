import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { examine, type Finding } from '../../src/app/doctor.js'
import { banner } from '../../src/app/process/banner.js'
import { openDemo } from '../../src/app/process/demo.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { gatewayForTest, readMetrics, testKeys } from '../support/gateway/gateway.js'
import { errorBody, request, send, validSend } from '../support/gateway/requests.js'

/** What must differ between a trial and an installation with real carriers. */
let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})

afterAll(() => database.drop())

const KEY = 'ab'.repeat(32)
const RELAY = 'smtp://usuario:senha@smtp.example.com'
const SITE = {
  PUBLIC_URL: 'https://notifica.example.com',
  EMAIL_FROM: 'avisos@example.com',
  BOUNCE_DOMAIN: 'retorno.example.com',
}

describe('the demo account', () => {
  test('ends when a real carrier is configured: the token that was printed is refused, and none is shown', async () => {
    const trial = readConfig({})
    const token = await openDemo(database.pool, testKeys, trial)
    expect(await openDemo(database.pool, testKeys, trial)).toBe(token)
    const gateway = await gatewayForTest(database.pool)
    expect((await send(gateway.url, token!, validSend)).status).toBe(200)
    const real = readConfig({ EMAIL_URL: RELAY, ...SITE })
    expect(await openDemo(database.pool, testKeys, real)).toBeNull()
    expect(await openDemo(database.pool, testKeys, readConfig({ EMAIL_URL: RELAY, SIMULATOR: 'on', ...SITE }))).toBeNull()
    await expect.poll(async () => (await send(gateway.url, token!, validSend)).status).toBe(401)
    expect(await openDemo(database.pool, testKeys, trial)).toBeNull()
  })

  test('without it, the start says what to do next', async () => {
    const started = { api: 'http://127.0.0.1:8080', simulator: null, token: null, link: null }
    const text = await banner(readConfig({ EMAIL_URL: RELAY }), started)
    expect(text).toContain('carteiro account create')
    expect(text).toContain('carteiro token issue')
    expect(text).not.toContain('curl')
    expect(text).toMatch(/ATENÇÃO: PUBLIC_URL/)
    expect(await banner(readConfig({}), { ...started, token: 'o-token' })).toContain("-H 'Authorization: o-token'")
  })
})

describe('a start warns of', () => {
  const named = (env: NodeJS.ProcessEnv): string[] => readConfig(env).warnings.map(warning => warning.split(' ')[0]!)

  test('nothing in a trial, and nothing where everything is set', () => {
    expect(named({})).toEqual([])
    expect(named({ EMAIL_URL: RELAY, SMS_URL: 'smpp://a:b@smsc.example.com?from=1', ...SITE })).toEqual([])
    expect(named({ PATH: '/bin', HOME: '/root', HOSTNAME: 'x', LANG: 'C', npm_config_x: '1' })).toEqual([])
  })

  test('defaults that only suit a trial, where they would be used', () => {
    expect(named({ EMAIL_URL: RELAY })).toEqual(['PUBLIC_URL', 'EMAIL_FROM', 'BOUNCE_DOMAIN'])
    expect(named({ SMS_URL: 'smpp://a:b@smsc.example.com?from=1' })).toEqual(['PUBLIC_URL'])
    expect(readConfig({ EMAIL_URL: RELAY }).warnings[0]).toContain('http://127.0.0.1:8080')
  })

  test.each<[NodeJS.ProcessEnv, string]>([
    [{ SIMULATOR: 'off', SIMULATOR_URL: 'http://127.0.0.1:8025', SIMULATOR_KEY: KEY }, 'SIMULATOR_URL SIMULATOR=on'],
    [{ SIMULATOR_KEY: KEY }, 'SIMULATOR_KEY SIMULATOR_URL'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=b' }, 'OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_ENDPOINT'],
    [{ DKIM_SELECTOR: 's1' }, 'DKIM_SELECTOR DKIM_DOMAIN'],
    [{ DKIM_KEY_FILE: 'dkim.pem' }, 'DKIM_KEY_FILE DKIM_DOMAIN'],
    [{ LETTER_KEY_FILE: 'chave' }, 'LETTER_KEY_FILE LETTER_URL'],
    [{ WHATSAPP_APP_SECRET: KEY }, 'WHATSAPP_APP_SECRET WHATSAPP_URL'],
    [{ WHATSAPP_VERIFY_TOKEN: KEY }, 'WHATSAPP_VERIFY_TOKEN WHATSAPP_URL'],
  ])('settings without an effect: %j', (env, pair) => {
    const [name, without] = pair.split(' ')
    expect(readConfig(env).warnings).toEqual([`${name} não tem efeito sem ${without}.`])
  })

  test('a simulator elsewhere without its key', () => {
    expect(named({ SIMULATOR: 'on', SIMULATOR_URL: 'http://127.0.0.1:8025' })).toEqual(['SIMULATOR_KEY'])
    expect(named({ SIMULATOR: 'on', SIMULATOR_URL: 'http://127.0.0.1:8025', SIMULATOR_KEY: KEY })).toEqual([])
  })

  test('attachments that no request has room for', () => {
    expect(named({ MAX_ATTACHMENTS_MIB: '28' })).toEqual(['MAX_BODY_MIB'])
    expect(named({ MAX_ATTACHMENTS_MIB: '27' })).toEqual([])
    expect(named({ MAX_BODY_MIB: '33' })).toEqual(['MAX_BODY_MIB'])
  })

  test.each([
    ['PUBLIC_URI', 'PUBLIC_URL'],
    ['PUBLCI_URL', 'PUBLIC_URL'],
    ['EMAIL_FORM', 'EMAIL_FROM'],
    ['email_url', 'EMAIL_URL'],
    ['CARTEIRO_MASTERKEY', 'CARTEIRO_MASTER_KEY'],
    ['TRUSTED_PROXY', 'TRUSTED_PROXIES'],
    ['SIMULATOR_SMTP_PROT', 'SIMULATOR_SMTP_PORT'],
  ])('%s, which is nearly %s', (given, meant) => {
    const [warning, ...others] = readConfig({ [given]: 'segredo' }).warnings.filter(text => text.startsWith(given))
    expect(warning).toContain(`Você quis dizer ${meant}?`)
    expect(warning).not.toContain('segredo')
    expect(others).toEqual([])
  })

  test('an @ in a password that is not encoded, and never shows the password', () => {
    const warnings = readConfig({
      DATABASE_URL: 'postgresql://carteiro:ze@bra@db.example.com/carteiro?sslmode=verify-full',
      EMAIL_URL: `${RELAY},smtp://u:p@lavra@outro.example.com`,
      ...SITE,
    }).warnings
    expect(warnings.toSorted()).toEqual([expect.stringMatching(/^DATABASE_URL .*%40/), expect.stringMatching(/^EMAIL_URL .*%40/)])
    expect(warnings.join()).not.toMatch(/bra|lavra/)
    expect(
      readConfig({ DATABASE_URL: 'postgresql://carteiro:se%40nha@db.example.com/carteiro?sslmode=verify-full&x=a@b' }).warnings,
    ).toEqual([])
  })
})

describe('a database on another machine', () => {
  const examined = async (env: NodeJS.ProcessEnv): Promise<Finding> => {
    for await (const finding of examine({ config: readConfig(env), keys: testKeys, pool: database.pool }))
      if (finding.name === 'TLS do banco') return finding
    throw new Error('the connection was not examined')
  }

  test('without a word about TLS is warned of at the start and by the doctor, with the cure and without the password', async () => {
    const env = {
      DATABASE_URL: 'postgresql://carteiro:segredo@db1.example.com,10.0.0.5:5433,localhost/carteiro',
      DATABASE_OWNER_URL: 'postgresql://dono:segredo@db/carteiro',
      DATABASE_REPLICA_URL: 'postgresql://carteiro:segredo@replica.example.com/carteiro',
    }
    const { warnings } = readConfig(env)
    expect(warnings).toEqual([
      expect.stringMatching(/^DATABASE_URL não pede TLS até db1\.example\.com, 10\.0\.0\.5: .*sslmode=verify-full/),
      expect.stringMatching(/^DATABASE_OWNER_URL não pede TLS até db: /),
      expect.stringMatching(/^DATABASE_REPLICA_URL não pede TLS até replica\.example\.com: /),
    ])
    expect(warnings.join()).not.toContain('segredo')
    expect(await examined(env)).toMatchObject({
      state: 'warn',
      found: expect.stringContaining('DATABASE_URL até db1.example.com, 10.0.0.5;'),
      advice: expect.stringContaining('sslmode=verify-full'),
    })
  })

  test.each([
    'db.example.com/carteiro?sslmode=verify-full',
    'db.example.com/carteiro?sslrootcert=/etc/carteiro/ca.pem',
    'db1.example.com,db2.example.com/carteiro?target_session_attrs=read-write&sslmode=verify-full',
    // Chosen, and not forgotten.
    'db/carteiro?sslmode=disable',
    'localhost/carteiro',
    '127.0.0.1:5433,[::1]:5434/carteiro',
    '%2Fvar%2Frun%2Fpostgresql/carteiro',
    'qualquer/carteiro?host=/var/run/postgresql',
  ])('is not warned of with %s', async place => {
    const env = { DATABASE_URL: `postgresql://carteiro:segredo@${place}` }
    expect(readConfig(env).warnings).toEqual([])
    expect((await examined(env)).state).toBe('ok')
  })
})

describe('/metrics', () => {
  test('asks for its token, which is no token of an account', async () => {
    const gateway = await gatewayForTest(database.pool)
    expect(await readMetrics(gateway.url)).toContain('carteiro_accepted_total')
    for (const headers of [{}, { authorization: 'leitura-das-metricas' }, { authorization: 'Bearer leitura-das-metrica' }]) {
      const answer = await request(`${gateway.url}/metrics`, { headers })
      expect([answer.status, answer.body]).toEqual([401, errorBody(401, 'Unauthorized', 'Unauthorized')])
    }
  })

  test('is not there without METRICS_TOKEN', async () => {
    const gateway = await gatewayForTest(database.pool, { METRICS_TOKEN: '' })
    expect((await request(`${gateway.url}/metrics`)).status).toBe(404)
  })

  test('a short token stops the start', () => {
    expect(() => readConfig({ METRICS_TOKEN: 'curto' })).toThrow('METRICS_TOKEN deve ser um texto sem espaços, de 16 caracteres')
  })
})

describe('headers', () => {
  test.each([
    ['https://notifica.example.com', 'max-age=31536000'],
    ['http://notifica.example.com', null],
  ])('under %s Strict-Transport-Security is %s, on every answer', async (publicUrl, expected) => {
    const gateway = await gatewayForTest(database.pool, { PUBLIC_URL: publicUrl })
    for (const path of ['/healthz', '/n/nada', '/gw/email/nada', '/docs'])
      expect((await fetch(`${gateway.url}${path}`)).headers.get('strict-transport-security')).toBe(expected)
  })

  test('pages ask for no device and share no window; answers of the API do without both', async () => {
    const gateway = await gatewayForTest(database.pool)
    for (const path of ['/n/nada', '/docs']) {
      const { headers } = await fetch(`${gateway.url}${path}`)
      expect(headers.get('permissions-policy')).toContain('camera=()')
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
    }
    expect((await fetch(`${gateway.url}/healthz`)).headers.get('permissions-policy')).toBeNull()
  })
})
