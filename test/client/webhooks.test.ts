import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { verifyWebhook, WebhookError, type WebhookEvent } from '../../client/client.js'

/** Signed by the library of the standard, not by our own code. */
const secret = `whsec_${Buffer.from('a secret of the endpoint, 32 bytes').toString('base64')}`
const body = JSON.stringify({ channel: 'sms', status: 'respondido', payload: { answered: ['Olá, é engano'] } })
const now = 1_800_000_000_000

const signed = (with_ = secret, at = now): Record<string, string> => ({
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(at / 1000),
  'webhook-signature': new Webhook(with_).sign('msg_1', new Date(at), body),
})
const verify = (
  headers: Parameters<typeof verifyWebhook>[1],
  given: string | Uint8Array = body,
  secrets: string | string[] = secret,
) => verifyWebhook(given, headers, secrets, { now: () => now })

describe('verifyWebhook', () => {
  test('gives the event of a signed body, of text or bytes, with headers of any form', async () => {
    const event: WebhookEvent = await verify(signed())
    expect(event.channel === 'sms' && event.payload.answered).toEqual(['Olá, é engano'])
    await verify(new Headers(signed()), new TextEncoder().encode(body))
    await verify(Object.fromEntries(Object.entries(signed()).map(([name, value]) => [name.toUpperCase(), [value]])))
  })

  test('takes any of several secrets and signatures, as while one replaces another', async () => {
    const other = `whsec_${Buffer.from('another secret of the endpoint 32').toString('base64')}`
    const both = { ...signed(), 'webhook-signature': `v1,AAAA v2,x v1,!! ${signed(other)['webhook-signature']}` }
    await verify(both, body, other)
    await verify(signed(), body, [other, secret])
  })

  test.each([
    ['another body', () => verify(signed(), `${body} `)],
    ['another secret', () => verify(signed(), body, `whsec_${btoa('x'.repeat(32))}`)],
    ['another id', () => verify({ ...signed(), 'webhook-id': 'msg_2' })],
    ['another moment', () => verify({ ...signed(), 'webhook-timestamp': String(now / 1000 + 1) })],
    ['an old moment', () => verify(signed(secret, now - 301_000))],
    ['a moment to come', () => verify(signed(secret, now + 301_000))],
    ['no moment', () => verify({ ...signed(), 'webhook-timestamp': 'NaN' })],
    ['no signature', () => verify({ ...signed(), 'webhook-signature': undefined })],
    [
      'a signature of another version',
      () => verify({ ...signed(), 'webhook-signature': signed()['webhook-signature']!.replace('v1,', 'v1a,') }),
    ],
  ])('refuses %s', async (_, attempt) => {
    await expect(attempt()).rejects.toThrow(WebhookError)
  })
})
