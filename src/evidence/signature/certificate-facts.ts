import { createHash, X509Certificate } from 'node:crypto'
import { DAY_MS } from '../../domain/units.js'
import { childrenOf, context, Members, readDer, readOid, TAG } from './der.js'
import { SignatureFault } from './fault.js'

export interface CertificateFacts {
  /** The names, most specific first: 'CN=…, O=…'. */
  subject: string
  issuer: string
  serial: string
  validFrom: Date
  validTo: Date
  /** The digest of the certificate's bytes, in hexadecimal. */
  sha256: string
}

/** RFC 5280 4.2.1. */
export const EXTENSION = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  policies: '2.5.29.32',
  extendedKeyUsage: '2.5.29.37',
} as const

export function readCertificate(bytes: Uint8Array): X509Certificate {
  try {
    return new X509Certificate(bytes)
  } catch (cause) {
    throw new SignatureFault('Um certificado está danificado e não se lê.', { cause })
  }
}

export const factsOf = (certificate: X509Certificate): CertificateFacts => ({
  subject: readableName(certificate.subject),
  issuer: readableName(certificate.issuer),
  serial: certificate.serialNumber.toLowerCase(),
  validFrom: new Date(certificate.validFrom),
  validTo: new Date(certificate.validTo),
  sha256: createHash('sha256').update(certificate.raw).digest('hex'),
})

const readableName = (name: string | undefined): string => (name ?? '').split('\n').reverse().join(', ')

/** A certificate is renewed this long before its end, so that no document is signed with one that is over. */
export const RENEWAL_MS = 30 * DAY_MS

/** In words, or null when the certificate was valid at that moment. */
export function validityFault({ validFrom, validTo }: CertificateFacts, at: Date): string | null {
  if (at < validFrom) return `só vale a partir de ${validFrom.toISOString()}`
  return at > validTo ? `venceu em ${validTo.toISOString()}` : null
}

interface Extension {
  critical: boolean
  value: Buffer
}

export function extensionsOf(certificate: X509Certificate): ReadonlyMap<string, Extension> {
  const [body] = childrenOf(readDer(certificate.raw, TAG.sequence))
  const list = childrenOf(body!).find(({ tag }) => tag === context(3))
  if (list === undefined) return new Map()
  return new Map(
    childrenOf(readDer(list.content, TAG.sequence)).map(extension => {
      const members = new Members(extension)
      const name = readOid(members.take(TAG.oid))
      const critical = members.optional(TAG.boolean)
      return [name, { critical: critical?.content[0] === 0xff, value: members.take(TAG.octetString).content }]
    }),
  )
}

/** The object identifiers of an extension that lists them: purposes as they are, policies by their first member. */
export function listedIn(certificate: X509Certificate, extension: string): string[] {
  const found = extensionsOf(certificate).get(extension)
  if (found === undefined) return []
  return childrenOf(readDer(found.value, TAG.sequence)).map(entry =>
    readOid(entry.tag === TAG.oid ? entry : childrenOf(entry)[0]),
  )
}

/** From the leaf to its issuers, as far as the others contain them and their signatures hold. */
export function chainOf(leaf: X509Certificate, others: readonly X509Certificate[]): X509Certificate[] {
  const chain = [leaf]
  for (;;) {
    const last = chain.at(-1)!
    const issuer = others.find(other => !chain.some(known => known.raw.equals(other.raw)) && isIssuedBy(last, other))
    if (issuer === undefined) return chain
    chain.push(issuer)
  }
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
  } catch {
    // A key of a kind that this machine does not know.
    return false
  }
}
