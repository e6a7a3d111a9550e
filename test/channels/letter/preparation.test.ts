import { afterAll, describe, expect, test } from 'vitest'
import { letter } from '../../../src/channels/letter/channel.js'
import { createLetterPreparation, type MadeLetter, type PrintableLogo } from '../../../src/channels/letter/preparation.js'
import type { Sheet, SheetCopy } from '../../../src/channels/letter/sheet.js'
import { createTypesetter } from '../../../src/channels/letter/typesetter.js'
import { createRendering } from '../../../src/channels/rendering.js'
import { createTemplateRunner } from '../../../src/channels/template-runner.js'
import { completeSettings } from '../../../src/domain/account.js'
import { sha256 } from '../../../src/domain/evidence/evidence.js'
import type { Claim } from '../../../src/store/delivery/claims.js'
import { pngOf } from '../../support/programs/pictures.js'

const typesetter = createTypesetter(1)
const templates = createTemplateRunner()
afterAll(() => Promise.all([typesetter.close(), templates.close()]))

const variables = { logradouro: 'Rua das Flores', numero: '100', cidade: 'São Paulo', uf: 'SP', cep: '01001-000' }

const names = (html: string) => [...html.matchAll(/\{\{ (\w+) \}\}/g)].map(([, name]) => ({ name: name!, required: true }))

/** What becomes of a letter with this content, and how many were made. */
async function prepare(html: string, more: Partial<Claim> = {}, logo: PrintableLogo | null = null) {
  const kept: MadeLetter[] = []
  const copies: SheetCopy[] = []
  const warnings: object[] = []
  const preparation = createLetterPreparation({
    publicUrl: 'https://notifica.example.com',
    linkKey: Buffer.alloc(32),
    render: createRendering(letter, templates, async () => ({
      name: 'x',
      externalId: null,
      content: html,
      variables: names(html),
      metadata: {},
    })),
    typesetter: {
      ...typesetter,
      compose: (sheet, copy, picture) => {
        copies.push(copy)
        return typesetter.compose(sheet, copy, picture)
      },
    },
    shortLink: async ({ channel }) => (channel === 'letter' ? '7k3m9q2x4z' : ''),
    findLogo: async () => logo,
    warn: details => void warnings.push(details),
    readContent: async () => '<p>Conteúdo guardado</p>',
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
    request: { template: 'x', variables },
    template: { id: notification, version: 1, editedAt: '' },
    attachments: [],
    acceptedAt: new Date('2026-11-15T12:00:00Z'),
    ...more,
  }
  return { given: await preparation(claim), kept, copies, warnings }
}

test('a letter with signs from a telephone is made', async () => {
  const { given, kept } = await prepare('<p>Prezada ✓</p>', { subject: 'Aviso 🎉' })
  expect(given).toMatchObject({ pages: 1, recipient: { name: 'Maria da Silva' } })
  expect(kept).toHaveLength(1)
})

test.each(['\u202eabc\u202c', '\u202dשלום', 'א\u0375\u0384\u0385א', '\u05b0\u05b1\u05b2', 'sim\u0007'])(
  'characters that the typesetter cannot bear do not stop a letter, nor the worker: %j',
  async text => {
    const { given, kept } = await prepare(`<p>${text} <b>${text}</b></p>`, { subject: text, recipientName: text })
    expect(given).toMatchObject({ pages: 1 })
    expect(kept).toHaveLength(1)
  },
)

test('the sheet that is kept, from which the sender’s copy is made, does not hold the recipient’s link', async () => {
  const { kept } = await prepare('<p>Prezada</p>')
  expect(JSON.stringify(kept[0]!.sheet)).toContain('Prezada')
  expect(JSON.stringify(kept[0]!.sheet)).not.toMatch(/\/n\/|notifica\.example\.com|7k3m9/i)
})

test.each([
  ['', 'notifica.example.com'],
  ['https://avisos.exemplo.com.br', 'avisos.exemplo.com.br'],
])('with link.domain %s, the QR code and what is typed lead to %s', async (domain, host) => {
  const { copies } = await prepare('<p>Prezada</p>', { settings: completeSettings({ 'link.domain': domain }) })
  expect(copies).toEqual([
    {
      for: 'recipient',
      link: expect.stringMatching(new RegExp(`^https://${host}/n/[\\w-]{44}$`)),
      typed: { address: `${host}/s`, code: '7K3M9-Q2X4Z' },
    },
  ])
})

test('the letter shows the account’s brand and who the sender is', async () => {
  const settings = completeSettings({
    'brand.name': 'Aurora',
    'brand.color': '#7a1f5c',
    'sender.legalName': 'Aurora Cobranças Ltda.',
    'sender.document': '11222333000181',
  })
  const bytes = pngOf(30, 10)
  const name = { sha256: sha256(bytes), type: 'png' } as const
  const { given, kept, warnings } = await prepare('<p>Prezada</p>', { settings }, { name, bytes })
  expect((kept[0]!.sheet as unknown as Sheet).sender).toEqual({
    name: 'Aurora',
    lines: [],
    details: ['Aurora Cobranças Ltda.', 'CNPJ: 11.222.333/0001-81'],
    color: '#7a1f5c',
    logo: name,
  })
  expect(given).toMatchObject({ sender: { name: 'Aurora' } })
  expect(warnings).toEqual([])
})

test('an account that has stated nothing has its name and a colour', async () => {
  const { kept } = await prepare('<p>Prezada</p>')
  const name = 'Banco Exemplo S.A.'
  expect((kept[0]!.sheet as unknown as Sheet).sender).toEqual({ name, lines: [], details: [name], color: '#1f3a5f', logo: null })
})

test('a logo that cannot be printed is told to the operator, and the letter goes', async () => {
  const bytes = Buffer.from('<svg')
  const { given, warnings } = await prepare('<p>Prezada</p>', {}, { name: { sha256: sha256(bytes), type: 'svg' }, bytes })
  expect(given).toMatchObject({ pages: 1 })
  expect(warnings).toEqual([{ account: 'Banco Exemplo S.A.', fault: expect.any(String) }])
})

const drawn = (text: string, head = '') =>
  `${head}<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="90" height="30">${text}</svg>`
const turned = drawn('<text y="20">&#x202e;abc</text>')
const inside = Buffer.from(turned).toString('base64')
test.each([
  ['a text turned round', drawn('<text y="20">\u202eabc</text>'), false],
  ['a text turned round by a reference', turned, false],
  [
    'a text turned round in a picture inside',
    drawn(`<image width="9" height="9" xlink:href="data:image/svg+xml;base64,${inside}"/>`),
    false,
  ],
  [
    'a text turned round in a text inside',
    drawn(`<image width="9" height="9" xlink:href="da&#10;ta:;base64,${inside}"/>`),
    false,
  ],
  ['a text put together', drawn('<text y="20">&a;abc</text>', '<!DOCTYPE svg [<!ENTITY b "&#x202e;"><!ENTITY a "&b;">]>'), false],
  ['a reference to no character', drawn('<text y="20">&#x9999999;abc</text>'), true],
  ['a text', drawn('<text y="20">Ação &#xe7;</text>', '<!DOCTYPE svg [<!ENTITY ns_svg "http://www.w3.org/2000/svg">]>'), true],
  [
    'a photograph',
    drawn(`<image width="9" height="9" xlink:href="data:image/png;base64,${pngOf(3, 3).toString('base64')}"/>`),
    true,
  ],
])('an SVG logo with %s does not end the worker', async (_, svg, printed) => {
  const bytes = Buffer.from(svg)
  const { given, warnings } = await prepare('<p>Prezada</p>', {}, { name: { sha256: sha256(bytes), type: 'svg' }, bytes })
  expect(given).toMatchObject({ pages: 1 })
  expect(warnings).toHaveLength(printed ? 0 : 1)
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

describe('a letter without a template', () => {
  const plain = { request: { variables }, template: null, content: null }

  test('prints the content of the notification', async () => {
    const { given, kept } = await prepare('', plain)
    expect(given).toMatchObject({ pages: 1 })
    expect(JSON.stringify(kept[0]!.sheet)).toContain('Conteúdo guardado')
  })

  test('protected by a question, prints where to answer it and not the content', async () => {
    const { kept } = await prepare('', { ...plain, protected: true })
    expect(JSON.stringify(kept[0]!.sheet)).toContain('protegida por uma pergunta')
    expect(JSON.stringify(kept[0]!.sheet)).not.toContain('Conteúdo guardado')
  })

  test('that is too long names the member to shorten', async () => {
    const { given } = await prepare('', { ...plain, content: 'x'.repeat(100_001) })
    expect(given).toMatchObject({ refused: { failureDetail: expect.stringMatching(/Reduza o conteúdo em content\.$/) } })
  })
})

test.each([
  [null, 'simples'],
  ['padrao', 'simples'],
  ['Padrão', 'simples'],
  ['simples', 'simples'],
  ['registrada', 'registrada'],
])('modelo %s is the layout %s', async (model, layout) => {
  expect((await prepare('<p>Olá</p>', { request: { template: 'x', model, variables } })).given).toMatchObject({ layout })
})

test.each([
  ['<p>{{ nome }}</p>', /variável obrigatória nome: informe carta\.variables\.nome\.$/],
  ['<p> {SHORT_LINK} </p>', /\{SHORT_LINK\}, que não existe neste canal.*carta\.variables/],
])('a template that cannot be filled in names the member that the sender uses: %s', async (html, failureDetail) => {
  const { given } = await prepare(html)
  expect(given).toMatchObject({ refused: { failureDetail: expect.stringMatching(failureDetail) } })
})
