import { createHmac, scryptSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashReply, matchesReply, normaliseReply } from '../../../src/domain/recipient/reply.js'

const pepper = Buffer.alloc(32, 9)

test.each([
  ['JOSÉ 42', 'jose42'],
  ['  josé-42. ', 'jose42'],
  ['Jose\u0301 42', 'jose42'],
  ['１２３．４５６', '123456'],
  ['São João d’El-Rei', 'saojoaodelrei'],
  ['ÇÃÕÜ', 'caou'],
  ['ﬁm', 'fim'],
  ['東京', '東京'],
  ['!?… -', ''],
  ['', ''],
])('%s counts as %s', (reply, normalised) => {
  expect(normaliseReply(reply)).toBe(normalised)
  expect(normaliseReply(normaliseReply(reply))).toBe(normalised)
})

test('the hash is scrypt over an HMAC with the pepper, recomputable from the stored salt', async () => {
  const { salt, hash } = await hashReply('José 42', pepper)
  expect(Buffer.from(salt, 'base64')).toHaveLength(16)
  const peppered = createHmac('sha256', pepper).update('jose42').digest()
  const expected = scryptSync(peppered, Buffer.from(salt, 'base64'), 32, { N: 16_384, r: 8, p: 1 })
  expect(hash).toBe(expected.toString('base64'))
})

test('the same reply never gives the same hash twice', async () => {
  const [one, two] = await Promise.all([hashReply('jose42', pepper), hashReply('jose42', pepper)])
  expect(one.salt).not.toBe(two.salt)
  expect(one.hash).not.toBe(two.hash)
})

test('without the pepper the hash cannot be recomputed', async () => {
  const { salt, hash } = await hashReply('jose42', pepper)
  const other = createHmac('sha256', Buffer.alloc(32, 8)).update('jose42').digest()
  for (const guess of [other, Buffer.from('jose42')]) {
    expect(scryptSync(guess, Buffer.from(salt, 'base64'), 32, { N: 16_384, r: 8, p: 1 }).toString('base64')).not.toBe(hash)
  }
})

test('a reply matches however it is typed, and no other does, nor under another pepper', async () => {
  const stored = await hashReply('Rua São João, 42', pepper)
  expect(await matchesReply('rua sao joao 42', stored, pepper)).toBe(true)
  for (const wrong of ['rua sao joao 43', '', '!!']) expect(await matchesReply(wrong, stored, pepper)).toBe(false)
  expect(await matchesReply('rua sao joao 42', stored, Buffer.alloc(32, 8))).toBe(false)
})
