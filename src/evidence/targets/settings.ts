import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { decodePercent } from '../../domain/text/percent.js'
import { SECOND_MS } from '../../domain/units.js'
import { readSecret } from '../../domain/webhook.js'
import type { S3Place } from '../../runtime/objects/s3.js'
import { readS3Place } from '../../runtime/objects/settings.js'
import { type NoteVerifier, readVerifier } from '../note.js'

/** Where checkpoints go, as the settings say it. Options are behind the #, which is no part of an address: every=seconds. */
export type ExportSetting = { name: string; everyMs: number } & (
  | { kind: 'file'; path: string }
  | { kind: 'webhook'; url: string; secret: Buffer }
  | ({ kind: 's3' } & S3Place)
  | { kind: 'mail'; to: string }
)

export interface WitnessSetting {
  name: string
  everyMs: number
  /** Requests go to <url>/add-checkpoint. */
  url: string
  verifier: NoteVerifier
}

export interface AuthoritySetting {
  /** Without its password. */
  name: string
  everyMs: number
  url: string
}

const DAY_SECONDS = 86_400
const MIN_SECRET_BYTES = 24

export const EXPORTS_EXPECTED =
  'uma lista, separada por vírgulas, de file:///pasta/arquivo, https://servidor/caminho#secret=whsec_…, s3+https://CHAVE:SEGREDO@servidor/balde/prefixo#region=… e mailto:endereço; every=SEGUNDOS depois do # muda o intervalo'
export const WITNESSES_EXPECTED = 'uma lista, separada por vírgulas, de nome+número+chave@https://testemunha/caminho'
export const AUTHORITIES_EXPECTED =
  'uma lista, separada por vírgulas, de URLs http:// ou https:// de autoridades de carimbo do tempo (RFC 3161)'

/** null: some of them is not understood. */
export const readExports = (text: string): ExportSetting[] | null => readList(text, readExport)
export const readWitnesses = (text: string): WitnessSetting[] | null => readList(text, readWitness)
export const readAuthorities = (text: string): AuthoritySetting[] | null => readList(text, readAuthority)

function readList<T extends { name: string }>(text: string, read: (part: string) => T | null): T[] | null {
  const parts = text.split(',').map(part => read(part.trim()))
  const names = parts.map(part => part?.name)
  return parts.includes(null) || new Set(names).size < names.length ? null : (parts as T[])
}

/** A URL and the options behind its #; null: an option is unknown or no number. */
function readTarget(text: string, defaultSeconds: number, known: readonly string[] = []) {
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  // A plus sign is part of base64 here, not a blank.
  const options = new URLSearchParams(url.hash.slice(1).replaceAll('+', '%2B'))
  if ([...options.keys()].some(name => name !== 'every' && !known.includes(name))) return null
  const every = options.get('every') ?? String(defaultSeconds)
  if (!/^\d{1,6}$/.test(every) || Number(every) > 30 * DAY_SECONDS) return null
  url.hash = ''
  return { url, options, everyMs: Number(every) * SECOND_MS }
}

const MINUTE_SECONDS = 60

function readExport(text: string): ExportSetting | null {
  const protocol = /^[a-z0-9+]+:/i.exec(text)?.[0].toLowerCase()
  if (protocol === 'file:') return readFile(text)
  if (protocol === 'https:' || protocol === 'http:') return readWebhook(text)
  if (protocol === 's3+https:' || protocol === 's3+http:') return readS3(text)
  return protocol === 'mailto:' ? readMail(text) : null
}

function readFile(text: string): ExportSetting | null {
  const target = readTarget(text, 0)
  if (target === null || target.url.host !== '' || target.url.pathname.endsWith('/')) return null
  return { kind: 'file', name: target.url.href, everyMs: target.everyMs, path: fileURLToPath(target.url) }
}

function readWebhook(text: string): ExportSetting | null {
  const target = readTarget(text, MINUTE_SECONDS, ['secret'])
  const secret = readSecret(target?.options.get('secret') ?? '')
  if (target === null || target.url.username !== '' || secret === null || secret.length < MIN_SECRET_BYTES) return null
  return { kind: 'webhook', name: publicName(target.url), everyMs: target.everyMs, url: target.url.href, secret }
}

function readS3(text: string): ExportSetting | null {
  const target = readTarget(text.replace(/^s3\+/i, ''), MINUTE_SECONDS, ['region'])
  const place = target && readS3Place(target.url, target.options.get('region'))
  return place && { kind: 's3', everyMs: target.everyMs, ...place }
}

function readMail(text: string): ExportSetting | null {
  const target = readTarget(text, DAY_SECONDS)
  const to = decodePercent(target?.url.pathname ?? '')
  if (target === null || target.url.search !== '' || to === null || !/^[^\s@,<>"]+@[^\s@,<>"]+$/.test(to)) return null
  return { kind: 'mail', name: `mailto:${to}`, everyMs: target.everyMs, to }
}

function readWitness(text: string): WitnessSetting | null {
  const [, vkey, address] = /^(\S+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+=*)@(https?:\S+)$/.exec(text) ?? []
  const verifier = readVerifier(vkey ?? '')
  const target = readTarget(address ?? '', 10)
  if (verifier?.kind !== 'witness' || target === null || target.url.username !== '' || target.url.search !== '') return null
  return { name: `witness ${verifier.name}`, everyMs: target.everyMs, url: target.url.href.replace(/\/+$/, ''), verifier }
}

function readAuthority(text: string): AuthoritySetting | null {
  const target = /^https?:/i.test(text) ? readTarget(text, MINUTE_SECONDS) : null
  if (target === null || [target.url.username, target.url.password].map(decodePercent).includes(null)) return null
  return { name: publicName(target.url), everyMs: target.everyMs, url: target.url.href }
}

/** The address without user, password and query, which may be secrets; a digest keeps two of them apart. */
function publicName({ origin, pathname, search }: URL): string {
  const digest = search === '' ? '' : `?${createHash('sha256').update(search).digest('hex').slice(0, 8)}`
  return `${origin}${pathname}${digest}`
}
