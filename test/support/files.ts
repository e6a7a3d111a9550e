import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll } from 'vitest'
import type { ObjectStore } from '../../src/runtime/objects/object-store.js'
import { openObjectStore, readObjectStore } from '../../src/runtime/objects/settings.js'
import { openPool, type Pool } from '../../src/store/postgres.js'

/** A folder for FILES_URL, for all tests of a file. */
export function filesFolder(): { path: string; url: string; names(): string[] } {
  const path = mkdtempSync(join(tmpdir(), 'carteiro-files-'))
  afterAll(() => rmSync(path, { recursive: true, force: true }))
  const names = (): string[] =>
    readdirSync(path, { recursive: true, withFileTypes: true })
      .filter(found => found.isFile())
      .map(found => relative(path, join(found.parentPath, found.name)))
      .sort()
  return { path, url: `file://${path}`, names }
}

export const storeAt = (url: string): ObjectStore => openObjectStore(readObjectStore(url)!)

/** A pool that keeps files outside, for all tests of a file. */
export function poolWithFiles(databaseUrl: string, files: ObjectStore): Pool {
  const pool = openPool({ url: databaseUrl, size: 5, timeoutFactor: 20, files, onError: () => {} })
  afterAll(() => pool.end())
  return pool
}

export function fileOf(bytes: Buffer = randomBytes(600_000)): { bytes: Buffer; sha256: string } {
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') }
}
