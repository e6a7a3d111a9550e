import { expect, test } from 'vitest'
import { type Access, type FormAccess, robotLimits, robotSignals } from '../../../src/domain/recipient/robot.js'

const person: Access = {
  method: 'GET',
  userAgent: 'Mozilla/5.0 (Linux; Android 13) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36',
  purpose: undefined,
  sinceSentMs: 60_000,
}
const form: FormAccess = { sincePageMs: 5_000, trapped: false, steered: false, fetchMode: 'navigate', language: 'pt-BR' }

test('nothing speaks against a person, with a form or without', () => {
  expect(robotSignals(person)).toEqual([])
  expect(robotSignals({ ...person, method: 'POST', form })).toEqual([])
})

test('a browser without Sec-Fetch headers, or one that says no language, is a person; without both it is bare', () => {
  const signals = (changes: Partial<FormAccess>) => robotSignals({ ...person, method: 'POST', form: { ...form, ...changes } })
  expect(signals({ fetchMode: undefined })).toEqual([])
  expect(signals({ language: undefined })).toEqual([])
  expect(signals({ fetchMode: undefined, language: undefined })).toEqual(['bare client'])
})

test.each([
  'Mozilla/5.0 (Linux; Android 11; CUBOT NOTE 20) AppleWebKit/537.36 Chrome/120.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36 Avast/120.0.0.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 Version/17.0 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Mobile; Nokia 8110 4G; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5',
])('%s is what a person reads with', userAgent => {
  expect(robotSignals({ ...person, userAgent })).toEqual([])
})

test.each<[Partial<Access>, string]>([
  [{ method: 'HEAD' }, 'method'],
  [{ userAgent: undefined }, 'no user agent'],
  [{ userAgent: ' ' }, 'no user agent'],
  [{ userAgent: 'WhatsApp/2.23.20.0' }, 'scanner'],
  [{ userAgent: 'Mozilla/5.0 (X11; Linux) HeadlessChrome/140.0.0.0' }, 'scanner'],
  [{ userAgent: 'Mozilla/5.0 (compatible; Googlebot/2.1)' }, 'scanner'],
  [{ userAgent: 'Mozilla/5.0' }, 'prefetching proxy'],
  [{ purpose: 'prefetch;prerender' }, 'prefetch header'],
  [{ sinceSentMs: null }, 'too soon'],
  [{ sinceSentMs: robotLimits.sinceSentMs - 1 }, 'too soon'],
  [{ form: { ...form, sincePageMs: null } }, 'no page'],
  [{ form: { ...form, sincePageMs: robotLimits.sincePageMs - 1 } }, 'too soon after the page'],
  [{ form: { ...form, trapped: true } }, 'trap'],
  [{ form: { ...form, steered: true } }, 'steered browser'],
  [{ form: { ...form, fetchMode: 'cors' } }, 'not a navigation'],
])('%o is told by its signal: %s', (changes, signal) => {
  expect(robotSignals({ ...person, ...changes })).toEqual([signal])
})

test('the limits are those given', () => {
  const limits = { sinceSentMs: 10, sincePageMs: 10 }
  expect(robotSignals({ ...person, sinceSentMs: 10, form: { ...form, sincePageMs: 10 } }, limits)).toEqual([])
  expect(robotSignals({ ...person, sinceSentMs: 9, form: { ...form, sincePageMs: 9 } }, limits)).toHaveLength(2)
})
