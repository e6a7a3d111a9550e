import { canonicalJson, type Json } from '../../domain/evidence/canonical-json.js'
import { concat, readHex, toHex, utf8 } from './bytes.js'
import { fault } from './fault.js'
import { isCount, isHash, isMoment, type JsonMembers, malformed, membersOf, requireJson } from './json-file.js'
import type { VerifierTools } from './tools.js'
import type { Files } from './zip.js'

export interface BundledEvent {
  seq: number
  at: string
  type: string
  hash: string
  /** null: erased or withheld, with its salt. */
  data: Json
  isErased: boolean
}

const PATH = 'events.json'
const MEMBERS = ['notification', 'seq', 'at', 'type', 'source', 'data', 'salt', 'commit', 'prev', 'hash']
const SALT_BYTES = 16
const GENESIS = '0'.repeat(64)

/** The chain, from the first event on: sequence, link, hash, and the commitment to the data. */
export async function checkEvents(files: Files, notification: string, { sha256 }: VerifierTools): Promise<BundledEvent[]> {
  const step = 'events'
  const listed = requireJson(files, PATH, step)
  if (!Array.isArray(listed) || listed.length === 0) throw malformed(step, PATH, 'não há eventos')
  const events: BundledEvent[] = []
  let last = GENESIS
  for (const [index, item] of listed.entries()) {
    const expected = index + 1
    const subject = `evento ${expected}`
    const event = membersOf(item, MEMBERS)
    if (event === null || !isWellFormed(event)) throw fault(step, subject, `O evento ${expected} não tem a forma prevista.`)
    const { seq, at, type, source, data, salt, commit, prev, hash } = event
    if (event.notification !== notification)
      throw fault(step, subject, `O evento ${expected} é de outra notificação (${String(event.notification)}).`)
    if (seq !== expected) throw fault(step, subject, `Falta o evento ${expected}, ou os eventos estão fora de ordem.`)
    if (events.length > 0 && (at as string) < events.at(-1)!.at)
      throw fault(step, subject, `A data do evento ${expected} é anterior à do evento que o precede.`)
    if (prev !== last)
      throw fault(
        step,
        subject,
        `O evento ${expected} não continua o anterior: um evento foi tirado, posto ou alterado antes dele.`,
      )
    const made = await sha256(utf8(canonicalJson({ v: 1, notification, seq, at, type, source, commit, prev } as JsonMembers)))
    if (toHex(made) !== hash)
      throw fault(step, subject, `O evento ${expected} foi alterado: tipo, data, origem ou ligação não conferem com o hash dele.`)
    if (salt !== null) {
      const committed = await sha256(concat(readHex(salt as string, SALT_BYTES)!, utf8(canonicalJson(data!))))
      if (toHex(committed) !== commit) throw fault(step, subject, `Os dados do evento ${expected} foram alterados.`)
    }
    events.push({ seq: expected, at: at as string, type: type as string, hash, data: data!, isErased: salt === null })
    last = hash
  }
  return events
}

const isWellFormed = ({ seq, at, type, source, data, salt, commit, prev, hash }: JsonMembers): boolean =>
  isCount(seq, 1) &&
  isMoment(at) &&
  typeof type === 'string' &&
  typeof source === 'string' &&
  isHash(commit) &&
  isHash(prev) &&
  isHash(hash) &&
  (salt === null ? data === null : typeof salt === 'string' && readHex(salt, SALT_BYTES) !== null)
