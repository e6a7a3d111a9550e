import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbedded } from '../../../src/store/embedded/server.js'
import { migrate } from '../../../src/store/migrate.js'
import { openPool } from '../../../src/store/postgres.js'
import { describeSchema, SCHEMA_FILE } from './schema.js'

/** npm run schema: migrates an empty database and writes its schema down. */
const folder = mkdtempSync(join(tmpdir(), 'carteiro-schema-'))
chmodSync(folder, 0o755)
try {
  const server = await openEmbedded(folder, true, { durable: false })
  const pool = openPool({ url: server.ownerUrl, size: 1, asOwner: true, onError: () => {} })
  try {
    await migrate(pool)
    writeFileSync(SCHEMA_FILE, await describeSchema(pool))
  } finally {
    await pool.end()
    await server.close()
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
