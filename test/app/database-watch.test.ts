import { randomUUID } from 'node:crypto'
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { settleRestore } from '../../src/app/backup/settle.js'
import { readConfig } from '../../src/app/config.js'
import { type DatabaseMemory, MEMORY_FILE } from '../../src/app/database/database-memory.js'
import { DatabaseWatch, type WatchParts } from '../../src/app/database/database-watch.js'
import { startWorker } from '../../src/app/worker/worker.js'
import { holdCopy, releaseRestored } from '../../src/engine/unknown/restored.js'
import { checkpointText, signNote } from '../../src/evidence/note.js'
import { findFaults } from '../../src/evidence/notification-faults.js'
import { claimDeliveries, claimFailovers, findExpiredLeases } from '../../src/store/delivery/claims.js'
import { lockDueSteps } from '../../src/store/delivery/due-steps.js'
import { listRestored, markRestoration, type RestoredPlace } from '../../src/store/delivery/restored.js'
import { findStranded, takeOrphaned, takeUnknown } from '../../src/store/delivery/unknown-outcomes.js'
import { openRestoration } from '../../src/store/home-server.js'
import { readEventLog } from '../../src/store/notification/event-log.js'
import { type Pool, type Queryable, rehearse, transaction } from '../../src/store/postgres.js'
import { refuseAudit } from '../support/database/audit.js'
import { readPlans } from '../support/database/plans.js'
import { extendTo, logParts } from '../support/evidence/log.js'
import { bulkWorkForTest } from '../support/gateway/bulk.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount, gatewayForFile, testKeys } from '../support/gateway/gateway.js'
import { ScriptedCarrier, startTestWorker } from '../support/gateway/lanes.js'
import { send, validSend } from '../support/gateway/requests.js'

/** A database that is not the living one any more, in every way in which a node can tell. */
const { database, gateway, account } = await gatewayForFile({ account: { name: 'acme', settings: { 'bulk.perMinute': 1 } } })
const { pool } = database
let folder: string

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'carteiro-memory-'))
  await database.tamper('delete from restoration')
  await database.asOwner(`update home_server set server = server_identity(), timeline = server_timeline(), started_at = pg_postmaster_start_time(),
    database = (select oid from pg_database where datname = current_database())`)
  await watch().close(true)
})

afterEach(() => rmSync(folder, { recursive: true }))

const accept = async (more: object = {}): Promise<string> =>
  ((await send(gateway.url, account.token, { ...validSend, ...more })).body as { idEmail: string }).idEmail

/** A node that starts. */
const watch = (more: Partial<WatchParts> = {}): DatabaseWatch =>
  new DatabaseWatch({
    pool,
    clock: Date.now,
    log: pino({ level: 'silent' }),
    memoryFile: join(folder, MEMORY_FILE),
    isEmbedded: true,
    archives: [],
    graceMs: 0,
    ...more,
  })
const memoryPath = (): string => join(folder, MEMORY_FILE)
/** What another life of the database wrote after the copy was made. */
function rememberMore(): void {
  const memory = JSON.parse(readFileSync(memoryPath(), 'utf8')) as DatabaseMemory
  // In place: the file is the same.
  writeFileSync(memoryPath(), JSON.stringify({ ...memory, size: memory.size + 3 }))
}
const restart = () => database.asOwner("update home_server set started_at = started_at - interval '1 hour'")
const causes = async (): Promise<string[]> => (await pool.query('select cause from restoration')).rows.map(({ cause }) => cause)
const isConfirmed = async (): Promise<boolean> =>
  (await pool.query('select started_at = pg_postmaster_start_time() as yes from home_server')).rows[0].yes === true
const statesOf = async (id: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await pool.query('select channel, state from delivery where notification_id = $1', [id])).rows.map(row => [
      row.channel,
      row.state,
    ]),
  )

/** The pool of a node that does something just before each of its statements of this text, which are counted from 1 on. */
function before(text: RegExp, act: (place: number) => Promise<unknown>): Pool {
  let count = 0
  return new Proxy(pool, {
    get(target, key) {
      const value = Reflect.get(target, key)
      if (key !== 'query') return typeof value === 'function' ? value.bind(target) : value
      return async (...args: unknown[]) => {
        const asked = typeof args[0] === 'string' ? args[0] : (args[0] as { text: string }).text
        if (text.test(asked)) await act(++count)
        return (target.query as (...given: unknown[]) => unknown)(...args)
      }
    },
  })
}

/** A pool that runs `act` once, before the first statement of this text. */
const meanwhile = (text: RegExp, act: () => Promise<unknown>): Pool => before(text, async place => place === 1 && act())

test('an older copy holds what was under way for a person, and new sends go', async () => {
  await accept()
  await extendTo(await logParts(pool), 1)
  await watch().close(true)
  const queued = await accept()
  const sequence = await accept({ sms: { number: '11987654321', typeSend: '1' } })
  const later = await accept({ sendAt: new Date(Date.now() + 3_600_000).toISOString() })
  await pool.query(
    "update delivery set state = 'sending', lease_owner = gen_random_uuid(), lease_until = now(), attempt = 1, carrier = 'scripted' where notification_id = $1 and channel = 'email'",
    [sequence],
  )
  await pool.query(
    `insert into bulk_batch (id, account_id, mode, name, state, base, token, address, created_by) select gen_random_uuid(), id, 'live', 'x', 'sending', '{}', '', '', '' from account where name = 'acme'`,
  )
  rememberMore()
  await restart()
  const node = watch()
  await node.look()
  await node.look()
  expect([await causes(), await isConfirmed()]).toEqual([['behind'], true])
  expect(await statesOf(queued)).toEqual({ email: 'unresolved' })
  expect(await statesOf(sequence)).toEqual({ email: 'unresolved', sms: 'unresolved' })
  expect(await statesOf(later)).toEqual({ email: 'waiting' })
  expect((await pool.query('select state from bulk_batch')).rows).toEqual([{ state: 'paused' }])
  expect((await pool.query("select detail from audit where action = 'restored'")).rows).toMatchObject([
    { detail: { cause: 'behind', held: 4 } },
  ])

  const carrier = new ScriptedCarrier()
  const worker = startTestWorker(pool, [{ carrier }])
  const fresh = await accept()
  await expect.poll(() => carrier.got.map(({ notification }) => notification)).toEqual([fresh])

  const run = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await runCommand([...args, '--json'], database.url)).stdout)
  expect(await run('restored', 'count')).toMatchObject([
    { channel: 'email', count: 3 },
    { channel: 'sms', count: 1 },
  ])
  expect(await run('restored', 'history')).toMatchObject([{ cause: 'behind', held: 4 }])
  expect(await run('restored', 'list', '--channel', 'sms')).toMatchObject([{ id: sequence, account: 'acme', was: 'waiting' }])
  // One of them, then a channel, then all.
  expect(await run('restored', 'release', queued)).toEqual({ found: 1, released: 1 })
  await expect.poll(() => carrier.got.map(({ notification }) => notification)).toEqual([fresh, queued])
  expect(await run('restored', 'release', '--channel', 'sms')).toEqual({ found: 1, released: 1 })
  expect(await statesOf(sequence)).toEqual({ email: 'unresolved', sms: 'waiting' })
  // What cannot be put on record is not sent.
  const refuses = await refuseAudit(database)
  expect((await runCommand(['restored', 'release', '--all'], database.url)).status).toBe(1)
  await refuses.end()
  expect(await statesOf(sequence)).toEqual({ email: 'unresolved', sms: 'waiting' })
  expect(await run('restored', 'release', '--all')).toEqual({ found: 2, released: 2 })
  await expect.poll(async () => (await statesOf(sequence)).email).toBe('done')
  expect(carrier.got).toHaveLength(4)
  expect((await runCommand(['restored', 'release', '--all'], database.url)).stderr).toContain('Nada disto está retido')
  expect((await runCommand(['restored', 'release'], database.url)).stderr).toContain('--all')
  expect((await pool.query("select from audit where action = 'restored release'")).rowCount).toBe(3)
  await worker.stop()
  for await (const page of readEventLog(pool)) expect(page.flatMap(findFaults)).toEqual([])
})

test('a server that was only started again goes on, with what the node remembers or without', async () => {
  await restart()
  await watch().look()
  expect([await causes(), await isConfirmed()]).toEqual([[], true])
  await restart()
  const [forgetful, waiting] = [watch({ memoryFile: null }), watch({ memoryFile: null, graceMs: 60_000 })]
  // Another node may remember more: this one leaves the decision to it for a while, and nothing is claimed.
  await waiting.look()
  expect(await isConfirmed()).toBe(false)
  await forgetful.look()
  expect([await causes(), await isConfirmed()]).toEqual([[], true])
})

test('what nodes and archives remember from before a restoration says nothing any more, and what they learn after it counts', async () => {
  const { key } = await logParts(pool)
  const head = async (): Promise<number> => (await pool.query('select size from log_head')).rows[0].size
  const archive = join(folder, 'checkpoints.txt')
  const text = checkpointText(key.origin, (await head()) + 5, Buffer.alloc(32, 1), new Date())
  writeFileSync(archive, `${signNote(text, key.origin, key.privateKey)}\n`)
  rememberMore()
  const [old, away] = [readFileSync(memoryPath()), readFileSync(archive)]
  await restart()
  await watch().look()
  expect(await causes()).toEqual(['behind'])
  // A node that was away, with its own memory of the life that ended, and every start of the server since.
  for (let round = 0; round < 2; round++) {
    writeFileSync(memoryPath(), old)
    writeFileSync(archive, away)
    const id = await accept()
    await restart()
    await watch({ archives: [archive] }).look()
    expect([await causes(), await statesOf(id), await isConfirmed()]).toEqual([['behind'], { email: 'queued' }, true])
  }
  const node = watch()
  await node.look()
  await node.close(true)
  rememberMore()
  await watch().look()
  expect(await causes()).toEqual(['behind', 'behind'])
})

test('a promoted standby that lacks nothing goes on; without a memory, or with some of it missing, it is a copy', async () => {
  const promote = () =>
    database.asOwner("update home_server set timeline = timeline + 1, started_at = started_at - interval '1 hour'")
  await promote()
  await watch().look()
  expect([await causes(), await isConfirmed()]).toEqual([[], true])
  await promote()
  rememberMore()
  await watch().look()
  expect(await causes()).toEqual(['behind'])
  await promote()
  await watch({ memoryFile: null }).look()
  expect(await causes()).toEqual(['behind', 'timeline'])
})

test('a dump that was restored by hand, and a data folder that was copied with its memory, are copies', async () => {
  await database.asOwner('update home_server set database = 1')
  await watch({ memoryFile: null }).look()
  expect(await causes()).toEqual(['server'])
  await watch().close(true)
  await restart()
  copyFileSync(memoryPath(), `${memoryPath()}.copy`)
  renameSync(`${memoryPath()}.copy`, memoryPath())
  // Beside a server elsewhere that is a second node, which was given the folder with the key.
  await watch({ isEmbedded: false, graceMs: 60_000 }).look()
  expect(await causes()).toEqual(['server'])
  await watch().look()
  expect(await causes()).toEqual(['server', 'folder'])
})

test('a checkpoint that left for a file is a memory too', async () => {
  const { key } = await logParts(pool)
  const { rows } = await pool.query('select size from log_head')
  const text = checkpointText(key.origin, rows[0].size + 1, Buffer.alloc(32, 1), new Date())
  const archive = join(folder, 'checkpoints.txt')
  writeFileSync(archive, `${signNote(text, key.origin, key.privateKey)}\n`)
  await restart()
  await watch({ memoryFile: null, archives: [archive] }).look()
  expect(await causes()).toEqual(['behind'])
})

test('a running node notices a database that is shorter than it was, and an interrupted hold is finished', async () => {
  const node = watch({ memoryFile: null })
  await node.look()
  await database.tamper('update log_head set size = 0, peaks = $1', [Buffer.alloc(0)])
  await node.look()
  expect(await causes()).toEqual(['behind'])
  const id = await accept()
  await transaction(pool, db => openRestoration(db, 'backup', 'x'))
  expect(await isConfirmed()).toBe(false)
  await watch({ memoryFile: null }).look()
  expect([await statesOf(id), await isConfirmed()]).toEqual([{ email: 'unresolved' }, true])
})

test('a worker that stops remembers where the database ends only with its last events in the log', async () => {
  const worker = await startWorker({
    config: readConfig({ CARTEIRO_DATA: folder }),
    keys: testKeys,
    pool,
    databaseUrl: database.url,
    log: pino({ level: 'silent' }),
    memoryFile: memoryPath(),
  })
  await accept()
  await worker.close()
  const { isFinal, size } = JSON.parse(readFileSync(memoryPath(), 'utf8')) as DatabaseMemory
  const events = (await pool.query('select from event')).rowCount!
  // Where open transactions of other test files hold the log back, it does not say so.
  expect([isFinal, size]).toEqual(isFinal ? [true, events] : [false, size])
})

test('a worker whose look at the database takes too long says so, and is silent where the database is gone', async () => {
  const failures = [
    Object.assign(new pg.DatabaseError('canceling statement due to statement timeout', 0, 'error'), {
      code: '57014',
      severity: 'ERROR',
    }),
    Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' }),
  ]
  const lines: { level: number; chore?: string; err?: { message: string } }[] = []
  const log = pino({ level: 'debug' }, { write: line => void lines.push(JSON.parse(line)) })
  let failure: Error | undefined
  const failing = before(/from home_server h/, async () => {
    if (failure !== undefined) throw failure
  })
  const worker = await startWorker({
    config: readConfig({ CARTEIRO_DATA: folder }),
    keys: testKeys,
    pool: failing,
    databaseUrl: database.url,
    log,
    memoryFile: memoryPath(),
    timing: { pollMs: 20 },
  })
  const levels = () => new Set(lines.filter(({ chore }) => chore?.startsWith('database copy')).map(({ level }) => level))
  const { debug, warn } = log.levels.values
  try {
    for (const [index, level] of [warn, debug].entries()) {
      lines.length = 0
      failure = failures[index]
      await expect.poll(levels).toEqual(new Set([level]))
    }
  } finally {
    failure = undefined
    await worker.close()
  }
})

test('a backup that ends where the node of this machine stopped holds nothing; where it was killed, everything', async () => {
  const id = await accept()
  const mark = () => transaction(pool, db => openRestoration(db, 'backup', 'x'))
  const settle = () => settleRestore(pool, Date.now, { by: 'command:ana', memoryFile: memoryPath() })
  await watch().close(true)
  await mark()
  expect([await settle(), await statesOf(id), await isConfirmed()]).toEqual(['nothing happened since', { email: 'queued' }, true])
  // One that stopped without all events in the log cannot say that nothing happened since.
  await watch().close(false)
  await mark()
  expect([await settle(), await statesOf(id), await isConfirmed()]).toEqual(['held', { email: 'unresolved' }, true])
})

test('while a copy is being held, no line of a batch is accepted, and the lines that were are held', async () => {
  const work = await bulkWorkForTest(pool)
  const lines = Array.from({ length: 3 }, (_, index) => `P${index};p${index}@example.com`)
  const base = JSON.stringify({ subject: 'Aviso', content: '<p>x</p>' })
  await fetch(`${gateway.url}/gw/bulk?${new URLSearchParams({ name: 'copia', base, start: '1' })}`, {
    method: 'POST',
    headers: { authorization: account.token, 'content-type': 'text/csv' },
    body: ['nome;email', ...lines, ''].join('\n'),
  })
  await work.check()
  // One line: the account's pace is one a minute.
  await work.send()
  const states = async () =>
    (
      await pool.query(
        `select b.state as batch, b.accepted > 0 and b.accepted < b.total as part, array_agg(distinct d.state) as deliveries
         from bulk_batch b join bulk_line l on l.batch_id = b.id join delivery d on d.notification_id = l.notification_id
         where b.name = 'copia' group by b.id`,
      )
    ).rows
  expect(await states()).toEqual([{ batch: 'sending', part: true, deliveries: ['queued'] }])
  // Its next turn comes while the deliveries are being held.
  const racing = meanwhile(/select d.notification_id as notification/, async () => {
    await pool.query('update bulk_batch set next_at = now()')
    await work.send()
  })
  await holdCopy(racing, Date.now, { cause: 'behind', detail: 'x', by: 'node:x' })
  expect(await isConfirmed()).toBe(true)
  expect(await states()).toEqual([{ batch: 'paused', part: true, deliveries: ['unresolved'] }])
})

test('a node that finds nothing wrong lets nothing be claimed while another one still holds what the copy had under way', async () => {
  const id = await accept()
  await restart()
  const other = meanwhile(/^update home_server/, () => transaction(pool, db => openRestoration(db, 'behind', 'x')))
  const node = watch({ pool: other, memoryFile: null })
  await node.look()
  expect(await isConfirmed()).toBe(true)
  const question = { channel: 'email', mode: 'live', carrier: 'scripted', rank: 0, limit: 50, leaseMs: 60_000 } as const
  const claimed = async (): Promise<string[]> => {
    const asked = { ...question, owner: randomUUID() }
    const claims = [...(await claimDeliveries(pool, asked)), ...(await claimFailovers(pool, asked))]
    return claims.map(({ notification }) => notification)
  }
  expect(await claimed()).toEqual([])
  await node.look()
  expect(await statesOf(id)).toEqual({ email: 'unresolved' })
  const fresh = await accept()
  expect(await claimed()).toEqual([fresh])
})

test('until a node has looked, and while a copy is being held, nothing of what was under way is taken up', async () => {
  const [dead, unknown, stranded, steps] = [await accept(), await accept(), await accept(), await accept()]
  const set = (id: string, state: string) => pool.query(`update delivery set ${state} where notification_id = $1`, [id])
  await set(dead, "state = 'sending', lease_owner = gen_random_uuid(), lease_until = now() - interval '1 hour', carrier = 'x'")
  await set(unknown, "state = 'uncertain', due_at = now() - interval '1 hour', carrier = 'x'")
  await set(stranded, "state = 'queued', due_at = now() - interval '1 hour', bound_carrier = 'gone'")
  await set(steps, "state = 'waiting', due_at = now() - interval '1 hour', condition = 'not read'")
  const ids = [dead, unknown, stranded, steps]
  const limit = 500
  /** What is found; each look is undone. */
  const found = async (look: (db: Queryable) => Promise<{ notification: string }[]>): Promise<string[]> => {
    let names: string[] = []
    await rehearse(pool, async db => {
      names = (await look(db)).map(({ notification }) => notification).filter(id => ids.includes(id))
    })
    return names
  }
  const looks = async () => [
    await found(db => findExpiredLeases(db, limit)),
    await found(db => takeUnknown(db, { channel: 'email', mode: 'live', carrier: 'x', limit, holdMs: 1_000 })),
    await found(db => takeOrphaned(db, [], { limit, holdMs: 1_000 })),
    await found(db => findStranded(db, [], 0, { limit })),
    await found(async db => (await lockDueSteps(db, { limit })).notifications.map(notification => ({ notification }))),
  ]
  expect(await looks()).toEqual([[dead], [unknown], [unknown], [stranded], [steps]])
  await restart()
  expect(await looks()).toEqual([[], [], [], [], []])
  await watch().look()
  expect(await looks()).toEqual([[dead], [unknown], [unknown], [stranded], [steps]])
  await database.tamper("insert into restoration (cause, detail) values ('behind', 'x')")
  expect(await looks()).toEqual([[], [], [], [], []])
})

test('a delivery that cannot be held keeps no other from it, and is not sent: a person is told', async () => {
  const other = await createAccount(pool, { name: 'bad' })
  const [bad, good] = [((await send(gateway.url, other.token, validSend)).body as { idEmail: string }).idEmail, await accept()]
  await database.asOwner(`alter table event add constraint unwritable check (notification_id <> '${bad}') not valid`)
  const { restoration, held, unheld } = await holdCopy(pool, Date.now, { cause: 'behind', detail: 'x', by: 'node:x' })
  expect(unheld).toEqual([{ notification: bad, channel: 'email' }])
  expect([await statesOf(good), await statesOf(bad)]).toEqual([{ email: 'unresolved' }, { email: 'queued' }])
  expect(await isConfirmed()).toBe(true)
  const { rows: entries } = await pool.query("select detail from audit where action = 'restored' and subject = $1", [restoration])
  expect(entries).toEqual([{ detail: { cause: 'behind', detail: 'x', held, unheld: [`${bad} email`] } }])
  const { rows: holds } = await pool.query('select channel, account_id as account, reason from hold')
  expect(holds).toEqual([{ channel: 'email', account: other.id, reason: expect.stringContaining(bad) }])
  const question = { channel: 'email', mode: 'live', carrier: 'scripted', rank: 0, limit: 50, leaseMs: 60_000 } as const
  expect(await claimDeliveries(pool, { ...question, owner: randomUUID() })).toEqual([])
  // The same when it is released: the others go.
  const [first, second] = [await accept(), await accept()]
  await holdCopy(pool, Date.now, { cause: 'behind', detail: 'x', by: 'node:x' })
  await database.asOwner('alter table event drop constraint unwritable')
  await database.asOwner(`alter table event add constraint unwritable check (notification_id <> '${first}') not valid`)
  const release = releaseRestored(pool, Date.now, { notification: null, channel: null, by: 'ana' })
  await expect(release).rejects.toThrow('unwritable')
  expect([await statesOf(first), await statesOf(second)]).toEqual([{ email: 'unresolved' }, { email: 'queued' }])
  await database.asOwner('alter table event drop constraint unwritable')
  await pool.query('delete from hold')
})

test('the unfinished deliveries of a copy are read once, however many pages they are held in', async () => {
  await pool.query(
    `insert into notification (id, account_id, mode, accepted_at, recipient_name, subject)
     select uuidv7(), id, 'live', now(), 'x', 'many' from account, generate_series(1, 600) where name = 'acme'`,
  )
  // Not due, and never tried: they are looked at, and not held.
  await pool.query(
    `insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, request)
     select id, 'email', account_id, mode, 'queued', now() + interval '1 hour', now(), 1, 'always', '{}' from notification where subject = 'many'`,
  )
  const plans = await readPlans(pool, async () => {
    await holdCopy(pool, Date.now, { cause: 'behind', detail: 'x', by: 'node:x' })
  })
  const pages = plans.filter(({ sql }) => sql.includes('unnest($2::uuid[]) as q(id)'))
  expect(pages.length).toBeGreaterThan(2)
  expect(plans.filter(({ sql }) => /from delivery where state = 'queued'/.test(sql))).toHaveLength(1)
  // Each page looks its notifications up by their key.
  for (const { plan } of pages) {
    const reads = plan
      .split('\n')
      .flatMap((line, at, lines) => (/Scan .* on delivery_/.test(line) ? [lines[at + 1]!.trim()] : []))
    expect(reads.length, plan).toBeGreaterThan(0)
    for (const condition of reads) expect(condition, plan).toBe('Index Cond: (notification_id = q.id)')
  }
  await database.tamper("delete from delivery where notification_id in (select id from notification where subject = 'many')")
})

/** The greatest number of rows that one answer of the database had meanwhile. */
async function longestAnswer(work: () => Promise<unknown>): Promise<number> {
  const { query } = pg.Client.prototype as { query: (...args: unknown[]) => unknown }
  let longest = 0
  const note = (result?: { rowCount: number | null }): void => {
    longest = Math.max(longest, result?.rowCount ?? 0)
  }
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const callback = args.at(-1)
    if (typeof callback !== 'function') {
      const answer = query.apply(this, args) as Promise<{ rowCount: number | null }>
      answer.then(note, () => {})
      return answer
    }
    const noting = (error: unknown, result?: { rowCount: number | null }): void => {
      note(result)
      callback(error, result)
    }
    return query.apply(this, [...args.slice(0, -1), noting])
  } as typeof pg.Client.prototype.query
  try {
    await work()
  } finally {
    pg.Client.prototype.query = query as typeof pg.Client.prototype.query
  }
  return longest
}

/** Notifications with this subject, an event of each, and two deliveries in these states. They go with the test. */
async function storeMany(subject: string, count: number, states: [string, string], event: { type: string; data: object }) {
  await pool.query(
    `insert into notification (id, account_id, mode, accepted_at, recipient_name, subject)
     select uuidv7(), id, 'live', now(), 'x', $2 from account, generate_series(1, $1) where name = 'acme'`,
    [count, subject],
  )
  const insert = `insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, request)
    select id, $2, account_id, mode, $3, now(), now(), $4, $5, '{}' from notification where subject = $1`
  await pool.query(insert, [subject, 'email', states[0], 1, 'always'])
  await pool.query(insert, [subject, 'sms', states[1], 2, 'failed'])
  await pool.query(
    `insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
     select id, row_number() over (partition by id), now(), $2, 'test', $3::jsonb || jsonb_build_object('channel', channel), 'x', 'x', 'x', 'x'
     from notification, unnest(array['email', 'sms']) as channel where subject = $1`,
    [subject, event.type, event.data],
  )
  onTestFinished(async () => {
    await database.tamper('delete from delivery where notification_id in (select id from notification where subject = $1)', [
      subject,
    ])
  })
}

test('any number of deliveries is held in pages, and one call goes on where another one was interrupted', async () => {
  const COUNT = 900
  await storeMany('pages', COUNT, ['queued', 'waiting'], { type: 'note', data: {} })
  const states = async () =>
    Object.fromEntries(
      (
        await pool.query(
          `select state, count(*) from delivery where notification_id in (select id from notification where subject = 'pages') group by 1`,
        )
      ).rows.map(({ state, count }) => [state, count]),
    )
  const interrupted = before(/as q\(id\) join restoration/, async place => {
    if (place > 1) throw new Error('the node is gone')
  })
  const noticed = { cause: 'behind', detail: 'x', by: 'node:x' } as const
  await expect(holdCopy(interrupted, Date.now, noticed)).rejects.toMatchObject({ cause: { message: 'the node is gone' } })
  const { unresolved } = await states()
  expect(unresolved).toBeGreaterThan(0)
  expect(unresolved).toBeLessThan(2 * COUNT)
  expect(await longestAnswer(() => watch({ memoryFile: null }).look())).toBeLessThanOrEqual(500)
  expect(await states()).toEqual({ unresolved: 2 * COUNT })
  expect(await isConfirmed()).toBe(true)
  const { rows } = await pool.query(
    "select count(*) from event where type = 'unresolved' and notification_id in (select id from notification where subject = 'pages')",
  )
  expect(rows).toEqual([{ count: 2 * COUNT }])
})

test('a page of what waits because of a copy reads about as many deliveries as it has', async () => {
  const limit = 20
  await storeMany('held', 2_000, ['done', 'done'], { type: 'unresolved', data: { restored: 1, was: 'queued' } })
  // One of twenty, among finished ones.
  await pool.query(
    `update delivery set state = 'unresolved' where channel = 'email' and notification_id in (
       select id from (select id, row_number() over (order by id) as place from notification where subject = 'held') n where place % 20 = 0)`,
  )
  const list = (after: RestoredPlace | null) => listRestored(pool, { notification: null, channel: null, after, limit })
  const { rows } = await pool.query("select min(id::text) as first from notification where subject = 'held'")
  const after = { accountId: account.id, mode: 'live', notification: rows[0].first, channel: 'sms' } as const
  expect(await list(after)).toHaveLength(limit)
  const plans = await readPlans(pool, async () => void (await list(after)), [], true)
  const reads = plans.flatMap(({ plan }) => [
    ...plan.matchAll(/Scan .* on delivery_\S+ d_?\d* .*actual rows=([\d.]+) loops=(\d+)/g),
    ...plan.matchAll(/(Rows Removed by .*): (\d+)/g),
  ])
  expect(reads.length, plans[0]!.plan).toBeGreaterThan(0)
  const read = reads.reduce((sum, [, rows, loops]) => sum + (Number(rows) || 1) * Number(loops), 0)
  expect(read, plans[0]!.plan).toBeGreaterThanOrEqual(limit)
  expect(read, plans[0]!.plan).toBeLessThan(2 * limit)
})

test('the count of all that waits because of a copy has more time than a send', async () => {
  const { query } = pg.Client.prototype as { query: (...args: unknown[]) => unknown }
  onTestFinished(() => {
    pg.Client.prototype.query = query as typeof pg.Client.prototype.query
  })
  const timeouts: string[] = []
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    if (typeof args[0] === 'string' && args[0].includes('min(n.accepted_at) as since')) {
      const note = (_: unknown, result: { rows: { statement_timeout: string }[] }) =>
        timeouts.push(result.rows[0]!.statement_timeout)
      query.call(this, 'show statement_timeout', note)
    }
    return query.apply(this, args)
  } as typeof pg.Client.prototype.query
  expect((await runCommand(['restored', 'count', '--json'], database.url)).status).toBe(0)
  expect(timeouts).toEqual(['1h'])
})

test('what a copy had is held whatever the clocks say, and a copy that was made while another was being held is held whole', async () => {
  const ahead = await accept()
  await database.tamper("update notification set accepted_at = now() + interval '1 day' where id = $1", [ahead])
  const open = (await transaction(pool, db => openRestoration(db, 'behind', 'x')))!
  await transaction(pool, db => markRestoration(db, open))
  const since = await accept()
  // Another node takes it up: what was accepted after the mark goes.
  await watch({ memoryFile: null }).look()
  expect([await statesOf(ahead), await statesOf(since)]).toEqual([{ email: 'unresolved' }, { email: 'queued' }])
  const again = (await transaction(pool, db => openRestoration(db, 'behind', 'x')))!
  await transaction(pool, db => markRestoration(db, again))
  const copied = await accept()
  // The server that answers now was started from a copy of that moment.
  await database.tamper("update restoration set marked_start = marked_start - interval '1 hour' where id = $1", [again])
  await watch({ memoryFile: null }).look()
  expect([await statesOf(copied), await isConfirmed()]).toEqual([{ email: 'unresolved' }, true])
})
