import { moduleOf } from '../../src/channels/registry.js'
import type { Channel } from '../../src/domain/channel.js'
import { type DeliveryStatus, newStatus } from '../../src/domain/delivery/status.js'
import { applyFact as applyFactBy, type Fact } from '../../src/domain/delivery/transition.js'

/** A delivery of a fixed moment, with what a test changes about it. */
export const freshStatus = (channel: Channel, changes: Partial<DeliveryStatus> = {}): DeliveryStatus => ({
  ...newStatus(channel, 'queued', new Date('2026-11-15T12:00:00Z')),
  ...changes,
})

/** The fact applied with the traits of the delivery's channel. */
export const applyFact = (status: DeliveryStatus, fact: Fact): DeliveryStatus | null =>
  applyFactBy(status, fact, moduleOf(status.channel))
