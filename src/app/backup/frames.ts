import { MIB } from '../../domain/units.js'
import type { CopiedSequence, CopiedTable } from '../../store/backup/tables.js'

export interface Manifest {
  format: 1
  /** The version of Carteiro that made the backup. */
  version: string
  createdAt: string
  /** In hexadecimal: without it nothing sealed in the database opens. */
  masterKey: string
  fingerprint: string
  migrations: { number: number; name: string; sha256: string }[]
  tables: CopiedTable[]
  months: string[]
  sequences: CopiedSequence[]
  /** How far the log of events had come. */
  log: { size: number; root: string }
}

/** `sha256`: empty where a file could not be read to its end. */
interface DataEnd {
  rows: number
  sha256: string
}

/**
 * A backup, once it is decrypted and unpacked, consists of frames of a kind, a length and bytes. manifest: first. table: its data
 * follow. file: one that is outside of the database, after all tables; its data follow. data: a part of them. end: of a table or a file.
 * whole: last, so that nothing was left out.
 */
export type Frame =
  | { kind: 'manifest'; value: Manifest }
  | { kind: 'table'; value: { name: string } }
  | { kind: 'data'; bytes: Buffer }
  | { kind: 'end'; value: DataEnd }
  | { kind: 'whole'; value: { tables: number; rows: number; files: number } }
  | { kind: 'file'; value: { sha256: string; size: number } }

const KINDS = ['manifest', 'table', 'data', 'end', 'whole', 'file'] as const
const HEAD = 5
/** No frame is larger: what says so was not written by us. */
const MAX_FRAME = 64 * MIB
/** Of data: a row with an attachment may be larger than any frame. */
export const DATA_PART = MIB

export function writeFrame(frame: Frame): Buffer {
  const body = frame.kind === 'data' ? frame.bytes : Buffer.from(JSON.stringify(frame.value))
  const head = Buffer.alloc(HEAD)
  head[0] = KINDS.indexOf(frame.kind)
  head.writeUInt32BE(body.length, 1)
  return Buffer.concat([head, body])
}

export function* writeDataFrames(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += DATA_PART)
    yield writeFrame({ kind: 'data', bytes: bytes.subarray(at, at + DATA_PART) })
}

export class FrameFault extends Error {}

export async function* readFrames(source: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const part of source) {
    rest = rest.length === 0 ? part : Buffer.concat([rest, part])
    while (rest.length >= HEAD) {
      const length = rest.readUInt32BE(1)
      if (length > MAX_FRAME) throw new FrameFault('a frame is too long')
      if (rest.length < HEAD + length) break
      yield frameOf(rest[0]!, rest.subarray(HEAD, HEAD + length))
      rest = rest.subarray(HEAD + length)
    }
  }
  if (rest.length > 0) throw new FrameFault('the last frame is not whole')
}

function frameOf(code: number, bytes: Buffer): Frame {
  const kind = KINDS[code]
  if (kind === undefined) throw new FrameFault(`there is no frame of kind ${code}`)
  return (kind === 'data' ? { kind, bytes } : { kind, value: JSON.parse(bytes.toString()) }) as Frame
}
