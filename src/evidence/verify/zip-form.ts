import { concat, utf8 } from './bytes.js'

/**
 * The one form of a bundle's ZIP: nothing is compressed, no optional field is used and every date is the same, so that names and
 * contents determine every byte. The writer and the verifier make the same headers.
 */
export interface ZipMember {
  path: string
  size: number
  crc: number
}

export const LOCAL_HEADER = 30
export const LOCAL_SIGNATURE = 0x04034b50
export const CENTRAL_SIGNATURE = 0x02014b50
const END_SIGNATURE = 0x06054b50
/** 2.0, as most programs write it. */
const VERSION = 20
/** 1980-01-01, the first day that the format knows. */
const DATE = 0x0021

/** ASCII names of at most one folder: no program can unpack them anywhere else. */
export const isBundlePath = (path: string): boolean =>
  path.length <= 200 && /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)?$/.test(path)

/** What local and central headers have in common: from the version that is needed to the length of the extra field. */
function shared(view: DataView, at: number, { path, size, crc }: ZipMember): void {
  view.setUint16(at, VERSION, true)
  view.setUint16(at + 8, DATE, true)
  view.setUint32(at + 10, crc, true)
  view.setUint32(at + 14, size, true)
  view.setUint32(at + 18, size, true)
  view.setUint16(at + 22, path.length, true)
}

export function localHeader(member: ZipMember): Uint8Array {
  const bytes = new Uint8Array(LOCAL_HEADER)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, LOCAL_SIGNATURE, true)
  shared(view, 4, member)
  return concat(bytes, utf8(member.path))
}

function centralHeader(member: ZipMember, offset: number): Uint8Array {
  const bytes = new Uint8Array(46)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, CENTRAL_SIGNATURE, true)
  view.setUint16(4, VERSION, true)
  shared(view, 6, member)
  view.setUint32(42, offset, true)
  return concat(bytes, utf8(member.path))
}

/** The central directory and the end record, which follow the last member. */
export function zipDirectory(members: readonly ZipMember[]): Uint8Array {
  let offset = 0
  const headers = members.map(member => {
    const header = centralHeader(member, offset)
    offset += LOCAL_HEADER + member.path.length + member.size
    return header
  })
  const directory = concat(...headers)
  const end = new Uint8Array(22)
  const view = new DataView(end.buffer)
  view.setUint32(0, END_SIGNATURE, true)
  view.setUint16(8, members.length, true)
  view.setUint16(10, members.length, true)
  view.setUint32(12, directory.length, true)
  view.setUint32(16, offset, true)
  return concat(directory, end)
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

/** CRC-32 of ISO 3309, as ZIP has it. */
export function crc32(bytes: Uint8Array): number {
  let value = 0xffffffff
  for (const byte of bytes) value = (value >>> 8) ^ TABLE[(value ^ byte) & 0xff]!
  return (value ^ 0xffffffff) >>> 0
}
