import type { CarrierEventParts } from '../engine/record/carrier-events.js'
import type { Log } from './log.js'

/** A callback about an unknown message is answered with success, or the carrier would repeat it for days; the log keeps a line. */
export const warnOfEvents = (log: Log): Pick<CarrierEventParts, 'onUnmatched' | 'onForeign'> => ({
  onUnmatched: ({ carriers }, kind) => log.warn({ carriers, kind }, 'a carrier reported on an unknown message'),
  onForeign: ({ channel, carriers, modes }, kind) =>
    log.error(
      { channel, carriers, modes, kind },
      'a carrier reported on a message that it was never given: nothing was recorded',
    ),
})
