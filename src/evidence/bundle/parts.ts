import type { Clock } from '../../domain/clock.js'
import type { Pool } from '../../store/postgres.js'

/** What a bundle is made of, beside the notification's own rows. */
export interface BundleParts {
  pool: Pool
  clock: Clock
  /** The log's key: its public form, and a signed note of a text. */
  signer: { vkey: string; sign(text: string): string }
  /** Keys of the witnesses that are asked to sign checkpoints. */
  witnesses: readonly string[]
  /** The certificate that signs the documents, in PEM, its issuers after it. */
  certificates: readonly string[]
  /** The signed PDFs by name, such as comprovante.pdf. */
  readDocuments(notification: string): Promise<ReadonlyMap<string, Uint8Array>>
}
