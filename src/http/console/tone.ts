import { type DeliveryStatus, isUnknown } from '../../domain/delivery/status.js'

export type Tone = 'good' | 'bad' | 'warn' | 'quiet' | 'busy'

/** good: it arrived. bad: it failed. warn: somebody must look. quiet: it was not needed. busy: under way. */
export function toneOf(status: DeliveryStatus): Tone {
  if (status.failure !== null || status.state === 'dead') return 'bad'
  if (isUnknown(status.state)) return 'warn'
  if (status.cancelReason !== null) return 'quiet'
  return status.deliveredAt === null && status.readAt === null && status.answeredAt === null ? 'busy' : 'good'
}

const eventTones: Readonly<Record<string, Tone>> = {
  delivered: 'good',
  read: 'good',
  confirmed: 'good',
  'link opened': 'good',
  answered: 'good',
  failed: 'bad',
  retried: 'warn',
  uncertain: 'warn',
  unresolved: 'warn',
  again: 'warn',
  cancelled: 'quiet',
  note: 'quiet',
  recorded: 'quiet',
}

export const toneOfEvent = (type: string): Tone => eventTones[type] ?? 'busy'
