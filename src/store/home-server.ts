import type { CopyCause, ServerMark } from '../domain/database-copy.js'
import { execute, matchesRow, type Queryable, queryRow, queryRows, queryValue } from './postgres.js'

/** The server on which the database was last known to be the living one, and the server that answers. */
export interface HomeServer {
  installation: string
  recorded: ServerMark
  current: ServerMark
  /** When the server that answers was started: another one has another moment. */
  startedAt: string
  /** False: the server was started, exchanged or restored since, and deliveries are not claimed. */
  isConfirmed: boolean
  /** A restoration whose deliveries are still being held. */
  openRestoration: number | null
  /** When it was last found to be a copy: what nodes remember from before that is of another life of the database. */
  restoredAtMs: number | null
  nowMs: number
}

const HERE = `server_identity() as server, (select oid from pg_database where datname = current_database()) as database,
  server_timeline() as timeline, pg_postmaster_start_time() as started_at`

export const readHomeServer = async (db: Queryable): Promise<HomeServer> =>
  (await queryRow<HomeServer>(db, {
    name: 'read-home-server',
    text: `select h.installation,
             jsonb_build_object('server', h.server::text, 'database', h.database::bigint, 'timeline', h.timeline) as recorded,
             jsonb_build_object('server', c.server::text, 'database', c.database::bigint, 'timeline', c.timeline) as current,
             c.started_at::text as "startedAt", (h.started_at, h.database) is not distinct from (c.started_at, c.database) as "isConfirmed",
             (select max(id) from restoration where held_at is null) as "openRestoration",
             (select extract(epoch from max(noticed_at)) * 1000 from restoration where held_at is not null)::float8 as "restoredAtMs",
             (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"
           from home_server h, (select ${HERE}) c`,
  }))!

/** The server that answers has the living database: deliveries may be claimed. */
export const confirmHomeServer = (db: Queryable): Promise<void> =>
  execute(db, `update home_server set (server, database, timeline, started_at) = (select ${HERE})`)

export interface Restoration {
  id: number
  cause: CopyCause
  detail: string
  noticedAt: Date
  heldAt: Date | null
  held: number
}

/** Nothing is claimed from here on, until the server is confirmed. null: another node has begun one. */
export async function openRestoration(db: Queryable, cause: CopyCause, detail: string): Promise<number | null> {
  // Nodes that notice it at once take turns here.
  await execute(db, 'select from home_server for update')
  await execute(db, 'update home_server set started_at = null')
  return queryValue<number>(
    db,
    `insert into restoration (cause, detail) select $1, $2 where not exists (select from restoration where held_at is null)
     returning id`,
    [cause, detail],
  )
}

/** false: another node was faster. */
export const closeRestoration = (db: Queryable, id: number, held: number): Promise<boolean> =>
  matchesRow(db, 'update restoration set held_at = now(), held = $2 where id = $1 and held_at is null', [id, held])

/**
 * How long ago the database was last found to be a copy whose work is held; null: never. Until the transaction ends, none is found. An age,
 * and not a date: what is compared with it may have another clock than the server.
 */
export async function lockCopyAge(db: Queryable): Promise<number | null> {
  await execute(db, 'select from home_server for share')
  return queryValue<number>(
    db,
    `select (extract(epoch from clock_timestamp() - noticed_at) * 1000)::float8 from restoration
     where last_code is not null or held_at is null order by id desc limit 1`,
  )
}

/** The latest first. */
export const listRestorations = (db: Queryable): Promise<Restoration[]> =>
  queryRows(
    db,
    'select id, cause, detail, noticed_at as "noticedAt", held_at as "heldAt", held from restoration order by id desc limit 20',
  )
