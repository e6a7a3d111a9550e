import type { WrittenEmail } from '../../src/channels/email/email-message.js'
import { encloseContent } from '../../src/channels/email/message/enclose.js'
import { createEmailPreparation } from '../../src/channels/email/preparation.js'
import { verpAddress } from '../../src/channels/email/verp.js'
import { completeSettings } from '../../src/domain/account.js'
import { makeReference } from '../../src/domain/delivery/reference.js'
import { newId } from '../../src/domain/id.js'

/** The e-mail that every contestant of bench/delivery/delivery.ts carries: 1 KB of HTML. */
const CONTENT = `<p>${'Seu contrato vence em 30 dias. Regularize e evite a suspensão. '.repeat(20)}`.slice(0, 1000).concat('</p>')

export const REQUEST = {
  nameTo: 'Maria da Silva',
  to: 'maria@example.com',
  subject: 'Aviso de vencimento',
  content: CONTENT,
}

export const SENDER = 'notificacao@example.org'

/** How many e-mails a Node process sends before it is measured: during the first thousands, a third of a worker's time compiles its code. */
export const WARM_UP = 3_000

const prepare = createEmailPreparation({
  publicUrl: 'http://127.0.0.1:8080',
  defaultFrom: SENDER,
  linkKey: Buffer.alloc(32, 1),
  returnAddress: (notification, purpose) =>
    verpAddress(notification, { domain: 'retorno.example.org', key: Buffer.alloc(32, 2) }, purpose),
  validate: async () => null,
  readContent: async () => null,
  render: async () => ({ refused: {} }),
  readBlobs: async () => new Map(),
  findLogo: async () => null,
})

/** As the worker makes it of the request above, and already in its frame. */
export async function sampleMessage(): Promise<WrittenEmail> {
  const now = Date.now()
  const notification = newId(now)
  const message = await prepare({
    notification,
    channel: 'email',
    mode: 'live',
    owner: '01890a5d-ac96-774b-bcce-b302099a8059',
    account: newId(now),
    accountName: 'bench',
    settings: completeSettings({}),
    ordinal: 1,
    attempt: 1,
    failovers: 0,
    tried: [0],
    unknownCount: 0,
    bound: false,
    reference: makeReference({ notification, channel: 'email', ordinal: 1 }),
    recipient: REQUEST.to,
    recipientName: REQUEST.nameTo,
    subject: REQUEST.subject,
    content: REQUEST.content,
    contentSize: REQUEST.content.length,
    protected: false,
    suppressed: false,
    request: {},
    template: null,
    attachments: [],
    acceptedAt: new Date(now),
  })
  if (!('content' in message)) throw new Error('the sample was refused')
  const { content, frame, ...head } = message
  return { ...head, ...encloseContent(content, frame) }
}
