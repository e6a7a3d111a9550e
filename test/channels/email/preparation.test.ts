import { expect, test } from 'vitest'
import type { EmailMessage } from '../../../src/channels/email/email-message.js'
import { encloseContent } from '../../../src/channels/email/message/enclose.js'
import { createEmailPreparation } from '../../../src/channels/email/preparation.js'
import { completeSettings } from '../../../src/domain/account.js'
import { readLinkCode } from '../../../src/domain/link.js'
import type { Claim } from '../../../src/store/delivery/claims.js'

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

const prepare = createEmailPreparation({
  publicUrl: 'https://notifica.example',
  defaultFrom: 'a@example.com',
  linkKey,
  returnAddress: (_, purpose) => `${purpose}@example.com`,
  validate: async () => null,
  readContent: async () => null,
  readBlobs: async () => new Map(),
  enclose: encloseContent,
})

test.each([
  ['', 'https://notifica.example'],
  ['https://avisos.acme.example', 'https://avisos.acme.example'],
])('with link.domain "%s", link and image lead to %s, and to this notification', async (domain, base) => {
  const settings = { ...claim.settings, 'link.domain': domain }
  const { html } = (await prepare({ ...claim, settings })) as EmailMessage
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
