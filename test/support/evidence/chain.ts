import { findChainFault } from '../../../src/domain/evidence/evidence.js'
import { readEventLog } from '../../../src/store/notification/event-log.js'
import type { Pool } from '../../../src/store/postgres.js'

/** Reads every event and names the notifications whose chain is not whole. */
export async function brokenChains(pool: Pool): Promise<{ notification: string; seq: number; fault: string }[]> {
  const broken: { notification: string; seq: number; fault: string }[] = []
  for await (const page of readEventLog(pool)) {
    for (const { id, events } of page) {
      const fault = findChainFault(events)
      if (fault !== null) broken.push({ notification: id, ...fault })
    }
  }
  return broken
}
