import type { LineFault, LineState } from '../../domain/send/bulk.js'
import { MIB } from '../../domain/units.js'
import { execute, matchesRow, type Queryable, queryRows, queryValue, run } from '../postgres.js'

export interface Line {
  line: number
  cells: string[]
}

/** One statement for many lines: the file may have a hundred thousand. */
export const insertLines = (db: Queryable, batch: string, lines: readonly Line[]): Promise<void> =>
  execute(db, {
    name: 'insert-bulk-lines',
    text: 'insert into bulk_line (batch_id, line, cells) select $1, l.line, l.cells from json_to_recordset($2) as l(line int, cells jsonb)',
    values: [batch, JSON.stringify(lines)],
  })

/** A line may have a million characters, so that a page of lines ends after so many bytes too. */
const PAGE_BYTES = 8 * MIB

/** The lines of a page until they have PAGE_BYTES, and at least one. */
const boundedPage = (columns: string, page: string): string =>
  `select ${columns} from (
     select page.*, sum(octet_length(cells::text)) over (order by line rows between unbounded preceding and 1 preceding) as bytes_before
     from (${page}) page
   ) sized where coalesce(bytes_before, 0) < ${PAGE_BYTES} order by line`

/** Fewer than `limit` where they are long; none: there are no more. */
export const readLinesAfter = (db: Queryable, batch: string, after: number, limit: number): Promise<Line[]> =>
  queryRows(db, {
    name: 'read-bulk-lines',
    text: boundedPage(
      'line, cells',
      'select line, cells from bulk_line where batch_id = $1 and line > $2 and cells is not null order by line limit $3',
    ),
    values: [batch, after, limit],
  })

/** Whether a line may still be sent. */
export const isGoodLine = async (db: Queryable, batch: string, line: number): Promise<boolean> =>
  (await queryValue(
    db,
    `select 1 from bulk_line l join bulk_batch b on b.id = l.batch_id
     where l.batch_id = $1 and l.line = $2 and l.state = 'good' and b.state = 'sending'`,
    [batch, line],
  )) !== null

export interface CheckedLine {
  line: number
  fault: LineFault | null
}

/**
 * Writes what a check found, in a transaction of its own. False: another node checked these lines, or the batch is no longer checked.
 * `to`: the last of them; null: there were none left, and the check is over.
 */
export async function writeChecked(
  db: Queryable,
  batch: string,
  from: number,
  to: number | null,
  checked: readonly CheckedLine[],
): Promise<boolean> {
  const bad = checked.filter(({ fault }) => fault !== null).length
  const isOurs = await matchesRow(
    db,
    `update bulk_batch set checked_to = coalesce($3, checked_to), good = good + $4, rejected = rejected + $5,
       state = case when $3::int is null then case when starts and good > 0 then 'sending' else 'checked' end else state end,
       started_at = case when $3::int is null and starts and good > 0 then now() else started_at end,
       resumed_at = case when $3::int is null and starts and good > 0 then now() else resumed_at end
     where id = $1 and state = 'checking' and checked_to = $2`,
    [batch, from, to, checked.length - bad, bad],
  )
  if (!isOurs || checked.length === 0) return isOurs
  await execute(db, {
    name: 'write-checked-bulk-lines',
    text: `update bulk_line l set state = case when c.message is null then 'good' else 'rejected' end, error = c.message, error_column = c.column
           from json_to_recordset($2) as c(line int, message text, "column" text)
           where l.batch_id = $1 and l.line = c.line and l.line > $3 and l.line <= $4`,
    // The bounds: without them every group of lines may read the whole batch.
    values: [batch, JSON.stringify(checked.map(({ line, fault }) => ({ line, ...fault }))), from, to],
  })
  return true
}

/** A line that was refused when it was to be accepted. The batch is locked before the line, as by the acceptance: otherwise both could wait for each other. */
export const failLine = (db: Queryable, batch: string, line: number, { message, column }: LineFault): Promise<void> =>
  execute(
    db,
    `with locked as materialized (
       select id from bulk_batch where id = $1 for no key update
     ), failed as (
       update bulk_line l set state = 'failed', error = $3, error_column = $4 from locked
       where l.batch_id = locked.id and l.line = $2 and l.state = 'good' returning l.line
     )
     update bulk_batch set failed = failed + 1 where id = $1 and exists (select from failed)`,
    [batch, line, message, column],
  )

export interface RefusedLine {
  line: number
  cells: string[] | null
  state: LineState
  error: string
  column: string | null
}

/** Fewer than `limit` where they are long; none: there are no more. */
export const listRefused = (db: Queryable, batch: string, after: number, limit: number): Promise<RefusedLine[]> =>
  queryRows(
    db,
    boundedPage(
      'line, cells, state, error, error_column as "column"',
      `select line, cells, state, error, error_column from bulk_line
       where batch_id = $1 and line > $2 and state in ('rejected', 'failed') order by line limit $3`,
    ),
    [batch, after, limit],
  )

export const listAccepted = (
  db: Queryable,
  batch: string,
  after: number,
  limit: number,
): Promise<{ line: number; notification: string }[]> =>
  queryRows(
    db,
    `select line, notification_id as notification from bulk_line
     where batch_id = $1 and line > $2 and state = 'accepted' order by line limit $3`,
    [batch, after, limit],
  )

/** Deletes the data of some lines. Returns how many. */
export const eraseCells = async (db: Queryable, batch: string, limit: number): Promise<number> =>
  (
    await run(
      db,
      `update bulk_line set cells = null where batch_id = $1 and line = any(array(
         select line from bulk_line where batch_id = $1 and cells is not null order by line limit $2))`,
      [batch, limit],
    )
  ).rowCount ?? 0
