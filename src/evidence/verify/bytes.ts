/** Bytes and texts without anything of Node, so that the same checks run in a browser. */

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

/** null: the bytes are no UTF-8. A byte order mark is kept, so that it is seen. */
export function readUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

export const isEqual = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, at) => byte === b[at])

export const toHex = (bytes: Uint8Array): string => Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')

/** Lower-case hexadecimal only: one value has one text. */
export function readHex(text: string, size: number): Uint8Array | null {
  if (text.length !== 2 * size || !/^[0-9a-f]*$/.test(text)) return null
  return Uint8Array.from({ length: size }, (_, at) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16))
}

function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

/** RFC 4648 with padding and with unused bits zero: one value has one text. null: it is not that. */
export function readBase64(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return null
  const bytes = Uint8Array.from(atob(text), character => character.charCodeAt(0))
  return toBase64(bytes) === text ? bytes : null
}
