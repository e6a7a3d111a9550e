import { createHash, type X509Certificate } from 'node:crypto'
import { OID } from './cms.js'
import { childrenOf, context, der, nothing, octets, oid, readDer, sequence, set, TAG, unsigned } from './der.js'

/** What signs: a certificate, its issuers, and its key, wherever that lies. */
export interface SigningKey {
  certificate: X509Certificate
  /** The issuers, as far as they are known. */
  issuers: readonly X509Certificate[]
  /** RSA (PKCS#1 v1.5) or ECDSA (in DER) with SHA-256. */
  sign(bytes: Buffer): Promise<Buffer>
}

const attribute = (name: string, value: Buffer): Buffer => sequence(oid(name), set(value))
const VERSION_1 = unsigned(Buffer.from([1]))

/**
 * The attributes that PAdES signs (EN 319 142-1 6.3). The time of signing is not among them: it stands in the PDF, and a time-stamp
 * proves it.
 */
export const signedAttributes = (certificate: X509Certificate, digest: Uint8Array): Buffer =>
  set(
    attribute(OID.contentType, oid(OID.data)),
    attribute(OID.messageDigest, octets(digest)),
    // ESSCertIDv2 (RFC 5035) with its default digest, SHA-256, which DER leaves out.
    attribute(
      OID.signingCertificateV2,
      sequence(sequence(sequence(octets(createHash('sha256').update(certificate.raw).digest())))),
    ),
  )

export interface SignatureParts {
  attributes: Buffer
  signature: Buffer
  timeStamp: Buffer | null
}

/** ContentInfo with SignedData (RFC 5652), without the content: a PDF's bytes lie around it. */
export function writeSignedData(
  { certificate, issuers }: SigningKey,
  { attributes, signature, timeStamp }: SignatureParts,
): Buffer {
  const sha256 = sequence(oid(OID.sha256), nothing())
  const isRsa = certificate.publicKey.asymmetricKeyType === 'rsa'
  const signer = sequence(
    VERSION_1,
    issuerAndSerial(certificate),
    sha256,
    // In the message the attributes bear the tag [0] instead of SET.
    Buffer.concat([Buffer.from([context(0)]), attributes.subarray(1)]),
    isRsa ? sequence(oid(OID.rsaEncryption), nothing()) : sequence(oid(OID.ecdsaWithSha256)),
    octets(signature),
    ...(timeStamp === null ? [] : [der(context(1), attribute(OID.timeStampToken, timeStamp))]),
  )
  const signedData = sequence(
    VERSION_1,
    set(sha256),
    sequence(oid(OID.data)),
    der(context(0), ...[certificate, ...issuers].map(({ raw }) => raw).toSorted(Buffer.compare)),
    set(signer),
  )
  return sequence(oid(OID.signedData), der(context(0), signedData))
}

function issuerAndSerial(certificate: X509Certificate): Buffer {
  const body = childrenOf(childrenOf(readDer(certificate.raw, TAG.sequence))[0]!)
  const at = body[0]!.tag === context(0) ? 1 : 0
  return sequence(body[at + 2]!.raw, body[at]!.raw)
}
