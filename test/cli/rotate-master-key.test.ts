import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { prepareDatabase } from '../../src/app/database/database.js'
import { loadKeys } from '../../src/app/database/keys.js'
import { followRotation, rotateMasterKey, sealedColumns } from '../../src/app/database/master-key-rotation.js'
import { generateDkimKey, saveDkimKey } from '../../src/channels/email/dkim/keys.js'
import { deriveKeys, type Keys } from '../../src/domain/access/keys.js'
import { seal, unseal } from '../../src/domain/access/sealed.js'
import { newId } from '../../src/domain/id.js'
import { ownSigningKey } from '../../src/evidence/signature/key/own-certificate.js'
import { openPool } from '../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { logParts } from '../support/evidence/log.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount, startGateway, testKeys } from '../support/gateway/gateway.js'
import { request } from '../support/gateway/requests.js'
import { readMigrations } from '../support/sources.js'

/** Every kind of secret that the database keeps, sealed under the test's key. */
let database: TestDatabase
let folder: string
const OLD = '07'.repeat(32)
const NEW = '2a'.repeat(32)
const VALUES = 5

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'carteiro-key-'))
  database = await createDatabase()
  const { pool } = database
  const account = await createAccount(pool, { name: 'acme' })
  const gateway = await startGateway(pool)
  const body = { url: 'https://example.com/gancho' }
  expect((await request(`${gateway.url}/gw/webhooks`, { method: 'POST', token: account.token, body })).status).toBe(201)
  await gateway.close()
  await logParts(pool)
  await ownSigningKey(pool, testKeys.sealing, 'notifica.example.com', new Date())
  await saveDkimKey(pool, testKeys.sealing, generateDkimKey({ domain: 'example.com', selector: 's1' }, 'ed25519'))
  const operator = newId(Date.now())
  const totp = seal(testKeys.sealing, Buffer.alloc(20, 1), `operator ${operator} totp`)
  await pool.query(
    "insert into operator (id, email, name, role, password, totp_secret) values ($1, 'ana@example.com', 'Ana', 'operator', 'x', $2)",
    [operator, totp],
  )
})

afterAll(async () => {
  await database.drop()
  rmSync(folder, { recursive: true })
})

const keysOf = (hex: string): Keys => deriveKeys(Buffer.from(hex, 'hex'))
/** How many of the stored secrets open. */
async function countOpen({ sealing }: Pick<Keys, 'sealing'>): Promise<number> {
  let open = 0
  for (const { table, column, id, contextOf } of sealedColumns) {
    const { rows } = await database.pool.query(
      `select ${id} as id, ${column} as sealed from ${table} where ${column} is not null`,
    )
    for (const row of rows) {
      try {
        unseal(sealing, row.sealed, contextOf(row.id))
        open++
      } catch {}
    }
  }
  return open
}
const ownerPool = () => openPool({ url: database.ownerUrl, size: 1, asOwner: true, onError: () => {} })
const configOf = (env: NodeJS.ProcessEnv) => readConfig({ CARTEIRO_DATA: folder, ...env })

test('every column that the schema calls encrypted is sealed anew by a rotation', () => {
  const encrypted = [...readMigrations().matchAll(/--[^\n]*\bencrypted\b[^\n]*\n(?: *--[^\n]*\n)*((?: {2}\w+ bytea[^\n]*\n)+)/gi)]
    .flatMap(([, columns]) => [...columns!.matchAll(/^ {2}(\w+)/gm)].map(([, column]) => column!))
    .sort()
  expect(encrypted).toEqual([...sealedColumns.map(({ column }) => column), 'root_key'].sort())
})

test('a rotation that is interrupted changes nothing; one that ends leaves nothing under the old key, and nodes, tokens and links go on', async () => {
  expect(await countOpen(testKeys)).toBe(VALUES)
  const owner = ownerPool()
  await database.asOwner(
    `create function stop_rotation() returns trigger language plpgsql as $$ begin raise exception 'stopped'; end $$;
     create trigger stop_rotation before update of key_fingerprint on installation for each row execute function stop_rotation()`,
  )
  const order = { keys: keysOf(OLD), next: Buffer.from(NEW, 'hex'), actor: 'command:ana' }
  await expect(rotateMasterKey(owner, order)).rejects.toThrow('stopped')
  await database.asOwner('drop trigger stop_rotation on installation')
  expect([await countOpen(keysOf(OLD)), await countOpen(keysOf(NEW))]).toEqual([VALUES, 0])

  // A node that runs, and was told of the next key.
  const both = configOf({ CARTEIRO_MASTER_KEY: OLD, CARTEIRO_NEXT_MASTER_KEY: NEW })
  const node = keysOf(OLD)
  const given = node.sealing
  expect(await followRotation(both, node, database.pool)).toBe('same')
  const env = { CARTEIRO_MASTER_KEY: OLD, CARTEIRO_NEXT_MASTER_KEY: NEW, DATABASE_OWNER_URL: database.ownerUrl }
  const { status, stdout, stderr } = await runCommand(['rotate-master-key', '--wait', '0', '--json'], database.url, env)
  expect([status, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout)).toEqual({
    fingerprint: keysOf(NEW).fingerprint,
    previous: keysOf(OLD).fingerprint,
    resealed: VALUES,
  })
  expect([await countOpen(keysOf(OLD)), await countOpen(keysOf(NEW))]).toEqual([0, VALUES])
  // Even before it noticed.
  expect(await countOpen({ sealing: given })).toBe(VALUES)
  const late = seal(given, Buffer.from('x'), 'late')
  expect(await followRotation(both, node, database.pool)).toBe('rotated')
  expect(unseal(keysOf(NEW).sealing, seal(given, Buffer.from('y'), 'new'), 'new').toString()).toBe('y')
  expect(unseal(given, late, 'late').toString()).toBe('x')
  expect(await followRotation(both, node, database.pool)).toBe('same')
  expect(await followRotation(configOf({ CARTEIRO_MASTER_KEY: OLD }), keysOf(OLD), database.pool)).toBe('missing')

  // What others have of us stays valid: tokens, links on paper, replies.
  const { keys } = await prepareDatabase(database, () => keysOf(NEW))
  for (const name of ['link', 'pepper', 'session', 'simulator'] as const) expect(keys[name].equals(testKeys[name])).toBe(true)
  expect(keys.tokenVerifying.equals(testKeys.tokenVerifying)).toBe(true)
  await expect(prepareDatabase(database, () => keysOf(OLD))).rejects.toThrow('outra chave mestra')
  const { rows } = await database.pool.query("select detail from audit where action = 'rotate master key'")
  expect(rows).toEqual([{ detail: { from: keysOf(OLD).fingerprint, to: keysOf(NEW).fingerprint, resealed: VALUES } }])
  await owner.end()
})

test('where the key is a file, the new one takes its place, and a crash in between leaves a start that finds the right one', async () => {
  const path = join(folder, 'master.key')
  writeFileSync(path, `${NEW}\n`, { mode: 0o600 })
  const env = { CARTEIRO_MASTER_KEY: '', CARTEIRO_DATA: folder, DATABASE_OWNER_URL: database.ownerUrl }
  const rotate = () => runCommand(['rotate-master-key', '--wait', '0', '--json'], database.url, env)
  const first = await rotate()
  expect([first.status, first.stderr]).toEqual([0, ''])
  const made = readFileSync(path, 'utf8').trim()
  expect([made === NEW, existsSync(`${path}.next`), await countOpen(keysOf(made))]).toEqual([false, false, VALUES])

  const owner = ownerPool()
  const config = configOf({})
  writeFileSync(`${path}.next`, `${NEW}\n`, { mode: 0o600 })
  const { keys } = await prepareDatabase(database, () => keysOf(made))
  await rotateMasterKey(owner, { keys, next: Buffer.from(NEW, 'hex'), actor: 'x' })
  await owner.end()
  expect((await runCommand(['account', 'list', '--json'], database.url, env)).status).toBe(0)
  expect(await followRotation(config, keys, database.pool)).toBe('rotated')
  // A node had not noticed, and sealed with the old key after the first pass: a node that starts opens it.
  const { table, column, id, contextOf } = sealedColumns[0]!
  const { rows } = await database.pool.query(`select ${id} as id, ${column} as sealed from ${table} limit 1`)
  const late = seal(
    keysOf(made).sealing,
    unseal(keysOf(NEW).sealing, rows[0].sealed, contextOf(rows[0].id)),
    contextOf(rows[0].id),
  )
  await database.tamper(`update ${table} set ${column} = $1 where ${id} = $2`, [late, rows[0].id])
  const restarted = await prepareDatabase(database, (isNew, fingerprint) => loadKeys(config, isNew, fingerprint))
  expect([restarted.keys.fingerprint, await countOpen(restarted.keys)]).toEqual([keysOf(NEW).fingerprint, VALUES])
  // Once more: it finishes what was interrupted.
  const again = await rotate()
  expect([again.status, again.stderr]).toEqual([0, ''])
  expect(await countOpen(keysOf(NEW))).toBe(VALUES)
  expect([readFileSync(path, 'utf8').trim(), existsSync(`${path}.next`)]).toEqual([NEW, false])
  expect((await runCommand(['rotate-master-key'], database.url, { ...env, CARTEIRO_MASTER_KEY: NEW })).stderr).toContain(
    'CARTEIRO_NEXT_MASTER_KEY',
  )
})
