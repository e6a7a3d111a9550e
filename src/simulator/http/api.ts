import type { FastifyInstance, FastifyReply } from 'fastify'
import { brazilianIso } from '../../domain/dates.js'
import { refuse } from '../../domain/errors.js'
import { type Content, readContent } from '../email/content.js'
import { resolveDomain } from '../email/domains.js'
import { FATES, fateAddress } from '../email/fates.js'
import type { Mail } from '../email/mail.js'
import { ACTIONS, type Action, type Recipient } from '../email/recipient.js'
import { type FaultSwitch, readFaults } from '../faults.js'
import type { Filter, Inbox, Kept } from '../inbox.js'
import { isLoopback } from '../loopback.js'
import type { Outbox } from '../outbox.js'
import { Refused } from '../refused.js'
import type { Visitor } from '../visitor.js'

export interface ApiParts {
  /** Where the simulator listens; routes beyond loopback are taken only where it serves beyond it too. */
  host: string
  inbox: Inbox
  outbox: Outbox
  visitor: Visitor
  recipient: Recipient
  faults: FaultSwitch
  carriers: Record<string, string>
}

type ById = { Params: { id: string } }
type Query = Record<string, string | string[] | undefined>

const MAX_WAIT_MS = 60_000
const MAX_LISTED = 10_000
const MAX_REPLY = 10_000

/** What programs ask of the simulator: the gateway, tests, the console. */
export function addApi(app: FastifyInstance, parts: ApiParts): void {
  const { inbox, outbox, visitor, recipient, faults, carriers, host } = parts

  app.get('/simulator/messages', async (request, reply) => {
    const query = request.query as Query
    const limit = readNumber(query, 'limit', 1_000, MAX_LISTED)
    const mails = await inbox.wait(readFilter(query), readWait(query), goneSignal(reply))
    return mails.slice(0, limit).map(summarize)
  })
  app.delete('/simulator/messages', async () => {
    inbox.clear()
    return { message: 'Mensagens apagadas.' }
  })
  app.get<ById>('/simulator/messages/:id', async ({ params }) => {
    const { mail, raw } = findKept(inbox, params.id)
    return detail(mail, await readContent(raw))
  })
  app.get<ById>('/simulator/messages/:id/raw', async ({ params }, reply) => {
    const { raw } = findKept(inbox, params.id)
    return reply.type('message/rfc822').send(raw)
  })
  app.get<{ Params: { id: string; n: string } }>('/simulator/messages/:id/attachments/:n', async ({ params }, reply) => {
    const { attachments } = await readContent(findKept(inbox, params.id).raw)
    const attachment = /^\d{1,6}$/.test(params.n) ? attachments[Number(params.n)] : undefined
    if (attachment === undefined) throw new Refused(404, 'Anexo não encontrado.')
    reply.headers({
      // Never shown in place: it is somebody else's file.
      'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(attachment.name.toWellFormed())}`,
      'content-security-policy': "sandbox; default-src 'none'",
    })
    return reply.type('application/octet-stream').send(Buffer.from(attachment.bytes))
  })
  app.post<ById>('/simulator/messages/:id/actions', async ({ params, body }, reply) => {
    const { mail } = findKept(inbox, params.id)
    const { action, text } = readObject(body)
    if (text !== undefined && typeof text !== 'string') return refuse('notText', 'text')
    return reply.code(202).send(describeReport(await recipient.act(mail, readAction(action), readReply(text))))
  })

  app.get('/simulator/faults', async () => ({ email: faults.now }))
  app.put('/simulator/faults', async ({ body }) => {
    const { email } = readObject(body)
    if (email === undefined) return refuse('required', 'email')
    faults.set(readFaults(email, 'email'))
    return { email: faults.now }
  })

  app.get('/simulator/routes', async () => ({ bounces: outbox.routes }))
  app.put('/simulator/routes', async ({ body }) => {
    const { bounces, site } = readObject(body)
    const local = isLoopback(host)
    if (bounces === undefined) return refuse('required', 'bounces')
    const route = readUrl(bounces, 'bounces', ['smtp:'])
    if (route.port === '') return refuse('wrongValue', 'bounces')
    if (local && !isLoopback(route.hostname)) {
      throw new Refused(400, 'O campo bounces deve apontar para esta máquina (127.0.0.1), onde o simulador está.')
    }
    if (site !== undefined) visitor.allow(readUrl(site, 'site', ['http:', 'https:']).href)
    outbox.register(`smtp://${route.host}`)
    return { bounces: outbox.routes }
  })

  app.get('/simulator/carriers', async () => carriers)
  app.get('/simulator/fates', async () =>
    FATES.map(fate => ({ name: fate.name, address: fateAddress(fate), meaning: fate.meaning, does: fate.does })),
  )
  app.get('/simulator/log', async () => inbox.log.map(entry => ({ ...entry, receivedAt: brazilianIso(entry.receivedAt) })))
  app.delete('/simulator/log', async () => {
    inbox.clearLog()
    return { message: 'Registro vazio.' }
  })

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

export function findKept(inbox: Inbox, id: string): Kept {
  const kept = inbox.find(id.toLowerCase())
  if (kept === null) throw new Refused(404, 'Mensagem não encontrada: ela não chegou, ou deu lugar a mais novas.')
  return kept
}

export const readAction = (value: unknown): Action =>
  typeof value === 'string' && Object.hasOwn(ACTIONS, value)
    ? (value as Action)
    : refuse('notOneOf', 'action', Object.keys(ACTIONS).join(', '))

/** A blank text counts as none. */
export function readReply(text: string | undefined): string | undefined {
  if (text !== undefined && text.length > MAX_REPLY) return refuse('tooLong', 'text', '10.000')
  return text === undefined || text.trim() === '' ? undefined : text
}

function readFilter(query: Query): Filter {
  const filter: Filter = {}
  for (const name of ['to', 'subject', 'channel'] as const) {
    const text = readText(query, name)
    if (text !== undefined) filter[name] = text
  }
  const since = readText(query, 'since')
  if (since !== undefined) {
    // A plus sign that was not escaped arrives as a blank.
    filter.since = new Date(since.replace(' ', '+'))
    if (!/^\d{4}-\d\d-\d\dT/.test(since) || Number.isNaN(filter.since.getTime())) return refuse('wrongValue', 'since')
  }
  return filter
}

/** 500ms, 10s, 1m; seconds where no unit is given. */
function readWait(query: Query): number {
  const text = readText(query, 'wait')
  if (text === undefined) return 0
  const [, number, unit = 's'] = /^(\d{1,6})(ms|s|m)?$/.exec(text) ?? refuse('wrongValue', 'wait')
  const ms = Number(number) * { ms: 1, s: 1_000, m: 60_000 }[unit as 'ms' | 's' | 'm']
  if (ms > MAX_WAIT_MS) throw new Refused(400, 'O campo wait vai até 60s. Repita a consulta para esperar mais.')
  return ms
}

function readNumber(query: Query, name: string, fallback: number, most: number): number {
  const text = readText(query, name)
  if (text === undefined) return fallback
  if (!/^\d{1,9}$/.test(text) || Number(text) > most) return refuse('wrongValue', name)
  return Number(text)
}

/** An empty parameter counts as absent. */
export function readText(query: Query, name: string): string | undefined {
  const value = query[name]
  if (Array.isArray(value)) return refuse('notText', name)
  return value === '' ? undefined : value
}

function readObject(body: unknown): Record<string, unknown> {
  if (body === undefined || body === null) return refuse('emptyBody')
  if (typeof body !== 'object' || Array.isArray(body) || body instanceof URLSearchParams) return refuse('notObject')
  return body as Record<string, unknown>
}

function readUrl(value: unknown, field: string, protocols: string[]): URL {
  if (typeof value !== 'string') return refuse('notText', field)
  return URL.canParse(value) && protocols.includes(new URL(value).protocol) ? new URL(value) : refuse('wrongValue', field)
}

/** Aborted when the asker hangs up. */
function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  return gone.signal
}

const summarize = ({ id, channel, from, fromName, to, subject, messageId, receivedAt }: Mail) => ({
  id,
  channel,
  from,
  fromName,
  to,
  subject,
  messageId,
  receivedAt: brazilianIso(receivedAt),
})

const detail = (mail: Mail, { headers, text, html, links, attachments }: Content) => ({
  ...summarize(mail),
  answer: mail.answer,
  envelope: mail.envelope,
  headers,
  text,
  html,
  links,
  attachments: attachments.map(({ name, type, size, sha256 }) => ({ name, type, size, sha256 })),
  reports: mail.reports.map(describeReport),
})

const describeReport = ({ id, type, status, state, at, doneAt, detail }: Mail['reports'][number]) => ({
  id,
  type,
  status,
  state,
  at: brazilianIso(at),
  doneAt: doneAt === null ? null : brazilianIso(doneAt),
  detail,
})
