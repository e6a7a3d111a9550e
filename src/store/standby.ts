import { type Queryable, queryValue } from './postgres.js'

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
