import { OperatorError } from '../../domain/errors.js'
import { openPool, type Pool } from '../../store/postgres.js'
import { onPrimary, onReplica, type ReadList } from '../../store/replica.js'
import type { Config } from '../config.js'
import type { Log } from '../log.js'
import { refuseSharedSessions, reportTo } from './database.js'

export interface ConsoleReads {
  readList: ReadList
  close(): Promise<void>
}

/** Where the console reads its lists: on the replica of DATABASE_REPLICA_URL while it keeps up, else where everything is. */
export async function openConsoleReads({ replicaUrl, databasePool }: Config, primary: Pool, log: Log): Promise<ConsoleReads> {
  if (replicaUrl === null) return { readList: onPrimary(primary), close: async () => {} }
  await refuseSharedSessions([replicaUrl], 'DATABASE_REPLICA_URL').catch(error => {
    // A replica that is away does not stop a start: the primary answers until it is back.
    if (error instanceof OperatorError) throw error
  })
  const replica = openPool({
    url: replicaUrl,
    size: databasePool,
    onError: reportTo(log, 'an idle connection to the replica broke'),
  })
  const onUsed = (used: boolean): void => {
    if (used) log.info('the replica keeps up: the console reads its lists there again')
    else log.warn('the replica lags, is lost or was promoted: the console reads its lists on the primary')
  }
  return { readList: onReplica({ primary, replica, onUsed }), close: () => replica.end() }
}
