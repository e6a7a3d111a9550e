import { type AddressInfo, connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addRange, removeRange } from '../../src/store/accounts/accounts.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, gatewayForTest, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'
import { rawRequest } from '../support/raw-http.js'

/** Documentation addresses (RFC 5737, RFC 3849); loopback, from which every test calls, is not registered. */
const REGISTERED = '203.0.113.7'
const OTHER = '198.51.100.9'
const ranges = ['203.0.113.0/24', '192.0.2.1/32', '2001:db8:1::/48', '2001:db8:2::5/128']

let database: TestDatabase
let direct: Gateway
let behindProxy: Gateway
let behindSeveral: Gateway
let account: TestAccount

beforeAll(async () => {
  database = await createDatabase()
  account = await createAccount(database.pool, { ranges, settings: { 'limit.unregistered': 1_000_000 } })
  direct = await startGateway(database.pool)
  behindProxy = await startGateway(database.pool, { TRUSTED_PROXIES: '127.0.0.1/32' })
  behindSeveral = await startGateway(database.pool, { TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8, 2001:db8:ffff::/48' })
})

afterAll(async () => {
  await Promise.all([direct, behindProxy, behindSeveral].map(gateway => gateway.close()))
  await database.drop()
})

interface Seen {
  address: string
  registered: boolean
}

/** The client as the gateway saw it: the address that it wrote into the evidence, and the limit that it applied. */
async function seenBy(url: string, headers: Record<string, string> = {}): Promise<Seen> {
  const answer = await send(url, account.token, validSend, headers)
  expect(answer.status).toBe(200)
  const { idEmail } = answer.body as { idEmail: string }
  return { address: await recordedAddress(idEmail), registered: isRegistered(answer.headers.get('ratelimit-policy')) }
}

async function recordedAddress(notification: string): Promise<string> {
  const { rows } = await database.pool.query<{ address: string }>(
    "select data->>'address' as address from event where notification_id = $1 and seq = 1",
    [notification],
  )
  return rows[0]!.address
}

function isRegistered(policy: string | null | undefined): boolean {
  const [, name] = /^"(registrado|nao-registrado)";q=\d+;w=60$/.exec(policy ?? '')!
  return name === 'registrado'
}

const unregistered = (address: string): Seen => ({ address, registered: false })
const registered = (address: string): Seen => ({ address, registered: true })

describe('5.5 a peer that is no trusted proxy is the client, whatever it writes', () => {
  const spoofs: Record<string, string>[] = [
    { 'x-forwarded-for': REGISTERED },
    { 'x-forwarded-for': `${REGISTERED}, ${REGISTERED}` },
    { 'x-forwarded-for': '127.0.0.1' },
    { 'x-real-ip': REGISTERED },
    { forwarded: `for=${REGISTERED}` },
    { forwarded: `for="[2001:db8:1::1]";proto=https` },
    {
      'x-client-ip': REGISTERED,
      'x-cluster-client-ip': REGISTERED,
      'true-client-ip': REGISTERED,
      'cf-connecting-ip': REGISTERED,
    },
    { 'x-forwarded-for': REGISTERED, 'x-real-ip': REGISTERED, forwarded: `for=${REGISTERED}`, via: '1.1 proxy' },
  ]
  for (const headers of spoofs) {
    test(`${JSON.stringify(headers)} is ignored`, async () => {
      expect(await seenBy(direct.url, headers)).toEqual(unregistered('127.0.0.1'))
    })
  }

  test('a list of trusted proxies that does not hold the peer changes nothing', async () => {
    const gateway = await gatewayForTest(database.pool, { TRUSTED_PROXIES: '10.0.0.0/8, 127.0.0.2/32, ::/0' })
    expect(await seenBy(gateway.url, { 'x-forwarded-for': REGISTERED })).toEqual(unregistered('127.0.0.1'))
  })

  test('without a header the peer is the client, behind a trusted proxy too', async () => {
    expect(await seenBy(direct.url)).toEqual(unregistered('127.0.0.1'))
    expect(await seenBy(behindProxy.url)).toEqual(unregistered('127.0.0.1'))
  })
})

describe('5.5 behind a trusted proxy the client is the last hop of X-Forwarded-For that is not trusted', () => {
  test('a single hop', async () => {
    expect(await seenBy(behindProxy.url, { 'x-forwarded-for': REGISTERED })).toEqual(registered(REGISTERED))
    expect(await seenBy(behindProxy.url, { 'x-forwarded-for': OTHER })).toEqual(unregistered(OTHER))
  })

  test('hops that the client wrote itself, before the last one, are ignored', async () => {
    expect(await seenBy(behindProxy.url, { 'x-forwarded-for': `${REGISTERED}, ${OTHER}` })).toEqual(unregistered(OTHER))
    expect(await seenBy(behindProxy.url, { 'x-forwarded-for': `127.0.0.1, ${REGISTERED},${OTHER}` })).toEqual(unregistered(OTHER))
    expect(await seenBy(behindProxy.url, { 'x-forwarded-for': `${OTHER}, ${REGISTERED}` })).toEqual(registered(REGISTERED))
  })

  test('trusted hops at the end are passed over, however many', async () => {
    const hops = `${OTHER}, ${REGISTERED}, 10.1.2.3, 127.0.0.1, 10.9.9.9`
    expect(await seenBy(behindSeveral.url, { 'x-forwarded-for': hops })).toEqual(registered(REGISTERED))
    expect(await seenBy(behindSeveral.url, { 'x-forwarded-for': '2001:db8:1::1, 2001:db8:ffff::1' })).toEqual(
      registered('2001:db8:1::1'),
    )
  })

  test('a trusted address that is not trusted by this gateway ends the walk', async () => {
    expect(await seenBy(behindProxy.url, { 'x-forwarded-for': `${REGISTERED}, 10.1.2.3` })).toEqual(unregistered('10.1.2.3'))
  })

  test('where every hop is trusted, the first one is the client', async () => {
    expect(await seenBy(behindSeveral.url, { 'x-forwarded-for': '10.7.7.7, 10.1.2.3' })).toEqual(unregistered('10.7.7.7'))
  })

  test('several headers count as one, in order', async () => {
    const body = JSON.stringify(validSend)
    const answer = await rawRequest(
      behindProxy.url,
      [
        'POST /gw/email HTTP/1.1',
        `Authorization: ${account.token}`,
        'Content-Type: application/json',
        `Content-Length: ${Buffer.byteLength(body)}`,
        `X-Forwarded-For: ${REGISTERED}`,
        `x-forwarded-for: ${OTHER}`,
      ],
      body,
    )
    expect(answer.status).toBe(200)
    expect(isRegistered(answer.headers.get('ratelimit-policy'))).toBe(false)
    expect(await recordedAddress((answer.body as { idEmail: string }).idEmail)).toBe(OTHER)
  })

  test('X-Real-IP and Forwarded count for nothing even there', async () => {
    expect(await seenBy(behindProxy.url, { 'x-real-ip': REGISTERED, forwarded: `for=${REGISTERED}` })).toEqual(
      unregistered('127.0.0.1'),
    )
  })

  const garbage = [
    '',
    ' ',
    ',',
    ', ,',
    'unknown',
    '_hidden',
    'localhost',
    `${REGISTERED}:443`,
    `[2001:db8:1::1]`,
    '0x cb007107',
    '3405803783',
    '203.0.113',
    '203.0.113.07',
    '203.0.113.256',
    '0xcb.0.0x71.7',
    '::ffff:203.0.113.999',
    '2001:db8:1:::1',
    "' or true --",
    'a'.repeat(4_000),
    `${REGISTERED}/24`,
    `"${REGISTERED}"`,
    `for=${REGISTERED}`,
    `${REGISTERED};`,
  ]
  for (const hop of garbage) {
    test(`an unreadable last hop (${JSON.stringify(hop.slice(0, 40))}) ends the walk at the proxy`, async () => {
      expect(await seenBy(behindProxy.url, { 'x-forwarded-for': hop })).toEqual(unregistered('127.0.0.1'))
      expect(await seenBy(behindProxy.url, { 'x-forwarded-for': `${REGISTERED}, ${hop}` })).toEqual(unregistered('127.0.0.1'))
    })
  }

  test('an unreadable hop before the last one does no harm', async () => {
    expect(await seenBy(behindProxy.url, { 'x-forwarded-for': `unknown, ${REGISTERED}` })).toEqual(registered(REGISTERED))
  })
})

describe('5.5 registered addresses are IPs and CIDR ranges, v4 and v6', () => {
  const cases: [string, string, boolean][] = [
    ['203.0.113.0', '203.0.113.0', true],
    ['203.0.113.255', '203.0.113.255', true],
    ['203.0.112.255', '203.0.112.255', false],
    ['203.0.114.0', '203.0.114.0', false],
    ['192.0.2.1', '192.0.2.1', true],
    ['192.0.2.2', '192.0.2.2', false],
    ['2001:db8:1::', '2001:db8:1::', true],
    ['2001:db8:1:ffff:ffff:ffff:ffff:ffff', '2001:db8:1:ffff:ffff:ffff:ffff:ffff', true],
    ['2001:db8:0:ffff::1', '2001:db8:0:ffff::1', false],
    ['2001:0DB8:0002:0000::0005', '2001:db8:2::5', true],
    ['2001:db8:2::6', '2001:db8:2::6', false],
    // IPv4 inside IPv6 counts as the IPv4 inside, however it is written.
    ['::ffff:203.0.113.7', '203.0.113.7', true],
    ['::FFFF:cb00:7107', '203.0.113.7', true],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1', true],
    ['::ffff:192.0.2.2', '192.0.2.2', false],
    ['::203.0.113.7', '203.0.113.7', true],
    // Translated and tunnelled addresses are somebody else's.
    ['64:ff9b::203.0.113.7', '64:ff9b::cb00:7107', false],
    ['2002:cb00:7107::', '2002:cb00:7107::', false],
  ]
  for (const [hop, address, expected] of cases) {
    test(`${hop} is ${expected ? 'registered' : 'not registered'}`, async () => {
      expect(await seenBy(behindProxy.url, { 'x-forwarded-for': hop })).toEqual({ address, registered: expected })
    })
  }

  test("another account's addresses do not count", async () => {
    const other = await createAccount(database.pool, { ranges: [`${OTHER}/32`] })
    expect(await seenBy(behindProxy.url, { 'x-forwarded-for': OTHER })).toEqual(unregistered(OTHER))
    const answer = await send(behindProxy.url, other.token, validSend, { 'x-forwarded-for': OTHER })
    expect(isRegistered(answer.headers.get('ratelimit-policy'))).toBe(true)
  })

  test('an address that is registered or removed later counts, or stops to count, without a restart', async () => {
    const address = '198.51.100.77'
    const seen = async (): Promise<boolean> => (await seenBy(behindProxy.url, { 'x-forwarded-for': address })).registered
    expect(await seen()).toBe(false)
    await addRange(database.pool, account.id, '198.51.100.64/26')
    await expect.poll(seen).toBe(true)
    await removeRange(database.pool, account.id, '198.51.100.64/26')
    await expect.poll(seen).toBe(false)
  })
})

const hasIpv6 = Object.values(networkInterfaces()).some(addresses => addresses?.some(({ address }) => address === '::1'))

describe.skipIf(!hasIpv6)('5.5 on IPv6 sockets', () => {
  /** Both families on one socket: IPv4 peers then arrive as ::ffff:a.b.c.d. */
  async function dualStack(env: NodeJS.ProcessEnv): Promise<{ v4: string; v6: string }> {
    const { port } = new URL((await gatewayForTest(database.pool, { HOST: '::', ...env })).url)
    return { v4: `http://127.0.0.1:${port}`, v6: `http://[::1]:${port}` }
  }

  test('the machine gives IPv4 peers in their mapped form, as the tests below suppose', async () => {
    const server = createServer(socket => socket.end(String(socket.remoteAddress)))
    await new Promise<void>(resolve => server.listen(0, '::', resolve))
    const { port } = server.address() as AddressInfo
    const seen = await new Promise<string>(resolve => connect(port, '127.0.0.1').on('data', data => resolve(String(data))))
    server.close()
    expect(seen).toBe('::ffff:127.0.0.1')
  })

  test('a peer in mapped form is recorded and registered as the IPv4 inside', async () => {
    const loopback = await createAccount(database.pool, { ranges: ['127.0.0.1/32'] })
    const { v4, v6 } = await dualStack({})
    expect(await seenBy(v4)).toEqual(unregistered('127.0.0.1'))
    expect(await seenBy(v6)).toEqual(unregistered('::1'))
    const [overV4, overV6] = await Promise.all([v4, v6].map(url => send(url, loopback.token, validSend)))
    expect(isRegistered(overV4!.headers.get('ratelimit-policy'))).toBe(true)
    expect(isRegistered(overV6!.headers.get('ratelimit-policy'))).toBe(false)
  })

  test('a proxy in mapped form is trusted as the IPv4 inside, and the IPv6 one is another', async () => {
    const { v4, v6 } = await dualStack({ TRUSTED_PROXIES: '127.0.0.1' })
    expect(await seenBy(v4, { 'x-forwarded-for': REGISTERED })).toEqual(registered(REGISTERED))
    expect(await seenBy(v6, { 'x-forwarded-for': REGISTERED })).toEqual(unregistered('::1'))
  })

  test('an IPv6 proxy is trusted by its own range', async () => {
    const { v4, v6 } = await dualStack({ TRUSTED_PROXIES: '::1/128' })
    expect(await seenBy(v6, { 'x-forwarded-for': '2001:db8:1::9' })).toEqual(registered('2001:db8:1::9'))
    expect(await seenBy(v4, { 'x-forwarded-for': '2001:db8:1::9' })).toEqual(unregistered('127.0.0.1'))
  })
})
