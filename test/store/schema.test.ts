import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { databaseForTest } from '../support/database/database.js'
import { describeSchema, SCHEMA_FILE } from '../support/generators/schema.js'

test('migrations/schema.sql shows the schema that the migrations create', async () => {
  const { pool } = await databaseForTest()
  const written = readFileSync(SCHEMA_FILE, 'utf8')
  expect(written, 'migrations/schema.sql is out of date: run "npm run schema"').toBe(await describeSchema(pool))
})

test('monthly partitions are not part of the described schema', async () => {
  const { pool } = await databaseForTest()
  const before = await describeSchema(pool)
  await pool.query("select ensure_month('2031-03-01T00:00:00Z')")
  expect(await describeSchema(pool)).toBe(before)
})
