import { createPublicKey, hash, verify } from 'node:crypto'
import { type PdfVerdict, verifyPdf } from './signature/pdf/verification.js'
import { verifyTimeStamp } from './signature/time-stamp.js'
import type { VerifierTools } from './verify/tools.js'

/** RFC 8410: the fixed head of an Ed25519 public key, before its 32 bytes. */
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex')

/** What the verifier computes, by Node. */
export const nodeTools: VerifierTools = {
  sha256: async bytes => hash('sha256', bytes, 'buffer'),
  verifyEd25519: async (key, message, signature) => {
    const publicKey = createPublicKey({ key: Buffer.concat([SPKI_HEAD, key]), format: 'der', type: 'spki' })
    return verify(null, message, publicKey, signature)
  },
  verifyTimeStamp: async (token, digest) => {
    const verdict = verifyTimeStamp(token, digest)
    return { problem: verdict.valid ? null : verdict.fault, authority: verdict.timeStamp?.authority.subject ?? null }
  },
  verifyDocument: async (pdf, certificates) => {
    const verdict = verifyPdf(pdf)
    const problem = verdict.valid ? findStranger(verdict, certificates) : (verdict.fault ?? 'o PDF não tem assinatura.')
    return { problem, found: describe(verdict) }
  },
}

/** Anybody can sign a PDF: the bundle says whose signature its documents have. */
function findStranger({ signatures }: PdfVerdict, certificates: readonly string[] | null): string | null {
  if (certificates === null) return null
  const known = new Set(certificates.map(pem => pem.replaceAll(/\s/g, '')))
  const isStranger = signatures.some(({ certificate }) => !known.has((certificate?.pem[0] ?? '').replaceAll(/\s/g, '')))
  return isStranger ? 'o certificado de quem assinou não está em keys.json.' : null
}

const describe = ({ signatures }: PdfVerdict): string =>
  signatures
    .map(({ certificate, level, timeStamp, statedAt }) => {
      const at = timeStamp?.at ?? statedAt
      const kind = certificate?.icpBrasil
        ? 'certificado que se declara da ICP-Brasil; a cadeia dele não se confere aqui'
        : certificate?.selfSigned
          ? 'certificado emitido por si mesmo'
          : 'certificado'
      return `assinado por ${certificate?.subject ?? 'desconhecido'} (${kind}${level === null ? '' : `, PAdES ${level}`})${at === null ? '' : `, ${at.toISOString()}`}`
    })
    .join('; ')
