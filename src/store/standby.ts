import { type Queryable, queryRow, queryValue } from './postgres.js'

/**
 * Whether commits wait for a synchronous standby that is not there. Fewer standbys are connected than synchronous_standby_names asks
 * for, or a commit has waited for more than two seconds. A role that may not see a standby's state (null) counts it as present.
 */
export const isStandbyLost = async (db: Queryable): Promise<boolean> =>
  (await queryValue<boolean>(db, { name: 'standby-lost', text: STANDBY_LOST }))!

const STANDBY_LOST = `
  with wanted as (
    select coalesce((regexp_match(names, '^\\s*(?:first|any)?\\s*(\\d+)\\s*\\(', 'i'))[1]::int, 1) as count
    from current_setting('synchronous_standby_names') as names where names <> ''
  )
  select exists (
    select from wanted
    where count > (select count(*) from pg_stat_replication where sync_state is null or sync_state in ('sync', 'quorum'))
      or exists (select from pg_stat_activity where wait_event = 'SyncRep' and state_change < clock_timestamp() - interval '2 seconds')
  ) as lost`

/** What a promoted standby would have of the commits that were answered. */
export interface Replication {
  /** Standbys that are connected now. Any role may count them. */
  standbys: number
  /** Whether a commit waits for a standby: synchronous_standby_names, and the level at which our sessions commit. */
  synchronous: boolean
}

/** Subscribers of logical replication are no standbys, and neither is a base backup under way. */
export const readReplication = async (db: Queryable): Promise<Replication> =>
  (await queryRow<Replication>(
    db,
    `select (select count(*)::int from pg_stat_replication r
             where application_name is distinct from 'pg_basebackup'
               and not exists (select from pg_replication_slots where slot_type = 'logical' and active_pid = r.pid)) as standbys,
       current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') not in ('off', 'local') as synchronous`,
  ))!
