import type { Clock } from '../domain/clock.js'
import type { Verification } from '../domain/evidence/verification-code.js'
import { MIB } from '../domain/units.js'
import { type CertifiedSigner, createDocuments, type EmbeddedFile } from '../evidence/documents/documents.js'
import type { ShownContent } from '../evidence/documents/report.js'
import { readLogProof } from '../evidence/log-proof.js'
import { createTypesetter } from '../runtime/typesetting/typesetter.js'
import { listSentContent, readSentContent } from '../store/evidence/sent-content.js'
import type { Pool } from '../store/postgres.js'

export interface DocumentsContext {
  pool: Pool
  clock: Clock
  openSigner(): Promise<CertifiedSigner>
  verificationOf(notification: string): Verification
  makeBundle(notification: string): Promise<EmbeddedFile | null>
}

/** One thread: documents must not take the processor from sends. */
const THREADS = 1
/** A page of a report takes some 30 ms, so that these wait for no longer than a caller does. */
const MAX_WAITING = 32
const LIMIT_MS = 20_000
/** The largest message that documents show as it left. The bytes of a larger message are not read. */
const MAX_SHOWN = 8 * MIB

/** The documents about notifications, as the api serves them. */
export function openDocuments({ pool, clock, openSigner, verificationOf, makeBundle }: DocumentsContext) {
  const typesetter = createTypesetter(THREADS, LIMIT_MS, MAX_WAITING)
  const documents = createDocuments({
    typesetter,
    openSigner,
    verificationOf,
    readProof: notification => readLogProof(pool, notification),
    readContents: notification => readContents(pool, notification),
    makeBundle,
    now: () => new Date(clock()),
  })
  return { documents, close: () => typesetter.close() }
}

async function readContents(pool: Pool, notification: string): Promise<ShownContent[]> {
  const shown: ShownContent[] = []
  for (const { seq, channel, ordinal, contentType, sha256, size } of await listSentContent(pool, notification)) {
    const bytes = size > MAX_SHOWN ? null : await readSentContent(pool, notification, channel, ordinal)
    shown.push({ seq, channel, ordinal, contentType, sha256, size, bytes: bytes ?? new Uint8Array() })
  }
  return shown
}
