import { isEqual, toHex } from './bytes.js'
import { fault } from './fault.js'
import {
  isCount,
  isHash,
  isUuid,
  malformed,
  membersOf,
  readTimeLine,
  requireFile,
  requireJson,
  requireText,
} from './json-file.js'
import { checkNote, readNote, readVkey, type VerifierKey } from './note.js'
import type { VerifierTools } from './tools.js'
import type { Files } from './zip.js'

const MANIFEST = 'manifest.json'
const SIGNATURE = 'manifest.sig'
/** These are in every bundle; so are the manifest and its signature. */
const ALWAYS = ['LEIA-ME.txt', 'events.json', 'keys.json', 'status.json']
/** These are there as soon as a checkpoint has events of the notification: both or neither. */
const WITH_CHECKPOINT = ['checkpoint.txt', 'log.json']
const FOLDERS = /^(attachments|content|documents|recordings|time-stamps)\//
/** The first line of what is signed: no other text that the key signs begins so. */
export const BUNDLE_HEAD = 'carteiro/bundle/v1'

/** Compares every file with the list of names, sizes and hashes. Returns the notification that the bundle is about. */
export async function checkManifest(files: Files, { sha256 }: VerifierTools): Promise<string> {
  const step = 'manifest'
  const manifest = membersOf(requireJson(files, MANIFEST, step), ['v', 'notification', 'files'])
  if (manifest === null || manifest.v !== 1) throw malformed(step, MANIFEST, 'não é da versão 1')
  const { notification, files: listed } = manifest
  if (!isUuid(notification)) throw malformed(step, MANIFEST, 'falta o identificador da notificação')
  if (!Array.isArray(listed)) throw malformed(step, MANIFEST, 'falta a lista de arquivos')
  let last = ''
  for (const item of listed) {
    const entry = membersOf(item, ['path', 'sha256', 'size'])
    if (entry === null || typeof entry.path !== 'string' || !isHash(entry.sha256) || !isCount(entry.size))
      throw malformed(step, MANIFEST, 'a lista de arquivos é ilegível')
    const { path } = entry
    if (path <= last) throw malformed(step, MANIFEST, 'a lista de arquivos está fora de ordem')
    if ([MANIFEST, SIGNATURE].includes(path)) throw malformed(step, MANIFEST, 'a lista cita a si mesma')
    last = path
    const bytes = files.get(path)
    if (bytes === undefined) throw fault(step, path, `O arquivo ${path} está na lista (${MANIFEST}) e falta no ZIP.`)
    if (bytes.length !== entry.size || toHex(await sha256(bytes)) !== entry.sha256)
      throw fault(step, path, `O arquivo ${path} foi alterado: não é o que a lista (${MANIFEST}) descreve.`)
  }
  const names = new Set(listed.map(item => (item as { path: string }).path))
  checkNames(files, names)
  return notification
}

function checkNames(files: Files, listed: ReadonlySet<string>): void {
  const step = 'manifest'
  for (const path of files.keys()) {
    if (path === MANIFEST || path === SIGNATURE) continue
    if (!listed.has(path)) throw fault(step, path, `O arquivo ${path} foi acrescentado: não está na lista (${MANIFEST}).`)
    if (!ALWAYS.includes(path) && !WITH_CHECKPOINT.includes(path) && !FOLDERS.test(path))
      throw fault(step, path, `O arquivo ${path} não faz parte de um pacote de evidências.`)
  }
  for (const path of [...ALWAYS, SIGNATURE]) requireFile(files, path, step)
  const [checkpoint, log] = WITH_CHECKPOINT.map(path => files.has(path))
  const stamped = [...files.keys()].some(path => path.startsWith('time-stamps/'))
  if (checkpoint !== log || (stamped && !checkpoint))
    throw fault(step, 'checkpoint.txt', 'O checkpoint está incompleto: checkpoint.txt e log.json vêm juntos.')
}

export interface BundleKeys {
  log: VerifierKey
  witnesses: readonly VerifierKey[]
  /** The certificates that may have signed the documents, in PEM. */
  certificates: readonly string[]
}

export async function readKeys(files: Files, tools: VerifierTools): Promise<BundleKeys> {
  const [step, path] = ['signature', 'keys.json'] as const
  const keys = membersOf(requireJson(files, path, step), ['v', 'log', 'witnesses', 'documents'])
  if (keys === null || keys.v !== 1) throw malformed(step, path, 'não é da versão 1')
  const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(item => typeof item === 'string')
  const { log, witnesses, documents } = keys
  if (typeof log !== 'string' || !isTexts(witnesses) || !isTexts(documents))
    throw malformed(step, path, 'as chaves são ilegíveis')
  const own = await readVkey(log, tools)
  if (own?.algorithm !== 1) throw malformed(step, path, 'a chave do registro é ilegível')
  const others: VerifierKey[] = []
  for (const vkey of witnesses) {
    const key = await readVkey(vkey, tools)
    if (key === null) throw malformed(step, path, 'a chave de uma testemunha é ilegível')
    if (isEqual(key.key, own.key)) throw malformed(step, path, 'o registro não pode ser testemunha de si mesmo')
    others.push(key)
  }
  return { log: own, witnesses: others, certificates: documents }
}

export interface SignedManifest {
  /** When the bundle was made, by the gateway's clock. */
  at: string
}

/** The gateway's signature: these are all the files, and these all the events that it knew at that time. */
export async function checkSignature(
  files: Files,
  notification: string,
  key: VerifierKey,
  tools: VerifierTools,
): Promise<SignedManifest> {
  const step = 'signature'
  const note = readNote(requireText(files, SIGNATURE, step))
  const digest = toHex(await tools.sha256(requireFile(files, MANIFEST, step)))
  const [head, about, signed, time = '', ...rest] = note?.text.split('\n') ?? []
  const at = readTimeLine(time)
  if (note === null || head !== BUNDLE_HEAD || at === null || rest.length !== 1 || note.signatures.length !== 1)
    throw malformed(step, SIGNATURE, 'não é a assinatura de um pacote')
  if (about !== notification) throw fault(step, SIGNATURE, 'A assinatura do pacote é de outra notificação.')
  if (signed !== digest)
    throw fault(step, SIGNATURE, 'A assinatura é de outra lista de arquivos: a lista foi alterada depois de assinada.')
  const { check } = await checkNote(note, key, tools)
  if (check === 'missing') throw fault(step, SIGNATURE, 'O pacote não foi assinado com a chave que está em keys.json.')
  if (check === 'broken') throw fault(step, SIGNATURE, 'A assinatura do pacote não confere: ele foi alterado depois de assinado.')
  return { at }
}
