import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readCertificate } from '../../../src/evidence/signature/certificate-facts.js'
import type { SigningKey } from '../../../src/evidence/signature/cms-writing.js'
import { createDocumentSigner, type DocumentSigner } from '../../../src/evidence/signature/document-signer.js'
import { signingKey } from '../../../src/evidence/signature/key/private-key.js'
import { firstTimeStamp } from '../../../src/evidence/signature/time-stamp-client.js'
import { type Certification, createCertification } from './certification.js'
import { startTimeStampAuthority, type TimeStampAuthority } from './time-stamp-authority.js'

/** A company with a certificate, beside two time-stamp authorities of which the first one is down. */
export interface Signing {
  certification: Certification
  authority: TimeStampAuthority
  /** The address of the authority that is down. */
  down: string
  /** What authorities that did not answer were reported as. */
  failures: string[]
  key: SigningKey
  signer: DocumentSigner
  issueKey(wanted: Parameters<Certification['issue']>[0]): SigningKey
  signerWith(key: SigningKey, authorities: readonly string[]): DocumentSigner
  signerStampedBy(timeStamp: () => Promise<Buffer | null>): DocumentSigner
  close(): Promise<void>
}

export async function openSigning(): Promise<Signing> {
  const certification = createCertification()
  const authority = await startTimeStampAuthority(certification)
  const gone = await startTimeStampAuthority(certification)
  await gone.close()
  const failures: string[] = []
  const opened: DocumentSigner[] = []
  const open = (...parts: Parameters<typeof createDocumentSigner>): DocumentSigner => {
    const made = createDocumentSigner(...parts)
    opened.push(made)
    return made
  }
  const issueKey: Signing['issueKey'] = wanted => {
    const { certFile, keyFile } = certification.issue(wanted)
    const [certificate, issuer] = [certFile, certification.caFile].map(path => readCertificate(readFileSync(path)))
    return signingKey(createPrivateKey(readFileSync(keyFile)), certificate!, [issuer!])
  }
  const signerWith: Signing['signerWith'] = (key, authorities) => {
    const timeStamp = (digest: Buffer): Promise<Buffer | null> =>
      firstTimeStamp(authorities, digest, error => failures.push(error.message))
    return open({ key, selfMade: false, timeStamp, hasAuthorities: authorities.length > 0 })
  }
  const key = issueKey({ name: 'empresa', key: 'rsa' })
  return {
    certification,
    authority,
    down: gone.url,
    failures,
    key,
    signer: signerWith(key, [gone.url, authority.url]),
    issueKey,
    signerWith,
    signerStampedBy: timeStamp => open({ key, selfMade: false, timeStamp, hasAuthorities: true }),
    async close() {
      for (const each of opened) await each.close()
      await authority.close()
      certification.remove()
    },
  }
}

/** Called when something is signed: certificates of the test are valid from the second in which they are issued. */
export const aboutNow = (): { reason: string; at: Date } => ({ reason: 'Comprovante de envio: ação nº 7', at: new Date() })

/** Where the signature itself stands, which no signature can cover. */
export function gapOf(pdf: Buffer): [number, number] {
  const found = /\[0 (\d+) (\d+) \d+\]/.exec(pdf.toString('latin1', pdf.lastIndexOf('/ByteRange')))!
  return [Number(found[1]), Number(found[2])]
}

export function flipped(pdf: Buffer, at: number): Buffer {
  const changed = Buffer.from(pdf)
  changed[at]! ^= 1
  return changed
}
