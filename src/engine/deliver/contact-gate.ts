import { agree, type ChannelTraits } from '../../domain/channel.js'
import type { Clock } from '../../domain/clock.js'
import { zonesOfRecipient } from '../../domain/contact/area-zones.js'
import { type ContactWait, contactDay, describeWait, waitForHours, waitForNextDay } from '../../domain/contact/rules.js'
import { contactRulesOf } from '../../domain/contact/settings.js'
import { canonicalJson, type Json } from '../../domain/evidence/canonical-json.js'
import { HOUR_MS, MINUTE_MS } from '../../domain/units.js'
import type { Claim } from '../../store/delivery/claims.js'
import { type ContentUse, countContact, takeContent } from '../../store/delivery/contacts.js'
import type { Queryable } from '../../store/postgres.js'

/** What the rules of contact say of a message that is ready to leave. */
type ContactVerdict =
  | { kind: 'go' }
  | { kind: 'wait'; wait: ContactWait }
  /** The person got the same message already, with this notification. */
  | { kind: 'repeated'; earlier: string; withinHours: number }

export type KeptBack = Exclude<ContactVerdict, { kind: 'go' }>

/** Asked once a message is ready, before its carrier is called. A message that may go is counted when this resolves. */
export type ContactGate = (claim: Claim) => Promise<ContactVerdict>

const GO: ContactVerdict = { kind: 'go' }

/** The gate of a channel's real carriers; null: the channel has no rules. */
export function createContactGate(traits: ChannelTraits, db: Queryable, clock: Clock): ContactGate | null {
  if (traits.contact === undefined) return null
  return async claim => {
    const rules = contactRulesOf(traits, claim.settings)
    const { recipient } = claim
    if (rules === null || recipient === null) return GO
    const now = new Date(clock())
    const zones = zonesOfRecipient(recipient)
    const closed = waitForHours(rules, now, zones)
    if (closed !== null) return { kind: 'wait', wait: closed }
    const person = { ...claim, recipient }
    if (rules.repeatAfterMs !== null && claim.request.allowDuplicate !== true) {
      const use = await takeContent(db, person, claim.notification, partsOf(claim), rules.repeatAfterMs)
      if (!use.taken) return afterUse(use, rules.repeatAfterMs, now)
    }
    if (rules.perDay === null) return GO
    const isCounted = await countContact(db, person, contactDay(now, zones), claim.reference, rules.perDay)
    return isCounted ? GO : { kind: 'wait', wait: waitForNextDay(rules, now, zones) }
  }
}

/** Everything that the message is made of, beside the content: what a person would see as the same message. */
function partsOf({ subject, request, template, attachments }: Claim): string {
  const named = template && { id: template.id, version: template.version }
  return canonicalJson({ subject, request, template: named, attachments: attachments.map(({ sha256 }) => sha256) } as Json)
}

/** One that is still to be sent may fail: only then is it known whether this one is a repetition. */
function afterUse(use: ContentUse & { taken: false }, withinMs: number, now: Date): ContactVerdict {
  const { earlier, wasSent, dueAt } = use
  if (earlier !== null && wasSent) return { kind: 'repeated', earlier, withinHours: withinMs / HOUR_MS }
  // Rarely enough that a chain does not grow without end, however long the other one takes.
  const delayMs = earlier === null ? MINUTE_MS : Math.max(HOUR_MS, withinMs / 24)
  const until = new Date(Math.max(now.getTime() + delayMs, (dueAt?.getTime() ?? 0) + 5 * MINUTE_MS))
  const reason = `a mesma mensagem a esta pessoa ainda está em andamento${earlier === null ? '' : ` (idEmail ${earlier})`}`
  return { kind: 'wait', wait: { rule: 'repeat', until, reason } }
}

/** What the timeline says of a message that does not leave now. */
export function eventOf(
  traits: ChannelTraits,
  verdict: KeptBack,
): { type: 'cancelled' | 'postponed'; data: Record<string, Json> } {
  if (verdict.kind === 'wait') {
    const { rule, until } = verdict.wait
    const reason = `${traits.label} ${describeWait(verdict.wait)}.`
    return { type: 'postponed', data: { rule, until: until.toISOString(), reason } }
  }
  const { earlier, withinHours } = verdict
  const again = `a pessoa recebeu a mesma mensagem há menos de ${withinHours} h (idEmail ${earlier})`
  const reason = `${traits.label} não ${agree(traits, 'enviado')}: ${again}.`
  return { type: 'cancelled', data: { cancelReason: 'repeated', earlier, reason } }
}
