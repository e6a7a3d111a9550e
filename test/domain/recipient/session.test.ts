import { expect, test } from 'vitest'
import type { LinkTarget } from '../../../src/domain/recipient/link.js'
import { isSession, makeFormStamp, makeSession, readFormStamp, SESSION_MS } from '../../../src/domain/recipient/session.js'

const key = Buffer.alloc(32, 1)
const target: LinkTarget = { notification: '01890a5d-ac96-774b-bcce-b302099a8057', channel: 'email' }
const now = 1_794_000_000_000

test('a session opens its own notification and channel, until it ends', () => {
  const session = makeSession(key, target, now)
  expect(isSession(key, target, session, now)).toBe(true)
  expect(isSession(key, target, session, now + SESSION_MS - 1)).toBe(true)
  expect(isSession(key, target, session, now + SESSION_MS)).toBe(false)
  expect(isSession(key, { ...target, channel: 'sms' }, session, now)).toBe(false)
  expect(isSession(key, { ...target, notification: target.notification.replace('0', '1') }, session, now)).toBe(false)
  expect(isSession(Buffer.alloc(32, 2), target, session, now)).toBe(false)
})

test('neither a form’s stamp nor any other text is a session', () => {
  const stamp = makeFormStamp(key, target, now + 1_000)
  for (const text of [stamp, undefined, '', 'x', 'A'.repeat(30), 'A'.repeat(5_000)])
    expect(isSession(key, target, text, now)).toBe(false)
})

test('every changed character of a session spoils it', () => {
  const session = makeSession(key, target, now)
  for (let place = 0; place < session.length - 1; place++) {
    const changed = `${session.slice(0, place)}${session[place] === 'A' ? 'B' : 'A'}${session.slice(place + 1)}`
    expect(isSession(key, target, changed, now), String(place)).toBe(false)
  }
})

test('a stamp tells when its page was made, to its own link alone', () => {
  const stamp = makeFormStamp(key, target, now)
  expect(readFormStamp(key, target, stamp)).toBe(now)
  expect(readFormStamp(key, { ...target, channel: 'sms' }, stamp)).toBeNull()
  expect(readFormStamp(key, target, makeSession(key, target, now))).toBeNull()
})
