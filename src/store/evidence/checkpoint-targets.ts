import { execute, type Queryable, queryRow, queryRows } from '../postgres.js'
import type { StoredCheckpoint } from './checkpoints.js'

/** What a node that serves a target has to do: bring it the newest checkpoint. */
export interface ClaimedTarget extends StoredCheckpoint {
  /** The size of the last checkpoint that the target has. */
  known: number
  failures: number
}

/** A node that runs for the first time with this target adds it. */
export const addTarget = (db: Queryable, target: string): Promise<void> =>
  execute(db, 'insert into checkpoint_target (target) values ($1) on conflict do nothing', [target])

/** null: nothing is due, or another node is at it. After the lease another node may try. */
export const claimTarget = (db: Queryable, target: string, leaseMs: number): Promise<ClaimedTarget | null> =>
  queryRow(db, {
    name: 'claim-checkpoint-target',
    text: `with newest as (select size, root, note, at from checkpoint order by size desc limit 1), claimed as (
             update checkpoint_target t set due_at = now() + $2 * interval '1 millisecond'
             where target = (
               select target from checkpoint_target
               where target = $1 and due_at <= now() and size < (select size from newest) for update skip locked)
             returning t.size as known, t.failures
           )
           select newest.*, claimed.* from newest, claimed`,
    values: [target, leaseMs],
  })

/** The target has this checkpoint; the next one goes after the interval. */
export const settleTarget = (db: Queryable, target: string, size: number, everyMs: number): Promise<void> =>
  execute(
    db,
    `update checkpoint_target set size = greatest(size, $2), due_at = now() + $3 * interval '1 millisecond', failures = 0, error = null,
       done_at = now() where target = $1`,
    [target, size, everyMs],
  )

export const failTarget = (db: Queryable, target: string, error: string, delayMs: number): Promise<void> =>
  execute(
    db,
    `update checkpoint_target set failures = failures + 1, error = $2, due_at = now() + $3 * interval '1 millisecond' where target = $1`,
    [target, error, delayMs],
  )

/** Another node may try at once. */
export const releaseTarget = (db: Queryable, target: string): Promise<void> =>
  execute(db, 'update checkpoint_target set due_at = now() where target = $1', [target])

export interface TargetState {
  target: string
  /** The size of the last checkpoint that it has. */
  size: number
  failures: number
  error: string | null
  doneAt: Date | null
}

export const listTargets = (db: Queryable): Promise<TargetState[]> =>
  queryRows(db, 'select target, size, failures, error, done_at as "doneAt" from checkpoint_target order by target')
