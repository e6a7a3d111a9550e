import type { FastifyInstance } from 'fastify'
import { refuse } from '../../src/domain/errors.js'
import { html } from '../../src/domain/text/html.js'
import {
  type ChannelContext,
  type ChannelDeclaration,
  type ChannelFates,
  type ChannelFile,
  listFates,
  type SimulatedChannel,
} from '../channel.js'
import { FaultSwitch } from '../faults.js'
import { type Query, readText } from '../http/readers.js'
import type { StoredMessage } from '../inbox.js'
import { readContent } from './content.js'
import { DOMAINS, resolveDomain } from './domains.js'
import { Exchanger } from './exchanger.js'
import { FATE_DOMAIN, FATES, fateAddress } from './fates.js'
import { FAULT_FIELDS, REPORT_LABELS } from './labels.js'
import type { Mail } from './mail.js'
import { Outbox } from './outbox.js'
import { renderMail } from './page.js'
import { ACTIONS, type Action, Recipient } from './recipient.js'

/** The recipients' mail exchanger, and the DNS that leads to it. */
export const email: ChannelDeclaration = {
  port: { name: 'smtp', description: 'porta do servidor de e-mail simulado' },
  open: openEmail,
}

async function openEmail(context: ChannelContext): Promise<SimulatedChannel<Mail>> {
  const outbox = new Outbox(context.clock)
  const faults = new FaultSwitch(FAULT_FIELDS, () => exchanger.interrupt())
  const recipient = new Recipient({ ...context, outbox, faults })
  const exchanger = new Exchanger({ ...context, outbox, recipient, faults })
  const url = await exchanger.open(context.port, context.host)
  return {
    channel: 'email',
    name: 'E-mail',
    hasTitles: true,
    url,
    faults,
    fates: EMAIL_FATES,
    actions: ACTIONS,
    reportLabels: REPORT_LABELS,
    allowedContent: ['styles'],
    reportRoutes: {
      field: 'bounces',
      protocol: 'smtp:',
      get registered() {
        return outbox.routes
      },
      register: route => outbox.register(route),
    },
    carriers: () => ({ email: url }),
    act: (mail, action, text) => recipient.act(mail, action as Action, text),
    summarize: ({ messageId }) => ({ messageId }),
    detail: describe,
    file: findFile,
    render: renderMail,
    addRoutes: addDns,
    async close() {
      outbox.close()
      await exchanger.close()
    },
  }
}

async function describe({ message, raw }: StoredMessage<Mail>): Promise<Record<string, unknown>> {
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

async function findFile({ raw }: StoredMessage<Mail>, path: string): Promise<ChannelFile | null> {
  if (path === 'raw') return { type: 'message/rfc822', bytes: raw }
  const [, number] = /^attachments\/(\d{1,6})$/.exec(path) ?? []
  if (number === undefined) return null
  const attachment = (await readContent(raw)).attachments[Number(number)]
  if (attachment === undefined) return null
  return { type: 'application/octet-stream', bytes: Buffer.from(attachment.bytes), downloadName: attachment.name }
}

/** The gateway asks the simulated DNS when it validates a domain before sending. */
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

const EMAIL_FATES: ChannelFates = {
  lead: html`Estes endereços têm sempre o mesmo destino. Um sufixo com <code>+</code> não muda o destino e distingue um teste do
outro: <code>lido+pedido-7@${FATE_DOMAIN}</code> age como <code>lido@${FATE_DOMAIN}</code>. Qualquer outro endereço recebe a
mensagem normalmente.`,
  list: listFates(FATES, fateAddress, ['lido', 'devolvido', 'responde']),
  more: html`<h3>Domínios de teste</h3>
<p class="lead">Para a validação feita antes do envio. Todo outro domínio existe e recebe e-mail.</p>
<ul class="fates">${DOMAINS.map(({ name, meaning }) => html`<li><code>${name}</code><span>${meaning}</span></li>`)}</ul>`,
}
