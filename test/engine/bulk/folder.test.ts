import { appendFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../../src/app/config.js'
import { type BulkWorkerParts, bulkWork } from '../../../src/app/worker/bulk.js'
import { Refusal, type RefusalCode } from '../../../src/domain/errors.js'
import { actOnBatch } from '../../../src/engine/bulk/acts.js'
import { holdCopy } from '../../../src/engine/unknown/restored.js'
import { saveMapping } from '../../../src/store/bulk/mappings.js'
import { lockCopyAge } from '../../../src/store/home-server.js'
import type { Queryable } from '../../../src/store/postgres.js'
import { countWaiting, holdRows } from '../../support/database/locks.js'
import { runCommand } from '../../support/gateway/command.js'
import { createAccount, gatewayForFile, testKeys } from '../../support/gateway/gateway.js'
import { spreadsheet } from '../../support/programs/spreadsheet.js'

const { database } = await gatewayForFile()
const { pool } = database
const root = await mkdtemp(join(tmpdir(), 'carteiro-folder-'))
afterAll(() => rm(root, { recursive: true }))

let name: string
let account: string
let folder: string
let errors: unknown[]
let warnings: { details: object; message: string }[]

beforeEach(async () => {
  name = `conta ${Math.random()}`
  account = (await createAccount(pool, { name, settings: { 'bulk.perMinute': 10_000_000 } })).id
  folder = join(root, name)
  await mkdir(folder)
  errors = []
  warnings = []
  const base = { subject: 'Aviso', content: '<p>Olá {{ nome }}</p>' }
  await saveMapping(pool, { account, mode: 'live' }, { name: 'pasta', mapping: null, base })
})

/** A worker that starts anew, as after a crash. */
async function startWorker(stableMs = 0, parts: Partial<BulkWorkerParts> = {}) {
  const config = readConfig({ BULK_FOLDER: root })
  const onError = (error: unknown): void => void errors.push(error)
  const warn = (details: object, message: string): void => void warnings.push({ details, message })
  return bulkWork({ config, keys: testKeys, pool, clock: Date.now, previews: new Map(), onError, warn, stableMs, ...parts })
}

/** One round of all that a worker does. */
async function round(stableMs = 0): Promise<void> {
  const { watch, check, send } = await startWorker(stableMs)
  await watch!()
  await check()
  await send()
}

const sent = async (): Promise<number> =>
  Number((await pool.query('select count(*) from notification where account_id = $1', [account])).rows[0].count)

test('a file is sent and moved to done/, with its rejects and its result beside it', async () => {
  await writeFile(join(folder, 'janeiro.csv'), 'nome;email\nAna;ana@example.com\nBia;errado\n')
  await round()
  expect(await readdir(folder)).toEqual(['janeiro.csv'])
  await round()
  expect(await readdir(folder)).toEqual(['done'])
  expect((await readdir(join(folder, 'done'))).sort()).toEqual([
    'janeiro.csv',
    'janeiro.csv.rejeitadas.csv',
    'janeiro.csv.resultado.csv',
  ])
  expect(await readFile(join(folder, 'done', 'janeiro.csv.rejeitadas.csv'), 'utf8')).toContain('"Bia";"errado";"3";"email"')
  expect(await sent()).toBe(1)
  expect(errors).toEqual([])
})

test('a file that still grows is left alone', async () => {
  await writeFile(join(folder, 'a.csv'), 'nome;email\nAna;ana@example.com\n')
  await round(60_000)
  await round(60_000)
  expect(await readdir(folder)).toEqual(['a.csv'])
  expect(await sent()).toBe(0)
})

test('a file that cannot be read is moved with the reason beside it', async () => {
  await writeFile(join(folder, 'a.csv'), 'nome;nome\nx;y\n')
  await round()
  expect((await readdir(join(folder, 'done'))).sort()).toEqual(['a.csv', 'a.csv.erro.txt'])
  expect(await readFile(join(folder, 'done', 'a.csv.erro.txt'), 'utf8')).toContain('aparece mais de uma vez')
})

test('a spreadsheet of more cells than the worker can hold is moved with the reason beside it', async () => {
  const rows = `<row><c><v>1</v></c></row>${'<row><c r="XFD1"><v>1</v></c></row>'.repeat(100)}`
  const parts = { 'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${rows}</sheetData></worksheet>` }
  await writeFile(join(folder, 'a.xlsx'), spreadsheet([], { parts }))
  await round()
  expect((await readdir(join(folder, 'done'))).sort()).toEqual(['a.xlsx', 'a.xlsx.erro.txt'])
  expect(await readFile(join(folder, 'done', 'a.xlsx.erro.txt'), 'utf8')).toContain('A linha 2 passa do limite de 200 colunas')
  expect([await batches(), errors]).toEqual([[], []])
})

test('a file that was sent already with another message is moved with the reason beside it', async () => {
  await writeFile(join(folder, 'a.csv'), 'nome;email\nAna;ana@example.com\n')
  await round()
  const base = { subject: 'Outro aviso', content: '<p>Olá {{ nome }}</p>' }
  await saveMapping(pool, { account, mode: 'live' }, { name: 'pasta', mapping: null, base })
  await round()
  expect((await readdir(join(folder, 'done'))).sort()).toEqual(['a.csv', 'a.csv.erro.txt'])
  expect(await readFile(join(folder, 'done', 'a.csv.erro.txt'), 'utf8')).toContain('já começou')
  expect([await sent(), errors]).toEqual([1, []])
})

test.each<RefusalCode>(['diskLow', 'keyInProgress'])(
  'a refusal that passes by itself (%s) leaves the file for the next round',
  async code => {
    await writeFile(join(folder, 'a.csv'), 'nome;email\nAna;ana@example.com\n')
    const { watch } = await startWorker(0, { requireDisk: () => Promise.reject(new Refusal(code)) })
    await watch!()
    expect(await readdir(folder)).toEqual(['a.csv'])
    expect(errors).toMatchObject([{ code }])
    await round()
    await round()
    expect(await readdir(folder)).toEqual(['done'])
    expect(await sent()).toBe(1)
  },
)

test('a crash between any two steps, and two workers at once, send each line once', async () => {
  const text = `nome;email\n${Array.from({ length: 20 }, (_, index) => `P${index};p${index}@example.com`).join('\n')}\n`
  await writeFile(join(folder, 'a.csv'), text)
  // Each of these is the whole life of a worker: what it knew is gone with it.
  await (await startWorker()).watch!()
  await (await startWorker()).watch!()
  await (await startWorker()).check()
  await (await startWorker()).watch!()
  await Promise.all([round(), round()])
  // It died when the results were written and the file was not moved yet.
  const done = join(folder, 'done')
  if ((await readdir(done).catch((): string[] => [])).includes('a.csv')) await rename(join(done, 'a.csv'), join(folder, 'a.csv'))
  await round()
  await round()
  expect(await readdir(folder)).toEqual(['done'])
  expect(await sent()).toBe(20)
})

test('a cancelled batch is over for a worker that starts anew; the file goes again once it is put there again', async () => {
  await writeFile(join(folder, 'a.csv'), 'nome;email\nAna;ana@example.com\n')
  const first = await startWorker()
  await first.watch!()
  await first.check()
  const [{ id }] = (await batches()) as [{ id: string }]
  await actOnBatch(pool, { account, mode: 'live' }, id, 'cancel', { token: 'x', address: 'x' })
  await round()
  await round()
  expect(await batches()).toMatchObject([{ id, state: 'cancelled' }])
  expect((await readdir(join(folder, 'done'))).sort()).toEqual(['a.csv', 'a.csv.resultado.csv'])
  expect(await sent()).toBe(0)
  await rename(join(folder, 'done', 'a.csv'), join(folder, 'a.csv'))
  await round()
  await round()
  expect(await readdir(folder)).toEqual(['done'])
  expect([await sent(), errors]).toEqual([1, []])
})

test('a file that takes the place of another while the results of that one are written stays, and is sent', async () => {
  const path = join(folder, 'a.csv')
  await writeFile(path, 'nome;email\nAna;ana@example.com\n')
  const { watch, check, send } = await startWorker()
  await watch!()
  await check()
  await send()
  const lines = await holdRows(database.ownerUrl, 'lock table bulk_line')
  const watching = watch!()
  await expect.poll(() => countWaiting(pool)).toBeGreaterThan(0)
  await writeFile(join(folder, '.b'), 'nome;email\nBia;bia@example.com\n')
  await rename(join(folder, '.b'), path)
  await lines.release()
  await watching
  expect(await readFile(path, 'utf8')).toContain('Bia')
  await round()
  await round()
  expect(await readdir(folder)).toEqual(['done'])
  expect([await sent(), errors]).toEqual([2, []])
})

test('a file that changes while it is read sends nothing of what was read, and is sent whole once it is stable', async () => {
  const path = join(folder, 'a.csv')
  await writeFile(path, 'nome;email\nAna;ana@example.com\nBia;bia@example.com')
  const { watch } = await startWorker()
  const lines = await holdRows(database.ownerUrl, 'lock table bulk_line')
  const watching = watch!()
  await expect.poll(() => countWaiting(pool)).toBeGreaterThan(0)
  await appendFile(path, '.br\nCaio;caio@example.com\n')
  await lines.release()
  await watching
  expect([await batches(), await readdir(folder), errors]).toEqual([[], ['a.csv'], []])
  await round()
  await round()
  expect(await readdir(folder)).toEqual(['done'])
  expect([await sent(), errors]).toEqual([3, []])
})

test('a file that changes while it is refused keeps its place without the reason, and is read again', async () => {
  const path = join(folder, 'a.csv')
  await writeFile(path, 'nome;email\nAna;"ana@exam')
  const requireDisk = () => writeFile(path, 'nome;email\nAna;"ana@example')
  await (await startWorker(0, { requireDisk })).watch!()
  expect([await readdir(folder), errors]).toEqual([['a.csv'], []])
  await writeFile(path, 'nome;email\nAna;"ana@example.com"\n')
  await round()
  await round()
  expect([await sent(), errors]).toEqual([1, []])
})

test('a later file of the same name leaves the earlier one and its results in done/', async () => {
  for (const person of ['Ana', 'Bia']) {
    await writeFile(join(folder, 'a.csv'), `nome;email\n${person};pessoa@example.com\n${person};errado\n`)
    await round()
    await round()
  }
  await writeFile(join(folder, 'a.csv'), 'nome;nome\nx;y\n')
  await round()
  const done = join(folder, 'done')
  const beside = (name: string): string[] => [name, `${name}.rejeitadas.csv`, `${name}.resultado.csv`]
  expect((await readdir(done)).sort()).toEqual(
    [...beside('a.csv'), ...beside('a (2).csv'), 'a (3).csv', 'a (3).csv.erro.txt'].sort(),
  )
  expect(await readFile(join(done, 'a.csv.rejeitadas.csv'), 'utf8')).toContain('Ana')
  expect(await readFile(join(done, 'a (2).csv.rejeitadas.csv'), 'utf8')).toContain('Bia')
})

test('results that cannot be written leave the file where it is, and it is moved once they can', async () => {
  await writeFile(join(folder, 'a.csv'), 'nome;email\nAna;ana@example.com\n')
  await writeFile(join(folder, 'done'), 'in the way of the folder')
  await round()
  await round()
  expect((await readdir(folder)).sort()).toEqual(['a.csv', 'done'])
  expect(errors.length).toBeGreaterThan(0)
  await rm(join(folder, 'done'))
  await round()
  expect(await readdir(folder)).toEqual(['done'])
  expect(await sent()).toBe(1)
})

test('a folder of no account, a sub-folder and other files are left alone', async () => {
  await mkdir(join(root, 'ninguém'), { recursive: true })
  await writeFile(join(root, 'ninguém', 'a.csv'), 'nome;email\nAna;ana@example.com\n')
  await writeFile(join(folder, 'leia-me.pdf'), 'x')
  await writeFile(join(folder, '.a.csv'), 'x')
  await round()
  expect((await readdir(folder)).sort()).toEqual(['.a.csv', 'leia-me.pdf'])
  expect(await readdir(join(root, 'ninguém'))).toEqual(['a.csv'])
})

const batches = async () =>
  (await pool.query('select id, name, state, starts from bulk_batch where account_id = $1 order by name', [account])).rows
const hold = () => holdCopy(pool, Date.now, { cause: 'behind', detail: 'x', by: 'node:x' })
const forget = () => database.tamper('delete from restoration')

test('a file that is older than a restoration of the database is sent only when a person starts its batch', async () => {
  onTestFinished(async () => void (await forget()))
  // It was sent after the backup: the copy knows nothing of it.
  await writeFile(join(folder, 'a.csv'), 'nome;email\nAna;ana@example.com\n')
  await hold()
  await round()
  await round()
  const [{ id }] = (await batches()) as [{ id: string }]
  expect(await batches()).toEqual([{ id, name: 'a.csv', state: 'checked', starts: false }])
  expect(await sent()).toBe(0)
  expect(warnings[0]).toMatchObject({ details: { batch: id, file: join(folder, 'a.csv') } })
  const { stdout } = await runCommand(['restored', 'batches', '--json'], database.url)
  expect(JSON.parse(stdout)).toMatchObject([{ id, account: name, name: 'a.csv', state: 'conferido', open: 1 }])
  // One that comes now goes by itself.
  await writeFile(join(folder, 'b.csv'), 'nome;email\nBia;bia@example.com\n')
  await round()
  await round()
  expect(await sent()).toBe(1)
  await actOnBatch(pool, { account, mode: 'live' }, id, 'start', { token: 'x', address: 'x' })
  await round()
  await round()
  expect(await sent()).toBe(2)
  expect(await readdir(folder)).toEqual(['done'])
})

test('a batch of the folder that was being checked in the copy is not started by its file', async () => {
  onTestFinished(async () => void (await forget()))
  await writeFile(join(folder, 'a.csv'), 'nome;email\nAna;ana@example.com\n')
  await (await startWorker()).watch!()
  expect(await batches()).toMatchObject([{ state: 'checking', starts: true }])
  await hold()
  await round()
  await round()
  expect(await batches()).toMatchObject([{ state: 'checked', starts: false }])
  expect(await sent()).toBe(0)
})

test('a start that is under way when the copy is noticed is undone', async () => {
  onTestFinished(async () => void (await forget()))
  await writeFile(join(folder, 'a.csv'), 'nome;email\nAna;ana@example.com\n')
  await (await startWorker()).watch!()
  const [{ id }] = (await batches()) as [{ id: string }]
  let holding: Promise<unknown> = Promise.resolve()
  const mayAct = async (db: Queryable): Promise<boolean> => {
    expect(await lockCopyAge(db)).toBeNull()
    holding = hold()
    await expect.poll(() => countWaiting(pool)).toBeGreaterThan(0)
    return true
  }
  await actOnBatch(pool, { account, mode: 'live' }, id, 'start', { token: 'folder', address: 'folder' }, { mayAct })
  await holding
  expect(await batches()).toMatchObject([{ state: 'checking', starts: false }])
})
