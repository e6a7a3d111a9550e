import type { Json } from '../../domain/evidence/canonical-json.js'
import { toHex } from './bytes.js'
import type { BundledEvent } from './events.js'
import { fault } from './fault.js'
import type { JsonMembers } from './json-file.js'
import type { VerifierTools } from './tools.js'
import type { Files } from './zip.js'

export interface TiedFiles {
  /** Files whose hash is in the chain. */
  tied: string[]
  /** Files of which an erased event may have had the hash. */
  untied: string[]
  /** What events name, and the bundle does not hold. */
  absent: string[]
  /** Contents with bytes that only the recipient may know: stars stand for them. */
  hidden: { seq: number; bytes: number }[]
}

/** The content as the sender gave it, whose hash the first event has. */
const REQUEST = 'content/request.html'
const SENT = /^content\/([1-9]\d{0,8})-([a-z]+)\.[a-z0-9]+$/
const RECORDING = /^recordings\/([1-9]\d{0,8})\.wav$/
const ATTACHMENT = /^attachments\/([1-9]\d{0,8})-/
const MAX_NAME = 100

/** The path of an attachment: what is not plain ASCII in its name becomes a hyphen; the name as given is in the first event. */
export const attachmentPath = (ordinal: number, name: string): string =>
  `attachments/${ordinal}-${[...name]
    .slice(-MAX_NAME)
    .join('')
    .replaceAll(/[^A-Za-z0-9._-]/gu, '-')}`

interface NamedHash {
  path: string | RegExp
  sha256: string
  label: string
}

/** Content, attachments and recordings: each is the one whose hash the event has that its path names. */
export async function checkFiles(files: Files, events: readonly BundledEvent[], { sha256 }: VerifierTools): Promise<TiedFiles> {
  const found: TiedFiles = { tied: [], untied: [], absent: [], hidden: events.flatMap(hiddenOf) }
  for (const [path, bytes] of files) {
    if (!/^(attachments|content|recordings)\//.test(path)) continue
    const event = events[seqOf(path) - 1]
    const hash = toHex(await sha256(bytes))
    const isTied = event !== undefined && hashesOf(event).some(named => fits(named, path) && named.sha256 === hash)
    if (!isTied && event?.isErased !== true)
      throw fault('files', path, `O arquivo ${path} não é o que foi registrado: o evento a que ele pertence não tem o hash dele.`)
    ;(isTied ? found.tied : found.untied).push(path)
  }
  const paths = [...files.keys()]
  found.absent = events.flatMap(event =>
    hashesOf(event)
      .filter(named => !paths.some(path => fits(named, path)))
      .map(({ label, sha256: hash }) => `${label} do evento ${event.seq} (SHA-256 ${hash})`),
  )
  return found
}

const fits = ({ path: expected }: NamedHash, path: string): boolean =>
  typeof expected === 'string' ? expected === path : expected.test(path)

/** The event that a path names; 0: none. */
function seqOf(path: string): number {
  if (path === REQUEST || ATTACHMENT.test(path)) return 1
  return Number((SENT.exec(path) ?? RECORDING.exec(path))?.[1] ?? 0)
}

/** The hashes in an event's data, with the path of the file that has each. */
function hashesOf({ seq, data }: BundledEvent): NamedHash[] {
  const members = objectOf(data)
  const name = (label: string, path: NamedHash['path'], sha256: Json | undefined): NamedHash[] =>
    typeof sha256 === 'string' ? [{ path, sha256, label }] : []
  const { channel, attachments } = members
  const sent =
    typeof channel === 'string' && /^[a-z]+$/.test(channel) ? new RegExp(`^content/${seq}-${channel}\\.[a-z0-9]+$`) : /^$/
  const first = seq === 1 && Array.isArray(attachments) ? attachments : []
  return [
    ...(seq === 1 ? name('conteúdo', REQUEST, members.contentSha256) : []),
    ...name('conteúdo', sent, objectOf(members.content).sha256),
    ...name('gravação', `recordings/${seq}.wav`, members.recording),
    ...first.flatMap((file: Json, index: number) => {
      const { name: given, sha256 } = objectOf(file)
      return name('anexo', attachmentPath(index + 1, typeof given === 'string' ? given : ''), sha256)
    }),
  ]
}

function hiddenOf({ seq, data }: BundledEvent): TiedFiles['hidden'] {
  const { hidden } = objectOf(objectOf(data).content)
  return typeof hidden === 'number' && hidden > 0 ? [{ seq, bytes: hidden }] : []
}

const objectOf = (value: Json | undefined): JsonMembers =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonMembers) : {}
