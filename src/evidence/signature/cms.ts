import { constants, createHash, timingSafeEqual, type VerifyKeyObjectInput, verify, type X509Certificate } from 'node:crypto'
import { chainOf, EXTENSION, extensionsOf, readCertificate } from './certificate-facts.js'
import { childrenOf, context, type Der, expectTag, Members, octets, readDer, readOid, TAG } from './der.js'
import { SignatureFault } from './fault.js'

export const OID = {
  data: '1.2.840.113549.1.7.1',
  signedData: '1.2.840.113549.1.7.2',
  timeStampInfo: '1.2.840.113549.1.9.16.1.4',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  signingCertificate: '1.2.840.113549.1.9.16.2.12',
  signingCertificateV2: '1.2.840.113549.1.9.16.2.47',
  timeStampToken: '1.2.840.113549.1.9.16.2.14',
  sha256: '2.16.840.1.101.3.4.2.1',
  rsaEncryption: '1.2.840.113549.1.1.1',
  sha256WithRsa: '1.2.840.113549.1.1.11',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  timeStamping: '1.3.6.1.5.5.7.3.8',
} as const

const DIGESTS: Readonly<Record<string, string>> = {
  [OID.sha256]: 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
}
/** Only to name a certificate (RFC 2634), which its other facts name too. Nothing is signed with it. */
const NAMING_DIGESTS: Readonly<Record<string, string>> = { ...DIGESTS, '1.3.14.3.2.26': 'sha1' }
const RSA_PSS = '1.2.840.113549.1.1.10'
/** RSA and ECDSA: with the digest in the name, or (RSA) with the digest of the signer. */
const SIGNATURES: Readonly<Record<string, string | null>> = {
  [OID.rsaEncryption]: null,
  [OID.sha256WithRsa]: 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  [OID.ecdsaWithSha256]: 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
}

export interface SignedData {
  contentType: string
  /** null: the content lies elsewhere, as a PDF's bytes do. */
  content: Buffer | null
  /** The signer's certificate first, then its issuers as far as they are inside. */
  chain: X509Certificate[]
  digestAlgorithm: string
  /** null: the content itself is signed. */
  signedAttributes: { raw: Buffer; values: ReadonlyMap<string, Der> } | null
  unsignedAttributes: ReadonlyMap<string, Der>
  signatureAlgorithm: Der
  signature: Buffer
}

/** Reads signed data of CMS (RFC 5652) with one signer: the form of PAdES signatures and of time-stamps. */
export function readSignedData(contentInfo: Der): SignedData {
  const info = new Members(contentInfo)
  if (readOid(info.take(TAG.oid)) !== OID.signedData) throw new SignatureFault('A assinatura não é do formato CMS SignedData.')
  const body = new Members(readDer(info.take(context(0)).content))
  body.take(TAG.integer)
  body.take(TAG.set)
  const inner = new Members(body.take(TAG.sequence))
  const contentType = readOid(inner.take(TAG.oid))
  const wrapped = inner.optional(context(0))
  const certificates = body.optional(context(0))
  body.optional(context(1))
  const signers = childrenOf(body.take(TAG.set))
  if (signers.length !== 1) throw new SignatureFault('A assinatura deve ter um só signatário.')
  const signer = new Members(signers[0])
  signer.take(TAG.integer)
  const identifier = signer.takeAny()
  const digestAlgorithm = readOid(childrenOf(signer.take(TAG.sequence))[0])
  const signed = signer.optional(context(0))
  const signatureAlgorithm = signer.take(TAG.sequence)
  const signature = signer.take(TAG.octetString).content
  const unsigned = signer.optional(context(1))
  const known = (certificates === null ? [] : childrenOf(certificates))
    .filter(({ tag }) => tag === TAG.sequence)
    .map(({ raw }) => readCertificate(raw))
  const leaf = known.find(certificate => isNamedBy(certificate, identifier))
  if (leaf === undefined) throw new SignatureFault('O certificado de quem assinou não está na assinatura.')
  return {
    contentType,
    content: wrapped === null ? null : readDer(wrapped.content, TAG.octetString).content,
    chain: chainOf(leaf, known),
    digestAlgorithm,
    signedAttributes: signed === null ? null : { raw: signed.raw, values: attributesOf(signed) },
    unsignedAttributes: unsigned === null ? new Map() : attributesOf(unsigned),
    signatureAlgorithm,
    signature,
  }
}

/** By issuer and serial number, or by the identifier of the key. */
function isNamedBy(certificate: X509Certificate, identifier: Der): boolean {
  const body = childrenOf(childrenOf(readDer(certificate.raw))[0]!)
  const at = body[0]?.tag === context(0) ? 1 : 0
  if (identifier.tag !== TAG.sequence) {
    const key = extensionsOf(certificate).get(EXTENSION.subjectKeyIdentifier)?.value
    return identifier.tag === 0x80 && key?.equals(octets(identifier.content)) === true
  }
  const [issuer, serial] = childrenOf(identifier)
  return body[at]!.raw.equals(serial?.raw ?? Buffer.alloc(0)) && body[at + 2]!.raw.equals(issuer!.raw)
}

/** Each attribute with its one value. An attribute that occurs twice, or has several values, would be read differently by others. */
function attributesOf(list: Der): Map<string, Der> {
  const attributes = new Map<string, Der>()
  for (const attribute of childrenOf(list)) {
    const members = new Members(attribute)
    const name = readOid(members.take(TAG.oid))
    const values = childrenOf(members.take(TAG.set))
    if (values.length !== 1 || attributes.has(name)) throw new SignatureFault('A assinatura tem atributos repetidos.')
    attributes.set(name, values[0]!)
  }
  return attributes
}

export const digestName = (algorithm: string): string => {
  const name = DIGESTS[algorithm]
  if (name === undefined) throw new SignatureFault(`A assinatura usa um resumo que não se aceita (${algorithm}).`)
  return name
}

/** What does not hold, in words, by part; null: it holds. */
export interface SignerChecks {
  digest: string | null
  signature: string | null
  certificateReference: string | null
}

/** `content`: the pieces of what is signed, in order. */
export function checkSigner(signed: SignedData, content: readonly Uint8Array[]): SignerChecks {
  const { signedAttributes, digestAlgorithm, contentType, chain } = signed
  if (signedAttributes === null) throw new SignatureFault('A assinatura não tem os atributos assinados que deve ter.')
  const { raw, values } = signedAttributes
  const hash = createHash(digestName(digestAlgorithm))
  for (const piece of content) hash.update(piece)
  const stated = values.get(OID.messageDigest)
  const type = values.get(OID.contentType)
  const isDigestRight = stated !== undefined && isSame(expectTag(stated, TAG.octetString).content, hash.digest())
  const isTypeRight = type !== undefined && readOid(type) === contentType
  // RFC 5652 5.4: the attributes are signed as a SET, whatever tag they bear in the message.
  const asSet = Buffer.concat([Buffer.from([TAG.set]), raw.subarray(1)])
  return {
    digest: isDigestRight ? null : 'O conteúdo foi alterado depois de assinado: o resumo (hash) não confere.',
    signature:
      isTypeRight && isSignedBy(chain[0]!, signed, asSet) ? null : 'A assinatura não confere com a chave do certificado.',
    certificateReference: referenceFault(chain[0]!, values),
  }
}

const isSame = (one: Uint8Array, other: Uint8Array): boolean => one.length === other.length && timingSafeEqual(one, other)

function isSignedBy(
  { publicKey }: X509Certificate,
  { signatureAlgorithm, digestAlgorithm, signature }: SignedData,
  bytes: Buffer,
): boolean {
  const [name, parameters] = childrenOf(signatureAlgorithm)
  const algorithm = readOid(name)
  const own = digestName(digestAlgorithm)
  if (algorithm === RSA_PSS) {
    const pss = readPss(parameters, own)
    return (
      publicKey.asymmetricKeyType?.startsWith('rsa') === true &&
      holds(pss.digest, bytes, { key: publicKey, ...pss.key }, signature)
    )
  }
  const digest = SIGNATURES[algorithm]
  if (digest === undefined) throw new SignatureFault(`A assinatura usa um algoritmo que não se aceita (${algorithm}).`)
  const isRsa = algorithm.startsWith('1.2.840.113549')
  if (publicKey.asymmetricKeyType !== (isRsa ? 'rsa' : 'ec')) return false
  return holds(digest ?? own, bytes, { key: publicKey, ...(isRsa ? { padding: constants.RSA_PKCS1_PADDING } : {}) }, signature)
}

function holds(digest: string, bytes: Buffer, key: VerifyKeyObjectInput, signature: Buffer): boolean {
  try {
    return verify(digest, bytes, key, signature)
  } catch {
    // OpenSSL refuses a signature that cannot be one of this key.
    return false
  }
}

/** RSASSA-PSS-params (RFC 4055 3.1): [0] digest, [1] mask, [2] length of the salt. Its defaults are SHA-1, which is not accepted. */
function readPss(parameters: Der | undefined, own: string): { digest: string; key: { padding: number; saltLength: number } } {
  const members = new Members(parameters)
  const hash = members.optional(context(0))
  const digest = hash === null ? null : digestName(readOid(childrenOf(readDer(hash.content))[0]))
  members.optional(context(1))
  const salt = members.optional(context(2))
  if (digest !== own) throw new SignatureFault('A assinatura usa um resumo que não se aceita (RSA-PSS).')
  const saltLength = salt === null ? 20 : (readDer(salt.content, TAG.integer).content.at(-1) ?? 0)
  return { digest, key: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength } }
}

/**
 * signing-certificate-v2 (RFC 5035), or the older one with SHA-1 (RFC 2634): without it somebody could put another certificate of
 * the same key in place of the one that signed.
 */
function referenceFault(leaf: X509Certificate, values: ReadonlyMap<string, Der>): string | null {
  const second = values.get(OID.signingCertificateV2)
  const attribute = second ?? values.get(OID.signingCertificate)
  if (attribute === undefined) return 'A assinatura não diz com que certificado foi feita (signing-certificate-v2).'
  const reference = new Members(childrenOf(new Members(attribute).take(TAG.sequence))[0])
  const algorithm = second === undefined ? null : reference.optional(TAG.sequence)
  const name = second === undefined ? 'sha1' : algorithm === null ? 'sha256' : NAMING_DIGESTS[readOid(childrenOf(algorithm)[0])]
  if (name === undefined) return 'A assinatura diz o seu certificado com um resumo que não se aceita.'
  const stated = reference.take(TAG.octetString).content
  return isSame(stated, createHash(name).update(leaf.raw).digest())
    ? null
    : 'O certificado não é o que a assinatura diz ter usado.'
}
