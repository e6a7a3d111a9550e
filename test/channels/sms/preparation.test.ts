import { expect, test } from 'vitest'
import { createSmsPreparation } from '../../../src/channels/sms/preparation.js'
import { completeSettings } from '../../../src/domain/account.js'
import type { Claim } from '../../../src/store/delivery/claims.js'

const prepare = createSmsPreparation({ publicUrl: 'https://n.example.com', shortLink: async () => 'abc' })
const textFor = async (subject: string): Promise<unknown> => {
  const claim = { subject, settings: completeSettings({}), accountName: 'Banco', request: {}, recipient: '+5511900000000' }
  return ((await prepare(claim as unknown as Claim)) as { text: string }).text
}

test('our own text is the sender, as much of the subject as fits, and the link', async () => {
  expect(await textFor('Aviso')).toBe('Banco: Aviso https://n.example.com/s/abc')
  expect(await textFor('Aviso '.repeat(40))).toMatch(/^Banco: (Aviso )+.*\.\.\. https:\/\/n\.example\.com\/s\/abc$/)
})

test('of a subject with millions of characters only what could fit is read', async () => {
  const long = await textFor('Aviso '.repeat(40))
  expect(await textFor('Aviso '.repeat(3_000_000))).toBe(long)
})
