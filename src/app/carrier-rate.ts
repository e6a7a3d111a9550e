import type { Channel } from '../domain/channel.js'
import { OperatorError } from '../domain/errors.js'

const MAX_RATE = 10_000

/** The option that every carrier's URL has: messages per second. */
export function readRate(url: URL, channel: Channel): number | null {
  const text = url.searchParams.get('rate')
  if (text === null) return null
  if (/^[1-9]\d{0,4}$/.test(text) && Number(text) <= MAX_RATE) return Number(text)
  throw new OperatorError(
    `${channel.toUpperCase()}_URL: rate deve ser um número inteiro de 1 a ${MAX_RATE} (mensagens por segundo).`,
  )
}
