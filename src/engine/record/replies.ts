import { createHash } from 'node:crypto'
import type { CarrierReply } from '../../channels/provider.js'
import { moduleOf } from '../../channels/registry.js'
import { type CarrierSource, findAttempt } from '../../domain/delivery/carrier-source.js'
import type { Json } from '../../domain/evidence/canonical-json.js'
import { storable } from '../../domain/text/text.js'
import { HOUR_MS } from '../../domain/units.js'
import { suppress } from '../../store/accounts/suppressions.js'
import { findAttempts, findNewestTo, findReference } from '../../store/carrier/references.js'
import {
  deleteReplyParts,
  findStaleReplies,
  forgetJoined,
  keepReplyPart,
  markJoined,
  type PartsKey,
  readReplyParts,
} from '../../store/carrier/reply-parts.js'
import type { CarrierEventParts, EventOutcome } from './carrier-events.js'

/** Replies of recipients, which carriers pass on. */
export async function takeReply(source: CarrierSource, reply: CarrierReply, parts: CarrierEventParts): Promise<EventOutcome> {
  if (reply.part !== undefined) return takeReplyPart(source, { ...reply, part: reply.part }, parts)
  const { channel, carriers } = source
  const isNamed = reply.inReplyTo !== null
  const quoted = isNamed ? await findReference(parts.pool, carriers, [reply.inReplyTo!]) : null
  const notification = quoted?.notification ?? (await findNewestTo(parts.pool, source, reply.from, reply.at, isNamed))
  const delivery = notification === null ? null : await findAttempts(parts.pool, notification, channel)
  if (notification === null || delivery === null) return 'unmatched'
  const carrier = findAttempt(source, delivery, quoted?.ordinal ?? null)
  if (carrier === null) return 'foreign'
  const optOut = moduleOf(channel).isOptOut?.(reply.text) === true
  // Before the reply is recorded: the recipient must get nothing more, even if this process dies now.
  if (optOut) await suppress(parts.pool, { notification, channel, reason: 'opt-out' })
  const at = reply.at ?? new Date(parts.clock())
  const ids = reply.id === null ? idsByHour(reply, at) : { answerId: reply.id }
  await parts.recorder.record({
    kind: 'fact',
    notification,
    fact: { channel, type: 'answered', at, source: carrier, data: { answer: reply.text, ...ids, ...(optOut ? { optOut } : {}) } },
  })
  return 'taken'
}

/** A carrier repeats a reply that we did not acknowledge, without an id: the same text from the same person within the hour is one reply. */
function idsByHour({ from, text }: CarrierReply, at: Date): { answerId: string; answerIds: string[] } {
  const digest = createHash('sha256').update(`${from[0]} ${text}`).digest('base64url')
  const hour = Math.floor(at.getTime() / HOUR_MS)
  const answerIds = [hour, hour - 1].map(number => `${digest} ${number}`)
  return { answerId: answerIds[0]!, answerIds }
}

type ReplyPart = CarrierReply & { part: NonNullable<CarrierReply['part']> }

/** The parts of a long reply may reach different workers, hours apart: they are kept until the last one is there. */
async function takeReplyPart(source: CarrierSource, reply: ReplyPart, parts: CarrierEventParts): Promise<EventOutcome> {
  const { of, number, total } = reply.part
  // The parts may come over several connections to one account.
  const key = { carrier: source.carriers.toSorted()[0]!, name: of, total }
  await forgetJoined(parts.pool, key, number, reply.text)
  await keepReplyPart(parts.pool, key, number, { ...reply, source })
  const kept = await readReplyParts(parts.pool, key)
  return kept.length === total ? joinReply(kept, key, parts) : 'taken'
}

/** Recorded under an id of its own: a reply that is joined twice, by two workers or after a crash, counts once. */
async function joinReply(kept: readonly Json[], key: PartsKey, parts: CarrierEventParts): Promise<EventOutcome> {
  const pieces = kept as unknown as (Omit<ReplyPart, 'at'> & { at: string | null; source: CarrierSource })[]
  const { source, part: _, ...first } = pieces[0]!
  const text = storable(pieces.map(wholeText).join(''))
  const id = first.id ?? `${key.name} ${key.total} ${text}`
  const outcome = await takeReply(source, { ...first, text, id, at: first.at === null ? null : new Date(first.at) }, parts)
  await markJoined(parts.pool, key)
  return outcome
}

/** With the halves of the characters that are split between this part and its neighbours. */
const wholeText = ({ text, part: { halves = {} } }: Pick<ReplyPart, 'text' | 'part'>): string =>
  `${unit(halves.before)}${text}${unit(halves.after)}`

const unit = (code: number | undefined): string => (code === undefined ? '' : String.fromCharCode(code))

/** A reply whose last part never came is recorded with the parts that did. */
export async function takeIncompleteReplies(parts: CarrierEventParts): Promise<void> {
  for (const key of await findStaleReplies(parts.pool)) {
    const kept = await readReplyParts(parts.pool, key)
    const outcome = kept.length > 0 ? await joinReply(kept, key, parts) : 'taken'
    if (outcome === 'foreign') parts.onForeign((kept[0] as unknown as { source: CarrierSource }).source, 'reply')
    await deleteReplyParts(parts.pool, key)
  }
}
