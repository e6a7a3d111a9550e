import { TextDecoder } from 'node:util'
import { refuse } from '../../domain/errors.js'

/** Enough bytes for any character of UTF-8, so that one that is cut off is not taken for another encoding. */
const LONGEST_CHARACTER = 4

/**
 * Decodes a text file whose encoding nobody states: UTF-8 and UTF-16 by their mark, otherwise UTF-8 where the first characters beyond
 * ASCII are valid in it, and Windows-1252 (which includes Latin-1) where they are not. Until then both encodings give the same text.
 */
export async function* decodeText(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let decoder: TextDecoder | null = null
  let held = Buffer.alloc(0)
  let isFirst = true
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([held, chunk])
    held = Buffer.alloc(0)
    if (isFirst && bytes.length < LONGEST_CHARACTER) {
      held = bytes
      continue
    }
    decoder ??= isFirst ? markedDecoder(bytes) : null
    isFirst = false
    if (decoder !== null) {
      yield decode(decoder, bytes)
      continue
    }
    const special = bytes.findIndex(byte => byte > 0x7f)
    if (special === -1) yield readable(bytes.toString('latin1'))
    else if (bytes.length - special < LONGEST_CHARACTER) {
      yield readable(bytes.subarray(0, special).toString('latin1'))
      held = bytes.subarray(special)
    } else {
      decoder = chooseDecoder(bytes)
      yield decode(decoder, bytes)
    }
  }
  if (held.length > 0) {
    decoder ??= markedDecoder(held) ?? chooseDecoder(held, false)
    yield decode(decoder, held)
  }
  if (decoder !== null) yield decode(decoder)
}

function markedDecoder(bytes: Buffer): TextDecoder | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return new TextDecoder('utf-8', { fatal: true })
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le', { fatal: true })
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be', { fatal: true })
  return null
}

/** `goesOn`: the last character of these bytes may be cut off. */
function chooseDecoder(bytes: Buffer, goesOn = true): TextDecoder {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: goesOn })
    return new TextDecoder('utf-8', { fatal: true })
  } catch {
    return new TextDecoder('windows-1252')
  }
}

function decode(decoder: TextDecoder, bytes?: Buffer): string {
  try {
    return readable(bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true }))
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return refuse('notTable', `mistura ${decoder.encoding.toUpperCase()} com outra codificação`)
  }
}

/** NUL is in no text, and in most other files. */
const readable = (text: string): string => (text.includes('\0') ? refuse('notTable', 'não é um arquivo de texto') : text)
