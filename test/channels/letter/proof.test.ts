import { afterAll, expect, test } from 'vitest'
import { readBlocks } from '../../../src/channels/letter/blocks.js'
import type { LetterHistory } from '../../../src/channels/letter/letter-store.js'
import { createLetterProofs } from '../../../src/channels/letter/proof.js'
import type { Sheet } from '../../../src/channels/letter/sheet.js'
import { createTypesetter } from '../../../src/channels/letter/typesetter.js'
import { sha256 } from '../../../src/domain/evidence.js'

const typesetter = createTypesetter(1)
afterAll(() => typesetter.close())

const notification = '019a8f2e-77aa-7c3e-9d12-0123456789ab'
const sheet: Sheet = {
  layout: 'registrada',
  reference: notification,
  sender: { name: 'Banco Exemplo S.A.', lines: ['Av. Paulista, 1000'], color: '#0b4f6c' },
  recipient: { name: 'Maria', lines: ['Rua das Flores, 100'] },
  date: '15 de novembro de 2026',
  moment: 1_763_200_000,
  subject: 'Notificação',
  blocks: readBlocks('<p>Olá</p>'),
}

test('a proof is typeset once for each history, however often and by however many it is asked for', async () => {
  const letter = Buffer.from(
    (await typesetter.compose(sheet, { for: 'recipient', link: 'https://notifica.example.com/n/x' })).pdf,
  )
  let made = 0
  const events: LetterHistory['events'] = [{ at: new Date(0), type: 'processed', data: {} }]
  const compose = createLetterProofs({
    typesetter: {
      ...typesetter,
      compose: (...given) => {
        made++
        return typesetter.compose(...given)
      },
    },
    proofUrl: id => `https://notifica.example.com/comprovante/carta/${id}.pdf`,
    findHistory: async () => ({
      status: {
        notification,
        ordinal: 1,
        customId: null,
        trackingCode: null,
        acceptedAt: new Date(0),
      } as LetterHistory['status'],
      image: null,
      events: [...events],
    }),
    findLetter: async () => ({ pdf: letter, sha256: sha256(letter), pages: 1, sheet: JSON.parse(JSON.stringify(sheet)) }),
  })
  const together = await Promise.all(Array.from({ length: 20 }, () => compose(notification)))
  expect(made).toBe(1)
  expect(Buffer.from((await compose(notification))!).equals(Buffer.from(together[0]!))).toBe(true)
  expect(made).toBe(1)
  events.push({ at: new Date(1_000), type: 'sent', data: {} })
  expect(Buffer.from((await compose(notification))!).equals(Buffer.from(together[0]!))).toBe(false)
  expect(made).toBe(2)
})
