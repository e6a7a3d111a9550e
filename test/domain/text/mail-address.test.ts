import { expect, test } from 'vitest'
import { readEmailAddress } from '../../../src/domain/text/mail-address.js'
import fc from '../../support/generated.js'

test.each([
  ['maria@example.com', 'maria@example.com'],
  ['Maria.Silva@Example.COM', 'Maria.Silva@example.com'],
  ['maria+contrato@sub.dominio.com.br', 'maria+contrato@sub.dominio.com.br'],
  ["o'hara!#$%&*/=?^_`{|}~-@example.com", "o'hara!#$%&*/=?^_`{|}~-@example.com"],
  ['joão@example.com', 'joão@example.com'],
  ['maria@açaí.com.br', 'maria@xn--aa-4iaz.com.br'],
  ['maria@xn--aa-4iaz.com.br', 'maria@xn--aa-4iaz.com.br'],
  ['1@2.com', '1@2.com'],
  ['a@a-b.co', 'a@a-b.co'],
  [`${'a'.repeat(64)}@example.com`, `${'a'.repeat(64)}@example.com`],
  [`a@${'b'.repeat(63)}.com`, `a@${'b'.repeat(63)}.com`],
])('%s is an address, kept as %s', (text, address) => {
  expect(readEmailAddress(text)).toBe(address)
})

test.each([
  ['nothing', ''],
  ['a name', 'maria'],
  ['no local part', '@example.com'],
  ['no domain', 'maria@'],
  ['one label', 'maria@localhost'],
  ['two at signs', 'maria@silva@example.com'],
  ['two addresses', 'a@b.com,c@d.com'],
  ['two addresses and a space', 'a@b.com, c@d.com'],
  ['two addresses and a semicolon', 'a@b.com;c@d.com'],
  ['a display name', 'Maria <maria@example.com>'],
  ['angle brackets', '<maria@example.com>'],
  ['a quoted local part', '"maria silva"@example.com'],
  ['a comment', 'maria(casa)@example.com'],
  ['a space before', ' maria@example.com'],
  ['a space after', 'maria@example.com '],
  ['a space inside', 'maria silva@example.com'],
  ['a no-break space inside', 'maria\u00a0silva@example.com'],
  ['a line break and a header', 'maria@example.com\r\nBcc: x@example.com'],
  ['a line break in the local part', 'maria\r\n@example.com'],
  ['a tab', 'maria\t@example.com'],
  ['NUL', 'maria\0@example.com'],
  ['DEL', 'maria\u007f@example.com'],
  ['a dot first', '.maria@example.com'],
  ['a dot last', 'maria.@example.com'],
  ['two dots', 'maria..silva@example.com'],
  ['two dots in the domain', 'maria@example..com'],
  ['a dot after the domain', 'maria@example.com.'],
  ['a dot before the domain', 'maria@.example.com'],
  ['a hyphen before a label', 'maria@-example.com'],
  ['a hyphen after a label', 'maria@example-.com'],
  ['an underscore in the domain', 'maria@exa_mple.com'],
  ['an address literal', 'maria@[127.0.0.1]'],
  ['an IP address', 'maria@127.0.0.1'],
  ['an IP address in other clothes', 'maria@0x7f.1'],
  ['an ideographic full stop', 'maria@example\u3002com'],
  ['a slash in the domain', 'maria@example.com/x'],
  ['a port', 'maria@example.com:25'],
  ['a percent-encoded domain', 'maria@%65xample.com'],
  ['a local part of 65 bytes', `${'a'.repeat(65)}@example.com`],
  ['a local part of 65 bytes in fewer letters', `${'ã'.repeat(33)}@example.com`],
  ['a label of 64 characters', `maria@${'b'.repeat(64)}.com`],
  ['an address of 255 characters', `${'a'.repeat(63)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(59)}.com`],
])('%s is no address', (_, text) => {
  expect(readEmailAddress(text)).toBe(null)
})

test('an address of 254 characters is the longest', () => {
  const longest = `${'a'.repeat(63)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(58)}.com`
  expect(longest).toHaveLength(254)
  expect(readEmailAddress(longest)).toBe(longest)
})

test('what is read holds no separator and no control character, and reads to itself again', () => {
  const part = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('a', 'b.c', 'example', 'com'),
  )
  fc.assert(
    fc.property(part, part, fc.constantFrom('.com', '.com.br', '', '.', '\n.com'), (local, domain, tail) => {
      const address = readEmailAddress(`${local}@${domain}${tail}`)
      if (address === null) return
      expect(address).not.toMatch(/[\s\u0000-\u001f\u007f,;<>"]/)
      expect(address.split('@')).toHaveLength(2)
      expect(readEmailAddress(address)).toBe(address)
    }),
    { numRuns: 5_000 },
  )
})

test('the work to refuse a long address does not grow faster than its length', () => {
  /** Processor time of the cheapest of some rounds, in microseconds: other programs do not count. */
  const cost = (repeats: number): number => {
    const text = `a@${'a.'.repeat(repeats)}`
    const rounds = Array.from({ length: 20 }, () => {
      const start = process.cpuUsage()
      for (let round = 0; round < 10; round++) expect(readEmailAddress(text)).toBe(null)
      const { user, system } = process.cpuUsage(start)
      return user + system
    })
    return Math.min(...rounds)
  }
  // Quadratic work would cost 64 times as much for 8 times the text.
  expect(cost(400_000)).toBeLessThan(Math.max(500, cost(50_000)) * 24)
})
