import { createHash, createPrivateKey, generateKeyPair, type KeyObject, randomBytes, sign } from 'node:crypto'
import { promisify } from 'node:util'
import { seal, unseal } from '../../../domain/access/sealed.js'
import { OperatorError } from '../../../domain/errors.js'
import { DAY_MS } from '../../../domain/units.js'
import { findDocumentCertificate, insertDocumentCertificate } from '../../../store/evidence/document-certificates.js'
import type { Queryable } from '../../../store/postgres.js'
import type { SealedValues } from '../../../store/sealed-values.js'
import { EXTENSION, factsOf, RENEWAL_MS, readCertificate } from '../certificate-facts.js'
import { OID } from '../cms.js'
import type { SigningKey } from '../cms-writing.js'
import { bits, context, der, octets, oid, sequence, set, time, unsigned, utf8, yes } from '../der.js'
import { signingKey } from './private-key.js'

/** Verified by Adobe Reader, NSS (pdfsig) and OpenSSL. RSA of the same strength would take seconds of every first start. */
const CURVE = 'P-256'
const YEARS = 10
const BASIC_CONSTRAINTS = '2.5.29.19'
const generate = promisify(generateKeyPair)

/** The installation's own certificate, made on the first start; every node uses the one that was stored first. */
export async function ownSigningKey(db: Queryable, sealing: Buffer, host: string, now: Date): Promise<SigningKey> {
  const found = await findDocumentCertificate(db)
  if (found !== null) {
    const certificate = readCertificate(found.certificate)
    const { validTo } = factsOf(certificate)
    if (validTo.getTime() - now.getTime() > RENEWAL_MS) return signingKey(openKey(sealing, found), certificate, [])
  }
  const made = await makeCertificate(host, now)
  const privateKey = seal(sealing, made.privateKey.export({ type: 'pkcs8', format: 'der' }), contextOf(made.certificate))
  await insertDocumentCertificate(db, { ordinal: (found?.ordinal ?? 0) + 1, certificate: made.certificate, privateKey })
  const stored = (await findDocumentCertificate(db))!
  return signingKey(openKey(sealing, stored), readCertificate(stored.certificate), [])
}

const contextOf = (certificate: Buffer): string => contextOfDigest(createHash('sha256').update(certificate).digest('hex'))
const contextOfDigest = (digest: string): string => `document certificate ${digest}`

export const sealedCertificates: SealedValues = {
  table: 'document_certificate',
  column: 'private_key',
  id: "encode(sha256(certificate), 'hex')",
  contextOf: contextOfDigest,
}

function openKey(sealing: Buffer, { certificate, privateKey }: { certificate: Buffer; privateKey: Buffer }): KeyObject {
  try {
    return createPrivateKey({ key: unseal(sealing, privateKey, contextOf(certificate)), format: 'der', type: 'pkcs8' })
  } catch (cause) {
    throw new OperatorError(
      'A chave do certificado que assina os documentos foi alterada no banco e não abre. Restaure a tabela document_certificate da sua cópia de segurança, ou informe um certificado em SIGNATURE_P12_FILE.',
      { cause },
    )
  }
}

/** X.509 (RFC 5280) signed by its own key, for signing documents only. */
export async function makeCertificate(host: string, now: Date): Promise<{ certificate: Buffer; privateKey: KeyObject }> {
  const { privateKey, publicKey } = await generate('ec', { namedCurve: CURVE })
  const algorithm = sequence(oid(OID.ecdsaWithSha256))
  const part = (name: string, text: string): Buffer => set(sequence(oid(name), utf8(text)))
  const subject = sequence(
    part('2.5.4.10', 'Carteiro'),
    part('2.5.4.11', 'Certificado próprio (fora da ICP-Brasil)'),
    // RFC 5280 A.1: at most 64 characters.
    part('2.5.4.3', `Documentos de ${host}`.slice(0, 64)),
  )
  const until = new Date(now)
  until.setUTCFullYear(until.getUTCFullYear() + YEARS)
  const extension = (name: string, value: Buffer, ...critical: Buffer[]): Buffer =>
    sequence(oid(name), ...critical, octets(value))
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const extensions = sequence(
    extension(BASIC_CONSTRAINTS, sequence(), yes()),
    // digitalSignature and nonRepudiation.
    extension(EXTENSION.keyUsage, bits(Buffer.from([0xc0]), 6), yes()),
    extension(EXTENSION.subjectKeyIdentifier, octets(createHash('sha1').update(spki).digest())),
  )
  const body = sequence(
    der(context(0), unsigned(Buffer.from([2]))),
    // A positive number of at most 20 bytes.
    unsigned(Buffer.concat([Buffer.from([0x40]), randomBytes(15)])),
    algorithm,
    subject,
    // Clocks of verifiers may be behind ours.
    sequence(time(new Date(now.getTime() - DAY_MS)), time(until)),
    subject,
    spki,
    der(context(3), extensions),
  )
  return { certificate: sequence(body, algorithm, bits(sign('sha256', body, privateKey))), privateKey }
}
