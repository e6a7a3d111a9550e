import { type Carrier, type Receipt, SendError, type SendErrorKind } from '../../channels/provider.js'
import type { Claim, Lease } from '../../store/delivery/claims.js'
import type { AttemptSpan } from './lane-options.js'

/** A delivery that a lane holds, from the claim until its outcome is recorded. */
export interface Flight extends Lease {
  /** On the clock of performance.now(): until when the lease holds. */
  heldUntil: number
  /** Aborts the send. */
  abort: AbortController
  span?: AttemptSpan | undefined
  /** Whether the delivery belongs to a batch. */
  bulk: boolean
  /** The carrier has the message, so the delivery takes no place any more; its outcome is being recorded. */
  leftItsPlace: boolean
}

export const flightOf = ({ notification, owner, bulk = false }: Claim, heldUntil: number, span?: AttemptSpan): Flight => ({
  notification,
  owner,
  heldUntil,
  abort: new AbortController(),
  span,
  bulk,
  leftItsPlace: false,
})

/** Sends, and aborts the send when its time or its lease is over: from then on another worker may send the same message. */
export async function sendInTime<Message>(
  carrier: Carrier<Message>,
  message: Message,
  flight: Flight,
  timeoutMs: number,
): Promise<Receipt> {
  const deadline = performance.now() + timeoutMs
  let timer: NodeJS.Timeout | undefined
  const abortWhenOver = (): void => {
    const left = Math.min(deadline, flight.heldUntil) - performance.now()
    if (left <= 0) flight.abort.abort()
    else timer = setTimeout(abortWhenOver, Math.ceil(left))
  }
  abortWhenOver()
  try {
    return await carrier.send(message, flight.abort.signal)
  } finally {
    clearTimeout(timer)
  }
}

export const internalError = (
  kind: SendErrorKind,
  reason: string,
  cause: unknown,
  more: Partial<Pick<SendError, 'untried' | 'retryAfterMs'>> = {},
): SendError => new SendError(kind, reason, { answer: String((cause as Error).message), cause, ...more })
