import { createHash } from 'node:crypto'
import { type CertificateFacts, factsOf, validityFault } from '../certificate-facts.js'
import { checkSigner, OID, readSignedData, type SignedData } from '../cms.js'
import { readFirstDer } from '../der.js'
import { faultText, SignatureFault } from '../fault.js'
import { isIcpBrasil } from '../icp-brasil.js'
import { type TimeStamp, verifyTimeStamp } from '../time-stamp.js'
import { leavesOf, PdfFile } from './file.js'
import { type PdfDictionary, type PdfValue, textOf, wholeOf } from './syntax.js'

/** What a PDF's signatures are worth, read offline from the file alone. */
export interface PdfVerdict {
  /** Every signature holds, all are by one certificate, and the last one covers the whole file. */
  valid: boolean
  /** The first thing that does not hold, in Portuguese. */
  fault: string | null
  signatures: readonly SignatureVerdict[]
  /** How many bytes follow the last revision that is signed; null: nothing is signed. */
  bytesAfter: number | null
}

interface SignatureVerdict {
  field: string
  reason: string | null
  /** As the PDF says: nobody but the signer vouches for it. */
  statedAt: Date | null
  subFilter: string
  /** The file's bytes [0, end) but for those of the signature itself; null: the range is not that of a signature. */
  covers: { end: number; wholeFile: boolean } | null
  /** What was found right (true), wrong (false) or not there to be checked (null). */
  checks: {
    range: boolean
    digest: boolean | null
    signature: boolean | null
    certificateReference: boolean | null
    certificateValidity: boolean | null
    timeStamp: boolean | null
  }
  level: 'B-T' | 'B-B' | null
  certificate: (CertificateFacts & { icpBrasil: boolean; selfSigned: boolean; pem: readonly string[] }) | null
  timeStamp: TimeStamp | null
  fault: string | null
}

const DAMAGED = 'A assinatura do PDF está danificada e não se pode ler.'
const RANGE = 'A assinatura não cobre os bytes que deve cobrir: o arquivo foi remontado.'
const MIXED = 'O PDF tem assinaturas de certificados diferentes: o que veio depois da primeira não foi assinado por quem a fez.'
const SUB_FILTERS = ['ETSI.CAdES.detached', 'adbe.pkcs7.detached']
const MAX_SIGNATURES = 100

/** Takes as long as hashing the file for each signature. Never throws. */
export function verifyPdf(pdf: Uint8Array): PdfVerdict {
  try {
    return verify(new PdfFile(pdf))
  } catch (error) {
    const fault = faultText(error, 'O arquivo não é um PDF que se possa ler: está danificado ou incompleto.')
    return { valid: false, fault, signatures: [], bytesAfter: null }
  }
}

function verify(file: PdfFile): PdfVerdict {
  const signatures = signatureFields(file).map(field => verifySignature(file, field))
  const ends = signatures.flatMap(({ covers }) => (covers === null ? [] : [covers.end]))
  const bytesAfter = ends.length === 0 ? null : file.bytes.length - Math.max(...ends)
  const wrong = signatures.find(({ fault }) => fault !== null)?.fault ?? null
  const added =
    bytesAfter === 0 ? null : `O arquivo mudou depois da última assinatura: há ${bytesAfter} bytes que ninguém assinou.`
  // Anybody can append a revision and sign that one: a later signature vouches for an earlier signer's words only if it is the same signer's.
  const signers = new Set(signatures.map(({ certificate }) => certificate?.sha256))
  const mixed = signers.size > 1 ? MIXED : null
  const fault = signatures.length === 0 ? 'O PDF não tem assinatura.' : (wrong ?? added ?? mixed)
  return { valid: fault === null, fault, signatures, bytesAfter }
}

interface SignatureField {
  name: string
  dictionary: PdfDictionary
}

function signatureFields(file: PdfFile): SignatureField[] {
  const roots = file.items(file.dictionary(file.catalog.entries.get('AcroForm'))?.entries.get('Fields'))
  const isField = (kid: PdfValue): boolean => file.dictionary(kid)?.entries.has('T') === true
  const fields: SignatureField[] = []
  const leaves = leavesOf(file, roots, ({ entries }) => {
    const kids = file.items(entries.get('Kids'))
    return kids.some(isField) ? kids : null
  })
  for (const { node } of leaves) {
    const value = file.dictionary(node.entries.get('V'))
    if (value?.entries.has('ByteRange'))
      fields.push({ name: textOf(file.resolve(node.entries.get('T'))) ?? '', dictionary: value })
  }
  if (fields.length > MAX_SIGNATURES) throw new SignatureFault('O PDF tem assinaturas demais.')
  return fields
}

function verifySignature(file: PdfFile, { name, dictionary: { entries } }: SignatureField): SignatureVerdict {
  const subFilter = file.resolve(entries.get('SubFilter'))
  const verdict: SignatureVerdict = {
    field: name,
    reason: textOf(file.resolve(entries.get('Reason'))),
    statedAt: readDate(textOf(file.resolve(entries.get('M')))),
    subFilter: subFilter.kind === 'name' ? subFilter.name : '',
    covers: null,
    checks: {
      range: false,
      digest: null,
      signature: null,
      certificateReference: null,
      certificateValidity: null,
      timeStamp: null,
    },
    level: null,
    certificate: null,
    timeStamp: null,
    fault: null,
  }
  try {
    verdict.fault = check(file, entries, verdict)
  } catch (error) {
    verdict.fault = faultText(error, DAMAGED)
  }
  return verdict
}

/** Fills the verdict as far as it gets, and returns the first fault. */
function check(file: PdfFile, entries: PdfDictionary['entries'], verdict: SignatureVerdict): string | null {
  const { checks } = verdict
  if (!SUB_FILTERS.includes(verdict.subFilter)) return `A assinatura é de um tipo que não se confere aqui (${verdict.subFilter}).`
  const contents = entries.get('Contents')
  const [from, length, after, rest] = file.items(entries.get('ByteRange')).map(item => wholeOf(file.resolve(item)) ?? -1)
  const end = (after ?? 0) + (rest ?? 0)
  // All of the revision but the signature: a wider gap would hide bytes that nobody signed.
  const isWhole = contents?.kind === 'string' && from === 0 && length === contents.start && after === contents.end
  if (!isWhole || rest === undefined || rest < 0 || end > file.bytes.length || !isHexadecimal(file.bytes, contents)) return RANGE
  checks.range = true
  verdict.covers = { end, wholeFile: end === file.bytes.length }
  const structure = readFirstDer(contents.bytes)
  // Zeros fill the reserved place; anything else could hide something.
  if (contents.bytes.subarray(structure.raw.length).some(byte => byte !== 0)) return DAMAGED
  const signed = readSignedData(structure)
  const facts = factsOf(signed.chain[0]!)
  const { subject, issuer } = signed.chain[0]!
  verdict.certificate = {
    ...facts,
    icpBrasil: isIcpBrasil(signed.chain),
    selfSigned: subject === issuer,
    pem: signed.chain.map(certificate => certificate.toString()),
  }
  if (signed.content !== null) return 'A assinatura contém um conteúdo próprio, em vez de assinar o PDF.'
  const faults = checkSigner(signed, [file.bytes.subarray(0, contents.start), file.bytes.subarray(contents.end, end)])
  checks.digest = faults.digest === null
  checks.signature = faults.signature === null
  checks.certificateReference = faults.certificateReference === null
  const fault = faults.digest ?? faults.signature ?? faults.certificateReference
  const stamp = checkTimeStamp(signed, verdict)
  if (fault !== null) return fault
  const at = verdict.timeStamp?.at ?? verdict.statedAt
  const invalid = at === null ? 'a assinatura não diz quando foi feita' : validityFault(facts, at)
  checks.certificateValidity = invalid === null
  return stamp ?? (invalid === null ? null : `Quando a assinatura foi feita, o certificado não valia: ${invalid}.`)
}

function checkTimeStamp(signed: SignedData, verdict: SignatureVerdict): string | null {
  verdict.level = 'B-B'
  const token = signed.unsignedAttributes.get(OID.timeStampToken)
  if (token === undefined) return null
  const judged = verifyTimeStamp(token.raw, createHash('sha256').update(signed.signature).digest())
  verdict.checks.timeStamp = judged.valid
  if (!judged.valid) return judged.fault
  verdict.timeStamp = judged.timeStamp
  verdict.level = 'B-T'
  return null
}

/** Nothing but digits between the delimiters. */
const isHexadecimal = (bytes: Buffer, { start, end }: { start: number; end: number }): boolean =>
  /^<[0-9a-fA-F]*>$/.test(bytes.toString('latin1', start, end))

/** D:YYYYMMDDHHmmSS with a zone, or in UTC. */
function readDate(text: string | null): Date | null {
  const found = /^D:(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})(?:Z|([+-]\d{2})'?(\d{2})?)?/.exec(text ?? '')
  if (found === null) return null
  const [, year, month, day, hour, minute, second, zone = '+00', minutes = '00'] = found
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone}:${minutes}`)
  return Number.isNaN(date.getTime()) ? null : date
}
