import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordAudit } from '../../src/store/audit.js'
import type { Pool } from '../../src/store/postgres.js'
import { transaction } from '../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, startGateway } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'

/** What the program's own role can do to what was recorded: add to it. All other tests run under the same role. */
let database: TestDatabase
let gateway: Gateway
let pool: Pool
let partition: string

beforeAll(async () => {
  database = await createDatabase()
  pool = database.pool
  gateway = await startGateway(pool)
  const account = await createAccount(pool)
  const body = { ...validSend, attachments: [{ name: 'a.txt', base64: 'YWJj' }] }
  expect((await send(gateway.url, account.token, body)).status).toBe(200)
  await transaction(pool, db => recordAudit(db, { actor: 'test', action: 'test', subject: 'test' }))
  await pool.query(
    `insert into sent_content (notification_id, seq, channel, type, extension, size, sha256, packing, bytes)
     select id, 2, 'email', 'text/plain', 'txt', 1, sha256('x'), 'none', 'x' from notification`,
  )
  const { rows } = await pool.query<{ name: string }>('select tableoid::regclass::text as name from event limit 1')
  partition = rows[0]!.name
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

/** The whole of it, as text. */
const history = async (): Promise<string> => {
  const { rows } = await pool.query(
    `select (select json_agg(e order by notification_id, seq) from event e) as events, (select json_agg(n) from notification n) as notifications,
       (select json_agg(a) from attachment a) as attachments, (select json_agg(a) from audit a) as audit, (select json_agg(c) from sent_content c) as contents, (select json_agg(b) from blob b) as blobs`,
  )
  return JSON.stringify(rows)
}

const month = (table: string): string => partition.replace('event', table)

describe('the program’s role', () => {
  test('is no superuser, owns nothing, may take on no other role and creates nothing', async () => {
    const { rows } = await pool.query(
      `select r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolreplication, r.rolbypassrls,
         (select count(*)::int from pg_class where relowner = r.oid) as owned,
         (select count(*)::int from pg_auth_members where member = r.oid) as memberships,
         has_schema_privilege('public', 'create') as creates
       from pg_roles r where rolname = session_user`,
    )
    expect(rows).toEqual([
      {
        rolsuper: false,
        rolcreaterole: false,
        rolcreatedb: false,
        rolreplication: false,
        rolbypassrls: false,
        owned: 0,
        memberships: 0,
        creates: false,
      },
    ])
  })

  test.each<[string, () => string]>([
    ['changes an event', () => "update event set data = '{}'"],
    ['gives an event another position', () => 'update event set transaction_id = pg_current_xact_id()'],
    ['deletes events', () => 'delete from event'],
    ['truncates the events', () => 'truncate event'],
    [
      'changes an event by an upsert',
      () => 'insert into event select * from event on conflict (notification_id, seq) do update set data = null',
    ],
    ['changes an event by a merge', () => 'merge into event e using event f on f.hash = e.hash when matched then delete'],
    ['changes an event in its partition', () => `update ${partition} set data = '{}'`],
    ['deletes from a partition', () => `delete from ${partition}`],
    ['truncates a partition', () => `truncate ${partition}`],
    ['adds to a partition past its table', () => `insert into ${partition} select * from event`],
    ['drops a partition', () => `drop table ${partition}`],
    ['detaches a partition', () => `alter table event detach partition ${partition}`],
    ['drops the events', () => 'drop table event cascade'],
    ['alters the events', () => 'alter table event add column x text'],
    ['switches the triggers off', () => 'alter table event disable trigger all'],
    ['switches the triggers of a partition off', () => `alter table ${partition} disable trigger user`],
    [
      'replaces the function of the triggers',
      () => 'create or replace function refuse_change() returns trigger language plpgsql as $$ begin return new; end $$',
    ],
    ['drops a trigger', () => 'drop trigger event_unchanged on event'],
    ['adds a trigger', () => 'create trigger mine before insert on event for each row execute function refuse_change()'],
    ['adds a rule', () => 'create rule mine as on insert to event do instead nothing'],
    ['becomes a replica, whom no trigger stops', () => "set session_replication_role = 'replica'"],
    ['takes the owner’s role', () => 'set role carteiro'],
    ['takes the superuser’s identity', () => "set session authorization 'postgres'"],
    ['gives itself rights', () => "grant update on event to carteiro_app; update event set data = '{}'"],
    ['has the rights given', () => "select grant_application('carteiro_app')"],
    ['creates a table that would pass for a month', () => 'create table event_2031_01 (like event)'],
    ['writes by a program of the server', () => "copy (select 1) to program 'cat'"],
    ['changes a notification', () => "update notification set content = 'x'"],
    ['changes the column that lets it lock a notification', () => 'update notification set code = 0'],
    ['deletes a notification', () => 'delete from notification'],
    ['changes a content that left', () => "update sent_content set bytes = ''"],
    ['deletes a content that left', () => 'delete from sent_content'],
    ['changes an attachment', () => "update attachment set name = 'b.txt'"],
    ['changes the bytes of a file', () => "update blob set bytes = '\\x00'"],
    ['deletes from the log of administration', () => 'delete from audit'],
    ['changes the log of administration', () => "update audit set actor = 'nobody'"],
    ['changes a version of a template', () => "update template_version set content = ''"],
    ['changes a receipt', () => "update letter_receipt set type = 'png'"],
    ['changes a logo that messages show', () => "update logo set bytes = ''"],
    ['changes a leaf of the log', () => "update log_leaf set hash = ''"],
    ['deletes a leaf of the log', () => 'delete from log_leaf'],
    ['changes a node of the log', () => "update log_node set hash = ''"],
    ['changes a checkpoint', () => "update checkpoint set note = ''"],
    ['deletes a checkpoint', () => 'delete from checkpoint'],
    ['deletes a time-stamp', () => 'delete from checkpoint_time_stamp'],
    ['deletes a signature of a witness', () => 'delete from checkpoint_cosignature'],
    ['replaces the key of the log', () => "update log_key set vkey = ''"],
    ['starts the log anew', () => 'delete from log_head'],
    ['says that another key made the data', () => "update installation set key_fingerprint = 'x'"],
    ['records a migration', () => "insert into migration (number, name, sha256, compatible_since) values (9999, 'x', 'x', 1)"],
  ])('is refused when it %s', async (_, sql) => {
    const before = await history()
    // 42501: insufficient privilege, by the rights or by the trigger.
    await expect(pool.query(sql())).rejects.toMatchObject({ code: '42501' })
    expect(await history()).toBe(before)
  })

  test('adds an event, locks a notification and marks a file as used', async () => {
    await pool.query(
      `insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash)
       select notification_id, 1000, at, type, source, data, salt, commit, prev, hash from event limit 1`,
    )
    expect((await pool.query('select from notification for no key update')).rowCount).toBe(1)
    expect((await pool.query('update blob set touched_at = now()')).rowCount).toBe(1)
  })
})

describe('without the rights of roles, on a database with a single user', () => {
  test.each<[string, () => string]>([
    ['changes an event', () => "update event set data = '{}'"],
    ['changes an event in its partition', () => `update ${partition} set hash = sha256('')`],
    ['deletes events', () => 'delete from event'],
    ['deletes from a partition', () => `delete from ${partition}`],
    ['truncates the events', () => 'truncate event'],
    ['truncates a partition', () => `truncate ${partition}`],
    ['changes a notification', () => "update notification set content = 'x'"],
    ['changes a content that left', () => "update sent_content set bytes = ''"],
    ['deletes a content that left', () => `delete from ${month('sent_content')}`],
    ['truncates the contents of a month', () => `truncate ${month('sent_content')}`],
    ['truncates the attachments of a month', () => `truncate ${month('attachment')}`],
    ['truncates the notifications of a month', () => `truncate ${month('notification')}`],
    ['deletes from the log of administration', () => 'delete from audit'],
    ['truncates the log of administration', () => 'truncate audit'],
    ['truncates the leaves of the log', () => 'truncate log_leaf'],
    ['truncates the checkpoints', () => 'truncate checkpoint cascade'],
  ])('the trigger stops the owner who %s', async (_, sql) => {
    const before = await history()
    await expect(database.asOwner(sql())).rejects.toThrow(/its rows are never changed/)
    expect(await history()).toBe(before)
  })

  test('restored events may be given positions of the new server by the owner', async () => {
    const { rowCount } = await database.asOwner('update event set transaction_id = pg_current_xact_id()')
    expect(rowCount).toBeGreaterThan(0)
  })
})

test('a month that the program has made by itself is protected like the others', async () => {
  await pool.query("select ensure_month('2031-03-01T00:00:00Z')")
  for (const table of ['notification', 'attachment', 'event', 'sent_content']) {
    await expect(pool.query(`truncate ${table}_2031_03`)).rejects.toMatchObject({ code: '42501' })
    await expect(database.asOwner(`truncate ${table}_2031_03`)).rejects.toThrow(/never changed/)
  }
  const { rows } = await database.asOwner(
    `select relname as name, pg_get_userbyid(relowner) as owner, relacl as rights,
       (select count(*)::int from pg_trigger where tgrelid = c.oid and tgtype & 2 = 2) as triggers
     from pg_class c where relname like '%\\_2031\\_03' and relkind = 'r' order by 1`,
  )
  expect(rows).toEqual([
    { name: 'attachment_2031_03', owner: 'carteiro', rights: null, triggers: 2 },
    { name: 'delivery_2031_03', owner: 'carteiro', rights: null, triggers: 0 },
    { name: 'event_2031_03', owner: 'carteiro', rights: null, triggers: 3 },
    { name: 'notification_2031_03', owner: 'carteiro', rights: null, triggers: 2 },
    { name: 'sent_content_2031_03', owner: 'carteiro', rights: null, triggers: 2 },
  ])
})
