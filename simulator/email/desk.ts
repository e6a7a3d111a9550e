import type { FastifyInstance } from 'fastify'
import { refuse } from '../../src/domain/errors.js'
import { html } from '../../src/domain/html.js'
import type { Desk, DeskFates, DeskFile, DeskParts } from '../desk.js'
import { FaultSwitch } from '../faults.js'
import { type Query, readText } from '../http/readers.js'
import type { Kept } from '../inbox.js'
import type { Outbox } from '../outbox.js'
import { readContent } from './content.js'
import { DOMAINS, resolveDomain } from './domains.js'
import { type Exchanger, openExchanger } from './exchanger.js'
import { FATE_DOMAIN, FATES, fateAddress } from './fates.js'
import type { Mail } from './mail.js'
import { renderMail } from './page.js'
import { ACTIONS, type Action, Recipient } from './recipient.js'
import { FAULT_FIELDS, REPORT_WORDS } from './words.js'

export interface EmailDeskParts extends DeskParts {
  outbox: Outbox
  port: number
  maxMessageBytes: number
  silenceMs: number
}

/** The recipients' mail exchanger, and what people see of it. */
export interface EmailDesk extends Desk<Mail> {
  readonly smtpUrl: string
}

export async function openEmailDesk(parts: EmailDeskParts): Promise<EmailDesk> {
  let exchanger: Exchanger | undefined
  const faults = new FaultSwitch(FAULT_FIELDS, () => exchanger?.interrupt())
  const recipient = new Recipient({ ...parts, faults })
  exchanger = await openExchanger({ ...parts, recipient, faults })
  const { url: smtpUrl, close } = exchanger
  return {
    channel: 'email',
    name: 'E-mail',
    smtpUrl,
    faults,
    fates: EMAIL_FATES,
    actions: ACTIONS,
    reportWords: REPORT_WORDS,
    shows: ['styles'],
    carriers: () => ({ email: smtpUrl }),
    act: (mail, action, text) => recipient.act(mail, action as Action, text),
    summarize: ({ messageId }) => ({ messageId }),
    detail: describe,
    file: findFile,
    render: renderMail,
    addRoutes: addDns,
    async close() {
      recipient.close()
      await close()
    },
  }
}

async function describe({ message, raw }: Kept<Mail>): Promise<Record<string, unknown>> {
  const { headers, text, html, links, attachments } = await readContent(raw)
  return {
    envelope: message.envelope,
    headers,
    text,
    html,
    links,
    attachments: attachments.map(({ name, type, size, sha256 }) => ({ name, type, size, sha256 })),
  }
}

async function findFile({ raw }: Kept<Mail>, path: string): Promise<DeskFile | null> {
  if (path === 'raw') return { type: 'message/rfc822', bytes: raw }
  const [, number] = /^attachments\/(\d{1,6})$/.exec(path) ?? []
  if (number === undefined) return null
  const attachment = (await readContent(raw)).attachments[Number(number)]
  if (attachment === undefined) return null
  return { type: 'application/octet-stream', bytes: Buffer.from(attachment.bytes), downloadName: attachment.name }
}

/** The simulated DNS, for whoever checks a domain before sending to it. */
function addDns(app: FastifyInstance): void {
  app.get('/simulator/dns', async request => {
    const query = request.query as Query
    const name = readText(query, 'name') ?? refuse('required', 'name')
    const type = (readText(query, 'type') ?? 'MX').toUpperCase()
    const { status, exchangers, addresses } = resolveDomain(name)
    if (type === 'MX') return { status, exchangers }
    if (type === 'A') return { status, addresses }
    if (type === 'AAAA') return { status, addresses: [] }
    return refuse('notOneOf', 'type', 'MX, A, AAAA')
  })
}

const EMAIL_FATES: DeskFates = {
  lead: html`Estes endereços têm sempre o mesmo destino. Um sufixo com <code>+</code> não muda o destino e distingue um teste do
outro: <code>lido+pedido-7@${FATE_DOMAIN}</code> age como <code>lido@${FATE_DOMAIN}</code>. Qualquer outro endereço recebe a
mensagem normalmente.`,
  list: FATES.map(fate => ({
    name: fate.name,
    address: fateAddress(fate),
    meaning: fate.meaning,
    does: fate.does,
    example: ['lido', 'devolvido', 'responde'].includes(fate.name),
  })),
  more: html`<h3>Domínios de teste</h3>
<p class="lead">Para a validação feita antes do envio. Todo outro domínio existe e recebe e-mail.</p>
<ul class="fates">${DOMAINS.map(({ name, meaning }) => html`<li><code>${name}</code><span>${meaning}</span></li>`)}</ul>`,
}
