import { afterAll, describe, expect, test } from 'vitest'
import { email } from '../../../src/channels/email/channel.js'
import type { EmailMessage } from '../../../src/channels/email/email-message.js'
import { writtenOf } from '../../../src/channels/email/message/compose.js'
import { createEmailPreparation } from '../../../src/channels/email/preparation.js'
import { createRendering } from '../../../src/channels/rendering.js'
import { createTemplateRunner } from '../../../src/channels/template-runner.js'
import { completeSettings } from '../../../src/domain/account.js'
import { readLinkCode } from '../../../src/domain/recipient/link.js'
import type { Claim } from '../../../src/store/delivery/claims.js'
import { IDENTITY } from './frames.js'

const linkKey = Buffer.alloc(32, 5)
const claim: Claim = {
  notification: '01890a5d-ac96-774b-bcce-b302099a8057',
  channel: 'email',
  mode: 'live',
  owner: '01890a5d-ac96-774b-bcce-b302099a8059',
  account: '01890a5d-ac96-774b-bcce-b302099a8058',
  accountName: 'Acme',
  settings: completeSettings({}),
  ordinal: 1,
  attempt: 1,
  failovers: 0,
  tried: [0],
  unknownCount: 0,
  bound: false,
  reference: 'r',
  recipient: 'maria@example.com',
  recipientName: 'Maria',
  subject: 'Aviso',
  content: '<p>Olá</p>',
  contentSize: 11,
  protected: false,
  suppressed: false,
  request: {},
  template: null,
  attachments: [],
  acceptedAt: new Date(),
}

const templates = createTemplateRunner()
afterAll(() => templates.close())

const prepare = createEmailPreparation({
  publicUrl: 'https://notifica.example',
  defaultFrom: 'a@example.com',
  linkKey,
  returnAddress: (_, purpose) => `${purpose}@example.com`,
  validate: async () => null,
  readContent: async () => null,
  render: createRendering(email, templates, async () => ({
    name: 'aviso',
    externalId: null,
    content: '<p>Prezada {{ nome }}, leia {SHORT_LINK} hoje.</p>',
    variables: [{ name: 'nome', required: true }],
    metadata: {},
  })),
  readBlobs: async () => new Map(),
  findLogo: async account => (account === claim.account ? { path: '/r/logo/ab', width: 88, height: 44 } : null),
})

test.each([
  ['', 'https://notifica.example'],
  ['https://avisos.acme.example', 'https://avisos.acme.example'],
])('with link.domain "%s", link and image lead to %s, and to this notification', async (domain, base) => {
  const settings = { ...claim.settings, 'link.domain': domain }
  const { html } = writtenOf((await prepare({ ...claim, settings })) as EmailMessage)
  const codes = [/"([^"]+)\/n\/([\w-]{44})"/, /"([^"]+)\/o\/([\w-]{44})\.gif"/].map(pattern => pattern.exec(html)!)
  expect(codes.map(([, found]) => found)).toEqual([base, base])
  for (const [, , code] of codes)
    expect(readLinkCode(linkKey, code!)).toEqual({ notification: claim.notification, channelCode: 0 })
})

test.each([
  [true, 'receipt@example.com'],
  [false, undefined],
])('with email.receipt %s, a reading receipt is asked for to %s', async (asks, receiptTo) => {
  const settings = { ...claim.settings, 'email.receipt': asks }
  expect(((await prepare({ ...claim, settings })) as EmailMessage).receiptTo).toBe(receiptTo)
})

test('answers come back to us, also where the account has an address of its own: they quote the recipient’s link', async () => {
  const settings = { ...claim.settings, 'email.from': 'avisos@acme.example' }
  expect(await prepare({ ...claim, settings })).toMatchObject({ from: 'avisos@acme.example', replyTo: 'return@example.com' })
})

test('the name beside the address is that of the e-mail settings, of the brand, or of the account', async () => {
  const nameWith = async (more: Partial<Claim['settings']>) =>
    ((await prepare({ ...claim, settings: { ...claim.settings, ...more } as Claim['settings'] })) as EmailMessage).fromName
  expect(await nameWith({})).toBe('Acme')
  expect(await nameWith({ 'brand.name': 'Banco Aurora' })).toBe('Banco Aurora')
  expect(await nameWith({ 'brand.name': 'Banco Aurora', 'email.name': 'Aurora Avisos' })).toBe('Aurora Avisos')
})

test('the message carries the logo, the colour and the identity of the account, from the domain of its links', async () => {
  const settings = completeSettings({ ...IDENTITY, 'link.domain': 'https://avisos.acme.example' })
  for (const isProtected of [false, true]) {
    const { html, text } = writtenOf((await prepare({ ...claim, settings, protected: isProtected })) as EmailMessage)
    expect(html).toContain(
      '<img src="https://avisos.acme.example/r/logo/ab" width="88" height="44" alt="Logotipo de Banco Aurora"',
    )
    expect(html).toContain('bgcolor="#1f3f8f"')
    for (const part of [html, text]) expect(part).toContain('CNPJ: 11.222.333/0001-81')
    expect(html.includes('<p>Olá</p>')).toBe(!isProtected)
  }
})

describe('an e-mail with a template', () => {
  const template = { id: claim.notification, version: 1, editedAt: '' }
  const withTemplate = (variables: Record<string, string>, more: Partial<Claim> = {}) =>
    prepare({ ...claim, template, request: { template: 'aviso', variables }, ...more })

  test('carries it filled in, in place of the content, with the values as text and the recipient’s link', async () => {
    const { html } = writtenOf((await withTemplate({ nome: '<b>Maria' })) as EmailMessage)
    expect(html).toContain('Prezada &lt;b&gt;Maria, leia https://notifica.example/n/')
    expect(html).not.toMatch(/Olá|SHORT_LINK/)
  })

  test('protected by a question, shows neither', async () => {
    const { html } = writtenOf((await withTemplate({ nome: 'Maria' }, { protected: true })) as EmailMessage)
    expect(html).toContain('protegida por uma pergunta')
    expect(html).not.toContain('Prezada')
  })

  test.each([
    [{}, template, 'Falta o valor da variável obrigatória nome: informe variables.nome.'],
    [{ nome: 'x' }, null, 'O template "aviso" (template) não existe, está inativo ou não é deste canal.'],
  ])('that cannot be filled in fails with the member to correct: %j', async (variables, known, failureDetail) => {
    expect(await withTemplate(variables, { template: known })).toMatchObject({ refused: { failure: 'rejected', failureDetail } })
  })
})
