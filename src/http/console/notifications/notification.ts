import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { channelModules, moduleOf } from '../../../channels/registry.js'
import { explainFailure, isUnknown, lastStep } from '../../../domain/delivery/status.js'
import { mayRevive } from '../../../domain/delivery/transition.js'
import { refuse } from '../../../domain/errors.js'
import { gradeContext } from '../../../domain/evidence/grade.js'
import { listAllAttachments, listDeliveries, type ShownDelivery } from '../../../store/console/notification.js'
import type { SignedIn } from '../../../store/console/sessions.js'
import { findComing } from '../../../store/delivery/deliveries.js'
import { type ListedContent, listSentContent, readSentContent } from '../../../store/evidence/sent-content.js'
import { type EvidenceSubject, findSubject } from '../../../store/evidence/subjects.js'
import { readTimeline, type TimelineEvent } from '../../../store/notification/event-log.js'
import type { Pool, Queryable } from '../../../store/postgres.js'
import { eventToWire } from '../../gw/events.js'
import { describeComing } from '../../gw/sequence.js'
import { createFullReader, type StatusOptions } from '../../gw/status.js'
import { pathId } from '../../gw/wire.js'
import { contentPage, UNSHOWN } from '../../recipient/content.js'
import type { ContentCleaner } from '../../recipient/content-cleaner.js'
import { everyone, route, senders } from '../route.js'
import { toneOf, toneOfEvent } from '../tone.js'
import {
  type Decision,
  type Lane,
  type LaneEvent,
  notificationSchema,
  type SentCopy,
  type ShownNotification,
} from './notification-schema.js'

export interface OneNotificationOptions {
  pool: Pool
  status: StatusOptions
  cleaner: Pick<ContentCleaner, 'clean'>
  verificationOf(notification: string): { url: string }
}

export type ByNotification = { Params: { id: string } }

/** The notification, if this person may see it. One of another account is answered as one that does not exist. */
export async function requireNotification(
  db: Queryable,
  { operator, params }: { operator: SignedIn; params: ByNotification['Params'] },
): Promise<EvidenceSubject> {
  const subject = await findSubject(db, pathId(params.id, 'notificationMissing'))
  const isTheirs = operator.account === null || operator.account === subject?.scope.account
  return subject !== null && isTheirs ? subject : refuse('notificationMissing')
}

/** What a page may show of a sender's content: no script, no form, and no picture from elsewhere, which would tell who looks. */
export const SHOWN_CONTENT =
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox"

/** GET /console/api/notifications/{id}: one notification, its status as the API gives it, and its content. */
export function addNotification(app: FastifyInstance, options: OneNotificationOptions): void {
  const { pool, cleaner } = options
  const readFull = createFullReader(options.status)

  app.get<ByNotification>(
    '/console/api/notifications/:id',
    route(everyone, { response: { 200: notificationSchema } }),
    async (request): Promise<ShownNotification> => show(options, await requireNotification(pool, request), request.operator),
  )
  app.get<ByNotification>(
    '/console/api/notifications/:id/status',
    route(everyone, { response: { 200: Type.Unsafe<object>({ type: 'object', additionalProperties: true }) } }),
    async request => {
      const { scope, id } = await requireNotification(pool, request)
      return readFull(scope, id)
    },
  )
  app.get<ByNotification>('/console/api/notifications/:id/content', route(everyone), async (request, reply) => {
    const { content } = await requireNotification(pool, request)
    if (content === null) return refuse('contentMissing')
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', SHOWN_CONTENT)
      .send(contentPage((await cleaner.clean(content)) ?? UNSHOWN))
  })
}

async function show(
  { pool, verificationOf }: OneNotificationOptions,
  subject: EvidenceSubject,
  operator: SignedIn,
): Promise<ShownNotification> {
  const { id, scope } = subject
  const deliveries = await listDeliveries(pool, id)
  const { events, hasQuestion } = (await readTimeline(pool, scope, id)) ?? refuse('notificationMissing')
  const context = gradeContext(events[0], hasQuestion)
  const coming = (await findComing(pool, scope, id)) ?? []
  const changes = senders.includes(operator.role)
  return {
    id,
    code: subject.code,
    account: { id: scope.account, name: subject.accountName },
    mode: subject.mode,
    customId: subject.customId,
    recipientName: subject.recipientName,
    subject: subject.subject,
    acceptedAt: subject.acceptedAt.toISOString(),
    hasQuestion,
    hasContent: subject.content !== null,
    mayFinalize: changes && deliveries.some(({ state }) => state === 'waiting'),
    lanes: deliveries.map(delivery => toLane(delivery, events, operator)),
    events: events.map(event => toEvent(event, context)),
    coming: coming.map(step => ({
      channel: moduleOf(step.channel).wire,
      dueAt: step.dueAt?.toISOString() ?? null,
      text: describeComing(step),
      waits: step.state === 'waiting',
    })),
    attachments: await listAllAttachments(pool, id),
    contents: await listCopies(pool, id),
    verificationUrl: verificationOf(id).url,
  }
}

function toLane(status: ShownDelivery, events: readonly TimelineEvent[], { role }: SignedIn): Lane {
  const module = moduleOf(status.channel)
  const { label, at } = lastStep(status, module)
  const { recipient, state, carrier, attempt } = status
  return {
    channel: module.wire,
    recipient,
    state,
    label,
    tone: toneOf(status),
    since: at.toISOString(),
    reason: explainFailure(status, module) ?? lastReason(status, events),
    carrier,
    attempt,
    decisions: decisionsAbout(status, role),
  }
}

/** Why a step goes, waits or does not go, in the words of the decision. */
function lastReason({ channel, failure, state }: ShownDelivery, events: readonly TimelineEvent[]): string | null {
  if (failure !== null) return null
  const told = events.findLast(({ data, type }) => data?.channel === channel && DECIDED.includes(type))
  // An outcome that was unknown and is settled now: the timeline shows it.
  if (told === undefined || (state === 'done' && WHILE_UNKNOWN.includes(told.type))) return null
  return typeof told.data?.reason === 'string' ? told.data.reason : null
}
const WHILE_UNKNOWN = ['retried', 'uncertain', 'unresolved']
const DECIDED = ['released', 'reopened', 'cancelled', 'postponed', 'revived', ...WHILE_UNKNOWN]

function decisionsAbout(status: ShownDelivery, role: SignedIn['role']): Decision[] {
  if (!senders.includes(role)) return []
  const decisions: Decision[] = status.state === 'waiting' ? ['release', 'cancel'] : []
  if (mayRevive(status)) decisions.push('retry')
  if (role === 'operator' && isUnknown(status.state)) decisions.push('sent', 'failed')
  return decisions
}

function toEvent(event: TimelineEvent, context: Parameters<typeof eventToWire>[1]): LaneEvent {
  const wire = eventToWire(event, context)
  return {
    seq: wire.seq,
    at: event.at.toISOString(),
    occurredAt: wire.occurredAt ?? null,
    channel: wire.canal ?? null,
    type: wire.type,
    label: wire.label,
    tone: toneOfEvent(wire.type),
    source: wire.origem,
    attempt: wire.tentativa ?? null,
    carrier: wire.operadora ?? null,
    reason: wire.motivo ?? null,
    answer: wire.respostaOperadora ?? null,
    reply: wire.respostaDestinatario ?? null,
    proof: wire.prova.descricao,
    simulated: wire.prova.simulado === true,
    hash: wire.hash,
    details: wire.detalhes,
  }
}

const MOST_PREVIEWED = 65_536

async function listCopies(pool: Pool, id: string): Promise<SentCopy[]> {
  const listed = await listSentContent(pool, id)
  const wireOf = ({ channel }: ListedContent): string =>
    channelModules.find(module => module.channel === channel)?.wire ?? channel
  return Promise.all(
    listed.map(async content => ({
      channel: wireOf(content),
      ordinal: content.ordinal,
      type: content.contentType,
      extension: content.extension,
      size: content.size,
      sha256: content.sha256,
      preview: isText(content) ? ((await readSentContent(pool, id, content.channel, content.ordinal))?.toString() ?? null) : null,
    })),
  )
}

const isText = ({ contentType, size }: ListedContent): boolean =>
  size <= MOST_PREVIEWED && /^(text\/plain|application\/json)\b/.test(contentType)
