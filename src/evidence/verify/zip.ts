import { isEqual, readUtf8 } from './bytes.js'
import { fault } from './fault.js'
import {
  CENTRAL_SIGNATURE,
  crc32,
  isBundlePath,
  LOCAL_HEADER,
  LOCAL_SIGNATURE,
  localHeader,
  type ZipMember,
  zipDirectory,
} from './zip-form.js'

export type Files = ReadonlyMap<string, Uint8Array>

/** Whether the bytes begin as a ZIP does, so that a wrong file gets a plain answer. */
export const looksLikeZip = (bytes: Uint8Array): boolean => bytes.length >= 4 && signatureAt(bytes, 0) === LOCAL_SIGNATURE

const signatureAt = (bytes: Uint8Array, at: number): number =>
  at + 4 > bytes.length ? -1 : new DataView(bytes.buffer, bytes.byteOffset).getUint32(at, true)

/**
 * Reads the members one after the other and makes each header again from what was read: a byte that differs anywhere, in headers,
 * directory or after the end, is found.
 */
export function readZip(bytes: Uint8Array): Files {
  const files = new Map<string, Uint8Array>()
  const members: ZipMember[] = []
  let at = 0
  let last = ''
  while (signatureAt(bytes, at) === LOCAL_SIGNATURE) {
    const { member, data, end } = readMember(bytes, at, last)
    if (member.path <= last) throw fault('zip', member.path, `O arquivo ${member.path} está fora de ordem ou repetido no ZIP.`)
    files.set(member.path, data)
    members.push(member)
    last = member.path
    at = end
  }
  const after = last === '' ? 'no início' : `depois de ${last}`
  if (signatureAt(bytes, at) !== CENTRAL_SIGNATURE)
    throw fault('zip', last === '' ? null : last, `A estrutura do ZIP está danificada ${after}.`)
  if (!isEqual(bytes.subarray(at), zipDirectory(members)))
    throw fault(
      'zip',
      null,
      'O índice no fim do ZIP não corresponde aos arquivos dele: algo foi alterado, tirado ou acrescentado.',
    )
  return files
}

function readMember(bytes: Uint8Array, at: number, last: string): { member: ZipMember; data: Uint8Array; end: number } {
  const damaged = (path: string | null) =>
    fault(
      'zip',
      path,
      `A estrutura do ZIP está danificada ${path === null ? `depois de ${last || 'seu início'}` : `em ${path}`}.`,
    )
  if (at + LOCAL_HEADER > bytes.length) throw damaged(null)
  const view = new DataView(bytes.buffer, bytes.byteOffset + at)
  const [crc, size, nameLength] = [view.getUint32(14, true), view.getUint32(18, true), view.getUint16(26, true)]
  const start = at + LOCAL_HEADER + nameLength
  const path = readUtf8(bytes.subarray(at + LOCAL_HEADER, start))
  if (path === null || path.length !== nameLength || !isBundlePath(path)) throw damaged(null)
  const member = { path, size, crc }
  if (!isEqual(bytes.subarray(at, start), localHeader(member)) || start + size > bytes.length) throw damaged(path)
  const data = bytes.subarray(start, start + size)
  if (crc32(data) !== crc)
    throw fault(
      'zip',
      path,
      `O arquivo ${path} foi alterado: a soma de controle (CRC-32) do ZIP não confere com o conteúdo dele.`,
    )
  return { member, data, end: start + size }
}
