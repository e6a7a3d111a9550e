import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../../src/domain/id.js'
import { type LinkTarget, makeShortCode, readShortCode, typedLink } from '../../../src/domain/recipient/link.js'
import { createShortLinks } from '../../../src/engine/recipient/short-links.js'
import { findGuardedLink } from '../../../src/store/recipient/guesses.js'
import { createDatabase, type TestDatabase } from '../../support/database/database.js'

let database: TestDatabase
const key = Buffer.alloc(32, 3)
const target = (): LinkTarget => ({ notification: newId(Date.now()), channel: 'sms' })

beforeAll(async () => {
  database = await createDatabase()
})

afterAll(() => database.drop())

test('a code leads back to its notification and channel, and asking again gives the same one', async () => {
  const links = createShortLinks(database.pool, key)
  const one = target()
  const code = await links(one)
  expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{10}$/)
  expect(await findGuardedLink(database.pool, code, { own: [], shared: 'all' })).toEqual({ target: one, lockedMs: 0 })
  expect(await links(one)).toBe(code)
  expect(await createShortLinks(database.pool, key)(one)).toBe(code)
  expect(await links({ ...one, channel: 'whatsapp' })).not.toBe(code)
})

test('two nodes that ask at the same moment agree, many at once', async () => {
  const nodes = [createShortLinks(database.pool, key), createShortLinks(database.pool, key)]
  const targets = Array.from({ length: 300 }, target)
  const [first, second] = await Promise.all(nodes.map(links => Promise.all(targets.map(links))))
  expect(first).toEqual(second)
  expect(new Set(first).size).toBe(targets.length)
})

test('a code that another notification holds is not shared: the next one is taken, and kept', async () => {
  const colliding: typeof makeShortCode = (linkKey, given, round) =>
    round === 0 ? 'aaaaaaaaaa' : makeShortCode(linkKey, given, round)
  const links = createShortLinks(database.pool, key, colliding)
  const [one, two] = [target(), target()]
  const codes = [await links(one), await links(two)]
  expect(codes).toEqual(['aaaaaaaaaa', makeShortCode(key, two, 1)])
  expect(await links(two)).toBe(codes[1])
  // Both in one group, where the collision is inside it.
  const crowd = [target(), target(), target()]
  expect(new Set(await Promise.all(crowd.map(links))).size).toBe(3)
})

test('codes differ with the key, and copied by hand they still lead there', () => {
  const one = target()
  expect(makeShortCode(key, one, 0)).not.toBe(makeShortCode(Buffer.alloc(32, 4), one, 0))
  expect(readShortCode('OIL0ABCDEF')).toBe('0110abcdef')
  expect(readShortCode('x'.repeat(5_000)).length).toBe(11)
  expect(readShortCode("a\0'é b")).toBe('a___b')
  expect(readShortCode(' '.repeat(5_000))).toBe('')
})

test('printed in two groups, the code is typed with or without what parts them', () => {
  const code = makeShortCode(key, target(), 0)
  const typed = typedLink('https://avisos.exemplo.com.br', code)
  expect(typed).toEqual({
    address: 'avisos.exemplo.com.br/s',
    code: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$/),
  })
  for (const way of [
    typed.code,
    typed.code.toLowerCase(),
    typed.code.replace('-', ''),
    ` ${typed.code.replace('-', ' ')} `,
    typed.code.replace('-', ' – '),
  ]) {
    expect(readShortCode(way)).toBe(code)
  }
})
