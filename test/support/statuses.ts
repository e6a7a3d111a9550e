import type { Channel } from '../../src/domain/channel.js'
import { type DeliveryStatus, newStatus } from '../../src/domain/status.js'

/** A delivery of a fixed moment, with what a test changes about it. */
export const freshStatus = (channel: Channel, changes: Partial<DeliveryStatus> = {}): DeliveryStatus => ({
  ...newStatus(channel, 'queued', new Date('2026-11-15T12:00:00Z')),
  ...changes,
})
