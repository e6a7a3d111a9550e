import { SendError } from './provider.js'

interface CarrierChecked {
  ok: boolean
  reason: string | null
  answer: string | null
}

/** A person waits for it. */
const LIMIT_MS = 15_000

/** Asks a carrier whether it takes our credentials. */
export async function runCarrierCheck(check: (signal: AbortSignal) => Promise<string>): Promise<CarrierChecked> {
  try {
    return { ok: true, reason: null, answer: await check(AbortSignal.timeout(LIMIT_MS)) }
  } catch (error) {
    if (!(error instanceof SendError)) throw error
    return { ok: false, reason: error.reason, answer: error.answer }
  }
}
