import type pg from 'pg'
import type { Pool } from '../../../src/store/postgres.js'

/**
 * Calls `then` when the answer to a named statement has come, and hands the answer on after it. Only for statements about at least
 * one row: their first value may be a list, or the JSON text of one. To be called before the first connection is opened.
 */
export function afterStatement(pool: Pool, name: string, then: () => Promise<unknown>): void {
  pool.on('connect', client => {
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
    client.query = (async (...args: unknown[]) => {
      const result = await query(...args)
      const asked = args[0] as pg.QueryConfig
      if (isNamed(asked, name) && !isEmpty(asked.values?.[0])) await then()
      return result
    }) as typeof client.query
  })
}

/** A statement about some months has these in its name as well (nameWithin). */
const isNamed = (asked: pg.QueryConfig, name: string): boolean => `${asked.name} `.startsWith(`${name} `)

const isEmpty = (rows: unknown): boolean => rows === '[]' || (Array.isArray(rows) && rows.length === 0)
