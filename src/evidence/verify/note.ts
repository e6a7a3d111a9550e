import { concat, isEqual, readBase64, readHex, utf8 } from './bytes.js'
import type { VerifierTools } from './tools.js'

/** C2SP signed-note: a text, an empty line, and lines of signatures. */
export interface SignedNote {
  /** With its last newline: what is signed. */
  text: string
  signatures: readonly NoteSignature[]
}

export interface NoteSignature {
  name: string
  keyId: Uint8Array
  signature: Uint8Array
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

type SignatureCheck = 'holds' | 'broken' | 'unchecked'

/** A name alone tells no key: a witness keeps its name when it changes its key. */
export const isOf = ({ name, keyId }: NoteSignature, key: VerifierKey): boolean => name === key.name && isEqual(keyId, key.keyId)

export type CheckedNote =
  | { check: 'missing' }
  | { check: 'broken' }
  /** `signature`: the first one of the key, which was checked. */
  | { check: 'holds' | 'unchecked'; signature: Uint8Array }

/** Whether the key signed the note: 'missing': it has no signature there. 'unchecked': this environment has no Ed25519. */
export async function checkNote(note: SignedNote, key: VerifierKey, tools: VerifierTools): Promise<CheckedNote> {
  const [first, ...others] = note.signatures.filter(signature => isOf(signature, key))
  if (first === undefined) return { check: 'missing' }
  for (const { signature } of [first, ...others]) {
    const check = await (key.algorithm === 1 ? checkPlain : checkCosignature)(note.text, signature, key, tools)
    if (check === 'broken') return { check }
    if (check === 'unchecked') return { check, signature: first.signature }
  }
  return { check: 'holds', signature: first.signature }
}

async function checkPlain(
  text: string,
  signature: Uint8Array,
  { key }: VerifierKey,
  tools: VerifierTools,
): Promise<SignatureCheck> {
  if (signature.length !== SIGNATURE_BYTES) return 'broken'
  if (tools.verifyEd25519 === null) return 'unchecked'
  return (await tools.verifyEd25519(key, utf8(text), signature)) ? 'holds' : 'broken'
}

/** C2SP tlog-cosignature: eight bytes of seconds since 1970, then the signature, over a text that names this time. */
async function checkCosignature(
  text: string,
  signature: Uint8Array,
  key: VerifierKey,
  tools: VerifierTools,
): Promise<SignatureCheck> {
  if (signature.length !== 8 + SIGNATURE_BYTES) return 'broken'
  const seconds = cosignedSeconds(signature)
  return checkPlain(`cosignature/v1\ntime ${seconds}\n${text}`, signature.subarray(8), key, tools)
}

export const cosignedSeconds = (signature: Uint8Array): bigint =>
  new DataView(signature.buffer, signature.byteOffset).getBigUint64(0, false)
