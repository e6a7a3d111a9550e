import { findNewestCheckpoint, listCheckpoints, type StoredCheckpoint } from '../store/evidence/checkpoints.js'
import { type DroppedMonth, listDroppedMonths } from '../store/evidence/dropped-months.js'
import { readLogHead } from '../store/evidence/log-head.js'
import { findLogKey } from '../store/evidence/log-keys.js'
import { type AuditedLeaf, readAuditedLeaves } from '../store/evidence/log-leaves.js'
import { type LogNode, readHashes } from '../store/evidence/log-nodes.js'
import type { Queryable } from '../store/postgres.js'
import { type ExportedCheckpoint, readArchives } from './exported.js'
import { NODE_STEP } from './log.js'
import { readVerifier } from './note.js'
import { GrowingTree, HASH_BYTES } from './tree.js'

export interface LogAudit {
  /** Archives of checkpoints. */
  files: readonly { name: string; text: string }[]
  /** The key that the archives must be signed with; null: the one in the database. */
  key: string | null
  onProgress?(leaves: number, size: number): void
}

export interface LogVerdict {
  size: number
  /** The public key of the log, to be noted outside of this host; null: no worker has run yet. */
  key: string | null
  /** How many checkpoints that left the host were compared. */
  compared: number
  faults: string[]
}

const PAGE = 5_000
/** The faults of one kind that are listed: more of them say nothing new. */
const MAX_FAULTS = 20

/**
 * Compares the log with the events, with its own checkpoints and with those that left the host. Whoever can change the database can
 * rewrite events, leaves, nodes and checkpoints so that they agree; then only a checkpoint that was kept elsewhere differs.
 */
export async function auditLog(db: Queryable, { files, key, onProgress }: LogAudit): Promise<LogVerdict> {
  const stored = await findLogKey(db)
  const faults: string[] = []
  const vkey = key ?? stored?.vkey ?? null
  const verifier = vkey === null ? null : readVerifier(vkey)
  if (key !== null && stored !== null && stored.vkey !== key)
    faults.push(`a chave do registro no banco (${stored.vkey}) não é a informada (${key}): ela foi trocada`)
  if (verifier === null && files.length > 0)
    return { size: 0, key: null, compared: 0, faults: [...faults, 'o banco não tem a chave do registro: informe-a com --key'] }
  const archive = verifier === null ? { checkpoints: [], faults: [] } : readArchives(files, verifier)
  faults.push(...archive.faults)
  // Read before the head, so that the log has at least the events of this checkpoint. Later checkpoints are left out.
  const newest = await findNewestCheckpoint(db)
  const head = await readLogHead(db)
  const tree = new GrowingTree()
  const own = compareWith(
    ownCheckpoints(db, newest?.size ?? 0),
    checkpoint => `o checkpoint de ${when(checkpoint.at)} que o banco guarda`,
  )
  const exported = compareWith(
    listed(archive.checkpoints),
    ({ at, file }) => `o checkpoint de ${when(at)} que saiu do servidor (${file})`,
  )
  const leaves = createLeafCheck(await listDroppedMonths(db))
  const nodes: LogNode[] = []
  while (tree.size < head.size) {
    const page = await readAuditedLeaves(db, tree.size, Math.min(tree.size + PAGE, head.size))
    for (const leaf of page) {
      if (leaf.leaf !== tree.size) break
      leaves.take(leaf)
      tree.append(leaf.hash, (subtree, hash) => subtree.height % NODE_STEP === 0 && nodes.push({ ...subtree, hash }))
      await own.reach(tree, leaf)
      await exported.reach(tree, leaf)
    }
    faults.push(...(await compareNodes(db, nodes.splice(0))))
    onProgress?.(tree.size, head.size)
    if (page.length === 0 || page.at(-1)!.leaf !== tree.size - 1) {
      leaves.faults.push(`falta a folha ${tree.size} do registro, que tem ${head.size}: uma linha de log_leaf foi apagada`)
      break
    }
  }
  if (tree.size === head.size && !Buffer.concat(tree.peaks).equals(head.peaks))
    faults.push('o topo do registro (log_head) não é o das suas folhas')
  await own.end(head.size)
  await exported.end(head.size)
  const compared = archive.checkpoints.length
  return {
    size: head.size,
    key: stored?.vkey ?? null,
    compared,
    faults: [...faults, ...leaves.faults, ...exported.faults, ...own.faults],
  }
}

const when = (at: Date | null): string => at?.toISOString() ?? 'data desconhecida'
const nameOf = ({ notification, seq }: AuditedLeaf): string => `evento ${seq} da notificação ${notification}`

/** Each leaf beside its event. The events of a month that was dropped are in its archive, and no more of them than were dropped. */
function createLeafCheck(dropped: readonly DroppedMonth[]) {
  const faults: string[] = []
  const missing = new Map<string, number>()
  return {
    faults,
    take(leaf: AuditedLeaf): void {
      if (leaf.eventHash?.equals(leaf.hash)) return
      const month = dropped.find(({ low, high }) => leaf.notification >= low && leaf.notification < high)
      if (leaf.eventHash === null && month !== undefined) {
        const count = (missing.get(month.month) ?? 0) + 1
        missing.set(month.month, count)
        if (count <= month.events) return
      }
      if (faults.length > MAX_FAULTS) return
      if (faults.length === MAX_FAULTS) faults.push('há mais diferenças como estas, que não são listadas')
      else if (leaf.eventHash === null)
        faults.push(`o ${nameOf(leaf)} está no registro (folha ${leaf.leaf}) e não existe mais: foi apagado`)
      else
        faults.push(
          `o ${nameOf(leaf)} foi alterado: o hash dele é ${leaf.eventHash.toString('hex')} e o do registro (folha ${leaf.leaf}), ${leaf.hash.toString('hex')}`,
        )
    },
  }
}

type Compared = Pick<StoredCheckpoint, 'size' | 'root'>

/** Follows checkpoints in the order of their sizes and names the first that does not fit, with the last one that does. */
function compareWith<T extends Compared>(source: AsyncGenerator<T>, describe: (checkpoint: T) => string) {
  const faults: string[] = []
  let next: Promise<T | null> | null = null
  let fits = 0
  /** The leaf after the last checkpoint that fits, where the difference may begin. */
  let first: AuditedLeaf | null = null
  const peek = (): Promise<T | null> => (next ??= source.next().then(({ value, done }) => (done === true ? null : (value as T))))

  return {
    faults,
    async reach(tree: GrowingTree, leaf: AuditedLeaf): Promise<void> {
      if (faults.length > 0) return
      first ??= leaf
      for (let checkpoint = await peek(); checkpoint !== null && checkpoint.size <= tree.size; checkpoint = await peek()) {
        next = null
        if (checkpoint.size < tree.size) continue
        if (!tree.root().equals(checkpoint.root)) {
          faults.push(
            `${describe(checkpoint)}, de ${checkpoint.size} eventos, não confere: a história foi reescrita entre a folha ${fits} (${nameOf(first ?? leaf)}) e a folha ${tree.size - 1} (${nameOf(leaf)}); ${fits === 0 ? 'nenhum checkpoint anterior confere' : `até a folha ${fits - 1} tudo confere`}`,
          )
          return
        }
        fits = tree.size
        first = null
      }
    },
    /** A checkpoint that is left covers more events than the log has. */
    async end(size: number): Promise<void> {
      const checkpoint = faults.length > 0 ? null : await peek()
      if (checkpoint === null || checkpoint.size <= size) return
      faults.push(
        `${describe(checkpoint)} é de ${checkpoint.size} eventos e o registro só tem ${size}: o fim da história foi cortado, ou uma cópia antiga do banco foi restaurada; ${fits === 0 ? 'nenhum checkpoint anterior foi conferido' : `até a folha ${fits - 1} tudo confere`}`,
      )
    },
  }
}

async function* ownCheckpoints(db: Queryable, upTo: number): AsyncGenerator<StoredCheckpoint> {
  for (let after = -1; ; ) {
    const page = await listCheckpoints(db, after, PAGE)
    yield* page.filter(({ size }) => size <= upTo)
    if (page.length < PAGE) return
    after = page.at(-1)!.size
  }
}

async function* listed(checkpoints: readonly ExportedCheckpoint[]): AsyncGenerator<ExportedCheckpoint> {
  yield* checkpoints
}

/** Nodes that differ would make proofs that do not verify. */
async function compareNodes(db: Queryable, nodes: readonly LogNode[]): Promise<string[]> {
  if (nodes.length === 0) return []
  const stored = await readHashes(
    db,
    nodes.map(({ height, place }) => ({ height, from: place, to: place + 1 })),
  )
  const wrong = nodes.find(({ hash }, index) => stored[index]!.length !== HASH_BYTES || !stored[index]!.equals(hash))
  return wrong === undefined
    ? []
    : [`o nó ${wrong.place} de altura ${wrong.height} do registro (log_node) não é o das suas folhas`]
}
