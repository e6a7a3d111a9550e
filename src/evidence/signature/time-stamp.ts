import { timingSafeEqual } from 'node:crypto'
import { type CertificateFacts, EXTENSION, extensionsOf, factsOf, listedIn, validityFault } from './certificate-facts.js'
import { checkSigner, digestName, OID, readSignedData, type SignedData } from './cms.js'
import { childrenOf, context, Members, readDer, readOid, readTime, TAG } from './der.js'
import { faultText, SignatureFault } from './fault.js'

/** A time-stamp token (RFC 3161): an authority's signed word that a digest existed at a moment. Read and checked offline. */
export interface TimeStamp {
  at: Date
  digestAlgorithm: string
  digest: Buffer
  /** The authority's policy, an object identifier. */
  policy: string
  /** In hexadecimal, as the authority numbered it. */
  serial: string
  nonce: Buffer | null
  /** The certificate that signed, then its issuers as far as the token has them. */
  authority: CertificateFacts & { pem: readonly string[] }
}

export type TimeStampVerdict =
  | { valid: true; timeStamp: TimeStamp }
  | { valid: false; fault: string; timeStamp: TimeStamp | null }

/** Throws SignatureFault for what is not a token. Nothing is verified. */
export const readTimeStamp = (token: Uint8Array): TimeStamp => read(token).timeStamp

function read(token: Uint8Array): { timeStamp: TimeStamp; signed: SignedData; content: Buffer } {
  const signed = readSignedData(readDer(Buffer.from(token)))
  const { contentType, content, chain } = signed
  if (contentType !== OID.timeStampInfo || content === null)
    throw new SignatureFault('Isto não é um carimbo do tempo (RFC 3161).')
  const info = new Members(readDer(content))
  info.take(TAG.integer)
  const policy = readOid(info.take(TAG.oid))
  const [algorithm, digest] = childrenOf(info.take(TAG.sequence))
  const serial = info.take(TAG.integer).content.toString('hex')
  const at = readTime(info.take(TAG.generalizedTime))
  info.optional(TAG.sequence)
  info.optional(TAG.boolean)
  const nonce = info.optional(TAG.integer)?.content ?? null
  info.optional(context(0))
  if (Number.isNaN(at.getTime()) || digest?.tag !== TAG.octetString)
    throw new SignatureFault('O carimbo do tempo está danificado.')
  const timeStamp: TimeStamp = {
    at,
    digestAlgorithm: digestName(readOid(childrenOf(algorithm!)[0])),
    digest: digest.content,
    policy,
    serial,
    nonce,
    authority: { ...factsOf(chain[0]!), pem: chain.map(certificate => certificate.toString()) },
  }
  return { timeStamp, signed, content }
}

/** Whether the token stamps this SHA-256 digest. Whom to trust as an authority is left to the reader: the facts name it. */
export function verifyTimeStamp(token: Uint8Array, digest: Uint8Array): TimeStampVerdict {
  let timeStamp: TimeStamp | null = null
  try {
    const found = read(token)
    timeStamp = found.timeStamp
    const fault = findFault(found, digest)
    return fault === null ? { valid: true, timeStamp } : { valid: false, fault, timeStamp }
  } catch (error) {
    return { valid: false, fault: faultText(error, 'O carimbo do tempo está danificado.'), timeStamp }
  }
}

function findFault({ timeStamp, signed, content }: ReturnType<typeof read>, digest: Uint8Array): string | null {
  const checks = checkSigner(signed, [content])
  const fault = checks.digest ?? checks.signature ?? checks.certificateReference
  if (fault !== null) return `O carimbo do tempo não confere. ${fault}`
  const stamped = timeStamp.digest
  if (timeStamp.digestAlgorithm !== 'sha256' || stamped.length !== digest.length || !timingSafeEqual(stamped, digest))
    return 'O carimbo do tempo é de outro conteúdo.'
  const leaf = signed.chain[0]!
  const purposes = listedIn(leaf, EXTENSION.extendedKeyUsage)
  // RFC 3161 2.3: this purpose alone, and critical.
  const isForTime = purposes.length === 1 && purposes[0] === OID.timeStamping
  if (!isForTime || extensionsOf(leaf).get(EXTENSION.extendedKeyUsage)?.critical !== true)
    return 'O certificado que assinou o carimbo do tempo não é de uma autoridade de carimbo do tempo.'
  const invalid = validityFault(timeStamp.authority, timeStamp.at)
  return invalid === null ? null : `Na hora do carimbo do tempo, o certificado da autoridade não valia: ${invalid}.`
}
