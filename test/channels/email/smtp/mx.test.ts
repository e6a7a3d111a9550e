import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { EmailMessage } from '../../../../src/channels/email/email-message.js'
import type { Exchanger, Lookup, MailResolver } from '../../../../src/channels/email/resolver.js'
import { type MxOptions, mxProvider } from '../../../../src/channels/email/smtp/mx.js'
import type { Carrier, SendError } from '../../../../src/channels/provider.js'
import { selfSigned } from '../../../support/programs/certificate.js'
import { failureOf } from '../../send-failure.js'
import { email } from '../messages.js'
import { scriptedServer } from '../scripted-server.js'

const never = new AbortController().signal

/** A name server that knows the names of the test. Unknown names do not exist. */
function names(mx: Record<string, Exchanger[] | 'unknown'>, addresses: Record<string, string[] | 'unknown'> = {}): MailResolver {
  const answer = <T>(found: T[] | 'unknown' | undefined): Lookup<T> =>
    found === undefined ? { status: 'missing' } : found === 'unknown' ? { status: 'unknown' } : { status: 'ok', records: found }
  return {
    exchangers: async domain => answer(mx[domain]),
    addresses: async name => answer(addresses[name]),
  }
}

async function carrier(port: number, resolver: MailResolver, options: Partial<MxOptions> = {}, query = '&private=yes') {
  const url = new URL(`mx://envio.example.com?port=${port}&tls=off${query}`)
  const opened: Carrier<EmailMessage> = await mxProvider({ resolver, signer: null, ...options }).open(url)
  onTestFinished(() => opened.close())
  return opened
}

const two = [
  { priority: 20, exchange: 'mx2.example.net' },
  { priority: 10, exchange: 'mx1.example.net' },
]
const twoAddresses = { 'mx1.example.net': ['127.0.0.1'], 'mx2.example.net': ['127.0.0.2'] }

describe('direct delivery to the exchanger', () => {
  test('250 of the recipient’s own exchanger is a delivery', async () => {
    const server = await scriptedServer()
    const opened = await carrier(server.port, names({ 'example.net': two }, twoAddresses))
    const receipt = await opened.send(email(), never)
    expect(receipt).toMatchObject({
      references: [],
      answer: '250 2.0.0 Ok: queued as 4YbX2k0QzB',
      delivered: true,
      facts: { smtp: { steps: expect.arrayContaining([expect.objectContaining({ command: 'end of data' })]) } },
    })
    expect(server.commands[0]).toBe('EHLO envio.example.com')
  })

  test('the lowest priority number comes first, the next one when it is out of reach', async () => {
    const second = await scriptedServer({ host: '127.0.0.2' })
    const opened = await carrier(second.port, names({ 'example.net': two }, twoAddresses))
    await opened.send(email(), never)
    expect(second.messages).toHaveLength(1)
    const first = await scriptedServer({ host: '127.0.0.1', port: second.port })
    await opened.send(email(), never)
    expect([first.messages.length, second.messages.length]).toEqual([1, 1])
  })

  test('the next one also when the first greets with a refusal', async () => {
    const first = await scriptedServer({ at: at => (at === 'greeting' ? '554 5.7.1 Not today' : undefined) })
    const second = await scriptedServer({ host: '127.0.0.2', port: first.port })
    const opened = await carrier(first.port, names({ 'example.net': two }, twoAddresses))
    await opened.send(email(), never)
    expect(second.messages).toHaveLength(1)
  })

  test.each([
    ['RCPT', '550 5.1.1 Unknown', 'permanent'],
    ['RCPT', '450 4.2.1 Busy', 'temporary'],
    ['end', 'RESET', 'uncertain'],
  ] as const)('once a server takes part, its answer counts: %s %s is %s, nobody else is asked', async (point, step, kind) => {
    const first = await scriptedServer({ at: at => (at === point ? step : undefined) })
    const second = await scriptedServer({ host: '127.0.0.2', port: first.port })
    const opened = await carrier(first.port, names({ 'example.net': two }, twoAddresses))
    expect((await failureOf(opened.send(email(), never))).kind).toBe(kind)
    expect(second.connections).toBe(0)
  })

  test('all out of reach: temporary', async () => {
    const gone = await scriptedServer({ at: () => 'CLOSE' })
    const opened = await carrier(gone.port, names({ 'example.net': two }, twoAddresses))
    expect((await failureOf(opened.send(email(), never))).kind).toBe('temporary')
  })

  test('equal priorities are tried in random order', async () => {
    const equal = two.map(({ exchange }) => ({ priority: 5, exchange }))
    const first = await scriptedServer()
    const second = await scriptedServer({ host: '127.0.0.2', port: first.port })
    const lots = [0.9, 0.1, 0.1, 0.9]
    const opened = await carrier(first.port, names({ 'example.net': equal }, twoAddresses), { random: () => lots.shift()! })
    await opened.send(email(), never)
    await opened.send(email(), never)
    expect([first.messages.length, second.messages.length]).toEqual([1, 1])
  })

  test('each exchanger has its connections, kept for the next message of any domain that it serves', async () => {
    const server = await scriptedServer()
    const mx = { 'example.net': two, 'example.org': two }
    const opened = await carrier(server.port, names(mx, twoAddresses))
    await opened.send(email(), never)
    await opened.send(email({ to: 'maria@example.org' }), never)
    expect(server.connections).toBe(1)
    await opened.close()
    await expect.poll(() => server.open).toBe(0)
  })
})

describe('destinations', () => {
  const places = '&private=yes&pool=4'
  const to = (domain: string) => email({ to: `maria@${domain}` })
  const own = (domain: string): Exchanger[] => [{ priority: 10, exchange: `mx.${domain}` }]
  const domains = (...list: string[]) => Object.fromEntries(list.map(domain => [domain, own(domain)]))
  /** Nobody listens there. */
  const DEAF = '127.0.0.9'

  test('a destination that does not answer occupies only its share of the slots; mail to others is not delayed', async () => {
    const silent = await scriptedServer({ host: '127.0.0.2', at: at => (at === 'greeting' ? 'SILENCE' : undefined) })
    const well = await scriptedServer({ port: silent.port })
    const resolver = names(domains('mudo.example', 'bom.example'), {
      'mx.mudo.example': ['127.0.0.2'],
      'mx.bom.example': ['127.0.0.1'],
    })
    const opened = await carrier(well.port, resolver, {}, places)
    const stop = new AbortController()
    const silenced = Array.from({ length: 10 }, () => failureOf(opened.send(to('mudo.example'), stop.signal)))
    const first = await Promise.race(silenced)
    expect(first).toMatchObject({ kind: 'temporary', scope: 'message', untried: true })
    expect(first.retryAfterMs).toBeGreaterThan(0)
    expect((await opened.send(to('bom.example'), never)).delivered).toBe(true)
    expect(silent.connections).toBe(2)
    stop.abort()
    expect((await Promise.all(silenced)).filter(({ untried }) => untried).length).toBeGreaterThanOrEqual(6)
  })

  test('a responsive destination gets as many messages at a time as it has connections, and the others in order', async () => {
    const server = await scriptedServer()
    const times = { waitMs: 600_000, responsiveMs: 600_000 }
    const opened = await carrier(server.port, names(domains('bom.example'), { 'mx.bom.example': ['127.0.0.1'] }), times, places)
    await opened.send(to('bom.example'), never)
    await Promise.all(Array.from({ length: 50 }, () => opened.send(to('bom.example'), never)))
    expect(server.messages).toHaveLength(51)
    expect(server.connections).toBeLessThanOrEqual(4)
  })

  test.each([
    ['greeting', '421 4.7.0 Too many connections, try again in 2 minutes'],
    ['MAIL', '421 4.7.28 Slow down, try again in 2 minutes'],
    ['end', '421 4.7.28 Rate limit, try again in 2 minutes'],
  ] as const)('one that asks for less at %s is left alone, by all who go there and by nobody else', async (point, answer) => {
    const busy = await scriptedServer({ host: '127.0.0.2', at: at => (at === point ? answer : undefined) })
    const well = await scriptedServer({ port: busy.port })
    const mx = { ...domains('bom.example'), 'a.example': own('cheio.example'), 'b.example': own('cheio.example') }
    const resolver = names(mx, { 'mx.cheio.example': ['127.0.0.2'], 'mx.bom.example': ['127.0.0.1'] })
    const opened = await carrier(well.port, resolver)
    expect(await failureOf(opened.send(to('a.example'), never))).toMatchObject({
      kind: 'throttled',
      untried: false,
      scope: 'message',
    })
    const { connections } = busy
    const next = await failureOf(opened.send(to('b.example'), never))
    expect(next).toMatchObject({ kind: 'temporary', untried: true, scope: 'message' })
    expect(next.retryAfterMs).toBeGreaterThan(60_000)
    expect(busy.connections).toBe(connections)
    await opened.send(to('bom.example'), never)
  })

  test('a busy mailbox does not pause its server', async () => {
    let refusals = 3
    const server = await scriptedServer({
      at: at => (at === 'RCPT' && refusals-- > 0 ? '452 4.5.3 Too many recipients this hour' : undefined),
    })
    const opened = await carrier(server.port, names(domains('bom.example'), { 'mx.bom.example': ['127.0.0.1'] }))
    for (let turn = 0; turn < 3; turn++) expect((await failureOf(opened.send(to('bom.example'), never))).untried).toBe(false)
    await opened.send(to('bom.example'), never)
  })

  test('a destination that fails repeatedly is paused, then gets one message, and recovers after its success', async () => {
    let broken = true
    const server = await scriptedServer({ at: at => (broken && at === 'greeting' ? 'CLOSE' : undefined) })
    const resolver = names(domains('bom.example'), { 'mx.bom.example': ['127.0.0.1'] })
    const opened = await carrier(server.port, resolver, { firstPauseMs: 500 })
    for (let turn = 0; turn < 3; turn++) expect((await failureOf(opened.send(to('bom.example'), never))).untried).toBe(false)
    expect(await failureOf(opened.send(to('bom.example'), never))).toMatchObject({ untried: true })
    expect(server.connections).toBe(3)
    broken = false
    await vi.waitFor(() => opened.send(to('bom.example'), never), { timeout: 120_000 })
    await Promise.all(Array.from({ length: 5 }, () => opened.send(to('bom.example'), never)))
    expect(server.messages).toHaveLength(6)
  })

  test('many unreachable destinations at once are reported as a failure of the carrier, until one is reached', async () => {
    const server = await scriptedServer()
    const dead = Array.from({ length: 6 }, (_, index) => `d${index}.example`)
    const addresses = Object.fromEntries(dead.map(domain => [`mx.${domain}`, [DEAF]]))
    const resolver = names(domains(...dead, 'bom.example'), { ...addresses, 'mx.bom.example': ['127.0.0.1'] })
    const opened = await carrier(server.port, resolver)
    const errors: SendError[] = []
    for (const domain of dead) errors.push(await failureOf(opened.send(to(domain), never)))
    expect(errors.map(({ scope }) => scope)).toEqual([...Array(4).fill('message'), 'carrier', 'carrier'])
    expect(errors.at(-1)).toMatchObject({ kind: 'temporary', untried: false })
    await opened.send(to('bom.example'), never)
    expect(await failureOf(opened.send(to(dead[0]!), never))).toMatchObject({ scope: 'message' })
  })
})

describe('what DNS says', () => {
  test('no MX: the domain’s own address is its exchanger', async () => {
    const server = await scriptedServer()
    const opened = await carrier(server.port, names({ 'example.net': [] }, { 'example.net': ['127.0.0.1'] }))
    expect((await opened.send(email(), never)).delivered).toBe(true)
  })

  test.each([
    ['a domain that does not exist', names({}), 'permanent', 'O domínio do destinatário não existe.'],
    [
      'a null MX',
      names({ 'example.net': [{ priority: 0, exchange: '.' }] }, { 'example.net': ['127.0.0.1'] }),
      'permanent',
      'O domínio do destinatário declara que não recebe e-mails.',
    ],
    [
      'neither MX nor address',
      names({ 'example.net': [] }, { 'example.net': [] }),
      'permanent',
      'O domínio do destinatário não tem servidor que receba e-mails.',
    ],
    ['no answer', names({ 'example.net': 'unknown' }), 'temporary', 'O domínio do destinatário não pôde ser consultado.'],
    [
      'no answer about the exchanger’s address',
      names({ 'example.net': two }, { 'mx1.example.net': 'unknown' }),
      'temporary',
      'O servidor do domínio do destinatário não pôde ser consultado.',
    ],
  ] as const)('%s', async (_, resolver, kind, reason) => {
    const opened = await carrier(2525, resolver)
    expect(await failureOf(opened.send(email(), never))).toMatchObject({ kind, reason })
  })

  test.each([
    '127.0.0.1',
    '10.0.0.8',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '::1',
    '::ffff:127.0.0.1',
    '::7f00:1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    'fe80::1',
    'fd00::1',
  ])('an exchanger at %s is not connected to, unless private networks are allowed', async address => {
    const server = await scriptedServer()
    const resolver = names({ 'example.net': two }, { 'mx1.example.net': [address], 'mx2.example.net': [address] })
    const opened = await carrier(server.port, resolver, {}, '')
    expect(await failureOf(opened.send(email(), never))).toMatchObject({ kind: 'permanent' })
    expect(server.connections).toBe(0)
  })
})

test('a certificate vouches for one name: another exchanger at the same address is checked by its own', async () => {
  const certificate = selfSigned(['mx1.example.net'])
  const got: string[] = []
  const server = new SMTPServer({
    ...certificate,
    disableReverseLookup: true,
    authOptional: true,
    logger: false,
    closeTimeout: 100,
    onRcptTo({ address }, _session, done) {
      got.push(address)
      done()
    },
  })
  server.on('error', () => {})
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>(resolve => server.close(resolve)))
  const mx = {
    'example.net': [{ priority: 10, exchange: 'mx1.example.net' }],
    'example.org': [{ priority: 10, exchange: 'mx2.example.org' }],
  }
  const resolver = names(mx, { 'mx1.example.net': ['127.0.0.1'], 'mx2.example.org': ['127.0.0.1'] })
  const { port } = server.server.address() as AddressInfo
  const url = new URL(`mx://envio.example.com?port=${port}&tls=required&private=yes`)
  const opened = await mxProvider({ resolver, signer: null, ca: certificate.cert }).open(url)
  onTestFinished(() => opened.close())
  await opened.send({ ...email(), to: 'maria@example.net' }, never)
  const error = await failureOf(opened.send({ ...email(), to: 'maria@example.org' }, never))
  expect(error).toMatchObject({ kind: 'temporary', reason: expect.stringContaining('TLS') })
  expect(got).toEqual(['maria@example.net'])
})

describe('EMAIL_URL', () => {
  test('every option that the documents name is known', async () => {
    const url = new URL('mx://x.example?tls=required&pool=9&rate=5&port=2525&private=yes')
    const carrier = await mxProvider({ resolver: names({}), signer: null }).open(url)
    await carrier.close()
  })
})
