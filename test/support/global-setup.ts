import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { openEmbedded } from '../../src/store/embedded/server.js'
import { migrate } from '../../src/store/migrate.js'
import { openPool } from '../../src/store/postgres.js'

declare module 'vitest' {
  interface ProvidedContext {
    serverUrl: string
  }
}

/** One real PostgreSQL for the whole run, with a migrated template that each test file clones. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-test-'))
  chmodSync(folder, 0o755)
  const server = await openEmbedded(folder, true)
  const admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
  await admin.query('create database template_carteiro')
  await admin.end()
  const pool = openPool({ url: withDatabase(server.url, 'template_carteiro'), size: 2, onError: () => {} })
  await migrate(pool)
  await pool.end()
  project.provide('serverUrl', server.url)
  return async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

export const withDatabase = (url: string, name: string): string => url.replace(/[^/]+$/, name)
