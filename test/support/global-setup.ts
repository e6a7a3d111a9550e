import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { type Embedded, openEmbedded } from '../../src/store/embedded/server.js'
import { migrate } from '../../src/store/migrate.js'
import { openPool } from '../../src/store/postgres.js'

declare module 'vitest' {
  interface ProvidedContext {
    server: Pick<Embedded, 'url' | 'ownerUrl' | 'adminUrl'>
    /** A folder of a server that was never migrated, for programs that run a server of their own. */
    freshServer: string
    /** What random tests start from: a run with the same seed makes the same requests. */
    seed: number
    /** How many requests are generated for each operation. */
    generatedRequests: number
  }
}

/** One real PostgreSQL for the whole run, with a migrated template that each test file clones. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(folderOfServer(), 'carteiro-test-'))
  chmodSync(folder, 0o755)
  const freshServer = await makeFreshServer(folder)
  const server = await openEmbedded(folder, true, { durable: false })
  const admin = new pg.Client({ connectionString: server.adminUrl })
  await admin.connect()
  // Hundreds of databases live for seconds each: to look after them would cost more than it saves.
  await admin.query('alter system set autovacuum = off')
  await admin.query('select pg_reload_conf()')
  await admin.query('create database template_carteiro owner carteiro')
  await admin.end()
  const owner = openPool({ url: withDatabase(server.ownerUrl, 'template_carteiro'), size: 2, asOwner: true, onError: () => {} })
  await migrate(owner, new URL(server.url).username)
  await owner.end()
  const { url, ownerUrl, adminUrl } = server
  project.provide('server', { url, ownerUrl, adminUrl })
  project.provide('freshServer', freshServer)
  project.provide('seed', readSeed())
  return async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const ENOUGH_BYTES = 6 * 2 ** 30

/** In memory where there is plenty of it: a clone of the template is a thousand small files, which a disk makes half as fast. */
function folderOfServer(): string {
  const inMemory = '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(inMemory)
    return bavail * bsize >= ENOUGH_BYTES && freemem() >= ENOUGH_BYTES ? inMemory : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** Its own settings turn fsync off, so that a program that starts it as it ships does not wait for the disk either. */
async function makeFreshServer(folder: string): Promise<string> {
  const server = await openEmbedded(folder, true, { durable: false })
  const admin = new pg.Client({ connectionString: server.adminUrl })
  await admin.connect()
  for (const setting of ['fsync', 'full_page_writes']) await admin.query(`alter system set ${setting} = off`)
  await admin.end()
  await server.close()
  const fresh = join(folder, 'fresh')
  // cp keeps the owner, without whom the server does not start.
  execFileSync('cp', ['-a', join(folder, 'postgres'), fresh])
  return fresh
}

/** Fixed, so that the same commit gives the same result; another one is given by the environment. */
function readSeed(): number {
  const seed = Number(process.env.TEST_SEED ?? 20_260_718)
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error('TEST_SEED must be a whole number')
  process.stdout.write(`seed ${seed} (TEST_SEED=${seed} repeats this run)\n`)
  return seed
}

export const withDatabase = (url: string, name: string): string => url.replace(/[^/]+$/, name)
