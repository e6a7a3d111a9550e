import { type Carrier, type Receipt, SendError } from '../../channels/provider.js'
import type { Claim, Lease } from '../../store/delivery/claims.js'

/** A delivery that a lane holds, from the claim until its outcome is recorded. */
export interface Flight extends Lease {
  /** On the clock of performance.now(): until when the lease holds. */
  heldUntil: number
  /** Aborts the send. */
  late: AbortController
}

export const flightOf = ({ notification, owner }: Claim, heldUntil: number): Flight => ({
  notification,
  owner,
  heldUntil,
  late: new AbortController(),
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
  const look = (): void => {
    const left = Math.min(deadline, flight.heldUntil) - performance.now()
    if (left <= 0) flight.late.abort()
    else timer = setTimeout(look, Math.ceil(left))
  }
  look()
  try {
    return await carrier.send(message, flight.late.signal)
  } finally {
    clearTimeout(timer)
  }
}

/** Carriers throw SendError and nothing else. How far a send with another error got is unknown. */
export const unexpected = (cause: unknown): SendError =>
  new SendError('uncertain', 'Erro interno ao falar com a operadora.', { answer: String((cause as Error).message), cause })

export const unprepared = (cause: unknown): SendError =>
  new SendError('temporary', 'Erro interno ao preparar a mensagem.', { answer: String((cause as Error).message), cause })

export const tooLate = (): SendError => new SendError('temporary', 'A mensagem só ficou pronta depois do prazo deste envio.')
