import { describe, expect, test } from 'vitest'
import type { Lookup, MailResolver } from '../../../src/channels/email/resolver.js'
import { simulatedResolver } from '../../../src/channels/email/resolver.js'
import { validateRecipient } from '../../../src/channels/email/validation.js'
import { validationFailures } from '../../../src/channels/email/validation-failures.js'

/** A name server whose answer depends on the domain's first label. */
const resolver: MailResolver = {
  exchangers: async domain => {
    const answers: Record<string, Lookup<{ priority: number; exchange: string }>> = {
      missing: { status: 'missing' },
      unknown: { status: 'unknown' },
      null: { status: 'ok', records: [{ priority: 0, exchange: '.' }] },
      bare: { status: 'ok', records: [] },
      'bare-unknown': { status: 'ok', records: [] },
      'bare-missing': { status: 'ok', records: [] },
      empty: { status: 'ok', records: [] },
    }
    return answers[domain.split('.')[0]!] ?? { status: 'ok', records: [{ priority: 10, exchange: `mx.${domain}` }] }
  },
  addresses: async name => {
    const answers: Record<string, Lookup<string>> = {
      bare: { status: 'ok', records: ['192.0.2.1'] },
      'bare-unknown': { status: 'unknown' },
      'bare-missing': { status: 'missing' },
    }
    return answers[name.split('.')[0]!] ?? { status: 'ok', records: [] }
  },
}

/** One that must not be asked. */
const untouchable: MailResolver = {
  exchangers: () => Promise.reject(new Error('asked')),
  addresses: () => Promise.reject(new Error('asked')),
}

describe('2.5 failureReason: the validation before an e-mail leaves', () => {
  test.each([
    ['a@example.com', null],
    ['a@missing.example.com', 'domain-missing'],
    ['a@null.example.com', 'no-exchanger'],
    ['a@empty.example.com', 'no-exchanger'],
    ['a@bare-missing.example.com', 'no-exchanger'],
    ['a@bare.example.com', null],
  ])('%s: %s', async (address, failure) => {
    expect(await validateRecipient(address, { resolver })).toBe(failure)
  })

  test.each(['a@unknown.example.com', 'a@bare-unknown.example.com'])(
    '%s: a resolver that cannot tell proves nothing',
    async address => {
      expect(await validateRecipient(address, { resolver })).toBeNull()
    },
  )

  test('a simulator out of reach proves nothing', async () => {
    expect(await validateRecipient('a@example.com', { resolver: simulatedResolver('http://127.0.0.1:1') })).toBeNull()
  })

  test.each([
    'sem-arroba',
    'a@b',
    'a@b..com',
    'a b@example.com',
    'nome_sobrenome@gmail.com',
    'a-b@gmail.com',
    `${'a'.repeat(31)}@gmail.com`,
  ])('%s breaks the rules of its domain, without a question to anybody', async address => {
    expect(await validateRecipient(address, { resolver: untouchable })).toBe('syntax')
  })

  test.each(['joao.silva+avisos@gmail.com', 'Maria99@googlemail.com', 'nome_sobrenome@example.com', 'a-b@hotmail.com'])(
    '%s is possible',
    async address => {
      expect(await validateRecipient(address, { resolver })).toBeNull()
    },
  )

  test.each(['x@mailinator.com', 'x@YOPMAIL.com', 'x@sub.guerrillamail.com'])('%s is of a disposable domain', async address => {
    expect(await validateRecipient(address, { resolver: untouchable })).toBe('disposable')
  })

  test('a domain that only ends alike is not disposable', async () => {
    expect(await validateRecipient('x@notmailinator.com', { resolver })).toBeNull()
  })

  test('every code has its label and sentence', async () => {
    const codes = await Promise.all(
      ['x', 'a@missing.x.com', 'a@null.x.com', 'a@yopmail.com'].map(address => validateRecipient(address, { resolver })),
    )
    for (const code of [...codes, 'suppressed']) expect(validationFailures).toHaveProperty([code!, 'description'])
  })
})
