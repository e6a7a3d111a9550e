import type { Clock } from '../domain/clock.js'
import { Refusal } from '../domain/errors.js'
import { HOUR_MS } from '../domain/units.js'
import { RENEWAL_MS, validityFault } from '../evidence/signature/certificate-facts.js'
import type { DocumentSigner } from '../evidence/signature/document-signer.js'

/** A file that the operator replaces is noticed within this time, and a token is not asked more often. */
const LOOK_EVERY_MS = HOUR_MS

interface KeptSigner {
  (): Promise<DocumentSigner>
  /** When the certificate ends; null: no document was signed yet. A certificate near its end is looked for again. */
  readEnd(): Promise<Date | null>
  close(): Promise<void>
}

/**
 * The signer of a node, opened at its first use. A node runs for longer than its certificate is valid: near the end, and after it, the
 * signer is opened again, with the file that the operator renewed or with a new certificate of the installation.
 */
export function keepSigner(
  open: (now: Date) => Promise<DocumentSigner>,
  clock: Clock,
  onFault: (error: unknown) => void,
): KeptSigner {
  // One that was replaced may still be signing. There are few: a certificate is valid for a year or more.
  const opened: DocumentSigner[] = []
  let lookedAt = Number.NEGATIVE_INFINITY
  let opening: Promise<DocumentSigner> | null = null

  async function openAgain(current: DocumentSigner | undefined, now: number): Promise<DocumentSigner> {
    lookedAt = now
    try {
      const found = await open(new Date(now))
      if (found.certificate.sha256 !== current?.certificate.sha256) {
        opened.push(found)
        return found
      }
      await found.close()
      return current
    } catch (error) {
      if (current === undefined) throw error
      if (validityFault(current.certificate, new Date(now)) !== null)
        throw new Refusal('certificateOver', [], { retryAfter: 60, cause: error })
      onFault(error)
      return current
    }
  }

  const get = (): Promise<DocumentSigner> => {
    const now = clock()
    const current = opened.at(-1)
    if (current !== undefined && !isDue(current, now, lookedAt)) return Promise.resolve(current)
    opening ??= openAgain(current, now).finally(() => {
      opening = null
    })
    return opening
  }
  return Object.assign(get, {
    async readEnd() {
      if (opened.length === 0) return null
      const current = await get().catch(() => opened.at(-1)!)
      return current.certificate.validTo
    },
    async close() {
      await opening?.catch(() => null)
      for (const signer of opened) await signer.close()
    },
  })
}

function isDue({ certificate }: DocumentSigner, now: number, lookedAt: number): boolean {
  if (validityFault(certificate, new Date(now)) !== null) return true
  return certificate.validTo.getTime() - now <= RENEWAL_MS && now - lookedAt >= LOOK_EVERY_MS
}
