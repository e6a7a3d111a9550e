import { describe, expect, test } from 'vitest'
import { isOptOut } from '../../../src/channels/sms/opt-out.js'
import { MAX_TAGGED_PARTS, makeTag, readTag } from '../../../src/domain/delivery/reference-tag.js'

describe('reference tags', () => {
  test('fit into 16 bits and give back which part of how many it is', () => {
    for (let parts = 1; parts <= MAX_TAGGED_PARTS; parts++) {
      for (let part = 1; part <= parts; part++) {
        const tag = makeTag('0190.sms.1', part, parts)
        expect(tag >= 0 && tag <= 0xffff).toBe(true)
        expect(readTag(tag, '0190.sms.1')).toEqual({ part, parts })
      }
    }
  })

  test('of another reference are not read, but for one in a thousand', () => {
    const tag = makeTag('mine', 1, 1)
    const mistaken = Array.from({ length: 10_000 }, (_, n) => readTag(tag, `other ${n}`)).filter(read => read !== null)
    expect(mistaken.length).toBeLessThan(30)
  })

  test('that no part can have are not read', () => {
    expect(readTag((makeTag('mine', 1, 1) & ~0x3f) | 7, 'mine')).toBeNull()
  })
})

test.each([
  ['SAIR', true],
  [' sair. ', true],
  ['Pare!', true],
  ['stop', true],
  ['Cancelar', true],
  ['quero sair mais cedo', false],
  ['Não parar', false],
  ['', false],
  ['sairá', false],
])('%j ends the messages: %s', (text, ends) => {
  expect(isOptOut(text)).toBe(ends)
})
