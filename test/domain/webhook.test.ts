import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { seal, unseal } from '../../src/domain/access/sealed.js'
import { HmacKey } from '../../src/domain/hmac-key.js'
import { isAnnounced, nextDelay, RETRY_PLAN, readSecret, showSecret, signedHeaders } from '../../src/domain/webhook.js'

test('an unknown outcome is announced once: that only a person can settle it is no news for the sender', () => {
  expect(isAnnounced('uncertain')).toBe(true)
  expect(isAnnounced('unresolved')).toBe(false)
})

describe('retries', () => {
  const HOUR = 3_600_000

  test('the plan is 0, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h, then nothing', () => {
    const seconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]
    let age = 0
    for (const [index, planned] of seconds.entries()) {
      expect(nextDelay(RETRY_PLAN, index + 1, age, () => 0.5)).toBe(planned * 1_000)
      age += planned * 1_000
    }
    expect(nextDelay(RETRY_PLAN, 10, age, () => 0.5)).toBeNull()
  })

  test('jitter moves a retry by at most a fifth', () => {
    expect(nextDelay(RETRY_PLAN, 2, 0, () => 0)).toBe(240_000)
    expect(nextDelay(RETRY_PLAN, 2, 0, () => 1)).toBe(360_000)
  })

  test('tries that were used up early do not end a message before its three days are over', () => {
    expect(nextDelay(RETRY_PLAN, 10, HOUR, () => 0.5)).toBe(2 * HOUR)
    expect(nextDelay(RETRY_PLAN, 40, 59 * HOUR, () => 0.5)).toBe(2 * HOUR)
    expect(nextDelay(RETRY_PLAN, 40, 76 * HOUR, () => 0.5)).toBeNull()
  })
})

test('every valid secret signs, and the library of the standard verifies each', () => {
  const secrets = [randomBytes(32), randomBytes(32)]
  const body = JSON.stringify({ nome: 'João', emoji: '🙂' })
  const headers = signedHeaders(
    secrets.map(secret => new HmacKey(secret)),
    'msg-1',
    Date.now(),
    body,
  )
  for (const secret of secrets) expect(new Webhook(showSecret(secret)).verify(body, headers)).toEqual(JSON.parse(body))
  expect(() => new Webhook(showSecret(randomBytes(32))).verify(body, headers)).toThrow()
  expect(() => new Webhook(showSecret(secrets[0]!)).verify(`${body} `, headers)).toThrow()
})

test('a secret that is shown is read back, and another text is none', () => {
  const secret = randomBytes(32)
  expect(readSecret(showSecret(secret))).toEqual(secret)
  for (const text of ['', 'whsec_', secret.toString('base64'), `${showSecret(secret)} `, 'whsec_não'])
    expect(readSecret(text)).toBeNull()
})

describe('sealed values', () => {
  const key = randomBytes(32)
  const secret = randomBytes(32)

  test('open with their key and context, and never look the same twice', () => {
    const sealed = seal(key, secret, 'webhook 1')
    expect(unseal(key, sealed, 'webhook 1')).toEqual(secret)
    expect(seal(key, secret, 'webhook 1')).not.toEqual(sealed)
    expect(sealed.includes(secret)).toBe(false)
  })

  test('do not open with another key or context, or when a single bit was changed or a part is missing', () => {
    const sealed = seal(key, secret, 'webhook 1')
    expect(() => unseal(randomBytes(32), sealed, 'webhook 1')).toThrow()
    expect(() => unseal(key, sealed, 'webhook 2')).toThrow()
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed)
      changed[at]! ^= 1
      expect(() => unseal(key, changed, 'webhook 1'), `byte ${at}`).toThrow()
    }
    expect(() => unseal(key, sealed.subarray(0, 20), 'webhook 1')).toThrow()
  })
})
