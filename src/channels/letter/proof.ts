import { describe } from '../../domain/delivery/status.js'
import { overloaded } from '../../domain/errors.js'
import { sha256 } from '../../domain/evidence/evidence.js'
import { isSimulated } from '../../domain/evidence/grade.js'
import type { Verification } from '../../domain/evidence/verification-code.js'
import { brazilianDate } from '../../domain/text/dates.js'
import { MIB } from '../../domain/units.js'
import { makeOnce } from '../../runtime/made-once.js'
import { isTypesetterOverloaded } from '../../runtime/typesetting/typesetter.js'
import type { PdfSigner } from '../channel-runtime.js'
import { letter } from './channel.js'
import type { LetterHistory, StoredLetter } from './letter-store.js'
import type { LetterReceipt, Sheet, SheetCopy } from './sheet.js'
import type { Typesetter } from './typesetter.js'

export interface ProofParts {
  typesetter: Typesetter
  findHistory(notification: string): Promise<LetterHistory | null>
  findLetter(notification: string, ordinal: number): Promise<StoredLetter | null>
  findLogo(sha256: string): Promise<Uint8Array | null>
  /** The address of the receipt. */
  proofUrl(notification: string): string
  verificationOf(notification: string): Verification
  openSigner(): Promise<PdfSigner>
  now(): Date
}

const CACHE_BYTES = 32 * MIB
const CACHE_ENTRIES = 1_000

/**
 * The receipt of a letter in one PDF: its address, its history and its pages, with the receipt's address in place of the recipient's
 * link and code. null: it does not exist or was never made.
 * Anybody with its address may ask for it any number of times, so that it is typeset once for each history.
 */
export function createLetterProofs(parts: ProofParts) {
  const once = makeOnce<Uint8Array | null>({
    maxEntries: CACHE_ENTRIES,
    maxWeight: CACHE_BYTES,
    weigh: pdf => pdf?.length ?? 0,
    // A letter that does not exist yet may be made later with the same history.
    isKept: pdf => pdf !== null,
  })
  return async (notification: string): Promise<Uint8Array | null> => {
    const history = await parts.findHistory(notification)
    return history && once(keyOf(history), () => compose(parts, notification, history))
  }
}

/** The letter itself never changes. */
function keyOf({ image, ...history }: LetterHistory): string {
  return sha256(JSON.stringify([history, image && [image.type, sha256(image.bytes)]]))
}

async function compose(parts: ProofParts, notification: string, history: LetterHistory): Promise<Uint8Array | null> {
  const stored = await parts.findLetter(notification, history.status.ordinal)
  if (stored === null) return null
  const sheet = stored.sheet as unknown as Sheet
  const logo = sheet.sender.logo && (await parts.findLogo(sheet.sender.logo.sha256))
  const signer = await parts.openSigner()
  const copy: SheetCopy = {
    for: 'sender',
    proof: parts.proofUrl(notification),
    receipt: toReceipt(history, stored, sheet, parts.verificationOf(notification), signer),
  }
  try {
    const { pdf } = await parts.typesetter.compose(sheet, copy, logo)
    return (await signer.sign(pdf, { reason: 'Comprovante de carta', at: parts.now() })).pdf
  } catch (error) {
    throw isTypesetterOverloaded(error) ? overloaded(error) : error
  }
}

function toReceipt(
  { status, mode, image, events }: LetterHistory,
  stored: StoredLetter,
  sheet: Sheet,
  verification: Verification,
  { certificate }: PdfSigner,
): LetterReceipt {
  const facts: [string, string | null][] = [
    ['Situação', describe(status, letter)],
    ['Identificador', status.notification],
    ['Referência do remetente', status.customId],
    ['Remetente', [sheet.sender.name, ...sheet.sender.lines].join(', ')],
    ['Destinatário', sheet.recipient.name],
    ['Endereço', sheet.recipient.lines.join(', ')],
    ['Modelo', sheet.layout],
    ['Páginas', String(stored.pages)],
    ['Objeto (SRO)', status.trackingCode],
    ['Aceita', brazilianDate(status.acceptedAt)],
    ['Assinatura', certificate.description],
  ]
  return {
    facts: facts.flatMap(([label, value]) => (value === null ? [] : [{ label, value }])),
    events: events.map(event => ({ at: brazilianDate(event.at), text: wordsFor(event) })).filter(({ text }) => text !== ''),
    sha256: stored.sha256,
    verification,
    simulated: mode === 'test' || events.some(event => isSimulated(event)),
    image,
  }
}

const WORDS: Record<string, string> = {
  processed: 'Recebida para impressão',
  prepared: 'Impressa e envelopada',
  sent: 'Postada',
  delivered: 'Entregue',
  confirmed: 'Recebimento confirmado pelo destinatário',
}

/** '': the event is not shown. */
function wordsFor({ type, data }: LetterHistory['events'][number]): string {
  const said = (name: string): string => (typeof data?.[name] === 'string' ? data[name] : '')
  if (type === 'failed') return said('failureDetail') === '' ? 'Falhou' : `Não entregue: ${said('failureDetail')}`
  if (type === 'note') return said('carrier') === 'correios' ? said('answer') : ''
  return WORDS[type] ?? ''
}
