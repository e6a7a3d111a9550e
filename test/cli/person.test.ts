import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sha256 } from '../../src/domain/evidence/evidence.js'
import { newId } from '../../src/domain/id.js'
import { nodeTools } from '../../src/evidence/node-tools.js'
import { verifyBundle } from '../../src/evidence/verify/bundle.js'
import { readZip } from '../../src/evidence/verify/zip.js'
import { suppress } from '../../src/store/accounts/suppressions.js'
import { storeBlobs } from '../../src/store/files/blobs.js'
import { storeFile } from '../../src/store/files/write.js'
import { brokenChains } from '../support/evidence/chain.js'
import { extendTo, logParts } from '../support/evidence/log.js'
import { fileOf, filesFolder, poolWithFiles, storeAt } from '../support/files.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount, gatewayForFile } from '../support/gateway/gateway.js'
import { openLink, type Sent, sendNotification, statusOf } from '../support/gateway/recipients.js'
import { request } from '../support/gateway/requests.js'
import { visit } from '../support/gateway/visitor.js'
import { createWebhook, happen } from '../support/gateway/webhooks.js'

/** Everything of one person, across all tables: exported, erased, held. */
const { database, gateway, account } = await gatewayForFile({ account: { name: 'acme' } })
const { pool } = database
const outside = filesFolder()
let folder: string
let maria: Sent
let joao: Sent

const RECORDING = sha256('gravação de Maria')
/** What only Maria's data have, in any table. */
const HERS = [
  'maria.souza@example.com',
  '11987650001',
  'Maria Souza',
  'processo 4711-09',
  'boleto-maria',
  'segredo do anexo',
  '203.0.113.77',
  'meu endereço mudou',
  'contrato-4711',
  'carta de Maria',
  'gravação de Maria',
  RECORDING,
]
/** Tables that keep a contact, with the reason: a suppression must go on to hold the next send back. */
const KEEPS = new Set(['suppression'])

async function person(...args: string[]): Promise<Record<string, never> & { status: number }> {
  const { status, stdout, stderr } = await runCommand(['person', ...args, '--json'], database.url)
  process.exitCode = undefined
  if (status !== 0) throw new Error(stderr)
  return { ...JSON.parse(stdout), status }
}

const countEvents = async (): Promise<number> => (await pool.query('select from event')).rowCount!

async function audited(): Promise<{ faults: string[] }> {
  const { stdout } = await runCommand(['audit', '--json'], database.url)
  process.exitCode = undefined
  return JSON.parse(stdout)
}

/** The tables in which each text is found, whatever the column and the case: bytes as UTF-8. */
async function tablesWith(texts: readonly string[]): Promise<Map<string, string[]>> {
  const { rows: tables } = await database.asOwner(
    `select c.relname as name, array(select a.attname::text from pg_attribute a where a.attrelid = c.oid and a.atttypid = 'bytea'::regtype
       and a.attnum > 0 and not a.attisdropped) as bytes
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
  )
  const looks = (tables as { name: string; bytes: string[] }[]).map(({ name, bytes }) => {
    const inBytes = bytes.map(column => `position(convert_to(h, 'UTF8') in t.${column}) > 0`)
    const condition = ['position(lower(h) in lower(t::text)) > 0', ...inBytes].join(' or ')
    return `select h as text, '${name}' as name from unnest($1::text[]) as h where exists (select from ${name} t where ${condition})`
  })
  const { rows } = await database.asOwner(looks.join(' union all '), [texts])
  return new Map(texts.map(text => [text, rows.filter(row => row.text === text).map(row => row.name as string)]))
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'carteiro-person-'))
  await createWebhook(gateway.url, account.token, { url: 'https://sender.example/hook' })
  const attachments = [{ name: 'boleto-maria.txt', base64: Buffer.from('segredo do anexo').toString('base64') }]
  const to = 'Maria.Souza@example.com'
  const sms = { number: '11987650001' }
  const body = {
    to,
    nameTo: 'Maria Souza',
    customID: 'contrato-4711',
    content: '<p>Sobre o processo 4711-09.</p>',
    attachments,
    sms,
    voz: sms,
  }
  maria = await sendNotification(gateway, pool, account, body)
  joao = await sendNotification(gateway, pool, account, { to: 'joao@example.com', nameTo: 'João' })
  await happen(pool, maria.id, 'sms', 'sent', { carrier: 'zenvia:z/1', answer: 'ok 5511987650001' })
  await happen(pool, maria.id, 'sms', 'answered', { answer: 'meu endereço mudou', address: '203.0.113.77' })
  await happen(pool, maria.id, 'voice', 'recorded', { recording: RECORDING, ordinal: 1 })
  await openLink(maria.url, maria.target)
  await suppress(pool, { notification: maria.id, channel: 'sms', reason: 'opt-out' })
  await plantOthers()
})

/** Rows of the tables that no send by e-mail and SMS writes. */
async function plantOthers(): Promise<void> {
  const own = (text: string) => Buffer.from(text)
  const hash = (text: string) => nodeTools.sha256(own(text))
  const bytes = ['carta de Maria', 'gravação de Maria']
  for (const text of bytes) await storeBlobs(pool, [{ bytes: own(text), sha256: Buffer.from(await hash(text)).toString('hex') }])
  await database.asOwner("update blob set touched_at = now() - interval '2 days'")
  const [letter, recording] = await Promise.all(bytes.map(async text => Buffer.from(await hash(text))))
  await pool.query(
    `insert into letter (notification_id, ordinal, sha256, pages, sheet) values ($1, 1, $2, 1, '{"to": "Maria Souza"}')`,
    [maria.id, letter],
  )
  await pool.query("insert into letter_receipt (notification_id, type, bytes) values ($1, 'png', $2)", [
    maria.id,
    own('Maria Souza'),
  ])
  await pool.query('insert into letter_tracking (notification_id, due_at) values ($1, now())', [maria.id])
  await pool.query(
    `insert into recording (carrier, name, notification_id, ordinal, state, sha256) values ('twilio:a', 'r1', $1, 1, 'kept', $2)`,
    [maria.id, recording],
  )
  await pool.query(
    `insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts)
    values ('zenvia:z/1', 'to-11987650001', $1, 'sms', 1, 1, 1)`,
    [maria.id],
  )
  await pool.query(
    `insert into webhook_attempt (endpoint_id, message_id, attempt, url, payload_version, at, duration_ms, response_headers, response_body)
     select endpoint_id, id, 1, 'https://sender.example/hook?key=hers', 'v2', now(), 1, 'set-cookie: hers', 'gravado: Maria Souza'
     from webhook_message where notification_id = $1 limit 1`,
    [maria.id],
  )
  await pool.query(`insert into call_lookup (carrier, name, notification_id, ordinal) values ('twilio:a', 'c', $1, 1)`, [
    maria.id,
  ])
  await pool.query(
    `insert into email_forward (notification_id, reply_id, reply) values ($1, 'm1', '{"text": "meu endereço mudou"}')`,
    [maria.id],
  )
  await pool.query(`insert into early_report (channel, carriers, modes, names, report)
    values ('sms', '{x}', '{live}', '{n}', '{"of": {"tag": {"recipient": "+5511987650001"}}}')`)
  await pool.query(
    `insert into reply_part (carrier, name, total, part, reply) values ('x', 'n', 2, 1, '{"from": "5511987650001"}')`,
  )
  for (const table of ['contact_day', 'contact_content'])
    await pool.query(
      table === 'contact_day'
        ? `insert into contact_day (account_id, mode, channel, recipient, day, messages) values ($1, 'live', 'sms', '+5511987650001', now(), '{m}')`
        : `insert into contact_content (account_id, mode, channel, recipient, fingerprint, notification_id, at)
           values ($1, 'live', 'sms', '+5511987650001', 'x', '${maria.id}', now())`,
      [account.id],
    )
  const batch = newId(Date.now())
  await pool.query(
    `insert into bulk_batch (id, account_id, mode, name, state, base, token, address, created_by)
     values ($1, $2, 'live', 'lote', 'done', '{}', 't', 'a', 'b')`,
    [batch, account.id],
  )
  await pool.query(
    `insert into bulk_line (batch_id, line, cells, state, error) values ($1, 2, '["Maria Souza", "(11) 98765-0001"]', 'rejected', '(11987650001) não serve'),
       ($1, 3, '["João", "joao@example.com"]', 'rejected', 'x')`,
    [batch],
  )
  await pool.query(
    `insert into sent_content (notification_id, seq, channel, type, extension, size, sha256, packing, bytes)
     values ($1, 2, 'email', 'text/plain', 'txt', 30, sha256('Olá, Maria Souza'), 'none', convert_to('Olá, Maria Souza', 'UTF8'))`,
    [maria.id],
  )
}

afterAll(() => rmSync(folder, { recursive: true }))

test('an export has the rows of every table that knows the person, and their files, but not the link', async () => {
  const out = join(folder, 'maria.zip')
  const told = await person('export', '--to', 'maria.souza@EXAMPLE.com', '--account', 'acme', '--out', out)
  expect(told).toMatchObject({ notifications: 1, files: 5, otherContacts: ['+5511987650001'] })
  expect(statSync(out).mode & 0o077).toBe(0)
  const [before, ofJoao] = [readFileSync(out), ['export', '--to', 'joao@example.com', '--out', out]]
  await expect(person(...ofJoao)).rejects.toThrow('já existe: escolha outro nome')
  expect(readFileSync(out).equals(before)).toBe(true)
  const files = readZip(readFileSync(out))
  const names = [...files.keys()].map(path => path.replace(`${maria.id}/`, '')).sort()
  expect(names).toEqual([
    'anexo-1-boleto-maria.txt',
    'aviso-de-recebimento.png',
    'carta-1.pdf',
    'dados.json',
    expect.stringMatching(/^gravacao-1-[0-9a-f]{8}\.wav$/),
    'mensagem-2.txt',
  ])
  expect(Buffer.from(files.get(`${maria.id}/anexo-1-boleto-maria.txt`)!).toString()).toBe('segredo do anexo')
  const text = Buffer.from(files.get('dados.json')!).toString()
  const data = JSON.parse(text)
  expect(Object.keys(data.notifications[0].tables)).toEqual(
    expect.arrayContaining([
      'notification',
      'delivery',
      'event',
      'attachment',
      'letter',
      'recording',
      'email_forward',
      'link',
      'webhook_message',
      'webhook_attempt',
    ]),
  )
  expect(text).toContain('gravado: Maria Souza')
  expect(text).not.toMatch(/key=hers|cookie: hers/)
  expect(data.missingFiles).toEqual([])
  // They belong to no account yet.
  expect(data.others).not.toHaveProperty('early_report')
  expect(text).toContain('meu endereço mudou')
  expect(text).not.toContain(maria.short.split('/').at(-1))
  expect(text).not.toContain('joao@example.com')
  const { rows } = await pool.query("select subject, detail::text from audit where action = 'person export'")
  expect(rows).toHaveLength(1)
  expect(JSON.stringify(rows)).not.toContain('maria')
})

test('what carriers said of a number and nobody could match is exported where all accounts are asked for', async () => {
  const out = join(folder, 'number.zip')
  await person('export', '--to', '11987650001', '--out', out)
  const { others } = JSON.parse(Buffer.from(readZip(readFileSync(out)).get('dados.json')!).toString())
  expect(others).toMatchObject({ early_report: [{ channel: 'sms', names: ['n'] }], reply_part: [{ carrier: 'x', part: 1 }] })
})

test('an export without one of the files is written, says which, and ends with 1', async () => {
  const { id } = await sendNotification(gateway, pool, account, { to: 'rita@example.com' })
  const { bytes, sha256: hash } = fileOf()
  await storeFile(poolWithFiles(database.url, storeAt(outside.url)), { bytes, sha256: hash })
  await pool.query(
    "insert into recording (carrier, name, notification_id, ordinal, state, sha256) values ('twilio:a', 'r2', $1, 1, 'kept', decode($2, 'hex'))",
    [id, hash],
  )
  for (const name of outside.names()) rmSync(join(outside.path, name))
  const out = join(folder, 'rita.zip')
  const { stdout } = await runCommand(['person', 'export', '--to', 'rita@example.com', '--out', out, '--json'], database.url, {
    FILES_URL: outside.url,
  })
  expect(process.exitCode).toBe(1)
  process.exitCode = undefined
  expect(JSON.parse(stdout)).toMatchObject({
    notifications: 1,
    files: 0,
    missingFiles: [expect.stringMatching(/gravacao-1-.*não está onde deveria/)],
  })
  expect([...readZip(readFileSync(out)).keys()]).toEqual(['dados.json'])
})

test('a person is found by number and by the sender’s own code too, and by words alone only where everything is read', async () => {
  for (const value of ['(11) 98765-0001', 'contrato-4711'])
    expect(await person('erase', '--to', value)).toMatchObject({ wouldErase: 1, next: expect.stringContaining('--yes') })
  expect(await person('erase', '--to', '4711-09')).toMatchObject({ wouldErase: 0 })
  expect(await person('erase', '--to', '4711-09', '--everywhere')).toMatchObject({ wouldErase: 1 })
  await createAccount(pool, { name: 'other' })
  expect(await person('erase', '--to', 'maria.souza@example.com', '--account', 'other')).toMatchObject({ wouldErase: 0 })
})

test('what is under legal hold or still being delivered stays, and the answer says so with the cure', async () => {
  const open = await sendNotification(gateway, pool, account, {
    to: 'ana@example.com',
    sms: { number: '11987650002', typeSend: '1' },
  })
  const held = await sendNotification(gateway, pool, account, { to: 'ana@example.com' })
  const hold = (...args: string[]) => runCommand(['legal-hold', ...args, '--json'], database.url)
  expect((await hold(held.id)).stderr).toContain('--reason')
  expect(await hold(held.id, '--reason', 'processo 9')).toMatchObject({ status: 0 })
  expect((await hold(held.id, '--reason', 'processo 9')).stderr).toContain('já está sob guarda')
  expect(JSON.parse((await hold('--list')).stdout)).toMatchObject([{ notification: held.id, reason: 'processo 9' }])
  const told = await person('erase', '--to', 'ana@example.com', '--yes')
  expect(told).toMatchObject({ erased: 0 })
  expect(told.stays).toEqual([
    expect.stringMatching(new RegExp(`${open.id}: ainda em entrega.*carteiro finalize`)),
    expect.stringMatching(new RegExp(`${held.id}: sob guarda legal \\(processo 9\\).*--release`)),
  ])
  // Even by the function itself.
  const { rows } = await pool.query("select erase_data($1, '{events}') as erased", [[open.id, held.id]])
  expect(rows[0].erased).toEqual([])
  expect(await hold(held.id, '--release')).toMatchObject({ status: 0 })
  expect((await hold(held.id, '--release')).stderr).toContain('não está sob guarda')
  expect(await person('erase', '--to', 'ana@example.com', '--yes')).toMatchObject({ erased: 1 })
  expect((await hold(held.id, '--reason', 'tarde')).stderr).toContain('já foram apagados')
  const log = await pool.query('select action from audit where subject = $1 order by id', [held.id])
  expect(log.rows.map(({ action }) => action)).toEqual(['legal-hold', 'legal-hold release'])
})

test('after an erasure no table has the person’s data, and every proof still holds', async () => {
  for (const [text, tables] of await tablesWith(HERS)) expect(tables, text).not.toEqual([])
  await extendTo(await logParts(pool), await countEvents())
  const before = await audited()
  expect(before.faults).toEqual([])
  const told = await person('erase', '--to', 'maria.souza@example.com', '--account', 'acme', '--yes')
  expect(told).toMatchObject({ erased: 1, stays: [], otherContacts: ['+5511987650001'] })
  // The number was in the same notification; what belongs to no notification is found by it alone.
  expect(await person('erase', '--to', '11987650001', '--yes')).toMatchObject({
    erased: 0,
    suppressionsKept: ['+5511987650001 (acme, sms, live)'],
  })
  for (const [text, tables] of await tablesWith(HERS))
    expect(
      tables.filter(table => !KEEPS.has(table)),
      text,
    ).toEqual([])
  expect(await audited()).toEqual({ ...before, actions: expect.any(Number) })
  expect(await brokenChains(pool)).toEqual([])
  const answer = await request(`${gateway.url}/gw/evidence/${maria.id}`, { token: account.token })
  expect(answer.status).toBe(200)
  const verdict = await verifyBundle(Buffer.from(answer.body as string, 'latin1'), { key: null }, nodeTools)
  expect(verdict).toMatchObject({ holds: true, notification: maria.id })
  expect(verdict.unproven.join(' ')).toContain('Sem os dados')
  expect((await request(`${gateway.url}/gw/email/laudo/${maria.id}`, { token: account.token })).status).toBe(200)
  expect(await statusOf(gateway, account, 'email', maria.id)).toMatchObject({ idEmail: maria.id })
})

test('nothing more is recorded of an erased notification, and its link opens nothing', async () => {
  const events = await countEvents()
  expect((await visit(maria.url)).status).toBe(404)
  expect(await happen(pool, maria.id, 'sms', 'delivered', { answer: 'to 5511987650001' })).toBe('unknown')
  expect(await countEvents()).toBe(events)
  expect(await happen(pool, joao.id, 'email', 'delivered')).toBe('recorded')
})

test('the program’s role erases by the function alone, and not even the owner changes an event by accident', async () => {
  for (const statement of [
    'update event set data = null, salt = null',
    'delete from sent_content',
    'update notification set content = null',
  ])
    await expect(pool.query(`set carteiro.erasing = 'yes'; ${statement}`)).rejects.toMatchObject({ code: '42501' })
  await expect(database.asOwner('update event set data = null, salt = null')).rejects.toThrow(/refused/)
  const forged = `begin; set local carteiro.erasing = 'yes'; update event set type = 'read', data = null, salt = null where notification_id = '${joao.id}'`
  await expect(database.asOwner(forged)).rejects.toThrow(/refused/)
})
