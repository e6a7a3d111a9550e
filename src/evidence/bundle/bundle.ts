import { isSimulated } from '../../channels/carrier-name.js'
import { canonicalJson, type Json } from '../../domain/evidence/canonical-json.js'
import { hideLinks } from '../../domain/recipient/link.js'
import { findNotification } from '../../store/delivery/deliveries.js'
import { findSubject, listRoutes } from '../../store/evidence/subjects.js'
import { type LoggedEvent, readChain } from '../../store/notification/event-log.js'
import { type Queryable, snapshot } from '../../store/postgres.js'
import { cutProof, type LogProof, readLogProof } from '../log-proof.js'
import { BUNDLE_HEAD } from '../verify/manifest.js'
import type { BundleParts } from './parts.js'
import { readme } from './readme.js'
import { statusSummary } from './status.js'
import { attachmentFiles, contentFiles, recordingFiles } from './stored-files.js'
import { type BundleFile, type MeasuredFile, measure, sortFiles, textFile, writeZip, zipSize } from './zip-writer.js'

export interface Bundle {
  size: number
  write(): AsyncGenerator<Uint8Array>
}

export interface BundleOptions {
  /** Without the PDFs: for the copy that is embedded in one of them. */
  documents: boolean
}

/** The bundle of a notification, ready to be written; null: there is no such notification. */
export async function buildBundle(
  parts: BundleParts,
  notification: string,
  { documents }: BundleOptions = { documents: true },
): Promise<Bundle | null> {
  const { pool, signer } = parts
  // Facts keep arriving: events and statuses must be of the same moment. The log is read after them, so that it knows at least as much.
  const at = new Date(parts.clock())
  const own = await snapshot(pool, db => readOwn(parts, db, notification))
  if (own === null) return null
  const proof = cutProof(await readLogProof(pool, notification), own.events.length)
  // A witness may have changed its key, or left the settings, since it signed this checkpoint.
  const witnesses = [...new Set([...parts.witnesses, ...(proof?.checkpoint.witnesses ?? [])])]
  const isTest = own.routes.some(({ carrier }) => isSimulated(carrier ?? ''))
  const files: BundleFile[] = [
    ...own.files,
    ...(proof === null ? [] : proofFiles(proof)),
    textFile('keys.json', canonicalJson({ v: 1, log: signer.vkey, witnesses, documents: parts.certificates })),
    textFile(
      'LEIA-ME.txt',
      readme({
        subject: own.subject,
        events: own.events.length,
        origin: signer.vkey.split('+')[0]!,
        vkey: signer.vkey,
        isSimulated: isTest,
        hasCheckpoint: proof !== null,
      }),
    ),
  ]
  const made = documents ? await parts.readDocuments(notification) : new Map<string, Uint8Array>()
  for (const [name, pdf] of made) files.push(textFile(`documents/${name}`, pdf))
  return sealBundle(notification, await measureAll(files), at, signer)
}

/** One after the other: each may be large. */
async function measureAll(files: readonly BundleFile[]): Promise<MeasuredFile[]> {
  const measured: MeasuredFile[] = []
  for (const file of files) measured.push(await measure(file))
  return sortFiles(measured)
}

/** Lists the files, signs the list and closes the ZIP. */
export async function sealBundle(
  notification: string,
  files: readonly MeasuredFile[],
  at: Date,
  { sign }: Pick<BundleParts['signer'], 'sign'>,
): Promise<Bundle> {
  const listed = files.map(({ path, sha256, size }) => ({ path, sha256, size }))
  const manifest = await measure(textFile('manifest.json', canonicalJson({ v: 1, notification, files: listed })))
  const text = `${BUNDLE_HEAD}\n${notification}\n${manifest.sha256}\ntime ${at.toISOString()}\n`
  const all = sortFiles([...files, manifest, await measure(textFile('manifest.sig', sign(text)))])
  return { size: zipSize(all), write: () => writeZip(all) }
}

async function readOwn({ pool }: BundleParts, db: Queryable, notification: string) {
  const subject = await findSubject(db, notification)
  if (subject === null) return null
  const events = await readChain(db, notification)
  const statuses = await findNotification(db, subject.scope, notification)
  const routes = await listRoutes(db, notification)
  const files = [
    textFile('events.json', canonicalJson(events.map(bundledEvent))),
    textFile('status.json', canonicalJson(statusSummary(subject, statuses ?? { code: 0, statuses: [] }, routes))),
    ...(subject.content === null ? [] : [textFile('content/request.html', subject.content)]),
    ...(await contentFiles(pool, db, notification)),
    ...(await attachmentFiles(pool, db, notification)),
    ...(await recordingFiles(pool, db, notification, events)),
  ]
  return { subject, events, routes, files }
}

/**
 * Links are hidden when facts are recorded. Where one got in nevertheless, the event's data is left out like erased data: the sender must
 * not get the link, and a changed text would not fit its commitment.
 */
function bundledEvent({ salt, data, ...event }: LoggedEvent): Json {
  const isSafe = event.type === 'accepted' || data === null || canonicalJson(hideLinks(data)) === canonicalJson(data)
  const { notification, seq, at, type, source, commit, prev, hash } = event
  const known = isSafe && salt !== null
  return {
    notification,
    seq,
    at,
    type,
    source,
    data: known ? data : null,
    salt: known ? salt.toString('hex') : null,
    commit,
    prev,
    hash,
  }
}

export function proofFiles({ checkpoint: { note, size, timeStamps }, events }: LogProof): BundleFile[] {
  const proven = events.map(({ seq, leaf, path }) => ({ seq, leaf, path }))
  return [
    textFile('checkpoint.txt', note),
    textFile('log.json', canonicalJson({ origin: note.split('\n')[0]!, size, events: proven })),
    ...timeStamps.map(({ token }, index) => textFile(`time-stamps/${index + 1}.tsr`, token)),
  ]
}
