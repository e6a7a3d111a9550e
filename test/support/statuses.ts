import type { Channel } from '../../src/domain/notification.js'
import type { DeliveryStatus } from '../../src/domain/status.js'

/** A delivery that nothing has happened to yet. */
export const freshStatus = (channel: Channel, changes: Partial<DeliveryStatus> = {}): DeliveryStatus => ({
  channel,
  state: 'queued',
  acceptedAt: new Date('2026-11-15T12:00:00Z'),
  processedAt: null,
  preparedAt: null,
  sentAt: null,
  deliveredAt: null,
  readAt: null,
  confirmedAt: null,
  linkOpenedAt: null,
  answeredAt: null,
  failedAt: null,
  cancelledAt: null,
  cancelReason: null,
  failure: null,
  failureDetail: null,
  answers: [],
  trackingCode: null,
  ...changes,
})
