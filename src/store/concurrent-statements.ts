import type pg from 'pg'

/** Runs one statement, in a transaction of its own. */
type Query = (text: string, values?: unknown[]) => Promise<pg.QueryResult>

const CREATE_INDEX = /^create (unique )?index concurrently if not exists (\w+) on (\w+) (.+)$/s

const DROP_INDEX = /^drop index concurrently if exists \w+$/

/**
 * Runs the statements of a ….concurrent.sql file one by one: PostgreSQL builds no index concurrently inside a transaction, and several
 * statements at once are one. PostgreSQL cannot build the index of a partitioned table concurrently either, so such an index is built
 * month by month, and counts once the last month has it. Repeating goes on where the last run ended.
 */
export async function runConcurrently(query: Query, sql: string): Promise<void> {
  const statements = sql.replace(/--.*$/gm, '').split(';')
  for (const statement of statements.map(text => text.trim()).filter(text => text !== '')) {
    const [, unique = '', index, table, definition] = CREATE_INDEX.exec(statement) ?? []
    if (index === undefined) {
      // Anything else would wait for its lock without a limit, and everybody behind it.
      if (!DROP_INDEX.test(statement)) throw new Error(`only indexes are created and dropped concurrently: ${statement}`)
      await unhurried(query, statement)
    } else if (await isPartitioned(query, table!))
      await indexMonths(query, { unique, index, table: table!, definition: definition! })
    else await buildIndex(query, { unique, index, table: table!, definition: definition! })
  }
}

interface IndexParts {
  unique: string
  index: string
  table: string
  definition: string
}

async function indexMonths(query: Query, { unique, index, table, definition }: IndexParts): Promise<void> {
  // Of the parent alone, which has no rows. Months that are created from here on get the index when they are attached.
  await query(`create ${unique}index if not exists ${index} on only ${table} ${definition}`)
  const { rows } = await query(
    `select c.relname as month from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = $1::regclass and not exists (
       select from pg_inherits n join pg_index x on x.indexrelid = n.inhrelid where n.inhparent = $2::regclass and x.indrelid = c.oid)
     order by 1`,
    [table, index],
  )
  for (const { month } of rows as { month: string }[]) {
    const part = `${index}${month.slice(table.length)}`
    await buildIndex(query, { unique, index: part, table: month, definition })
    await query(`alter index ${index} attach partition ${part}`)
  }
}

async function buildIndex(query: Query, { unique, index, table, definition }: IndexParts): Promise<void> {
  // What a build that was broken off leaves behind has the name and is never used.
  const { rows } = await query('select from pg_index where indexrelid = to_regclass($1) and not indisvalid', [index])
  if (rows.length > 0) await unhurried(query, `drop index concurrently ${index}`)
  await unhurried(query, `create ${unique}index concurrently if not exists ${index} on ${table} ${definition}`)
}

/**
 * A concurrent statement waits for every older transaction, such as a dump, however long it takes. Nobody waits behind it, and a time-out
 * would throw away what was built.
 */
async function unhurried(query: Query, statement: string): Promise<void> {
  const { rows } = await query("select current_setting('lock_timeout') as limit")
  await query('set lock_timeout = 0')
  await query(statement)
  await query(`set lock_timeout = '${(rows[0] as { limit: string }).limit}'`)
}

const isPartitioned = async (query: Query, table: string): Promise<boolean> =>
  (await query("select from pg_class where oid = to_regclass($1) and relkind = 'p'", [table])).rows.length > 0
