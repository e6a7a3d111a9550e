import type pg from 'pg'
import type { Pool } from '../../src/store/postgres.js'

/** What a process asks of its database, counted where it asks. */
export interface QueryCount {
  statements: number
  transactions: number
}

/** Before the first connection is opened. Tells the benchmark whenever it sends a message. */
export function countQueries(pool: Pool): void {
  const count: QueryCount = { statements: 0, transactions: 0 }
  pool.on('connect', client => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    let inside = false
    client.query = ((...args: unknown[]) => {
      const text = typeof args[0] === 'string' ? args[0] : (args[0] as pg.QueryConfig).text
      count.statements++
      if (!inside) count.transactions++
      if (/^(begin|commit|rollback)\b/.test(text)) inside = text.startsWith('begin')
      return query(...args)
    }) as typeof client.query
  })
  process.on('message', () => process.send?.(count))
}
