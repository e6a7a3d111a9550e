import { execute, type Queryable, queryRows } from './postgres.js'

/** The processes of the installation, wherever they run. */
export interface WorkerProcess {
  id: string
  version: string
  memoryBytes: number
  cpuSeconds: number
  /** Deliveries that it holds. */
  inFlight: number
}

export const countStart = (db: Queryable, role: string): Promise<void> =>
  execute(db, 'insert into process_start as p values ($1, 1) on conflict (role) do update set starts = p.starts + 1', [role])

export const readStarts = (db: Queryable): Promise<{ role: string; starts: number }[]> =>
  queryRows(db, 'select role, starts::float8 as starts from process_start')

export const reportWorker = (db: Queryable, { id, version, memoryBytes, cpuSeconds, inFlight }: WorkerProcess): Promise<void> =>
  execute(
    db,
    `insert into worker_process (id, version, memory_bytes, cpu_seconds, in_flight) values ($1, $2, $3, $4, $5)
     on conflict (id) do update set memory_bytes = excluded.memory_bytes, cpu_seconds = excluded.cpu_seconds,
       in_flight = excluded.in_flight, seen_at = now()`,
    [id, version, Math.round(memoryBytes), cpuSeconds, inFlight],
  )

/** One that was stopped is gone at once; one that was killed is counted for this long. */
export const readWorkers = (db: Queryable): Promise<WorkerProcess[]> =>
  queryRows(
    db,
    `select id, version, memory_bytes::float8 as "memoryBytes", cpu_seconds as "cpuSeconds", in_flight as "inFlight"
     from worker_process where seen_at > now() - interval '30 seconds' order by started_at`,
  )

export const deleteWorker = (db: Queryable, id: string): Promise<void> =>
  execute(db, 'delete from worker_process where id = $1', [id])

export const deleteStaleWorkers = (db: Queryable): Promise<void> =>
  execute(db, "delete from worker_process where seen_at < now() - interval '1 hour'")
