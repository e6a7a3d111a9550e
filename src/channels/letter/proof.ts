import { brazilianDate } from '../../domain/dates.js'
import { overloaded } from '../../domain/errors.js'
import { describe } from '../../domain/status.js'
import { OutOfTime } from '../../runtime/thread-pool.js'
import { letter } from './channel.js'
import type { LetterHistory, StoredLetter } from './letter-store.js'
import type { LetterReceipt, Sheet } from './sheet.js'
import { type Typesetter, TypesetterBusy } from './typesetter.js'

/** The receipt of a letter: what was printed, where it went and what became of it, in one PDF. */
export interface ProofParts {
  typesetter: Typesetter
  findHistory(notification: string): Promise<LetterHistory | null>
  findLetter(notification: string, ordinal: number): Promise<StoredLetter | null>
}

/** null: there is no such letter, or it was never made. */
export async function composeLetterProof(parts: ProofParts, notification: string): Promise<Uint8Array | null> {
  const history = await parts.findHistory(notification)
  if (history === null) return null
  const stored = await parts.findLetter(notification, history.status.ordinal)
  if (stored === null) return null
  const sheet = stored.sheet as unknown as Sheet
  try {
    return (await parts.typesetter.compose(sheet, toReceipt(history, stored, sheet))).pdf
  } catch (error) {
    throw error instanceof TypesetterBusy || error instanceof OutOfTime ? overloaded() : error
  }
}

function toReceipt({ status, image, events }: LetterHistory, stored: StoredLetter, sheet: Sheet): LetterReceipt {
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
  ]
  return {
    facts: facts.flatMap(([label, value]) => (value === null ? [] : [{ label, value }])),
    events: events.flatMap(({ at, type, data }) => {
      const text = wordsFor(type, data)
      return text === null ? [] : [{ at: brazilianDate(at), text }]
    }),
    sha256: stored.sha256,
    image,
    letter: stored.pdf,
  }
}

const WORDS: Record<string, string> = {
  processed: 'Recebida para impressão',
  prepared: 'Impressa e envelopada',
  sent: 'Postada',
  delivered: 'Entregue',
  confirmed: 'Recebimento confirmado pelo destinatário',
}

function wordsFor(type: string, data: LetterHistory['events'][number]['data']): string | null {
  const said = (name: string): string => (typeof data?.[name] === 'string' ? data[name] : '')
  if (type === 'failed') return said('failureDetail') === '' ? 'Falhou' : `Não entregue: ${said('failureDetail')}`
  // What the post says on the way.
  if (type === 'note') return said('carrier') === 'correios' ? said('answer') : null
  return WORDS[type] ?? null
}
