import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { claimKeys } from '../../src/app/database/database.js'
import { examine, type Finding } from '../../src/app/doctor.js'
import { readBlob } from '../../src/store/files/read.js'
import { storeFile } from '../../src/store/files/write.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { fileOf, filesFolder, storeAt } from '../support/files.js'
import { runCommand } from '../support/gateway/command.js'
import { testKeys } from '../support/gateway/gateway.js'
import { s3ForFile } from '../support/programs/s3.js'

const folder = filesFolder()
const s3 = await s3ForFile()
let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase(storeAt(folder.url))
  await claimKeys(database.pool, testKeys)
})

afterAll(() => database.drop())

async function run(args: string[], FILES_URL = folder.url) {
  const { status, stdout, stderr } = await runCommand([...args, '--json'], database.url, { FILES_URL })
  return { status, stderr, result: stdout === '' ? null : JSON.parse(stdout) }
}

test('files move takes letters out and back, and files check tells what is missing or changed with exit code 1', async () => {
  const files = [fileOf(), fileOf(), fileOf()]
  for (const { bytes, sha256 } of files) {
    const key = Buffer.from(sha256, 'hex')
    await database.pool.query('insert into blob (sha256, size, bytes) values ($1, $2, $3)', [key, bytes.length, bytes])
    await database.pool.query(
      "insert into letter (notification_id, ordinal, sha256, pages, sheet) values (gen_random_uuid(), 1, $1, 1, '{}')",
      [key],
    )
  }
  expect(await run(['files', 'check'], '')).toMatchObject({ status: 0, result: { files: 0, missing: [], damaged: [] } })
  expect(await run(['files', 'move', '--to', 'outside'], '')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('Defina FILES_URL'),
  })
  expect(await run(['files', 'move', '--to', 'outside'])).toMatchObject({
    status: 0,
    result: { files: 3, size: 1_800_000, stays: [] },
  })
  expect(await run(['files', 'check'])).toMatchObject({ status: 0, result: { files: 3, missing: [], damaged: [], leftovers: 0 } })
  expect(await run(['files', 'check'], '')).toMatchObject({ status: 1, stderr: expect.stringContaining('Defina FILES_URL') })

  const [lost, damaged] = folder.names() as [string, string]
  rmSync(join(folder.path, lost))
  writeFileSync(join(folder.path, damaged), 'x')
  expect(await run(['files', 'check'])).toMatchObject({ status: 1, result: { files: 1, missing: [lost], damaged: [damaged] } })
  expect(await run(['files', 'move', '--to', 'database'])).toMatchObject({
    status: 1,
    result: { files: 1, stays: [expect.anything(), expect.anything()] },
  })
  const whole = files.find(({ sha256 }) => !lost.includes(sha256) && !damaged.includes(sha256))!
  expect((await readBlob(database.pool, whole.sha256))!.equals(whole.bytes)).toBe(true)
  const { rows } = await database.pool.query("select count(*) as count from audit where action = 'files move'")
  expect(rows).toEqual([{ count: 2 }])
  const away = await run(['files', 'check'], 's3+http://CHAVE:segredo@127.0.0.1:9/b')
  expect([away.status, away.stderr]).toEqual([
    1,
    expect.stringMatching(/O serviço S3 s3\+http:\/\/127\.0\.0\.1:9\/b não respondeu.*\(FILES_URL\)/),
  ])
  expect(away.stderr).not.toMatch(/CHAVE|segredo/)
})

test('files check names folders that this installation does not use, and files drop deletes one of them, by its name and with --yes', async () => {
  await database.pool.query('delete from blob')
  const own = fileOf()
  await storeFile(database.pool, own)
  const other = '0123456789abcdef0123456789abcdef'
  const objects = [`${other}/ab/ab${'0'.repeat(62)}-0123456789abcdef`, `${other}/cd/cd${'0'.repeat(62)}-0123456789abcdef`]
  for (const object of objects) await storeAt(folder.url).put(object, Buffer.alloc(1_000), '')
  mkdirSync(join(folder.path, 'notas/00'), { recursive: true })
  writeFileSync(join(folder.path, 'notas/00/leia-me'), 'x')
  const before = folder.names()
  const ownFolder = before.find(name => name.includes(own.sha256))!.slice(0, 32)

  const checked = await run(['files', 'check'])
  expect(checked).toMatchObject({ status: 0, result: { otherFolders: [{ folder: other, files: 2, size: 2_000 }] } })
  expect((await runCommand(['files', 'check'], database.url, { FILES_URL: folder.url })).stdout).toMatch(
    new RegExp(`outras pastas +${other} \\(2 arquivos, 0,0 MiB, o mais novo de `),
  )
  expect(await run(['files', 'drop', ownFolder, '--yes'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('é desta instalação'),
  })
  for (const name of ['notas', '../notas', 'f'.repeat(32)])
    expect(await run(['files', 'drop', name, '--yes'])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('files check'),
    })
  expect(await run(['files', 'drop', other])).toMatchObject({
    status: 0,
    result: { folder: other, files: 2, next: expect.stringMatching(/Nada foi apagado.*outra instalação.*--yes/) },
  })
  expect(folder.names()).toEqual(before)

  // A restore under way writes to a folder that no database knows yet.
  expect(await run(['files', 'drop', other, '--yes'])).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/Nada foi apagado.*menos de um dia.*restauração em andamento/),
  })
  expect(folder.names()).toEqual(before)
  const longAgo = new Date(Date.now() - 25 * 60 * 60_000)
  for (const object of objects) utimesSync(join(folder.path, object), longAgo, longAgo)
  expect(await run(['files', 'drop', other, '--yes'])).toMatchObject({ status: 0, result: { deleted: other, files: 2 } })
  expect(folder.names()).toEqual(before.filter(name => !name.startsWith(other)))
  const { rows } = await database.pool.query("select subject, detail from audit where action = 'files drop'")
  expect(rows).toEqual([{ subject: other, detail: { files: 2, bytes: 2_000 } }])
  expect(await run(['files', 'check'])).toMatchObject({ status: 0, result: { files: 1, otherFolders: [] } })
  rmSync(join(folder.path, 'notas'), { recursive: true })
})

async function examined(FILES_URL: string): Promise<Finding> {
  const parts = { config: readConfig({ FILES_URL }), keys: testKeys, pool: database.pool }
  for await (const finding of examine(parts)) if (finding.name === 'Arquivos (FILES_URL)') return finding
  throw new Error('the files were not examined')
}

test('doctor writes, reads and deletes, and says what to do where it cannot', async () => {
  await database.pool.query('delete from blob')
  expect(await examined('')).toMatchObject({ state: 'ok', found: 'gravações e cartas ficam no banco de dados' })
  await storeFile(database.pool, fileOf())
  expect(await examined('')).toMatchObject({ state: 'bad', advice: expect.stringContaining('Defina FILES_URL como antes') })
  const before = folder.names()
  expect(await examined(folder.url)).toMatchObject({
    state: 'ok',
    found: expect.stringContaining('grava, lê e apaga; 1 arquivos'),
  })
  expect(folder.names()).toEqual(before)
  expect(await examined(s3.url('balde'))).toMatchObject({ state: 'ok' })
  expect([s3.asked.map(asked => asked.split(' ')[0]), s3.objects.size]).toEqual([['PUT', 'GET', 'GET', 'DELETE'], 0])
  expect(await examined(s3.url('balde').replace(/:[^:@]+@/, ':errado@'))).toMatchObject({
    state: 'bad',
    found: expect.stringMatching(/HTTP 403 SignatureDoesNotMatch\. Confira a chave/),
  })
  expect(await examined(`${folder.url}/nao`)).toMatchObject({
    state: 'bad',
    found: expect.stringContaining('confira se está montado'),
  })
})
