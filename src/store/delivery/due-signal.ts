import pg from 'pg'
import type { Queue, QueueListener } from '../../domain/queue.js'
import { throttle } from '../../runtime/wake.js'
import { execute, type Queryable } from '../postgres.js'
import { CLIENT_SOCKET, type Servers } from '../servers.js'

/** "Something is due", from whoever made it so to every worker on the database, with the queues that it is in. */
const SIGNAL = 'carteiro_due'
/** A topic beside the queues: webhooks have messages to deliver. */
const WEBHOOKS = 'webhooks'
/** A topic beside the queues: any queue may have deliveries. */
const ANY = 'any'
/** Between two signals of one process: workers are not notified once per send. */
const SIGNAL_EVERY_MS = 50
/** Less up to a half by chance: listeners of many workers do not return in the same moment. */
const RECONNECT_MS = 1_000

/** The receivers of a signal: the lanes of the queues, and the deliverer of webhooks. */
export interface DueListeners {
  queues: QueueListener
  webhooks: { notify(): void }
}

/** Sends one signal at once, for rare acts of an operator. */
export const signalDue = (db: Queryable, topics: Iterable<string> = [ANY]): Promise<void> =>
  execute(db, { name: 'signal-due', text: 'select pg_notify($1, $2)', values: [SIGNAL, [...topics].join()] })

/** Sends signals for frequent acts: the signals of SIGNAL_EVERY_MS are sent as one. */
export function createDueSignal(db: Queryable): DueListeners {
  const signal = throttle(SIGNAL_EVERY_MS, topics => signalDue(db, topics))
  return { queues: { notify: queues => signal(queues ?? [ANY]) }, webhooks: { notify: () => signal([WEBHOOKS]) } }
}

function dispatch(payload: string, { queues, webhooks }: DueListeners): void {
  const topics = payload.split(',')
  if (topics.includes(ANY)) queues.notify()
  else queues.notify(topics as Queue[])
  if (topics.includes(ANY) || topics.includes(WEBHOOKS)) webhooks.notify()
}

/** Listens until closed, across broken connections and on the server that accepts writes. */
export function listenDue(servers: Servers, listeners: DueListeners): { close(): Promise<void> } {
  let closed = false
  let client: pg.Client | undefined
  const connectLater = (): void => {
    if (!closed) setTimeout(() => void connect(), RECONNECT_MS * (1 - Math.random() / 2)).unref()
  }
  const connect = async (): Promise<void> => {
    try {
      await servers.ready()
    } catch {
      return connectLater()
    }
    if (closed) return
    const next = new pg.Client({ connectionString: servers.url, application_name: 'carteiro listener', ...CLIENT_SOCKET })
    client = next
    next.on('error', () => {})
    next.on('notification', ({ payload = '' }) => dispatch(payload, listeners))
    next.once('end', connectLater)
    try {
      await next.connect().catch(error => {
        servers.failed(error)
        throw error
      })
      // The server notices within 30 s that this client vanished; the client asks nothing and hears of a lost server by keep-alive.
      await next.query(`set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3`)
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
