import type { Mode } from '../../domain/access/token.js'
import { makeReference } from '../../domain/delivery/reference.js'
import type { EventContext } from '../channel-runtime.js'
import type { CarrierEvent } from '../provider.js'
import { type CallLookup, dropKnownCalls, endCallLookup, takeOpenCalls } from './call-lookup-store.js'

export interface CallCarrier {
  modes: readonly Mode[]
  /** Whether it records calls. */
  records: boolean
  /** Asks for the events of a call by the carrier's name for it. `over`: no other event will follow. */
  ask(name: string, reference: string, signal: AbortSignal): Promise<{ events: readonly CarrierEvent[]; over: boolean }>
}

const MAX_KNOWN = 1_000
const BATCH = 20
const ASK_TIMEOUT_MS = 20_000

type LookupContext = Pick<EventContext, 'pool' | 'takeEvents'>

/** Carriers report the end of a call once or twice only, so they are asked about the calls whose report did not arrive. */
export async function askOpenCalls(carriers: ReadonlyMap<string, CallCarrier>, parts: LookupContext): Promise<void> {
  const names = [...carriers.keys()]
  const recording = names.filter(name => carriers.get(name)!.records)
  await dropKnownCalls(parts.pool, recording, MAX_KNOWN)
  const open = await takeOpenCalls(parts.pool, names, BATCH)
  const asked = await Promise.allSettled(open.map(call => askOne(call, carriers.get(call.carrier)!, parts)))
  const failed = asked.find(result => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

async function askOne(call: CallLookup, carrier: CallCarrier, parts: LookupContext): Promise<void> {
  const reference = makeReference({ notification: call.notification, channel: 'voice', ordinal: call.ordinal })
  const { events, over } = await carrier.ask(call.name, reference, AbortSignal.timeout(ASK_TIMEOUT_MS))
  await parts.takeEvents({ channel: 'voice', carriers: [call.carrier], modes: carrier.modes }, events)
  if (over) await endCallLookup(parts.pool, call)
}
