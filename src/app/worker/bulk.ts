import type { ChannelPreview } from '../../channels/preview.js'
import type { Keys } from '../../domain/access/keys.js'
import type { Channel } from '../../domain/channel.js'
import type { Clock } from '../../domain/clock.js'
import { HOUR_MS } from '../../domain/units.js'
import { type AcceptStore, type AcceptTrace, createAccept } from '../../engine/accept/accept.js'
import { unitCounter } from '../../engine/accept/count-units.js'
import { checkBatches } from '../../engine/bulk/check.js'
import { eraseBatches } from '../../engine/bulk/erase.js'
import { loadBulkFields } from '../../engine/bulk/fields.js'
import { folderWatch } from '../../engine/bulk/folder.js'
import { sendBatches } from '../../engine/bulk/send.js'
import { readSend } from '../../http/gw/read-send.js'
import type { Chore } from '../../runtime/chores.js'
import { resolveTemplates } from '../../store/accounts/templates.js'
import { createDueSignal } from '../../store/delivery/due-signal.js'
import type { Pool } from '../../store/postgres.js'
import { ACCEPT_LIMITS, acceptStore } from '../accept-store.js'
import type { Config } from '../config.js'

export interface BulkWorkerParts {
  config: Config
  keys: Keys
  pool: Pool
  clock: Clock
  previews: ReadonlyMap<Channel, ChannelPreview>
  onError(error: unknown, what: string): void
  warn?(details: object, message: string): void
  /** Rejects while the disk has too little space for more. */
  requireDisk?(): Promise<void>
  trace?: AcceptTrace | undefined
  /** Replacements in tests. */
  store?: AcceptStore
  stableMs?: number
}

/** A run of the chore waits this long for the next turn of a batch: ending in between would make the batch slower than its account's pace. */
const TURN_WAIT_MS = 1_000
const FOLDER_MS = 2_000
/** Copies over a network pause for a second or two. */
const STABLE_MS = 10_000

export async function bulkChores(parts: BulkWorkerParts, everyMs: number): Promise<Chore[]> {
  const { check, send, erase, watch } = await bulkWork(parts)
  return [
    ...(watch === null ? [] : [{ name: 'folder of batches', everyMs: FOLDER_MS, run: watch }]),
    { name: 'checking of batches', everyMs, run: check },
    { name: 'sending of batches', everyMs, run: signal => send(signal, TURN_WAIT_MS) },
    { name: 'data of batches', everyMs: HOUR_MS, oneNode: true, run: erase },
  ]
}

/** The worker's part of batches: checking lines, accepting them, and deleting their data. */
export async function bulkWork(options: BulkWorkerParts) {
  const { config, keys, pool, clock, previews, onError, store = acceptStore(pool), stableMs = STABLE_MS } = options
  const { requireDisk = async () => {}, warn = () => {}, trace } = options
  const { folder, maxBytes } = config.bulk
  const fields = await loadBulkFields()
  const allowed = { simulator: config.simulator, supportEmail: config.supportEmail }
  const { accept } = createAccept({
    store,
    allowed,
    clock,
    pepper: keys.pepper,
    countUnits: unitCounter({ pool, clock, previews }),
    requireDisk,
    trace,
    onAccepted: createDueSignal(pool).queues.notify,
    ...ACCEPT_LIMITS,
    // A group locks its batch: a second one of the same batch would wait for it.
    parallelGroups: 1,
  })
  const parts = {
    pool,
    fields,
    read: (raw: Uint8Array) => readSend(raw, config.attachments).request,
    ...allowed,
    resolveTemplates: (...[scope, named]: [Parameters<typeof resolveTemplates>[1], Parameters<typeof resolveTemplates>[2]]) =>
      resolveTemplates(pool, scope, named),
    accept,
  }
  return {
    check: (signal?: AbortSignal) => checkBatches(parts, signal),
    send: (signal?: AbortSignal, waitMs = 0) => sendBatches(parts, waitMs, signal),
    watch: folder === null ? null : folderWatch({ pool, fields, maxBytes, requireDisk, folder, stableMs, onError, warn }),
    erase: (signal?: AbortSignal) => eraseBatches(pool, config.bulk.days, signal),
  }
}
