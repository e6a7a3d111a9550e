import type { Carrier } from '../../src/channels/provider.js'
import type { Channel } from '../../src/domain/notification.js'
import { takeCarrierEvents } from '../../src/engine/record/carrier-events.js'
import type { Pool } from '../../src/store/postgres.js'
import { type Parcel, startTestWorker, type TestWorker } from '../support/lanes.js'
import { validSend } from '../support/requests.js'
import { type ProviderParts, RECIPIENT, type ScriptedSide, type Subject } from './subject.js'

/** The engine with one real provider: all that the tests of unknown outcomes know of the engine. */
export interface UnknownWorker {
  /** For what the carrier tells by itself. */
  onEvents: ProviderParts['onEvents']
  /** How often the carrier was asked about an attempt. */
  lookups(): number
  stop(): Promise<void>
}

/** `settleMs`: how long the carrier is given to report a message whose answer was lost. */
export async function startUnknownWorker<Message>(
  pool: Pool,
  { name, channel, message }: Subject<Message>,
  side: ScriptedSide<Message>,
  settleMs: number,
): Promise<UnknownWorker> {
  let worker: TestWorker | undefined
  const onEvents: ProviderParts['onEvents'] = events =>
    takeCarrierEvents({ carrierKey: name, provider: name, channel }, events, {
      pool,
      clock: Date.now,
      recorder: worker!.recorder,
      onUnmatched: () => {},
    })
  const provider = side.provider({ pool, onEvents })
  const carrier = await provider.open(side.url)
  const { whenUnknown, timeoutMs } = provider
  let lookups = 0
  const counted = carryParcels(carrier, message, () => lookups++)
  worker = startTestWorker(pool, [{ name, channel, whenUnknown, timeoutMs, carrier: counted, options: { settleMs } }])
  return { onEvents, lookups: () => lookups, stop: () => worker!.stop() }
}

/** The lane of a test carries parcels: each becomes the subject's own message. */
const carryParcels = <Message>(
  carrier: Carrier<Message>,
  message: Subject<Message>['message'],
  onLookup: () => void,
): Carrier<Parcel> => ({
  get ready() {
    return carrier.ready !== false
  },
  send: ({ reference }, signal) => carrier.send(message(reference), signal),
  ...(carrier.find === undefined ? {} : { find: (...question) => carrier.find!(...question).finally(onLookup) }),
  close: () => carrier.close(),
})

/** Requests by which one delivery of a channel, and no other, is accepted. */
export const requestOf = (channel: Channel): object => {
  const { number, email } = RECIPIENT
  const parts: Record<Channel, object> = {
    email: { to: email },
    sms: { sms: { number, typeSend: '2' } },
    whatsapp: { whatsapp: { number } },
    voice: { voz: { number } },
    letter: { carta: {} },
  }
  return { ...validSend, to: undefined, ...parts[channel] }
}

/** Where a delivery stands. unresolved: left to a person, no program looks at it any more. */
export async function standingOf(pool: Pool, notification: string): Promise<{ state: string; attempt: number }> {
  const { rows } = await pool.query<{ state: string; attempt: number }>(
    `select case when due_at > now() + interval '1 year' then 'unresolved' else state end as state, attempt
     from delivery where notification_id = $1`,
    [notification],
  )
  return rows[0]!
}
