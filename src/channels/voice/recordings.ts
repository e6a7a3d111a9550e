import { sha256 } from '../../domain/evidence/evidence.js'
import { HOUR_MS } from '../../domain/units.js'
import { noteLateData } from '../../store/ageing.js'
import { storeAnywhere, storeFile } from '../../store/files/write.js'
import { transaction } from '../../store/postgres.js'
import type { DeliveryContext, EventContext, FileSource } from '../channel-runtime.js'
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

type RecordingParts = Pick<EventContext, 'pool' | 'clock' | 'record'>

/** Fetches a recording by the carrier's name for it; null: the carrier does not have it, or not yet. */
export type FetchRecording = (name: string, signal: AbortSignal) => Promise<Buffer | null>

const BATCH = 20
const FETCH_TIMEOUT_MS = 60_000
/** Longer than a fetch may take, so that no other node begins the same one meanwhile. */
const AGAIN_MS = 2 * FETCH_TIMEOUT_MS
const FIRST_DELAY_MS = 2_000
const LONGEST_DELAY_MS = HOUR_MS
/** Two days: carriers keep recordings for much longer, but one that never comes must end somewhere. */
const MAX_ATTEMPTS = 60

/**
 * The row is written first, so that the recording is fetched later if this process dies before it is kept. Bytes that come with the report
 * are the only copy.
 */
export async function takeRecording(
  { carrier, notification, ordinal }: FileSource,
  { id, seconds, bytes }: CarrierFile,
  parts: RecordingParts,
): Promise<void> {
  const recording = { carrier, name: id, notification, ordinal, seconds }
  await transaction(parts.pool, async db => {
    await noteLateData(db, 'recordings', [notification])
    await wantRecording(db, recording)
  })
  if (bytes !== undefined) await keep(recording, bytes, parts, storeAnywhere)
}

export async function fetchRecordings(carriers: ReadonlyMap<string, FetchRecording>, parts: RecordingParts): Promise<void> {
  const wanted = await takeWantedRecordings(parts.pool, [...carriers.keys()], BATCH, AGAIN_MS)
  await Promise.all(wanted.map(recording => fetchOne(recording, carriers.get(recording.carrier)!, parts)))
}

async function fetchOne(recording: WantedRecording, fetch: FetchRecording, parts: RecordingParts): Promise<void> {
  const bytes = await fetch(recording.name, AbortSignal.timeout(FETCH_TIMEOUT_MS)).catch(() => null)
  if (bytes !== null) return keep(recording, bytes, parts, storeFile)
  if (recording.attempt >= MAX_ATTEMPTS) return settleRecording(parts.pool, recording, null)
  await putOffRecording(parts.pool, recording, Math.min(FIRST_DELAY_MS * 2 ** (recording.attempt - 1), LONGEST_DELAY_MS))
}

/** The row changes first: after a crash in between, the bytes have no reference and the upkeep deletes them. */
export async function endRecordings(parts: Pick<DeliveryContext, 'pool' | 'dropBlobs'>, days: number): Promise<void> {
  for (let ended = BATCH; ended === BATCH; ) {
    const hashes = await expireRecordings(parts.pool, days, BATCH)
    await parts.dropBlobs(hashes)
    ended = hashes.length
  }
}

/** Stores the blob, then the fact, then the row: only the last step ends the search, and the first two can be repeated. */
async function keep(
  recording: Recording,
  bytes: Buffer,
  { pool, clock, record }: RecordingParts,
  store: typeof storeFile,
): Promise<void> {
  const { carrier, notification, ordinal, seconds } = recording
  const hash = sha256(bytes)
  await store(pool, { bytes, sha256: hash })
  const data = { carrier, recording: hash, size: bytes.length, seconds, ordinal }
  const fact = { channel: 'voice', type: 'recorded', at: new Date(clock()), source: 'recording', data } as const
  const outcome = await record({ kind: 'fact', notification, fact })
  await settleRecording(pool, recording, outcome === 'unknown' ? null : hash)
}
