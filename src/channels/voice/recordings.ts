import { createHash } from 'node:crypto'
import { storeBlobs } from '../../store/notification/blobs.js'
import type { DeliveryContext, EventContext, FileSource } from '../channel.js'
import type { CarrierFile } from '../provider.js'
import {
  expireRecordings,
  putOffRecording,
  type Recording,
  settleRecording,
  takeWantedRecordings,
  type WantedRecording,
  wantRecording,
} from './recording-store.js'

/** Records and reads what the gateway needs to keep a recording. */
type RecordingParts = Pick<EventContext, 'pool' | 'clock' | 'record'>

/** Asks a carrier for a recording by its name; null: it is not there (yet). */
export type FetchRecording = (name: string, signal: AbortSignal) => Promise<Buffer | null>

const BATCH = 20
const FETCH_TIMEOUT_MS = 60_000
/** Longer than a fetch may take, so that no other node begins the same one meanwhile. */
const AGAIN_MS = 2 * FETCH_TIMEOUT_MS
const FIRST_DELAY_MS = 2_000
const LONGEST_DELAY_MS = 3_600_000
/** Two days: carriers keep recordings for much longer, but one that never comes must end somewhere. */
const MAX_ATTEMPTS = 60

/** The row comes first: what follows may be interrupted, and the next one takes it up. */
export async function takeRecording(
  { provider, notification, ordinal }: FileSource,
  { id, seconds, bytes }: CarrierFile,
  parts: RecordingParts,
): Promise<void> {
  const recording = { provider, name: id, notification, ordinal, seconds }
  await wantRecording(parts.pool, recording)
  if (bytes !== undefined) await keep(recording, bytes, parts)
}

/** Fetches what is wanted, from the carriers that this node can ask. */
export async function fetchRecordings(carriers: ReadonlyMap<string, FetchRecording>, parts: RecordingParts): Promise<void> {
  const wanted = await takeWantedRecordings(parts.pool, [...carriers.keys()], BATCH, AGAIN_MS)
  await Promise.all(wanted.map(recording => fetchOne(recording, carriers.get(recording.provider)!, parts)))
}

async function fetchOne(recording: WantedRecording, fetch: FetchRecording, parts: RecordingParts): Promise<void> {
  const bytes = await fetch(recording.name, AbortSignal.timeout(FETCH_TIMEOUT_MS)).catch(() => null)
  if (bytes !== null) return keep(recording, bytes, parts)
  if (recording.attempt >= MAX_ATTEMPTS) return settleRecording(parts.pool, recording, null)
  await putOffRecording(parts.pool, recording, Math.min(FIRST_DELAY_MS * 2 ** (recording.attempt - 1), LONGEST_DELAY_MS))
}

/** The row first: whoever dies in between leaves bytes that nothing refers to, and upkeep finds them. */
export async function endRecordings(
  { pool, dropBlobs }: Pick<DeliveryContext, 'pool' | 'dropBlobs'>,
  days: number,
): Promise<void> {
  for (let ended = BATCH; ended === BATCH; ) {
    const hashes = await expireRecordings(pool, days, BATCH)
    await dropBlobs(hashes)
    ended = hashes.length
  }
}

/** Blob, then fact, then row: only the last step ends the search, and the others are the same when they are done again. */
async function keep(recording: Recording, bytes: Buffer, { pool, clock, record }: RecordingParts): Promise<void> {
  const { provider, notification, ordinal, seconds } = recording
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  await storeBlobs(pool, [{ name: recording.name, bytes: new Uint8Array(bytes), sha256 }])
  const data = { provider, recording: sha256, size: bytes.length, seconds, ordinal }
  const outcome = await record({
    kind: 'fact',
    notification,
    fact: { channel: 'voice', type: 'recorded', at: new Date(clock()), source: 'recording', data },
  })
  await settleRecording(pool, recording, outcome === 'unknown' ? null : sha256)
}
