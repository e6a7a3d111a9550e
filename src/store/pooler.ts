import pg from 'pg'
import { CLIENT_SOCKET, type Servers } from './servers.js'

/** How many transactions are opened beside each other to meet the connection that another client used a moment ago. */
const TRANSACTIONS = 4

/**
 * Whether the URL leads to a pooler that gives a connection away between two transactions (PgBouncer with pool_mode=transaction or
 * statement). There the program would lose its prepared statements, its role, its time-outs, LISTEN and the lock of migrations, or
 * meet those of others.
 *
 * A pooler makes up the process id that it tells its clients, so a direct connection is known by its own. Behind a pooler, two clients
 * have the same server process only where connections are given away; an idle one is used before a new one is opened.
 */
export async function sharesSessions(servers: Servers): Promise<boolean> {
  await servers.ready()
  const clients: pg.Client[] = []
  const open = async (): Promise<pg.Client> => {
    const client = new pg.Client({
      connectionString: servers.url,
      application_name: 'carteiro',
      query_timeout: 10_000,
      ...CLIENT_SOCKET,
    })
    client.on('error', () => {})
    clients.push(client)
    await client.connect()
    return client
  }
  try {
    const first = await open()
    const pid = await readPid(first)
    if (pid === (first as pg.Client & { processID: number }).processID) return false
    for (let n = 0; n < TRANSACTIONS; n++) {
      const other = await open()
      await other.query('begin')
      if ((await readPid(other)) === pid) return true
    }
    return false
  } catch (error) {
    if (isStatementMode(error)) return true
    throw error
  } finally {
    await Promise.all(clients.map(client => client.end().catch(() => {})))
  }
}

async function readPid(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]!.pid
}

/** PgBouncer with pool_mode=statement ends a client that begins a transaction. */
const isStatementMode = (error: unknown): boolean => error instanceof Error && /statement pooling mode/i.test(error.message)
