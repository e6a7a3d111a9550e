import type { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Keys } from '../domain/access/keys.js'
import { OperatorError } from '../domain/errors.js'
import { readCertificate } from '../evidence/signature/certificate-facts.js'
import type { SigningKey } from '../evidence/signature/cms-writing.js'
import { createDocumentSigner, type DocumentSigner } from '../evidence/signature/document-signer.js'
import { firstTimeStamp } from '../evidence/signature/time-stamp-client.js'
import type { Pool } from '../store/postgres.js'
import type { Config } from './config.js'
import type { Log } from './log.js'

/** What signs the documents, by the settings. A certificate that cannot sign at that moment stops the start with an OperatorError. */
export async function openDocumentSigner(config: Config, pool: Pool, keys: Keys, log: Log, now: Date): Promise<DocumentSigner> {
  const authorities = config.checkpoints.authorities.map(({ url }) => url)
  return createDocumentSigner({
    key: await openKey(config, pool, keys, now),
    selfMade: config.signature.kind === 'own',
    hasAuthorities: authorities.length > 0,
    timeStamp: digest =>
      firstTimeStamp(authorities, digest, err => log.warn({ err }, 'a document was not time-stamped by an authority')),
  })
}

/** Loaded on demand: most installations have one kind. */
async function openKey({ signature, publicUrl }: Config, pool: Pool, keys: Keys, now: Date): Promise<SigningKey> {
  if (signature.kind === 'pkcs12') {
    const { readPkcs12 } = await import('../evidence/signature/key/pkcs12.js')
    const { password } = signature
    const text = 'text' in password ? password.text : readText(password.file, 'SIGNATURE_P12_PASSWORD_FILE').replace(/\r?\n$/, '')
    return readPkcs12(signature.file, text, now)
  }
  if (signature.kind === 'pkcs11') {
    const { openPkcs11 } = await import('../evidence/signature/key/pkcs11.js')
    const { location, issuersFile } = signature
    return openPkcs11(location, issuersFile === null ? [] : readIssuers(issuersFile), now)
  }
  const { ownSigningKey } = await import('../evidence/signature/key/own-certificate.js')
  return ownSigningKey(pool, keys.sealing, new URL(publicUrl).host, now)
}

function readIssuers(path: string): X509Certificate[] {
  const setting = 'SIGNATURE_ISSUERS_FILE'
  const found = readText(path, setting).match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (found.length === 0) throw new OperatorError(`${setting}: ${path} não tem certificados em PEM.`)
  try {
    return found.map(pem => readCertificate(Buffer.from(pem)))
  } catch (cause) {
    throw new OperatorError(`${setting}: um certificado em ${path} não se lê.`, { cause })
  }
}

function readText(path: string, setting: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new OperatorError(`Não foi possível ler ${path} (${setting}).`, { cause })
  }
}
