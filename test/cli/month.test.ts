import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import pg from 'pg'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { lowestId } from '../../src/domain/id.js'
import { checkArchive, writeMonth } from '../../src/evidence/archive/month-archive.js'
import { readLogProof } from '../../src/evidence/log-proof.js'
import { listCheckpoints } from '../../src/store/evidence/checkpoints.js'
import { refuseAudit } from '../support/database/audit.js'
import { createDatabase } from '../support/database/database.js'
import { holdRows } from '../support/database/locks.js'
import { extendTo, insertChain, logParts } from '../support/evidence/log.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount } from '../support/gateway/gateway.js'

/** Whole months leave the database; what the log says of them stays. */
const database = await createDatabase()
const { pool } = database
const folder = mkdtempSync(join(tmpdir(), 'carteiro-month-'))
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await database.drop()
})

const month = async (...args: string[]): Promise<unknown> => {
  const { status, stdout, stderr } = await runCommand(['month', ...args, '--json'], database.url, {
    DATABASE_OWNER_URL: database.ownerUrl,
  })
  return status === 0 ? JSON.parse(stdout) : stderr
}
const audit = async (): Promise<{ faults: string[]; log: object }> => {
  const { stdout } = await runCommand(['audit', '--json'], database.url)
  process.exitCode = undefined
  return JSON.parse(stdout)
}

const march = (place: number): string => lowestId(Date.UTC(2025, 2, 10) + place)
const april = (place: number): string => lowestId(Date.UTC(2025, 3, 10) + place)

/** A notification whose data were erased at the end of its term. */
async function plant(account: string, id: string): Promise<void> {
  await insertChain(pool, 3, id)
  await database.tamper('update event set data = null, salt = null where notification_id = $1', [id])
  await pool.query(
    `insert into notification (id, account_id, mode, accepted_at, erased_at) values ($1, $2, 'live', '2025-03-10', now())`,
    [id, account],
  )
  await pool.query(
    `insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, request)
     values ($1, 'email', $2, 'live', 'done', now(), now(), 1, 'always', '{}')`,
    [id, account],
  )
  await pool.query("insert into link (code, notification_id, channel) values ($1, $2, 'email')", [id, id])
  // Its visits were to be looked at again.
  await pool.query(
    "insert into retention_postponed (account_id, mode, kind, notification_id) values ($1, 'live', 'visits', $2)",
    [account, id],
  )
}

const erase = (id: string, at: string) => database.tamper(`update notification set erased_at = ${at} where id = $1`, [id])

test('a month leaves for an archive once every term of it is over, and the log, its proofs and the audit still hold', async () => {
  const { id: account } = await createAccount(pool)
  for (const day of ['2025-03-10', '2025-04-10']) await pool.query('select ensure_month($1)', [day])
  const [first, second, other] = [march(1), march(2), april(1)]
  for (const id of [first, second, other]) await plant(account, id)
  const out = join(folder, '2025-03.ndjson.gz')
  // The events are not in the log yet.
  expect(await month('drop', '2025-03', '--out', out)).toContain('fora do registro')
  const parts = await logParts(pool)
  await extendTo(parts, 9)
  const proof = await readLogProof(pool, first)

  await erase(second, 'null')
  expect(await month('drop', '2025-03', '--out', out)).toContain('dados pessoais')
  await createAccount(pool, { name: 'other' })
  expect(await month('list')).toContainEqual(
    expect.objectContaining({ month: '2025-03', reason: expect.stringMatching(/dados pessoais.*Contas: [\w-]+$/) }),
  )
  // Those of the later months are behind it.
  expect(await month('list')).toContainEqual(
    expect.objectContaining({ month: '2025-04', reason: expect.stringContaining('mais antigo') }),
  )
  await erase(second, 'now()')
  await pool.query("insert into legal_hold (notification_id, reason, held_by) values ($1, 'r', 'b')", [second])
  expect(await month('drop', '2025-03', '--out', out)).toContain('guarda legal')
  await pool.query('delete from legal_hold')
  expect(await month('drop', '2025-04', '--out', out)).toContain('mais antigo')
  expect(await month('drop', new Date().toISOString().slice(0, 7), '--out', out)).toContain('menos de um mês')
  const before = await audit()
  expect(before.faults).toEqual([])

  const taken = join(folder, 'taken.gz')
  writeFileSync(taken, 'the only copy of another month')
  expect(await month('drop', '2025-03', '--out', taken)).toContain('já existe')
  expect(readFileSync(taken, 'utf8')).toBe('the only copy of another month')
  expect((await pool.query('select from notification')).rowCount).toBe(3)

  const reader = await holdRows(database.url, 'lock table event in access share mode')
  expect(await month('drop', '2025-03', '--out', out)).toContain('carteiro backup')
  await reader.release()
  // Whether the month is gone is not certain after an error of another kind: the file may be its only copy.
  const unsure = join(folder, 'unsure.gz')
  const refuses = await refuseAudit(database)
  expect(await month('drop', '2025-03', '--out', unsure)).toContain('no entry')
  await refuses.end()
  expect([existsSync(unsure), existsSync(out)]).toEqual([true, false])
  expect(await month('drop', '2025-03', '--out', out)).toMatchObject({ month: '2025-03', notifications: 2, events: 6 })
  expect((await pool.query('select id from notification')).rows).toEqual([{ id: other }])
  expect((await pool.query('select notification_id as id from link')).rows).toEqual([{ id: other }])
  expect((await pool.query('select notification_id as id from retention_postponed')).rows).toEqual([{ id: other }])
  expect((await pool.query("select from pg_class where relname like '%_2025_03'")).rowCount).toBe(0)
  const lines = gunzipSync(readFileSync(out)).toString().trim().split('\n')
  expect(lines.map(line => JSON.parse(line).notification?.id)).toEqual([undefined, first, second])

  // The log has every hash: the same proof, and nothing that differs.
  expect(await readLogProof(pool, first)).toEqual(proof)
  const after = await audit()
  expect([after.faults, after.log]).toEqual([[], before.log])
  await plant(account, april(2))
  await extendTo(parts, 12)
  expect((await listCheckpoints(pool, -1, 10)).at(-1)).toMatchObject({ size: 12 })
  expect(await month('verify', out)).toMatchObject({ month: '2025-03', notifications: 2 })
  expect(await month('list')).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ month: '2025-03', state: 'fora do banco', notifications: 2 }),
      expect.objectContaining({ month: '2025-04', state: 'pode sair' }),
    ]),
  )
  const { rows } = await pool.query("select subject from audit where action = 'month drop'")
  expect(rows).toEqual([{ subject: '2025-03' }])
})

test('of two that write to one name, one gets it and neither changes the other', async () => {
  const out = join(folder, 'both.gz')
  const written = await Promise.allSettled([writeMonth(pool, '2025-04', out), writeMonth(pool, '2025-04', out)])
  expect(written.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(await checkArchive(pool, out)).toMatchObject({ month: '2025-04', notifications: 2 })
  expect(readdirSync(folder).filter(name => name.endsWith('.part'))).toEqual([])
})

test('an archive that was changed or cut does not verify', async () => {
  const text = gunzipSync(readFileSync(join(folder, '2025-03.ndjson.gz'))).toString()
  const changed = join(folder, 'changed.gz')
  const verifyText = async (content: string): Promise<unknown> => {
    writeFileSync(changed, gzipSync(content))
    return month('verify', changed)
  }
  expect(await verifyText(text.replace('"type":"note"', '"type":"read"'))).toContain('está rompida no evento 1')
  expect(await verifyText(text.split('\n').slice(0, 2).join('\n'))).toContain('não é o que foi gravado')
  const lines = text.trim().split('\n')
  const last = JSON.parse(lines[2]!)
  last.events.pop()
  expect(await verifyText([...lines.slice(0, 2), JSON.stringify(last)].join('\n'))).toContain('faltam eventos')
})

test('a month is dropped last: nobody waits for the tables while what goes with it is deleted', async () => {
  const locksOf = (pid: number, which: string) =>
    pool.query<{ name: string }>(`select relation::regclass::text as name from pg_locks where pid = $1 and ${which}`, [pid])
  const lockedBy = async (pid: number): Promise<string[]> =>
    (await locksOf(pid, "mode = 'AccessExclusiveLock' and locktype = 'relation'")).rows.map(({ name }) => name)
  const owner = new pg.Client({ connectionString: database.ownerUrl })
  await owner.connect()
  onTestFinished(() => owner.end())
  const { rows } = await owner.query('select pg_backend_pid() as pid')
  await owner.query('begin')
  // A slow delete: one of its rows is somebody else's at the moment.
  const holder = await holdRows(database.url, 'select from link where notification_id = $1 for update', [april(1)])
  const dropping = owner.query("select drop_month('2025-04-01', 'x')")
  await expect.poll(async () => (await locksOf(rows[0].pid, 'not granted')).rowCount).toBe(1)
  expect(await lockedBy(rows[0].pid)).toEqual([])
  // What comes meanwhile counts.
  await pool.query("insert into legal_hold (notification_id, reason, held_by) values ($1, 'r', 'b')", [april(1)])
  const refused = expect(dropping).rejects.toThrow('may not be dropped: held')
  await holder.release()
  await refused
  await owner.query('rollback')
  await pool.query('delete from legal_hold')
  await owner.query('begin')
  await owner.query("select drop_month('2025-04-01', 'x')")
  expect(await lockedBy(rows[0].pid)).toEqual(expect.arrayContaining(['notification', 'notification_2025_04']))
  await owner.query('rollback')
})

test('events that are missing beyond those of the dropped month are found, and nobody adds a dropped month but the drop', async () => {
  await expect(pool.query('insert into dropped_month select * from dropped_month')).rejects.toMatchObject({ code: '42501' })
  await expect(database.asOwner('delete from dropped_month')).rejects.toThrow(/refused/)
  await expect(pool.query("select drop_month('2025-04-01', 'x')")).rejects.toMatchObject({ code: '42501' })
  const { stderr } = await runCommand(['month', 'drop', '2025-04', '--out', join(folder, 'x.gz')], database.url)
  expect(stderr).toContain('DATABASE_OWNER_URL')
  await database.tamper('update dropped_month set events = events - 1')
  expect((await audit()).faults.join('\n')).toContain('não existe mais')
})
