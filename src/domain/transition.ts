import type { Json } from './canonical-json.js'
import type { Channel } from './notification.js'
import type { DeliveryState, DeliveryStatus, Failure } from './status.js'

/**
 * How facts change a delivery. Events are the facts, the status columns are their sum: the same function writes the
 * columns as facts arrive and rebuilds them from the events for comparison.
 */
export type FactType =
  | 'released' // a waiting step goes after all
  | 'sent'
  | 'delivered'
  | 'read'
  | 'confirmed'
  | 'link opened'
  | 'answered'
  | 'failed'
  | 'cancelled'
  | 'retried' // a try failed, the next one is planned
  | 'uncertain' // the bytes left, no answer came
  | 'note' // recorded as evidence, changes nothing (automated access, delay report)

export interface Fact {
  channel: Channel
  type: FactType
  at: Date
  source: string
  /** Why and how, for people and proofs; only these members matter to the status. */
  data: {
    failure?: Failure
    failureDetail?: string
    dead?: boolean
    cancelReason?: 'not needed' | 'finalized'
    answer?: string
    [member: string]: Json | undefined
  }
}

/** The status after a fact, or null when the fact tells nothing new (a report that came twice, or late). */
export function applyFact(status: DeliveryStatus, fact: Fact): DeliveryStatus | null {
  const { at, data } = fact
  switch (fact.type) {
    case 'note':
      return status
    case 'retried':
      return status.sentAt === null && status.failure === null ? { ...status, state: 'queued' } : null
    case 'released':
      return status.state === 'waiting' || status.cancelReason === 'not needed'
        ? { ...status, state: 'queued', cancelReason: null, cancelledAt: null }
        : null
    case 'uncertain':
      return status.sentAt === null && status.failure === null ? { ...status, state: 'uncertain' } : null
    case 'cancelled':
      return status.state === 'waiting'
        ? { ...status, state: 'cancelled', cancelReason: data.cancelReason!, cancelledAt: at }
        : null
    case 'sent':
      return status.sentAt === null ? sent(status, at) : null
    case 'delivered':
      return status.deliveredAt === null ? { ...sent(status, at), deliveredAt: at } : null
    case 'read':
      return status.readAt === null ? { ...sent(status, at), deliveredAt: status.deliveredAt ?? at, readAt: at } : null
    case 'confirmed':
      return status.confirmedAt === null
        ? { ...sent(status, at), deliveredAt: status.deliveredAt ?? at, readAt: status.readAt ?? at, confirmedAt: at }
        : null
    case 'link opened':
      return status.linkOpenedAt === null ? { ...sent(status, at), linkOpenedAt: at } : null
    case 'answered':
      return { ...sent(status, at), answeredAt: status.answeredAt ?? at, answers: [...status.answers, data.answer ?? ''] }
    case 'failed':
      return status.failure === null ? failed(status, fact) : null
  }
}

const sent = (status: DeliveryStatus, at: Date): DeliveryStatus => ({ ...status, state: 'done', sentAt: status.sentAt ?? at })

function failed(status: DeliveryStatus, { at, data }: Fact): DeliveryStatus {
  const state: DeliveryState = data.dead === true ? 'dead' : 'done'
  return { ...status, state, failure: data.failure ?? 'rejected', failureDetail: data.failureDetail ?? null, failedAt: at }
}
