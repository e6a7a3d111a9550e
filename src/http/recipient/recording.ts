import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { Refusal } from '../../domain/errors.js'
import { makeLinkCode, readLinkCode } from '../../domain/link.js'

/** GET /gravacao/{code}.wav: the recording of a call, for whoever was given its address. */
export interface RecordingOptions {
  key: Buffer
  /** A stretch of it; null: there is none; expired: there is none any more. */
  read(notification: string, from: number, length: number): Promise<{ size: number; bytes: Buffer } | 'expired' | null>
}

export const recordingPath = (key: Buffer, notification: string): string =>
  `/gravacao/${makeLinkCode(key, { notification, channel: 'voice' })}.wav`

const PART = 262_144

export function addRecording(app: FastifyInstance, { key, read }: RecordingOptions): void {
  app.get<{ Params: { code: string } }>('/gravacao/:code', { schema: { hide: true } }, async (request, reply) => {
    const target = readLinkCode(key, request.params.code.replace(/\.wav$/, ''))
    const range = readRange(request.headers.range)
    const found = target === null ? null : await read(target.notification, 0, 0)
    if (found === 'expired') throw new Refusal('recordingExpired')
    if (target === null || found === null) throw new Refusal('recordingMissing')
    const { size } = found
    reply.headers({
      'accept-ranges': 'bytes',
      'cache-control': 'no-store, private',
      'content-disposition': 'inline; filename="ligacao.wav"',
      'content-security-policy': "sandbox; default-src 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex',
    })
    const from = range === null ? 0 : (range.from ?? Math.max(0, size - range.to!))
    const to = range === null || range.from === null ? size - 1 : Math.min(range.to ?? size - 1, size - 1)
    if (from >= size) return reply.code(416).header('content-range', `bytes */${size}`).send()
    if (range !== null) reply.code(206).header('content-range', `bytes ${from}-${to}/${size}`)
    const parts = readParts(read, target.notification, from, to)
    return reply
      .type('audio/wav')
      .header('content-length', to - from + 1)
      .send(Readable.from(parts))
  })
}

/** Piece by piece: what is held in memory stays small however long the call was. */
async function* readParts(
  read: RecordingOptions['read'],
  notification: string,
  from: number,
  to: number,
): AsyncGenerator<Buffer> {
  for (let at = from; at <= to; at += PART) {
    const part = await read(notification, at, Math.min(PART, to - at + 1))
    if (part === null || part === 'expired') throw new Error('the recording is gone')
    yield part.bytes
  }
}

/** RFC 9110, 14.1.2: one range of bytes; whatever else may be ignored. */
function readRange(header: string | undefined): { from: number | null; to: number | null } | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,12})-(\d{0,12})$/.exec(header ?? '') ?? []
  if (first === '' && (last === '' || Number(last) === 0)) return null
  if (first !== '' && last !== '' && Number(last) < Number(first)) return null
  return { from: first === '' ? null : Number(first), to: last === '' ? null : Number(last) }
}
