import type { Carrier } from '../../src/channels/provider.js'
import { takeCarrierEvents } from '../../src/engine/record/carrier-events.js'
import type { Pool } from '../../src/store/postgres.js'
import { sourceOf, UNHEARD } from '../support/gateway/attempts.js'
import { type Parcel, startTestWorker, type TestWorker } from '../support/gateway/lanes.js'
import type { ProviderParts, ScriptedSide, Subject } from './subject.js'

/** The engine with one real provider: all that the tests of unknown outcomes know of the engine. */
export interface UnknownWorker {
  /** For what the carrier tells by itself. */
  onEvents: ProviderParts['onEvents']
  /** How often the carrier was asked about an attempt. */
  lookups(): number
  stop(): Promise<void>
}

/**
 * `settleMs`: how long the carrier is given to report a message whose answer was lost. `repeatAfterMs`: as if the operator had chosen in the
 * carrier's URL to repeat after so long.
 */
export async function startUnknownWorker<Message>(
  pool: Pool,
  { name, channel, message }: Subject<Message>,
  side: ScriptedSide<Message>,
  settleMs: number,
  { repeatAfterMs, identity = name }: { repeatAfterMs?: number; identity?: string } = {},
): Promise<UnknownWorker> {
  let worker: TestWorker | undefined
  const onEvents: ProviderParts['onEvents'] = async events => {
    const parts = { pool, clock: Date.now, recorder: worker!.recorder, ...UNHEARD }
    await takeCarrierEvents(sourceOf(channel, identity), events, parts)
  }
  const provider = side.provider({ pool, carrier: identity, onEvents })
  const carrier = await provider.open(side.url)
  const { whenUnknown, timeoutMs } = provider
  let lookups = 0
  const counted = carryParcels(carrier, message, () => lookups++, repeatAfterMs ?? carrier.repeatAfterMs)
  worker = startTestWorker(
    pool,
    [{ name, channel, whenUnknown, timeoutMs, carrier: counted, options: { settleMs, identity } }],
    undefined,
    TIMING,
  )
  return { onEvents, lookups: () => lookups, stop: () => worker!.stop() }
}

/** The engine looks often, so that tests wait for little. */
const TIMING = { pollMs: 50, orphanMs: 3_600_000 }

/** The lane of a test carries parcels: each becomes the subject's own message. */
const carryParcels = <Message>(
  carrier: Carrier<Message>,
  message: Subject<Message>['message'],
  onLookup: () => void,
  repeatAfterMs: number | undefined,
): Carrier<Parcel> => ({
  get ready() {
    return carrier.ready !== false
  },
  send: ({ reference }, signal) => carrier.send(message(reference), signal),
  ...(carrier.find === undefined ? {} : { find: (...question) => carrier.find!(...question).finally(onLookup) }),
  ...(repeatAfterMs === undefined ? {} : { repeatAfterMs }),
  contentOf: ({ reference }) => carrier.contentOf(message(reference)),
  close: () => carrier.close(),
})

/** Where a delivery stands. */
export async function standingOf(pool: Pool, notification: string): Promise<{ state: string; attempt: number }> {
  const { rows } = await pool.query<{ state: string; attempt: number }>(
    'select state, attempt from delivery where notification_id = $1',
    [notification],
  )
  return rows[0]!
}
