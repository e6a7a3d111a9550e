import { createHash, type X509Certificate } from 'node:crypto'
import { Refusal } from '../../domain/errors.js'
import { answerQuestions, isThreadOf, ThreadPool } from '../../runtime/thread-pool.js'
import { type CertificateFacts, factsOf, validityFault } from './certificate-facts.js'
import { type SigningKey, signedAttributes, writeSignedData } from './cms-writing.js'
import { faultText, SignatureFault } from './fault.js'
import { isIcpBrasil } from './icp-brasil.js'
import { type PreparedSignature, prepareSignature, type SignatureRequest } from './pdf/signature-update.js'

/** Signs PDFs as PAdES (EN 319 142-1): B-T with a time-stamp, B-B where no authority answers. */
export interface DocumentSigner {
  readonly certificate: SignerCertificate
  /** Refuses to sign at a moment at which the certificate is not valid: nobody would accept the signature. */
  sign(pdf: Uint8Array, about: { reason: string; at: Date }): Promise<SignedPdf>
  close(): Promise<void>
}

export interface SignerCertificate extends CertificateFacts {
  /** Made by this installation, for itself. */
  selfMade: boolean
  icpBrasil: boolean
  /** What kind it is, in Portuguese, for the documents. */
  description: string
  /** The certificate, then its issuers as far as they are known. */
  pem: readonly string[]
}

interface SignedPdf {
  pdf: Uint8Array
  level: 'B-T' | 'B-B'
}

interface SignerParts {
  key: SigningKey
  selfMade: boolean
  /** A token over a SHA-256 digest, or null where no authority gives one. */
  timeStamp(digest: Buffer): Promise<Buffer | null>
  /** Whether a place for a time-stamp is kept from the start. */
  hasAuthorities: boolean
}

interface Question {
  pdf: Uint8Array
  request: SignatureRequest
}
type Answer = PreparedSignature | { fault: string }

const PURPOSE = 'carteiro-signature'
/** A signature, its attributes and the structure around them, with keys of up to 8192 bits. */
const SIGNATURE_BYTES = 2_048
/** Tokens with their certificates have 2 to 7 KiB. */
const TIME_STAMP_BYTES = 8_192
/** A document with its evidence embedded may have some 100 MiB; a busy machine hashes 50 MiB in a second. */
const TIMEOUT_MS = 30_000
const MAX_PENDING = 256

export function createDocumentSigner({ key, selfMade, timeStamp, hasAuthorities }: SignerParts): DocumentSigner {
  const { certificate, issuers } = key
  const chain = [certificate, ...issuers]
  const pool = new ThreadPool<Question, Answer>({
    file: import.meta.url,
    purpose: PURPOSE,
    threads: 1,
    limitMs: TIMEOUT_MS,
    maxPending: MAX_PENDING,
  })
  const smallest = SIGNATURE_BYTES + chain.reduce((sum, { raw }) => sum + raw.length, 0)
  const prepare = async (pdf: Uint8Array, request: SignatureRequest): Promise<PreparedSignature> => {
    const answer = await pool.ask({ pdf, request })
    if ('fault' in answer) throw new SignatureFault(answer.fault)
    return answer
  }
  const attempt = async (
    pdf: Uint8Array,
    request: SignatureRequest,
    token: typeof timeStamp,
  ): Promise<SignedPdf | { needs: number }> => {
    const prepared = await prepare(pdf, request)
    const attributes = signedAttributes(certificate, prepared.digest)
    const signature = await key.sign(attributes)
    const stamped = await token(createHash('sha256').update(signature).digest())
    const bytes = writeSignedData(key, { attributes, signature, timeStamp: stamped })
    if (bytes.length > request.reserve) return { needs: bytes.length }
    const { pdf: target, place } = prepared
    Buffer.from(target.buffer, target.byteOffset, target.byteLength).write(bytes.toString('hex'), place.start, 'latin1')
    return { pdf: target, level: stamped === null ? 'B-B' : 'B-T' }
  }
  const described = describeCertificate(chain, selfMade)
  return {
    certificate: described,
    async sign(pdf, about) {
      const invalid = validityFault(described, about.at)
      if (invalid !== null) {
        const cause = new SignatureFault(`O certificado ${described.subject} ${invalid}.`)
        throw new Refusal('certificateOver', [], { retryAfter: 60, cause })
      }
      const first = await attempt(pdf, { ...about, reserve: smallest + (hasAuthorities ? TIME_STAMP_BYTES : 0) }, timeStamp)
      if (!('needs' in first)) return first
      // A token larger than any that was seen: once more with room for it, then without a time-stamp.
      const second = await attempt(pdf, { ...about, reserve: first.needs + 1_024 }, timeStamp)
      if (!('needs' in second)) return second
      return (await attempt(pdf, { ...about, reserve: smallest }, async () => null)) as SignedPdf
    },
    close: () => pool.close(),
  }
}

export function describeCertificate(chain: readonly X509Certificate[], selfMade: boolean): SignerCertificate {
  const icpBrasil = !selfMade && isIcpBrasil(chain)
  return {
    ...factsOf(chain[0]!),
    selfMade,
    icpBrasil,
    description: icpBrasil
      ? 'certificado da ICP-Brasil'
      : selfMade
        ? 'certificado próprio desta instalação, fora da ICP-Brasil'
        : 'certificado configurado nesta instalação, fora da ICP-Brasil',
    pem: chain.map(one => one.toString()),
  }
}

if (isThreadOf(PURPOSE)) {
  answerQuestions<Question, Answer>(
    ({ pdf, request }) => {
      try {
        const prepared = prepareSignature(pdf, request)
        // A copy where the buffer is part of a larger one, because it is handed over.
        const { buffer, byteLength } = prepared.pdf
        return buffer.byteLength === byteLength ? prepared : { ...prepared, pdf: Uint8Array.from(prepared.pdf) }
      } catch (error) {
        return { fault: faultText(error, String((error as Error).stack ?? error)) }
      }
    },
    answer => ('pdf' in answer ? [answer.pdf.buffer as ArrayBuffer] : []),
  )
}
