import { unzipSync, zipSync } from 'fflate'
import { readTrackingCode } from '../../../domain/delivery/tracking-code.js'
import { readBrazilianDate } from '../../../domain/text/dates.js'
import { MIB } from '../../../domain/units.js'
import type { CarrierReport } from '../../provider.js'
import type { LetterMessage } from '../letter-message.js'
import type { ReceiptImage } from '../letter-store.js'
import { outcomeOf } from '../return-reasons.js'

/** A letter in a lot: the file formats here are those of the Correios' e-Carta, for lots and the return files that come back. */
export interface LotObject {
  object: number
  card: string
  contract: string
  product: string
  recipient: LetterMessage['recipient']
  sender: LetterMessage['recipient']
  pdf: Uint8Array
}

const LETTER_RECORD = '1'
/** The oldest date of the ZIP format; a fixed date makes the bytes of a lot reproducible. */
const ZIP_DATE = new Date(1980, 0, 1)
const stem = (matrix: string, lot: number): string => `e-Carta_${matrix}_${lot}`
export const lotFileName = (matrix: string, lot: number): string => `${stem(matrix, lot)}_servico.zip`
/** The Correios' reference of a letter: its lot and its number in the lot. */
export const objectName = (lot: number, object: number): string => `${lot}.${object}`

export function packLot(matrix: string, lot: number, objects: readonly LotObject[]): Uint8Array {
  const ordered = objects.toSorted((a, b) => a.object - b.object)
  const files: Record<string, Uint8Array> = {}
  const pdfName = (object: number): string => `${stem(matrix, lot)}_${object}_1_complementar.pdf`
  const lines = ordered.map(({ object, card, contract, product, recipient, sender }) =>
    [LETTER_RECORD, `${object}`, `${lot}`, card, contract, product, pdfName(object), ...fieldsOf(recipient), ...fieldsOf(sender)]
      .map(clean)
      .join('|'),
  )
  files[`${stem(matrix, lot)}_servico.txt`] = Buffer.from(`${lines.join('\r\n')}\r\n`)
  for (const { object, pdf } of ordered) files[pdfName(object)] = pdf
  // Level 0, because PDFs are already compressed.
  return zipSync(files, { level: 0, mtime: ZIP_DATE })
}

const fieldsOf = ({ name, address }: LetterMessage['recipient']): string[] => {
  const { street, number, complement, district, city, state, postcode } = address
  return [name, street, number, complement, district, city, state, postcode]
}

/** The format has no escape for the separator. */
const clean = (text: string): string => text.replace(/[|\s]+/g, ' ').trim()

/** The fields of each kind of return file, after the record type. The kinds are in the order in which they happen to a letter. */
const RETURNS = {
  recibo: ['object', 'lot', 'code', 'at'],
  inconsistencia: ['object', 'lot', 'error', 'text'],
  postado: ['object', 'lot', 'code', 'at'],
  finalizador: ['object', 'lot', 'code', 'reason', 'at'],
  devolucaoar: ['object', 'lot', 'code', 'image'],
} as const
type ReturnKind = keyof typeof RETURNS
type ReturnFields = Partial<Record<(typeof RETURNS)[ReturnKind][number], string>>

export interface ReturnFile {
  reports: CarrierReport[]
  receipts: (ReceiptImage & { name: string })[]
  /** The receipts that cannot be kept, each with the reference of its letter and the reason. */
  faults: string[]
}

const NAME = /^e-Carta_([^_/]+)_.*?(Recibo|Inconsistencia|Postado|Finalizador|DevolucaoAR)[^/]*\.(?:txt|zip)$/i
const MAX_UNPACKED = 64 * MIB
const MAX_IMAGE = 2 * MIB

export const isReturn = (matrix: string, name: string): boolean => NAME.exec(name)?.[1] === matrix

const kindOf = (name: string): ReturnKind => NAME.exec(name)![2]!.toLowerCase() as ReturnKind
const KINDS = Object.keys(RETURNS)

/** In the order of events: after the end of a delivery, the dates of its earlier steps are not recorded any more. */
export const compareReturns = (a: string, b: string): number =>
  KINDS.indexOf(kindOf(a)) - KINDS.indexOf(kindOf(b)) || (a < b ? -1 : 1)

/** Throws when the file cannot be read, or no line of it. Skips lines of unknown content. */
export function readReturn(name: string, bytes: Buffer): ReturnFile {
  const kind = kindOf(name)
  const files: Record<string, Uint8Array> = /\.zip$/i.test(name) ? unpack(bytes) : { [name]: bytes }
  const lists = Object.entries(files).filter(([path]) => /\.(txt|csv)$/i.test(path))
  const lines = lists
    .flatMap(([, content]) => Buffer.from(content).toString('utf8').split(/\r?\n/))
    .filter(line => line.trim() !== '')
  const records = lines.flatMap(line => readLine(kind, line) ?? [])
  // A list without lines is a report on no letter.
  if (lists.length === 0 || (lines.length > 0 && records.length === 0)) throw new Error('the return has no line that can be read')
  const found: ReturnFile = { reports: [], receipts: [], faults: [] }
  for (const fields of records) {
    const reference = objectName(Number(fields.lot), Number(fields.object))
    const image = kind === 'devolucaoar' ? findImage(files, fields.image ?? '') : null
    if (image !== null && typeof image !== 'string') found.receipts.push({ name: reference, ...image })
    else found.reports.push(createReport(kind, fields, reference, image))
    if (typeof image === 'string') found.faults.push(`the receipt of letter ${reference} is not kept: ${image}`)
  }
  return found
}

function unpack(bytes: Buffer): Record<string, Uint8Array> {
  let total = 0
  return unzipSync(bytes, {
    filter: ({ originalSize }) => {
      total += originalSize
      if (total > MAX_UNPACKED) throw new Error('the return unpacks to more than it may')
      return true
    },
  })
}

function readLine(kind: ReturnKind, line: string): ReturnFields | null {
  const [, ...values] = line.split('|').map(value => value.trim())
  const fields: ReturnFields = Object.fromEntries(RETURNS[kind].map((field, place) => [field, values[place]]))
  return /^\d{1,9}$/.test(fields.object ?? '') && /^\d{1,15}$/.test(fields.lot ?? '') ? fields : null
}

function createReport(kind: ReturnKind, fields: ReturnFields, reference: string, fault: string | null): CarrierReport {
  const code = readTrackingCode(fields.code ?? '')
  const report = {
    kind: 'report' as const,
    of: { carrier: [reference] },
    at: readDate(fields.at ?? ''),
    answer: [kind, fields.error, fields.reason, fields.text, fields.image].filter(Boolean).join(' '),
    ...(code === null ? {} : { trackingCode: code }),
  }
  if (kind === 'recibo') return { ...report, type: 'prepared' }
  if (kind === 'postado') return { ...report, type: 'sent' }
  if (kind === 'devolucaoar') return { ...report, type: 'note', reason: `O aviso de recebimento não foi guardado: ${fault}.` }
  if (kind === 'inconsistencia') {
    const reason = `Os Correios recusaram a carta: ${fields.text || fields.error || 'sem motivo'}.`
    return { ...report, type: 'failed', failure: 'rejected', reason }
  }
  // A code that is unknown or missing does not say how the delivery ended: the letter is still tracked.
  const outcome = /^\d{1,3}$/.test(fields.reason ?? '') ? outcomeOf(Number(fields.reason)) : null
  return { ...report, ...(outcome ?? { type: 'note' }) }
}

/** A text says in Portuguese why there is no image to keep. The list may write its name in another case, or with another folder. */
function findImage(files: Record<string, Uint8Array>, name: string): ReceiptImage | string {
  if (name === '') return 'o retorno não diz o nome da imagem'
  const paths = Object.hasOwn(files, name) ? [name] : Object.keys(files).filter(path => fileName(path) === fileName(name))
  if (paths.length !== 1) return `o retorno tem ${paths.length} imagens com o nome ${name}`
  const bytes = files[paths[0]!]!
  if (bytes.length > MAX_IMAGE) return `a imagem ${name} tem mais de 2 MB`
  // The type is read from the first bytes, because the file name may be wrong.
  if (bytes[0] === 0x89 && bytes[1] === 0x50) return { type: 'png', bytes }
  return bytes[0] === 0xff && bytes[1] === 0xd8 ? { type: 'jpg', bytes } : `a imagem ${name} não é PNG nem JPEG`
}

const fileName = (path: string): string => path.split(/[/\\]/).at(-1)!.toLowerCase()

/** dd/MM/yyyy HH:mm:ss, in the time of Brasília; a day alone is its beginning. */
const readDate = (text: string): Date | null => readBrazilianDate(/\s/.test(text) ? text.replace(/\s+/, ' ') : `${text} 00:00`)
