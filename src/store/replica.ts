import { StoreUnavailable } from '../domain/errors.js'
import { type Pool, queryRow, queryValue } from './postgres.js'

/** Runs queries whose result may be a few seconds old, such as a list of the console. `work` may be called twice: see onReplica. */
export type ReadList = <T>(work: (db: Pool) => Promise<T>) => Promise<T>

export const onPrimary =
  (pool: Pool): ReadList =>
  work =>
    work(pool)

interface ReplicaTiming {
  checkEveryMs: number
  /** The replica must have replayed everything that the primary had this long ago. */
  maxLagMs: number
  now(): number
}

const TIMING: ReplicaTiming = { checkEveryMs: 1_000, maxLagMs: 5_000, now: () => performance.now() }

interface Replica {
  primary: Pool
  replica: Pool
  /** Called when the replica is no longer used, and when it is used again. */
  onUsed?(used: boolean): void
}

/**
 * Reads on a replica while it keeps up with the primary. A replica that lags, was promoted, or cancelled a statement because of
 * a conflict with its replay is not used until the next check; the primary answers instead.
 */
export function onReplica({ primary, replica, onUsed = () => {} }: Replica, timing: Partial<ReplicaTiming> = {}): ReadList {
  const { checkEveryMs, maxLagMs, now } = { ...TIMING, ...timing }
  let used = true
  let checkedAt = Number.NEGATIVE_INFINITY
  let checking: Promise<void> | null = null
  /** Positions of the primary's log, oldest first. */
  let looks: { at: number; position: bigint }[] = []

  const use = (next: boolean): void => {
    if (next !== used) onUsed(next)
    used = next
  }

  async function check(): Promise<void> {
    const at = now()
    const [position, replayed] = await Promise.all([readPosition(primary), readReplayed(replica).catch(() => null)])
    // Compared with the newest position that is at least maxLagMs old. Until there is one, with the oldest: the replica must have all of it.
    const known = [...looks, { at, position }]
    const due = known.findLast(look => at - look.at >= maxLagMs) ?? known[0]!
    looks = known.filter(look => look.at >= due.at)
    use(replayed !== null && replayed >= due.position)
    checkedAt = at
  }

  return async work => {
    if (now() - checkedAt >= checkEveryMs) {
      checking ??= check().finally(() => {
        checking = null
      })
      await checking
    }
    if (!used) return work(primary)
    try {
      return await work(replica)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error
      use(false)
      return work(primary)
    }
  }
}

const readPosition = async (db: Pool): Promise<bigint> =>
  BigInt((await queryValue<string>(db, "select (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::text"))!)

/** null: the server is no replica. */
async function readReplayed(db: Pool): Promise<bigint | null> {
  const row = await queryRow<{ follows: boolean; position: string | null }>(
    db,
    `select pg_is_in_recovery() as follows, (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::text as position`,
  )
  return row!.follows && row!.position !== null ? BigInt(row!.position) : null
}
