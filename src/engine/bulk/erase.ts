import { cancelExpired, deleteLostUploads, listExpired, markErased } from '../../store/bulk/batches.js'
import { eraseCells } from '../../store/bulk/lines.js'
import type { Pool } from '../../store/postgres.js'

const LINES = 5_000
const BATCHES = 100

/** Deletes broken uploads, and the lines' data of batches that ended `days` ago. A batch that is paused or not started for that long is cancelled first. */
export async function eraseBatches(pool: Pool, days: number, signal?: AbortSignal): Promise<void> {
  await deleteLostUploads(pool)
  await cancelExpired(pool, days)
  for (const { id } of await listExpired(pool, days, BATCHES)) {
    while ((await eraseCells(pool, id, LINES)) === LINES) if (signal?.aborted) return
    await markErased(pool, id)
  }
}
