import { hash } from 'node:crypto'
import type { Clock } from '../../domain/clock.js'
import { HmacKey } from '../../domain/hmac-key.js'
import { signedHeaders } from '../../domain/webhook.js'
import { signRequest } from '../../runtime/objects/s3-signature.js'
import type { ClaimedTarget } from '../../store/evidence/checkpoint-targets.js'
import { readCheckpoint, readNote } from '../note.js'
import { appendToArchive } from './file.js'
import type { ExportSetting } from './settings.js'
import { type CheckpointTarget, isSuccess, refusalOf, type TargetReply, type TargetRequest } from './target.js'

export interface ExportParts {
  request: TargetRequest
  /** Sends an e-mail of the installation's own; null: there is no channel for it. */
  sendMail:
    | ((mail: { to: string; subject: string; text: string; reference: string }, signal: AbortSignal) => Promise<void>)
    | null
  clock: Clock
}

/** Digits of a size in names, so that names sort as sizes do. */
const NAME_DIGITS = 15

/** A place outside of this host to which checkpoints go. */
export const exportTarget = (setting: ExportSetting, parts: ExportParts): CheckpointTarget => ({
  name: setting.name,
  everyMs: setting.everyMs,
  deliver: (checkpoint, signal) => send(setting, checkpoint, parts, signal),
})

function send(setting: ExportSetting, checkpoint: ClaimedTarget, parts: ExportParts, signal: AbortSignal): Promise<void> {
  if (setting.kind === 'file') return appendToArchive(setting.path, checkpoint.note)
  if (setting.kind === 'webhook') return postWebhook(setting, checkpoint, parts)
  if (setting.kind === 's3') return putObject(setting, checkpoint, parts)
  return mail(setting, checkpoint, parts, signal)
}

/** Signed as webhooks are (Standard Webhooks). */
async function postWebhook(
  { url, secret }: Extract<ExportSetting, { kind: 'webhook' }>,
  { size, note, at }: ClaimedTarget,
  { request, clock }: ExportParts,
): Promise<void> {
  const { origin, root } = readCheckpoint(readNote(note)!.text)!
  const data = { origin, size, root: root.toString('base64'), note }
  const body = JSON.stringify({ type: 'checkpoint', timestamp: at.toISOString(), data })
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Carteiro-Webhooks/1.0',
    ...signedHeaders([new HmacKey(secret)], `checkpoint-${size}`, clock(), body),
  }
  requireSuccess(await request('POST', url, headers, body))
}

async function putObject(
  setting: Extract<ExportSetting, { kind: 's3' }>,
  { size, note }: ClaimedTarget,
  { request, clock }: ExportParts,
): Promise<void> {
  const url = `${setting.url}/checkpoint-${String(size).padStart(NAME_DIGITS, '0')}.txt`
  const signed = signRequest('PUT', url, hash('sha256', note, 'hex'), setting, new Date(clock()))
  const headers = { 'content-type': 'text/plain; charset=utf-8', ...signed }
  requireSuccess(await request('PUT', url, headers, note))
}

async function mail(
  { to }: Extract<ExportSetting, { kind: 'mail' }>,
  { size, note }: ClaimedTarget,
  { sendMail }: ExportParts,
  signal: AbortSignal,
): Promise<void> {
  if (sendMail === null) throw new Error('Nenhum canal desta instalação envia e-mails.')
  const { origin } = readCheckpoint(readNote(note)!.text)!
  const text = `${EXPLANATION}\n\n${note}`
  await sendMail({ to, subject: `Checkpoint de ${origin}: ${size} eventos`, text, reference: `checkpoint.${size}` }, signal)
}

const EXPLANATION =
  'Guarde esta mensagem. O checkpoint abaixo prova, com "carteiro audit --checkpoint", que nenhum evento até aqui foi mudado ou apagado depois.'

function requireSuccess(reply: TargetReply): void {
  if (!isSuccess(reply)) throw new Error(refusalOf(reply))
}
