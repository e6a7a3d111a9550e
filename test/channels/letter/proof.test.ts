import { afterAll, expect, test } from 'vitest'
import type { LetterHistory } from '../../../src/channels/letter/letter-store.js'
import { createLetterProofs, type ProofParts } from '../../../src/channels/letter/proof.js'
import type { Sheet } from '../../../src/channels/letter/sheet.js'
import { createTypesetter } from '../../../src/channels/letter/typesetter.js'
import { sha256 } from '../../../src/domain/evidence/evidence.js'
import { ThreadDied } from '../../../src/runtime/thread-pool.js'
import { readBlocks } from '../../../src/runtime/typesetting/blocks.js'
import { pngOf } from '../../support/programs/pictures.js'

const typesetter = createTypesetter(1)
afterAll(() => typesetter.close())

const notification = '019a8f2e-77aa-7c3e-9d12-0123456789ab'
const picture = pngOf(30, 10)
const logo = { sha256: sha256(picture), type: 'png' } as const
const sheet: Sheet = {
  layout: 'registrada',
  reference: notification,
  sender: { name: 'Banco Exemplo S.A.', lines: ['Av. Paulista, 1000'], details: ['Banco Exemplo S.A.'], color: '#0b4f6c', logo },
  recipient: { name: 'Maria', lines: ['Rua das Flores, 100'] },
  date: '15 de novembro de 2026',
  moment: 1_763_200_000,
  subject: 'Notificação',
  blocks: readBlocks('<p>Olá</p>'),
}

const history: LetterHistory = {
  status: { notification, ordinal: 1, customId: null, trackingCode: null, acceptedAt: new Date(0) } as LetterHistory['status'],
  mode: 'live',
  image: null,
  events: [{ at: new Date(0), type: 'processed', source: 'print-shop:x/1', data: {} }],
}
const stored = { pdf: Buffer.from('%PDF'), sha256: sha256('%PDF'), pages: 1, sheet: JSON.parse(JSON.stringify(sheet)) }

const proofsOf = (more: Partial<ProofParts>) =>
  createLetterProofs({
    typesetter,
    verificationOf: () => ({ url: 'https://notifica.example.com/verificar/7k3m9q2x4zab12cd', code: '7K3M-9Q2X-4ZAB-12CD' }),
    openSigner: async () => ({ certificate: { description: 'certificado de teste' }, sign: async pdf => ({ pdf }) }),
    now: () => new Date(0),
    proofUrl: id => `https://notifica.example.com/comprovante/carta/${id}.pdf`,
    findLogo: async hash => (hash === logo.sha256 ? picture : null),
    findHistory: async () => history,
    findLetter: async () => stored,
    ...more,
  })

test('a proof is typeset once for each history, however often and by however many it is asked for', async () => {
  let made = 0
  const logos: (Uint8Array | null | undefined)[] = []
  const events = [...history.events]
  const compose = proofsOf({
    typesetter: {
      ...typesetter,
      compose: (...given) => {
        made++
        logos.push(given[2])
        return typesetter.compose(...given)
      },
    },
    findHistory: async () => ({ ...history, events: [...events] }),
  })
  const together = await Promise.all(Array.from({ length: 20 }, () => compose(notification)))
  expect(made).toBe(1)
  expect(Buffer.from((await compose(notification))!).equals(Buffer.from(together[0]!))).toBe(true)
  expect(made).toBe(1)
  events.push({ at: new Date(1_000), type: 'sent', source: 'print-shop:x/1', data: {} })
  expect(Buffer.from((await compose(notification))!).equals(Buffer.from(together[0]!))).toBe(false)
  expect(made).toBe(2)
  // With the logo that the letter was printed with.
  expect(logos).toEqual([picture, picture])
})

test('a proof whose thread died is refused for now, and made when it is asked for again', async () => {
  let calls = 0
  const compose = proofsOf({
    typesetter: {
      ...typesetter,
      compose: async (...given) => (++calls === 1 ? Promise.reject(new ThreadDied('a test')) : typesetter.compose(...given)),
    },
  })
  await expect(compose(notification)).rejects.toMatchObject({ code: 'overloaded', cause: { name: 'ThreadDied' } })
  expect(Buffer.from((await compose(notification))!.subarray(0, 4)).toString()).toBe('%PDF')
})

test('a letter that was not there is looked for again', async () => {
  let isThere = false
  const compose = proofsOf({ findLetter: async () => (isThere ? stored : null) })
  expect(await compose(notification)).toBeNull()
  isThere = true
  expect(await compose(notification)).not.toBeNull()
})
