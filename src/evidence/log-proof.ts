import { findProvingCheckpoint } from '../store/evidence/checkpoints.js'
import { listCosignatures } from '../store/evidence/cosignatures.js'
import { readLeavesOf } from '../store/evidence/log-leaves.js'
import { listTimeStamps } from '../store/evidence/time-stamps.js'
import type { Queryable } from '../store/postgres.js'
import { buildProofs } from './log-hashes.js'
import { planInclusion } from './tree.js'

/** What ties the events of one notification to a signed checkpoint of the log. */
export interface LogProof {
  checkpoint: {
    size: number
    /** The signed note: our signature, and those of the witnesses. */
    note: string
    /** The keys of the witnesses that signed it, also of those that no longer do. */
    witnesses: readonly string[]
    at: Date
    timeStamps: readonly { authority: string; at: Date; token: Buffer }[]
  }
  /** The events that the checkpoint covers, in their order. The path: hashes in hexadecimal, from the leaf to the root. */
  events: readonly { seq: number; leaf: number; path: readonly string[] }[]
}

/** null: no checkpoint covers any event of the notification yet. */
export async function readLogProof(db: Queryable, notification: string): Promise<LogProof | null> {
  const leaves = await readLeavesOf(db, notification)
  if (leaves.length === 0) return null
  const places = leaves.map(({ leaf }) => leaf)
  const checkpoint = await findProvingCheckpoint(db, Math.min(...places), Math.max(...places))
  if (checkpoint === null) return null
  const { size, at } = checkpoint
  const covered = leaves.filter(({ leaf }) => leaf < size)
  const paths = await buildProofs(
    db,
    covered.map(({ leaf }) => planInclusion(leaf, size)),
  )
  const cosignatures = await listCosignatures(db, size)
  return {
    checkpoint: {
      size,
      at,
      note: checkpoint.note + cosignatures.map(({ line }) => line).join(''),
      witnesses: cosignatures.map(({ witness }) => witness),
      timeStamps: await listTimeStamps(db, size),
    },
    events: covered.map(({ seq, leaf }, index) => ({ seq, leaf, path: paths[index]!.map(hash => hash.toString('hex')) })),
  }
}

/** The proof of the first events alone: events that were recorded after the chain was read are in no file and in no document. */
export function cutProof(proof: LogProof | null, events: number): LogProof | null {
  const covered = proof?.events.filter(({ seq }) => seq <= events) ?? []
  return proof === null || covered.length === 0 ? null : { ...proof, events: covered }
}
