import { buffer } from 'node:stream/consumers'
import type { Keys } from '../../domain/access/keys.js'
import type { Clock } from '../../domain/clock.js'
import { VERIFICATION_KEY, verificationAt } from '../../domain/evidence/verification-code.js'
import type { Scope } from '../../domain/scope.js'
import { MIB } from '../../domain/units.js'
import { createGuessGuard, type GuessLimits } from '../../engine/recipient/guess-guard.js'
import { buildBundle } from '../../evidence/bundle/bundle.js'
import type { BundleParts } from '../../evidence/bundle/parts.js'
import { type LogKey, openLogKey } from '../../evidence/log-key.js'
import { signNote } from '../../evidence/note.js'
import { readPublicRecord } from '../../evidence/public-record.js'
import type { VerificationOptions } from '../../http/verification/pages.js'
import { belongsTo } from '../../store/delivery/deliveries.js'
import { findNewestCheckpoint } from '../../store/evidence/checkpoints.js'
import { readDossier } from '../../store/evidence/dossier.js'
import { findSubject } from '../../store/evidence/subjects.js'
import type { Pool } from '../../store/postgres.js'
import { readGuessLock } from '../../store/recipient/guesses.js'
import type { Config } from '../config.js'
import { openDocumentSigner } from '../document-signer.js'
import { openDocuments } from '../documents.js'
import { keepSigner } from '../kept-signer.js'
import type { Log } from '../log.js'

export interface EvidenceParts {
  config: Config
  keys: Keys
  pool: Pool
}

/** Opened at the first use: the first node that needs the key makes it. */
function keyOpener({ config, keys, pool }: EvidenceParts): () => Promise<LogKey> {
  let opened: LogKey | null = null
  return async () => {
    opened ??= await openLogKey(pool, keys.sealing, config.publicUrl)
    return opened
  }
}

/** What makes bundles and documents; each has the other inside it. */
export function openEvidence(parts: EvidenceParts & { clock: Clock; log: Log; publicUrl?(): string }) {
  const { config, keys, pool, clock, log, publicUrl = () => config.publicUrl } = parts
  const openKey = keyOpener(parts)
  // The installation's own certificate is made at the first use; one that is configured is opened at the start (app/api/api.ts).
  const openSigner = keepSigner(
    now => openDocumentSigner(config, pool, keys, log, now),
    clock,
    err => log.warn({ err }, 'the certificate of the documents is near its end, and no later one was found'),
  )
  const bundleParts = async (): Promise<BundleParts> => {
    const { origin, privateKey, vkey } = await openKey()
    return {
      pool,
      clock,
      signer: { vkey, sign: text => signNote(text, origin, privateKey) },
      witnesses: config.checkpoints.witnesses.map(({ verifier }) => verifier.vkey),
      certificates: (await openSigner()).certificate.pem,
      readDocuments,
    }
  }
  const key = verificationKey(keys)
  const verificationOf = (notification: string) => verificationAt(publicUrl(), key, notification)
  const { documents, close } = openDocuments({
    pool,
    clock,
    openSigner,
    verificationOf,
    makeBundle: async notification => {
      const bundle = await buildBundle(await bundleParts(), notification, { documents: false })
      return bundle === null || bundle.size > MAX_EMBEDDED ? null : { name: 'evidencia.zip', bytes: await buffer(bundle.write()) }
    },
  })
  async function readDocuments(notification: string): Promise<ReadonlyMap<string, Uint8Array>> {
    const subject = await findSubject(pool, notification)
    const dossier = subject === null ? null : await readDossier(pool, subject.scope, notification)
    const made = new Map<string, Uint8Array>()
    if (dossier === null) return made
    const proof = await documents.sendingProof(dossier)
    if (!('message' in proof)) made.set('comprovante.pdf', proof)
    const report = await documents.report(dossier)
    if (report !== null) made.set('laudo.pdf', report)
    return made
  }
  return {
    documents,
    verificationOf,
    openSigner,
    belongsTo: (scope: Scope, notification: string) => belongsTo(pool, scope, notification),
    buildBundle: async (notification: string) => buildBundle(await bundleParts(), notification),
    async close(): Promise<void> {
      await close()
      await openSigner.close()
    },
  }
}

/** A larger one is not put into the report, which says where to get it. */
const MAX_EMBEDDED = 24 * MIB

const verificationKey = (keys: Keys): Buffer => keys.derive(VERIFICATION_KEY)

/** What the public page of verification asks for. */
export function openVerification({
  guesses,
  ...parts
}: EvidenceParts & { guesses: GuessLimits | undefined }): VerificationOptions {
  const { config, keys, pool } = parts
  const openKey = keyOpener(parts)
  const guard = createGuessGuard(pool, 'verification ', guesses)
  const key = verificationKey(keys)
  return {
    trustedProxies: config.trustedProxies,
    findRecord: (code, address) =>
      guard(address, async guessKeys => {
        const lockedMs = await readGuessLock(pool, guessKeys)
        return { lockedMs, target: lockedMs > 0 ? null : await readPublicRecord(pool, key, code) }
      }),
    async readLog() {
      const { vkey } = await openKey()
      const newest = await findNewestCheckpoint(pool)
      return {
        vkey,
        checkpoint: newest === null ? null : { size: newest.size, root: newest.root.toString('base64'), at: newest.at },
      }
    },
  }
}
