import type { EventContext } from '../channel.js'
import type { CarrierEvent } from '../provider.js'
import { type CallLookup, dropKnownCalls, endCallLookup, takeOpenCalls } from './call-lookup-store.js'

/** Carriers tell of a call's end once or twice and then forget it: what nobody told of is asked for. */
export interface CallCarrier {
  /** Whether it records calls. */
  records: boolean
  /** What it knows of a call, by its own name and our reference. */
  ask(name: string, reference: string, signal: AbortSignal): Promise<AskedCall>
}

interface AskedCall {
  events: readonly CarrierEvent[]
  /** Nothing more will come. */
  over: boolean
}

const MAX_KNOWN = 1_000
const BATCH = 20
const ASK_TIMEOUT_MS = 20_000

/** Asks about those calls of which nobody knows the end, from the carriers that this node can ask. */
export async function askOpenCalls(
  carriers: ReadonlyMap<string, CallCarrier>,
  parts: Pick<EventContext, 'pool' | 'takeEvents'>,
): Promise<void> {
  const names = [...carriers.keys()]
  await dropKnownCalls(
    parts.pool,
    names.filter(name => carriers.get(name)!.records),
    MAX_KNOWN,
  )
  const open = await takeOpenCalls(parts.pool, names, BATCH)
  const asked = await Promise.allSettled(open.map(call => askOne(call, carriers.get(call.provider)!, parts)))
  const failed = asked.find(result => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

async function askOne(call: CallLookup, carrier: CallCarrier, parts: Pick<EventContext, 'pool' | 'takeEvents'>): Promise<void> {
  const reference = `${call.notification}.voice.${call.ordinal}`
  const { events, over } = await carrier.ask(call.name, reference, AbortSignal.timeout(ASK_TIMEOUT_MS))
  await parts.takeEvents({ provider: call.provider, carrier: call.provider, channel: 'voice' }, events)
  if (over) await endCallLookup(parts.pool, call)
}
