import pg from 'pg'
import { CLIENT_SOCKET, execute, type Queryable, SERVER_SOCKET } from '../postgres.js'

/** "Something is due", from whoever made it so to every worker on the database. */
const SIGNAL = 'carteiro_due'
const RECONNECT_MS = 1_000

export const signalDue = (db: Queryable): Promise<void> => execute(db, `notify ${SIGNAL}`)

/** Listens until closed, across broken connections. */
export function listenDue(url: string, onSignal: () => void): { close(): Promise<void> } {
  let closed = false
  let client: pg.Client | undefined
  const connect = async (): Promise<void> => {
    const next = new pg.Client({
      connectionString: url,
      application_name: 'carteiro listener',
      ...CLIENT_SOCKET,
      options: SERVER_SOCKET,
    })
    client = next
    next.on('error', () => {})
    next.on('notification', onSignal)
    next.once('end', () => {
      if (!closed) setTimeout(() => void connect().catch(() => {}), RECONNECT_MS).unref()
    })
    try {
      await next.connect()
      await next.query(`listen ${SIGNAL}`)
    } catch {
      await next.end().catch(() => {})
    }
  }
  void connect()
  return {
    async close() {
      closed = true
      await client?.end().catch(() => {})
    },
  }
}
