import { createPublicKey, hash as digest, type KeyObject, sign, verify } from 'node:crypto'
import { HASH_BYTES } from './tree.js'

/**
 * Signed notes (C2SP signed-note, tlog-checkpoint, tlog-cosignature), without input or output. A note is a text, an empty line and
 * lines of signatures. The offline verifier has a reader of its own in verify/note.ts, because it also runs in browsers, which do not
 * have node:crypto.
 */
export interface Note {
  /** What is signed, with its last line feed. */
  text: string
  signatures: readonly NoteSignature[]
}

export interface NoteSignature {
  name: string
  keyId: Buffer
  signature: Buffer
  /** The whole line, with its line feed. */
  line: string
}

/** Who may sign, in the form name+key id+key: a log, or a witness that says when it saw a checkpoint. */
export interface NoteVerifier {
  name: string
  keyId: Buffer
  kind: 'log' | 'witness'
  key: KeyObject
  /** The text form. */
  vkey: string
}

export interface Checkpoint {
  origin: string
  size: number
  root: Buffer
  /** From the line of our own; null: the log of another program. */
  at: Date | null
}

const KEY_ID_BYTES = 4
const KEY_BYTES = 32
/** The length of an Ed25519 signature. */
export const SIGNATURE_BYTES = 64
const TIME_BYTES = 8
/** The type byte before a public key. */
const KINDS = { 1: 'log', 4: 'witness' } as const
const TYPE = { log: 1, witness: 4 } as const
/** RFC 8410: the fixed head of a SubjectPublicKeyInfo of Ed25519. */
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex')

/** No white space, no control characters and no +, which separates the parts of a key. */
const isName = (name: string): boolean => name !== '' && !/[\s+\p{Cc}]/u.test(name)

const rawKey = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' }).subarray(SPKI_HEAD.length)

export function makeVerifier(name: string, key: KeyObject, kind: NoteVerifier['kind'] = 'log'): NoteVerifier {
  const typed = Buffer.concat([Buffer.of(TYPE[kind]), rawKey(key)])
  const keyId = keyIdOf(name, typed)
  return { name, keyId, kind, key, vkey: `${name}+${keyId.toString('hex')}+${typed.toString('base64')}` }
}

const keyIdOf = (name: string, typed: Buffer): Buffer =>
  digest('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed]), 'buffer').subarray(0, KEY_ID_BYTES)

/** null: it is not a key, or its parts do not fit together. */
export function readVerifier(vkey: string): NoteVerifier | null {
  const [, name, id, encoded] = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)$/.exec(vkey.trim()) ?? []
  if (name === undefined || !isName(name)) return null
  const typed = Buffer.from(encoded!, 'base64')
  const kind = KINDS[typed[0] as keyof typeof KINDS]
  if (typed.length !== 1 + KEY_BYTES || kind === undefined || typed.toString('base64') !== encoded) return null
  const key = createPublicKey({ key: Buffer.concat([SPKI_HEAD, typed.subarray(1)]), format: 'der', type: 'spki' })
  const verifier = makeVerifier(name, key, kind)
  return verifier.keyId.toString('hex') === id ? verifier : null
}

/** The note with one signature, of the log's own key. */
export function signNote(text: string, name: string, privateKey: KeyObject): string {
  const { keyId } = makeVerifier(name, createPublicKey(privateKey))
  return `${text}\n${signatureLine(name, Buffer.concat([keyId, sign(null, Buffer.from(text), privateKey)]))}`
}

const signatureLine = (name: string, bytes: Buffer): string => `— ${name} ${bytes.toString('base64')}\n`

/** null: it is not a note. */
export function readNote(note: string): Note | null {
  const split = note.lastIndexOf('\n\n')
  if (split <= 0 || !note.endsWith('\n')) return null
  const signatures = readSignatures(note.slice(split + 2))
  return signatures === null || signatures.length === 0 ? null : { text: note.slice(0, split + 1), signatures }
}

/** Lines of signatures, as a note or a witness has them; null: some line is not one. */
export function readSignatures(lines: string): NoteSignature[] | null {
  const signatures: NoteSignature[] = []
  for (const line of lines.split(/(?<=\n)/)) {
    const [, name, encoded] = /^— (\S+) ([A-Za-z0-9+/]+=*)\n$/.exec(line) ?? []
    const bytes = Buffer.from(encoded ?? '', 'base64')
    if (name === undefined || !isName(name) || bytes.length <= KEY_ID_BYTES || bytes.toString('base64') !== encoded) return null
    signatures.push({ name, keyId: bytes.subarray(0, KEY_ID_BYTES), signature: bytes.subarray(KEY_ID_BYTES), line })
  }
  return signatures
}

/** Whether the key signed the text. A witness also says when; null: no signature of this key, or a bad one. */
export function verifyNote({ text, signatures }: Note, by: NoteVerifier): { at: Date | null } | null {
  const own = signatures.filter(({ name, keyId }) => name === by.name && keyId.equals(by.keyId))
  // A second line of the same key must hold as well: of two, a reader could trust the one that was not checked.
  const results = own.map(signature => verifySignature(text, signature, by))
  return results.length === 0 || results.includes(null) ? null : results[0]!
}

/** One signature of this key: of a log over the text, of a witness over the time and the text. */
export function verifySignature(text: string, { signature }: NoteSignature, by: NoteVerifier): { at: Date | null } | null {
  if (by.kind === 'log') {
    if (signature.length !== SIGNATURE_BYTES) return null
    return verify(null, Buffer.from(text), by.key, signature) ? { at: null } : null
  }
  if (signature.length !== TIME_BYTES + SIGNATURE_BYTES) return null
  const seconds = signature.readBigUInt64BE(0)
  const message = Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`)
  if (seconds > 253_402_300_799n || !verify(null, message, by.key, signature.subarray(TIME_BYTES))) return null
  return { at: new Date(Number(seconds) * 1_000) }
}

export const checkpointText = (origin: string, size: number, root: Buffer, at: Date): string =>
  `${origin}\n${size}\n${root.toString('base64')}\ntime ${at.toISOString()}\n`

/** null: the text is not that of a checkpoint. */
export function readCheckpoint(text: string): Checkpoint | null {
  const [origin = '', size = '', encoded = '', ...more] = text.split('\n')
  const root = Buffer.from(encoded, 'base64')
  const isWhole = text.endsWith('\n') && !more.slice(0, -1).includes('')
  if (!isWhole || origin === '' || !/^(0|[1-9]\d{0,15})$/.test(size) || !Number.isSafeInteger(Number(size))) return null
  if (root.length !== HASH_BYTES || root.toString('base64') !== encoded) return null
  const [, at] = /^time (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/.exec(more[0] ?? '') ?? []
  return { origin, size: Number(size), root, at: at === undefined ? null : new Date(at) }
}

/** What RFC 3161 tokens are about: later signatures of witnesses do not change it. */
export const noteDigest = (text: string): Buffer => digest('sha256', text, 'buffer')

/**
 * The notes of an archive, one after the other. What a crash left unfinished is passed over: the note was written again after it.
 */
export function splitNotes(archive: string): string[] {
  const paragraphs = archive
    .replaceAll('\r\n', '\n')
    .split(/\n{2,}/)
    .map(paragraph => paragraph.replace(/^\n+|\n+$/g, ''))
  return paragraphs.flatMap((paragraph, index) => {
    const signatures = paragraphs[index + 1] ?? ''
    return paragraph !== '' && !paragraph.startsWith('— ') && signatures.startsWith('— ')
      ? [`${paragraph}\n\n${signatures}\n`]
      : []
  })
}
