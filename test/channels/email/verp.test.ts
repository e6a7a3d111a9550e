import { expect, test } from 'vitest'
import { readVerp, verpAddress } from '../../../src/channels/email/verp.js'
import { newId } from '../../../src/domain/id.js'

const verp = { domain: 'bounce.example.com', key: Buffer.alloc(32, 1) }
const id = '019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b'
const address = verpAddress(id, verp)

test('an envelope sender names its notification and is read back', () => {
  expect(address).toMatch(/^b\+019a1b2c3d4e7f508a6b7c8d9e0f1a2b\.[0-9a-f]{16}@bounce\.example\.com$/)
  expect(address.indexOf('@')).toBeLessThanOrEqual(64)
  expect(readVerp(address, verp)).toEqual({ notification: id, purpose: 'return' })
  for (let turn = 0; turn < 50; turn++) {
    const other = newId(Date.now())
    expect(readVerp(verpAddress(other, verp), verp)).toEqual({ notification: other, purpose: 'return' })
  }
})

test('is read in any case, since servers on the way change it', () => {
  const known = { notification: id, purpose: 'return' }
  expect(readVerp(address.toUpperCase(), verp)).toEqual(known)
  expect(readVerp(address, { ...verp, domain: 'BOUNCE.example.com' })).toEqual(known)
})

test('the address for a reading receipt cannot be made from the envelope sender, which every recipient sees', () => {
  const receipt = verpAddress(id, verp, 'receipt')
  expect(readVerp(receipt, verp)).toEqual({ notification: id, purpose: 'receipt' })
  expect(readVerp(address.replace(/^b/, 'r'), verp)).toBeNull()
  expect(readVerp(receipt.replace(/^r/, 'b'), verp)).toBeNull()
})

test('every single changed character of the tag is noticed', () => {
  const local = address.slice(0, address.indexOf('@'))
  for (let at = 0; at < local.length; at++) {
    const changed = local[at] === '0' ? '1' : '0'
    const forged = `${local.slice(0, at)}${changed}${local.slice(at + 1)}@bounce.example.com`
    expect(readVerp(forged, verp), forged).toBeNull()
  }
})

test.each([
  ['another key', address, { ...verp, key: Buffer.alloc(32, 2) }],
  ['another domain', address.replace('bounce.', 'evil.'), verp],
  ['a domain below', address.replace('@', '@x.'), verp],
  ['a signature cut short', address.replace(/[0-9a-f]@/, '@'), verp],
  ['a longer signature', address.replace('@', '0@'), verp],
  ['no signature', address.replace(/\.[0-9a-f]{16}@/, '@'), verp],
  ['an id with hyphens', address.replace(/019a1b2c/, '019a1b2c-'), verp],
  ['nothing', '', verp],
  ['only the domain', '@bounce.example.com', verp],
  ['a person', 'postmaster@bounce.example.com', verp],
  ['two addresses', `${address},${address}`, verp],
])('%s is not ours', (_, text, settings) => {
  expect(readVerp(text, settings)).toBeNull()
})
