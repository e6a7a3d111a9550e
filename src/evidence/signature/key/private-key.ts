import { createPublicKey, type KeyObject, sign, type X509Certificate } from 'node:crypto'
import { promisify } from 'node:util'
import { OperatorError } from '../../../domain/errors.js'
import { chainOf, EXTENSION, extensionsOf, factsOf, validityFault } from '../certificate-facts.js'
import type { SigningKey } from '../cms-writing.js'
import { readDer, TAG } from '../der.js'

const signAsync = promisify(sign)

/** A key in memory. Its signatures are made in the threads of libuv: RSA of 3072 bits takes about 2 ms. */
export function signingKey(key: KeyObject, certificate: X509Certificate, others: readonly X509Certificate[]): SigningKey {
  const [, ...issuers] = chainOf(certificate, others)
  return { certificate, issuers, sign: bytes => signAsync('sha256', bytes, key) }
}

/** The certificate of the key among several. */
export const certificateOf = (key: KeyObject, certificates: readonly X509Certificate[]): X509Certificate | undefined => {
  const own = createPublicKey(key)
  return certificates.find(({ publicKey }) => publicKey.equals(own))
}

const MIN_RSA_BITS = 2_048
/** P-256: its order is as long as the digest, as verifiers expect of ECDSA with SHA-256. */
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1']

/** Refuses, at the start, a certificate whose signatures nobody would accept. `source`: the setting, for the message. */
export function requireUsable(certificate: X509Certificate, source: string, now: Date): void {
  const facts = factsOf(certificate)
  const refuse = (why: string): never => {
    throw new OperatorError(`${source}: o certificado ${facts.subject} ${why}.`)
  }
  const invalid = validityFault(facts, now)
  if (invalid !== null) refuse(`${invalid}. Informe um certificado em vigor`)
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey
  const isRsa = type === 'rsa' && (details?.modulusLength ?? 0) >= MIN_RSA_BITS
  const isCurve = type === 'ec' && CURVES.includes(details?.namedCurve ?? '')
  if (!isRsa && !isCurve) refuse(`tem uma chave que não serve: use RSA de ${MIN_RSA_BITS} bits ou mais, ou ECDSA P-256`)
  const usage = extensionsOf(certificate).get(EXTENSION.keyUsage)
  // The first two bits: digitalSignature, nonRepudiation (RFC 5280 4.2.1.3). The first byte of a BIT STRING counts unused bits.
  if (usage !== undefined && ((readDer(usage.value, TAG.bitString).content[1] ?? 0) & 0xc0) === 0)
    refuse('não é para assinar documentos (keyUsage)')
}
