import { afterAll, expect, test } from 'vitest'
import { letter } from '../../../src/channels/letter/channel.js'
import { createLetterPreparation, type MadeLetter } from '../../../src/channels/letter/preparation.js'
import { createTypesetter } from '../../../src/channels/letter/typesetter.js'
import { createRendering } from '../../../src/channels/rendering.js'
import { createTemplateRunner } from '../../../src/channels/template-runner.js'
import { completeSettings } from '../../../src/domain/account.js'
import type { Claim } from '../../../src/store/delivery/claims.js'

const typesetter = createTypesetter(1)
const templates = createTemplateRunner()
afterAll(() => Promise.all([typesetter.close(), templates.close()]))

const variables = { logradouro: 'Rua das Flores', numero: '100', cidade: 'São Paulo', uf: 'SP', cep: '01001-000' }

/** What becomes of a letter with this content, and how many were made. */
async function prepare(html: string, more: Partial<Claim> = {}) {
  const kept: MadeLetter[] = []
  const preparation = createLetterPreparation({
    publicUrl: 'https://notifica.example.com',
    linkKey: Buffer.alloc(32),
    render: createRendering(letter, templates, async () => ({
      name: 'x',
      externalId: null,
      content: html,
      variables: [],
      metadata: {},
    })),
    typesetter,
    find: async () => null,
    keep: async (_notification, _ordinal, letter) => void kept.push(letter),
  })
  const notification = '019a8f2e-77aa-7c3e-9d12-0123456789ab'
  const claim: Claim = {
    notification,
    channel: 'letter',
    mode: 'live',
    owner: '01890a5d-ac96-774b-bcce-b302099a8059',
    account: notification,
    accountName: 'Banco Exemplo S.A.',
    settings: completeSettings({}),
    ordinal: 1,
    attempt: 1,
    failovers: 0,
    tried: [0],
    unknownCount: 0,
    bound: false,
    reference: `${notification}.letter.1`,
    recipient: null,
    recipientName: 'Maria da Silva',
    subject: 'Notificação',
    content: html,
    contentSize: 0,
    protected: false,
    suppressed: false,
    request: { variables },
    template: { id: notification, version: 1 },
    attachments: [],
    acceptedAt: new Date('2026-11-15T12:00:00Z'),
    ...more,
  }
  return { given: await preparation(claim), kept }
}

test('a letter with signs from a telephone is made', async () => {
  const { given, kept } = await prepare('<p>Prezada ✓</p>', { subject: 'Aviso 🎉' })
  expect(given).toMatchObject({ pages: 1, recipient: { name: 'Maria da Silva' } })
  expect(kept).toHaveLength(1)
})

test('the sheet that is kept, from which the sender’s copy is made, does not hold the recipient’s link', async () => {
  const { kept } = await prepare('<p>Prezada</p>')
  expect(JSON.stringify(kept[0]!.sheet)).toContain('Prezada')
  expect(JSON.stringify(kept[0]!.sheet)).not.toMatch(/\/n\/|notifica\.example\.com/)
})

test('letters that cannot be printed fail it, named with their cure', async () => {
  const { given, kept } = await prepare('<p>Olá</p>', { recipientName: '中村 Yuki' })
  const failureDetail = 'A carta tem letras que não podem ser impressas: 中 (U+4E2D), 村 (U+6751). Escreva-as em letras latinas.'
  expect(given).toMatchObject({ refused: { failureDetail } })
  expect(kept).toEqual([])
})

test('what cannot fit into the pages that a letter may have is refused before it is set', async () => {
  const { given } = await prepare(`<ul>${'<li>x</li>'.repeat(8_000)}</ul>`)
  // A letter that was set is refused with its number of pages.
  expect(given).toMatchObject({
    refused: { failureDetail: 'A carta não cabe em 40 páginas, o limite. Reduza o template ou as variáveis em carta.variables.' },
  })
})
