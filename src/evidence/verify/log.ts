import { brazilianDate } from '../../domain/text/dates.js'
import { readBase64, readHex } from './bytes.js'
import type { BundledEvent } from './events.js'
import { fault } from './fault.js'
import { isCount, isHash, malformed, membersOf, readTimeLine, requireJson, requireText } from './json-file.js'
import type { BundleKeys } from './manifest.js'
import { isIncluded } from './merkle.js'
import { checkNote, cosignedSeconds, isOf, readNote, type SignedNote } from './note.js'
import type { VerifierTools } from './tools.js'
import type { Files } from './zip.js'

const CHECKPOINT = 'checkpoint.txt'
const LOG = 'log.json'

export interface BundledCheckpoint {
  note: SignedNote
  origin: string
  size: number
  root: Uint8Array
  at: string
}

/** C2SP tlog-checkpoint, with a line of our own that says when. */
export function readCheckpoint(files: Files): BundledCheckpoint {
  const note = readNote(requireText(files, CHECKPOINT, 'inclusion'))
  const [origin, size = '', root = '', time = '', ...rest] = note?.text.split('\n') ?? []
  const bytes = readBase64(root)
  const at = readTimeLine(time)
  const isNumber = /^[1-9]\d{0,15}$/.test(size) && Number.isSafeInteger(Number(size))
  if (note === null || !origin || !isNumber || bytes?.length !== 32 || at === null || rest.length !== 1)
    throw malformed('inclusion', CHECKPOINT, 'não é um checkpoint')
  return { note, origin, size: Number(size), root: bytes, at }
}

/**
 * Each event that has a proof is a leaf of the tree. Returns the events that the checkpoint covers. The leaves need not be in the order of
 * the events: they follow the transactions that wrote them.
 */
export async function checkInclusion(
  files: Files,
  events: readonly BundledEvent[],
  { origin, size, root }: BundledCheckpoint,
  tools: VerifierTools,
): Promise<ReadonlySet<number>> {
  const step = 'inclusion'
  const log = membersOf(requireJson(files, LOG, step), ['origin', 'size', 'events'])
  if (log === null || !Array.isArray(log.events) || log.events.length === 0) throw malformed(step, LOG, 'não há provas')
  if (log.origin !== origin || log.size !== size) throw fault(step, LOG, 'As provas de log.json são de outro checkpoint.')
  const covered = new Set<number>()
  const places = new Set<number>()
  for (const item of log.events) {
    const proof = membersOf(item, ['seq', 'leaf', 'path'])
    if (proof === null || !isCount(proof.seq, 1) || !isCount(proof.leaf) || !isPath(proof.path))
      throw malformed(step, LOG, 'uma prova é ilegível')
    const { seq, leaf: place } = proof
    const subject = `evento ${seq}`
    if (seq <= Math.max(0, ...covered) || places.has(place))
      throw fault(step, subject, `A prova do evento ${seq} está repetida ou fora de ordem em ${LOG}.`)
    const event = events[seq - 1]
    if (event === undefined) throw fault(step, subject, `Há prova de um evento ${seq}, e ele falta em events.json.`)
    const path = proof.path.map(hash => readHex(hash, 32)!)
    if (!(await isIncluded({ leaf: readHex(event.hash, 32)!, place, size, path, root }, tools)))
      throw fault(step, subject, `O evento ${seq} não está no checkpoint: a prova não leva à raiz dele.`)
    covered.add(seq)
    places.add(place)
  }
  return covered
}

const isPath = (value: unknown): value is string[] => Array.isArray(value) && value.every(hash => isHash(hash))

/** Our own signature of the checkpoint. */
export async function checkCheckpoint(
  { note, origin }: BundledCheckpoint,
  { log }: BundleKeys,
  tools: VerifierTools,
): Promise<void> {
  const step = 'checkpoint'
  if (origin !== log.name) throw fault(step, CHECKPOINT, 'O checkpoint é de outro registro.')
  const { check } = await checkNote(note, log, tools)
  if (check === 'missing') throw fault(step, CHECKPOINT, 'O checkpoint não tem a assinatura do registro.')
  if (check === 'broken') throw fault(step, CHECKPOINT, 'A assinatura do checkpoint não confere: ele foi alterado.')
}

export interface WitnessedBy {
  check: 'holds' | 'unchecked'
  /** Names, each with the time that it states. */
  names: string[]
  /** Signatures of which the bundle has no key. */
  unknown: string[]
}

/** The signatures of others. Each one whose key is in keys.json must hold. */
export async function checkWitnesses(
  { note }: BundledCheckpoint,
  { log, witnesses }: BundleKeys,
  tools: VerifierTools,
): Promise<WitnessedBy> {
  const names: string[] = []
  let worst: WitnessedBy['check'] = 'holds'
  for (const key of witnesses) {
    const checked = await checkNote(note, key, tools)
    if (checked.check === 'broken') throw fault('witnesses', key.name, `A assinatura da testemunha ${key.name} não confere.`)
    if (checked.check === 'missing') continue
    if (checked.check === 'unchecked') worst = checked.check
    names.push(key.algorithm === 4 ? `${key.name} (${momentOf(cosignedSeconds(checked.signature))})` : key.name)
  }
  const known = [log, ...witnesses]
  const strangers = note.signatures.filter(signature => !known.some(key => isOf(signature, key)))
  return { check: worst, names, unknown: strangers.map(({ name }) => name) }
}

/** Beyond the year 9999 there is no such date. */
const momentOf = (seconds: bigint): string =>
  seconds > 253_402_300_799n ? 'data impossível' : `${brazilianDate(new Date(Number(seconds) * 1_000))} de Brasília`
