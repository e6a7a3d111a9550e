import { concat, isEqual, readBase64, readHex, utf8 } from './bytes.js'
import type { VerifierTools } from './tools.js'

/** C2SP signed-note: a text, an empty line, and lines of signatures. */
export interface SignedNote {
  /** With its last newline: what is signed. */
  text: string
  signatures: readonly { name: string; keyId: Uint8Array; signature: Uint8Array }[]
}

/** C2SP vkey: "name+hexadecimal key id+base64(algorithm ‖ key)". */
export interface VerifierKey {
  vkey: string
  name: string
  keyId: Uint8Array
  /** 1: Ed25519. 4: Ed25519 of a witness, whose signature has a time (tlog-cosignature). */
  algorithm: 1 | 4
  key: Uint8Array
}

const KEY_BYTES = 32
const SIGNATURE_BYTES = 64
const SIGNATURE_LINE = /^— ([^\s+]+) ([A-Za-z0-9+/=]+)$/

/** null: the text is no signed note. */
export function readNote(note: string): SignedNote | null {
  const middle = note.lastIndexOf('\n\n')
  if (middle < 0 || !note.endsWith('\n')) return null
  const lines = note.slice(middle + 2, -1).split('\n')
  const signatures = lines.map(line => {
    const [, name, base64] = SIGNATURE_LINE.exec(line) ?? []
    const bytes = base64 === undefined ? null : readBase64(base64)
    return bytes === null || bytes.length < 5 ? null : { name: name!, keyId: bytes.subarray(0, 4), signature: bytes.subarray(4) }
  })
  if (signatures.some(signature => signature === null)) return null
  return { text: note.slice(0, middle + 1), signatures: signatures.filter(signature => signature !== null) }
}

/** null: it is no key of a kind that is known here, or its id is not that of the key. */
export async function readVkey(vkey: string, { sha256 }: Pick<VerifierTools, 'sha256'>): Promise<VerifierKey | null> {
  const [, name, id, base64] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(vkey) ?? []
  const bytes = base64 === undefined ? null : readBase64(base64)
  if (bytes === null || bytes.length !== KEY_BYTES + 1) return null
  const algorithm = bytes[0]
  if (algorithm !== 1 && algorithm !== 4) return null
  const keyId = readHex(id!, 4)!
  const made = await sha256(concat(utf8(`${name}\n`), bytes))
  return isEqual(made.subarray(0, 4), keyId) ? { vkey, name: name!, keyId, algorithm, key: bytes.subarray(1) } : null
}

export type NoteCheck = 'holds' | 'broken' | 'missing' | 'unchecked'

/** Whether the key signed the note: 'missing': it has no signature there. 'unchecked': this environment has no Ed25519. */
export async function checkNote(note: SignedNote, key: VerifierKey, tools: VerifierTools): Promise<NoteCheck> {
  const own = note.signatures.filter(({ name, keyId }) => name === key.name && isEqual(keyId, key.keyId))
  if (own.length === 0) return 'missing'
  for (const { signature } of own) {
    const result = await (key.algorithm === 1 ? checkPlain : checkCosignature)(note.text, signature, key, tools)
    if (result !== 'holds') return result
  }
  return 'holds'
}

async function checkPlain(text: string, signature: Uint8Array, { key }: VerifierKey, tools: VerifierTools): Promise<NoteCheck> {
  if (signature.length !== SIGNATURE_BYTES) return 'broken'
  if (tools.verifyEd25519 === null) return 'unchecked'
  return (await tools.verifyEd25519(key, utf8(text), signature)) ? 'holds' : 'broken'
}

/** C2SP tlog-cosignature: eight bytes of seconds since 1970, then the signature, over a text that names this time. */
async function checkCosignature(text: string, signature: Uint8Array, key: VerifierKey, tools: VerifierTools): Promise<NoteCheck> {
  if (signature.length !== 8 + SIGNATURE_BYTES) return 'broken'
  const seconds = cosignedSeconds(signature)
  return checkPlain(`cosignature/v1\ntime ${seconds}\n${text}`, signature.subarray(8), key, tools)
}

export const cosignedSeconds = (signature: Uint8Array): bigint =>
  new DataView(signature.buffer, signature.byteOffset).getBigUint64(0, false)
