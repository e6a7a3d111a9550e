import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import { findModule } from '../../../channels/registry.js'
import { overloaded, refuse } from '../../../domain/errors.js'
import { MIB } from '../../../domain/units.js'
import { nodeTools } from '../../../evidence/node-tools.js'
import { type FileVerdict, verifyFile } from '../../../evidence/verify-file.js'
import { Semaphore } from '../../../runtime/semaphore.js'
import { listSentContent, readSentContent } from '../../../store/evidence/sent-content.js'
import type { EvidenceSubject } from '../../../store/evidence/subjects.js'
import type { Pool } from '../../../store/postgres.js'
import { asDownload } from '../../download.js'
import type { EvidenceOptions } from '../../gw/evidence.js'
import type { ProofOptions } from '../../gw/proofs.js'
import { everyone, route } from '../route.js'
import { type ByNotification, requireNotification } from './notification.js'
import { type Verification, type VerifiedFile, verificationSchema } from './notification-schema.js'

export interface NotificationFileOptions {
  pool: Pool
  proofs: ProofOptions
  evidence: EvidenceOptions
  /** The log's public key, known here by another way than from the bundle. */
  readLog(): Promise<{ vkey: string }>
}

/** Making documents signs them, and verifying a bundle holds it in memory. */
const MADE_AT_ONCE = 2
const WAITING = 32
const MOST_VERIFIED = 64 * MIB

/** The proof, the report, the bundle and the sender's copies of one notification, and what the verifier says of them. */
export function addNotificationFiles(app: FastifyInstance, options: NotificationFileOptions): void {
  const { pool, evidence } = options
  const makers = new Semaphore({ permits: MADE_AT_ONCE, maxWaiting: WAITING, refusal: overloaded })
  const file = { ...route(everyone), exposeHeadRoute: false }

  for (const [name, title] of [
    ['proof', 'comprovante'],
    ['report', 'laudo'],
  ] as const) {
    app.get<ByNotification>(`/console/api/notifications/:id/${name}.pdf`, file, async (request, reply) => {
      const subject = await requireNotification(pool, request)
      const pdf = await makers.run(() => makeDocument(options, subject, name))
      return asDownload(reply, 'application/pdf', `${title}-${subject.id}.pdf`).send(pdf ?? refuse('documentMissing'))
    })
  }
  app.get<ByNotification>('/console/api/notifications/:id/bundle.zip', file, async (request, reply) => {
    const { id } = await requireNotification(pool, request)
    const bundle = (await makers.run(() => evidence.buildBundle(id))) ?? refuse('documentMissing')
    return asDownload(reply, 'application/zip', `evidencia-${id}.zip`)
      .header('content-length', bundle.size)
      .send(Readable.from(bundle.write(), { objectMode: false }))
  })
  app.get<{ Params: { id: string; channel: string; ordinal: string } }>(
    '/console/api/notifications/:id/contents/:channel/:ordinal',
    file,
    async (request, reply) => {
      const { id } = await requireNotification(pool, request)
      const channel = findModule(request.params.channel)?.channel ?? refuse('contentMissing')
      const found = (await listSentContent(pool, id)).find(
        content => content.channel === channel && String(content.ordinal) === request.params.ordinal,
      )
      if (found === undefined) return refuse('contentMissing')
      const bytes = (await readSentContent(pool, id, channel, found.ordinal)) ?? refuse('contentMissing')
      const name = `${request.params.channel}-${found.ordinal}-${id}.${found.extension}`
      return asDownload(reply, 'application/octet-stream', name).send(bytes)
    },
  )
  app.get<ByNotification>(
    '/console/api/notifications/:id/verification',
    { ...route(everyone, { response: { 200: verificationSchema } }), exposeHeadRoute: false },
    async (request): Promise<Verification> => {
      const subject = await requireNotification(pool, request)
      return makers.run(async () => ({
        files: [
          await verifyDocument(options, subject, 'proof'),
          await verifyDocument(options, subject, 'report'),
          await verifyBundle(options, subject),
        ],
      }))
    },
  )
}

async function makeDocument(
  { proofs: { readDossier, documents } }: NotificationFileOptions,
  { scope, id }: EvidenceSubject,
  name: 'proof' | 'report',
): Promise<Buffer | null> {
  const dossier = await readDossier(scope, id)
  if (dossier === null) return null
  const made = name === 'proof' ? await documents.sendingProof(dossier) : await documents.report(dossier)
  return made === null || 'message' in made ? null : Buffer.from(made.buffer, made.byteOffset, made.length)
}

const unread = (name: VerifiedFile['name'], state: 'missing' | 'tooLarge', size = 0): VerifiedFile => ({
  name,
  state,
  size,
  detail: '',
  steps: [],
})

async function verifyDocument(
  options: NotificationFileOptions,
  subject: EvidenceSubject,
  name: 'proof' | 'report',
): Promise<VerifiedFile> {
  const pdf = await makeDocument(options, subject, name)
  return pdf === null ? unread(name, 'missing') : verify(options, name, pdf)
}

async function verifyBundle(options: NotificationFileOptions, { id }: EvidenceSubject): Promise<VerifiedFile> {
  const bundle = await options.evidence.buildBundle(id)
  if (bundle === null) return unread('bundle', 'missing')
  if (bundle.size > MOST_VERIFIED) return unread('bundle', 'tooLarge', bundle.size)
  return verify(options, 'bundle', await buffer(bundle.write()))
}

async function verify({ readLog }: NotificationFileOptions, name: VerifiedFile['name'], bytes: Buffer): Promise<VerifiedFile> {
  const verdict = (await verifyFile(bytes, { key: (await readLog()).vkey }, nodeTools))!
  // A document without a bundle inside has no key of the log to compare; this gateway has just made it.
  const holds = verdict.holds || (verdict.isKeyUnused && verdict.document?.problem === null)
  return { name, size: bytes.length, state: holds ? 'holds' : 'broken', ...describe(verdict) }
}

function describe({ document, bundle }: FileVerdict): Pick<VerifiedFile, 'detail' | 'steps'> {
  const problem = document?.problem ?? bundle?.fault?.message
  return {
    detail: problem ?? document?.found ?? '',
    steps: (bundle?.steps ?? []).map(({ title, state, detail }) => ({ title, state, detail })),
  }
}
