import type { Channel } from '../../../src/domain/channel.js'
import { attemptName, type CarrierSource } from '../../../src/domain/delivery/carrier-source.js'
import type { CarrierEventParts } from '../../../src/engine/record/carrier-events.js'
import type { Pool } from '../../../src/store/postgres.js'

/** What a claim writes before a carrier is called, for the first messages of a delivery. */
export const attemptBy = (
  pool: Pool,
  notification: string,
  channel: Channel,
  carrier: string,
  ordinals = [1],
): Promise<unknown> =>
  pool.query(
    `update delivery set state = 'sending', lease_owner = $1, lease_until = now() + interval '1 hour', attempt = 1, carrier = $3,
       reference = $4, attempted = $5
     where notification_id = $1 and channel = $2`,
    [notification, channel, carrier, `${notification}.${channel}.1`, ordinals.map(ordinal => attemptName(ordinal, carrier))],
  )

/** A source with a single carrier, which gets live messages. */
export const sourceOf = (channel: Channel, carrier: string): CarrierSource => ({ channel, carriers: [carrier], modes: ['live'] })

/** For tests that expect no event without a message. */
export const UNHEARD: Pick<CarrierEventParts, 'onUnmatched' | 'onForeign'> = { onUnmatched: () => {}, onForeign: () => {} }
