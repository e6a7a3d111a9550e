import type { Clock } from '../../domain/clock.js'
import { finishRestoration } from '../../engine/unknown/restored.js'
import { readTreeHead } from '../../evidence/tree-head.js'
import { recordAudit } from '../../store/audit.js'
import { closeRestoration, confirmHomeServer, readHomeServer } from '../../store/home-server.js'
import { type Pool, transaction } from '../../store/postgres.js'
import { readMemory } from '../database/database-memory.js'

/**
 * After a restore: holds what was under way, unless this machine's own embedded server stopped exactly where the backup ends. Then nothing
 * was sent after it, as in a change of the server's version with the service stopped, and everything goes on.
 */
export async function settleRestore(
  pool: Pool,
  clock: Clock,
  { by, memoryFile }: { by: string; memoryFile: string | null },
): Promise<'held' | 'nothing happened since'> {
  const { installation, openRestoration } = await readHomeServer(pool)
  if (openRestoration === null) return 'held'
  const read = memoryFile === null ? null : await readMemory(memoryFile)
  const head = await readTreeHead(pool)
  const own = read !== null && !read.isCopied && read.memory.installation === installation ? read.memory : null
  if (own === null || !own.isFinal || own.size !== head.size || own.root !== head.root) {
    await finishRestoration(pool, clock, openRestoration, { by, cause: 'backup' })
    return 'held'
  }
  await transaction(pool, async db => {
    if (await closeRestoration(db, openRestoration, 0))
      await recordAudit(db, {
        actor: by,
        action: 'restored',
        subject: String(openRestoration),
        detail: { cause: 'backup', held: 0, exact: true },
      })
    await confirmHomeServer(db)
  })
  return 'nothing happened since'
}
