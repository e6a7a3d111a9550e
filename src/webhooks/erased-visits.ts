import type { StoredEvent } from '../domain/delivery/rebuild.js'
import type { Fact } from '../domain/delivery/transition.js'
import type { VisitDates } from '../store/webhook/attempts.js'

/** A visit that was erased: its type and its date are left. */
export const isErasedVisit = ({ type, data }: StoredEvent): boolean => data === null && type !== 'note'

/**
 * The events of a notification without those that were erased. An erased visit is put together again from the dates of the delivery, as far
 * as they say that it happened by then: the visits go, and the status keeps their dates.
 */
export const withoutErased = <Event extends StoredEvent>(events: readonly Event[], dates: VisitDates | undefined): Event[] =>
  events.flatMap(event => (event.data !== null ? event : (rebuildVisit(event, dates) ?? [])))

function rebuildVisit<Event extends StoredEvent>(event: Event, dates: VisitDates | undefined): Event | null {
  const at = dates && dateOfType(event.type, dates)
  if (at == null || at.getTime() > Date.parse(event.at)) return null
  const { channel, failure, failureDetail } = dates!
  const data: Fact['data'] = event.type === 'failed' ? { failure: failure!, ...(failureDetail && { failureDetail }) } : {}
  return { ...event, at: at.toISOString(), data: { channel, ...data } }
}

function dateOfType(type: string, { readAt, confirmedAt, linkOpenedAt, failedAt, failure }: VisitDates): Date | null {
  if (type === 'read') return readAt
  if (type === 'confirmed') return confirmedAt
  if (type === 'link opened') return linkOpenedAt
  return type === 'failed' && failure === 'stranger' ? failedAt : null
}
