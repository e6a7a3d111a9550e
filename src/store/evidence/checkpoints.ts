import { execute, type Queryable, queryRow, queryRows } from '../postgres.js'

export interface StoredCheckpoint {
  size: number
  root: Buffer
  note: string
  at: Date
}

const COLUMNS = 'c.size, c.root, c.note, c.at'

export const insertCheckpoint = (db: Queryable, { size, root, note, at }: StoredCheckpoint): Promise<void> =>
  execute(db, {
    name: 'insert-checkpoint',
    text: 'insert into checkpoint (size, root, note, at) values ($1, $2, $3, $4)',
    values: [size, root, note, at],
  })

export const findNewestCheckpoint = (db: Queryable): Promise<StoredCheckpoint | null> =>
  queryRow(db, { name: 'find-newest-checkpoint', text: `select ${COLUMNS} from checkpoint c order by c.size desc limit 1` })

export const listCheckpoints = (db: Queryable, after: number, limit: number): Promise<StoredCheckpoint[]> =>
  queryRows(db, {
    name: 'list-checkpoints',
    text: `select ${COLUMNS} from checkpoint c where c.size > $1 order by c.size limit $2`,
    values: [after, limit],
  })

/**
 * The checkpoint that proves the leaves from `first` to `last`: the oldest with a time-stamp that covers all of them, else the oldest
 * that does, else the newest that covers some.
 */
export const findProvingCheckpoint = (db: Queryable, first: number, last: number): Promise<StoredCheckpoint | null> =>
  queryRow(db, {
    name: 'find-proving-checkpoint',
    text: `select ${COLUMNS} from checkpoint c where c.size = coalesce(
             (select size from checkpoint_time_stamp where size > $2 order by size limit 1),
             (select size from checkpoint where size > $2 order by size limit 1),
             (select size from checkpoint where size > $1 order by size desc limit 1))`,
    values: [first, last],
  })
