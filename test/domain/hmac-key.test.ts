import { createHmac, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { HmacKey } from '../../src/domain/hmac-key.js'

const TEXTS = ['', 'a', 'João 🙂', 'x'.repeat(64 * 1024), '🙂'.repeat(40_000), 'short, after long ones']

test.each([0, 1, 32, 63, 64, 65, 200])('a key of %i bytes signs every text as the library does, one after another', bytes => {
  const secret = randomBytes(bytes)
  const key = new HmacKey(secret)
  for (const text of TEXTS) expect(key.sign(text)).toBe(createHmac('sha256', secret).update(text).digest('base64'))
})

test('keys that take turns do not mix', () => {
  const secrets = [randomBytes(32), randomBytes(32)]
  const keys = secrets.map(secret => new HmacKey(secret))
  for (let n = 0; n < 10; n++) {
    const expected = createHmac('sha256', secrets[n % 2]!)
      .update(`text ${n}`)
      .digest('base64')
    expect(keys[n % 2]!.sign(`text ${n}`)).toBe(expected)
  }
})
