import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Carrier } from '../../../src/channels/provider.js'
import { cloudProvider, readCloudUrl } from '../../../src/channels/whatsapp/cloud.js'
import type { WhatsappMessage } from '../../../src/channels/whatsapp/whatsapp-message.js'
import { failureOf } from '../send-failure.js'
import { whatsapp } from './messages.js'

const never = new AbortController().signal

async function carrierAt(port: number): Promise<Carrier<WhatsappMessage>> {
  const carrier = await cloudProvider.open(new URL(`whatsapp://EAAsegredo@127.0.0.1:${port}/v23.0/106540352242922?tls=off`))
  onTestFinished(() => carrier.close())
  return carrier
}

/** The carrier's side, which says what the test wants. */
async function carrierThat(answers: RequestListener): Promise<{ carrier: Carrier<WhatsappMessage>; connections: () => number }> {
  let connections = 0
  const server = createServer(answers).listen(0, '127.0.0.1')
  server.on('connection', () => connections++)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { carrier: await carrierAt((server.address() as AddressInfo).port), connections: () => connections }
}

const refusing = (status: number, body: object | string, headers: Record<string, string> = {}) =>
  carrierThat((request, response) => {
    request.resume()
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
  })

const graphError = (code: number, more: object = {}) => ({
  error: { message: `(#${code})`, type: 'OAuthException', code, ...more },
})

describe('the request', () => {
  test('is the one that the carrier documents', async () => {
    let seen:
      | { method: string | undefined; url: string | undefined; authorization: string | undefined; body: unknown }
      | undefined
    const { carrier } = await carrierThat(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const { method, url, headers } = request
      seen = { method, url, authorization: headers.authorization, body: JSON.parse(Buffer.concat(chunks).toString()) }
      response.end('{"contacts":[{"input":"551","wa_id":"551"}],"messages":[{"id":"wamid.X"}]}')
    })
    const message = whatsapp({
      header: [{ name: 'titulo', text: 'Aviso' }],
      body: [{ name: 'nome', text: 'Zoë' }],
      buttons: [{ index: 1, suffix: 'abc' }],
    })
    const receipt = await carrier.send(message, never)
    expect(receipt).toMatchObject({ references: ['wamid.X'], delivered: false, answer: expect.stringMatching(/^200 .*wa_id/) })
    expect(seen).toEqual({
      method: 'POST',
      url: '/v23.0/106540352242922/messages',
      authorization: 'Bearer EAAsegredo',
      body: {
        messaging_product: 'whatsapp',
        recipient_type: 'individual',
        to: '5511900000001',
        type: 'template',
        template: {
          name: 'aviso',
          language: { code: 'pt_BR' },
          components: [
            { type: 'header', parameters: [{ type: 'text', parameter_name: 'titulo', text: 'Aviso' }] },
            { type: 'body', parameters: [{ type: 'text', parameter_name: 'nome', text: 'Zoë' }] },
            { type: 'button', sub_type: 'url', index: '1', parameters: [{ type: 'text', text: 'abc' }] },
          ],
        },
        biz_opaque_callback_data: message.reference,
      },
    })
  })

  test('goes over connections that are kept', async () => {
    const { carrier, connections } = await refusing(200, { messages: [{ id: 'wamid.X' }] })
    for (let n = 0; n < 20; n++) await carrier.send(whatsapp(), never)
    // The answer may be read a moment before its connection is free again.
    expect(connections()).toBeLessThanOrEqual(2)
  })
})

describe('answers', () => {
  test.each<[number, number, string]>([
    [400, 131026, 'permanent'],
    [400, 131047, 'permanent'],
    [400, 131049, 'permanent'],
    [400, 131050, 'permanent'],
    [400, 132000, 'permanent'],
    [404, 132001, 'permanent'],
    [400, 100, 'permanent'],
    [400, 33, 'temporary'],
    [400, 999_999, 'permanent'],
    [401, 190, 'temporary'],
    [400, 131042, 'temporary'],
    [400, 131056, 'temporary'],
    [500, 2, 'temporary'],
    [500, 131000, 'temporary'],
    [503, 131016, 'temporary'],
    [500, 999_999, 'temporary'],
    [400, 130429, 'throttled'],
    [400, 131048, 'throttled'],
    [400, 80007, 'throttled'],
    [429, 999_999, 'throttled'],
  ])('%d with code %d is %s', async (status, code, kind) => {
    const { carrier } = await refusing(status, graphError(code))
    const error = await failureOf(carrier.send(whatsapp(), never))
    expect(error).toMatchObject({ kind, reason: expect.stringMatching(/\.$/), answer: expect.stringContaining(String(code)) })
  })

  test('an unknown code that calls itself transient is tried again; Retry-After is honoured', async () => {
    const { carrier } = await refusing(400, graphError(999_999, { is_transient: true }))
    expect((await failureOf(carrier.send(whatsapp(), never))).kind).toBe('temporary')
    const slow = await refusing(429, graphError(130429), { 'retry-after': '7' })
    expect(await failureOf(slow.carrier.send(whatsapp(), never))).toMatchObject({ kind: 'throttled', retryAfterMs: 7_000 })
  })

  test.each<[string, number, string, string]>([
    ['a gateway’s own page instead of the carrier’s answer', 502, '<html>Bad Gateway</html>', 'uncertain'],
    ['a gateway that ran out of time', 504, '', 'uncertain'],
    ['a gateway that says that nobody is there', 503, '<html>', 'uncertain'],
    ['a redirect', 302, '', 'temporary'],
    ['a page where no carrier is', 404, '<html>Not Found</html>', 'temporary'],
    ['a proxy that wants to know who asks', 407, '', 'temporary'],
    ['a gateway that says that the request took too long', 408, '', 'uncertain'],
    ['a no without a reason', 400, '{"error":{"message":"no"}}', 'temporary'],
    ['a no that is JSON and nothing else', 400, 'null', 'temporary'],
    ['a yes without a name', 200, '{"messages":[]}', 'uncertain'],
  ])('%s', async (_, status, body, kind) => {
    const { carrier } = await refusing(status, body)
    expect((await failureOf(carrier.send(whatsapp(), never))).kind).toBe(kind)
  })

  test.each<[string, object, string]>([
    ['by its subcode', { code: 100, error_subcode: 33, message: 'Unsupported post request.' }, 'temporary'],
    [
      'by its words',
      {
        code: 100,
        message: "Unsupported post request. Object with ID '1' does not exist, cannot be loaded due to missing permissions",
      },
      'temporary',
    ],
    ['not a parameter of the message', { code: 100, message: '(#100) Invalid parameter', error_subcode: 2494010 }, 'permanent'],
  ])('our number is not there for this token: %s', async (_, error, kind) => {
    const { carrier } = await refusing(400, JSON.stringify({ error }))
    expect((await failureOf(carrier.send(whatsapp(), never))).kind).toBe(kind)
  })

  test.each(['86400', '99999999999'])('a Retry-After of %s s is honoured for ten minutes', async seconds => {
    const { carrier } = await refusing(429, graphError(130429), { 'retry-after': seconds })
    expect((await failureOf(carrier.send(whatsapp(), never))).retryAfterMs).toBe(600_000)
  })

  test('one that never ends is not read to its end', async () => {
    const { carrier } = await carrierThat((request, response) => {
      request.resume()
      response.writeHead(200)
      const more = setInterval(() => response.write('x'.repeat(16_384)), 1)
      response.on('close', () => clearInterval(more))
    })
    expect((await failureOf(carrier.send(whatsapp(), never))).kind).toBe('uncertain')
  })
})

test('a message that waits for a free connection while the signal fires was never written', async () => {
  const held: (() => void)[] = []
  const { carrier } = await carrierThat((request, response) => {
    request.resume()
    held.push(() => response.end('{"messages":[{"id":"wamid.X"}]}'))
  })
  const busy = Array.from({ length: 20 }, () => carrier.send(whatsapp(), never))
  await expect.poll(() => held.length).toBe(20)
  const giveUp = new AbortController()
  const waiting = failureOf(carrier.send(whatsapp(), giveUp.signal))
  giveUp.abort()
  expect((await waiting).kind).toBe('temporary')
  for (const answer of held) answer()
  await Promise.all(busy)
  await carrier.close()
  expect(held).toHaveLength(20)
})

describe('WHATSAPP_URL', () => {
  test('is read: token, version, number, connections', () => {
    expect(readCloudUrl(new URL('whatsapp://EAAG|x@graph.facebook.com/v23.0/106540352242922?pool=50'))).toEqual({
      origin: 'https://graph.facebook.com',
      token: 'EAAG|x',
      version: 'v23.0',
      phoneNumberId: '106540352242922',
      connections: 50,
      unanswered: 'person',
    })
  })

  test.each([
    ['', undefined],
    ['&unanswered=repeat', 7 * 86_400_000],
  ])('without a report, %j: repeated after %s ms', async (option, ms) => {
    const carrier = await cloudProvider.open(new URL(`whatsapp://t@graph.facebook.com/v23.0/106540352242922?pool=1${option}`))
    onTestFinished(() => carrier.close())
    expect(carrier.repeatAfterMs).toBe(ms)
  })
})
