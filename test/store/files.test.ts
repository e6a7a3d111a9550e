import { existsSync, readFileSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { channelModules } from '../../src/channels/registry.js'
import { FileDamaged, FilesUnavailable } from '../../src/domain/errors.js'
import type { ObjectStore } from '../../src/runtime/objects/object-store.js'
import { deleteUnusedBlobs, dropBlobs, storeBlobs } from '../../src/store/files/blobs.js'
import { deleteLeftovers } from '../../src/store/files/leftovers.js'
import { listOutside, moveBlobs, verifyOutside } from '../../src/store/files/move.js'
import { readBlob, readBlobPiece, readBlobs } from '../../src/store/files/read.js'
import { storeAnywhere, storeFile } from '../../src/store/files/write.js'
import { claimInstallation } from '../../src/store/installation.js'
import type { Pool } from '../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { fileOf, filesFolder, poolWithFiles, storeAt } from '../support/files.js'
import { s3ForFile } from '../support/programs/s3.js'

const USES = channelModules.flatMap(({ blobUses = [] }) => blobUses)
const folder = filesFolder()
const s3 = await s3ForFile()
/** Fails, or does something first, where a test says so. */
const before: { put?: () => Promise<void>; read?: () => Promise<void>; delete?: () => Promise<void> } = {}
let database: TestDatabase
let pool: Pool

beforeAll(async () => {
  database = await createDatabase()
  await claimInstallation(database.pool, 'test')
  pool = poolWithFiles(database.url, watched(storeAt(folder.url)))
})

afterAll(() => database.drop())

beforeEach(async () => {
  for (const name of ['put', 'read', 'delete'] as const) delete before[name]
  await database.pool.query('delete from blob')
  for (const name of folder.names()) rmSync(join(folder.path, name))
})

const watched = (store: ObjectStore): ObjectStore => ({
  name: store.name,
  async put(...asked) {
    await before.put?.()
    return store.put(...asked)
  },
  async read(...asked) {
    await before.read?.()
    return store.read(...asked)
  },
  async delete(...asked) {
    await before.delete?.()
    return store.delete(...asked)
  },
  list: name => store.list(name),
  listFolders: () => store.listFolders(),
})

const away = async (): Promise<void> => {
  await storeAt(`file://${folder.path}/nao-montada`).read('x', 0, 1)
}
const rows = async (): Promise<{ inside: boolean; object: string | null }[]> =>
  (await database.pool.query('select bytes is not null as inside, object from blob order by sha256')).rows
const pathOf = async (sha256: string): Promise<string> =>
  join(
    folder.path,
    (await database.pool.query('select object from blob where sha256 = $1', [Buffer.from(sha256, 'hex')])).rows[0].object,
  )
const age = (): Promise<unknown> => database.pool.query("update blob set touched_at = now() - interval '25 hours'")
const ageObjects = (): void => {
  const old = new Date(Date.now() - 25 * 3_600_000)
  for (const name of folder.names()) utimesSync(join(folder.path, name), old, old)
}

describe.each(['a folder', 'a service that speaks S3'])('in %s', kind => {
  test('a file is whole outside, none of it is in the database, and any part of it is read', async () => {
    const inS3 = kind !== 'a folder'
    const own = inS3 ? poolWithFiles(database.url, storeAt(s3.url('balde/prefixo'))) : pool
    const file = fileOf()
    await storeFile(own, file)
    const [row] = await rows()
    expect(row).toEqual({
      inside: false,
      object: expect.stringMatching(new RegExp(`^[0-9a-f]{32}/${file.sha256.slice(0, 2)}/${file.sha256}-[0-9a-f]{16}$`)),
    })
    expect(inS3 ? [...s3.objects.keys()] : folder.names()).toEqual([inS3 ? `/balde/prefixo/${row!.object}` : row!.object])
    expect((await readBlob(own, file.sha256))!.equals(file.bytes)).toBe(true)
    for (const [from, length] of [
      [0, 10],
      [262_140, 10],
      [100, 500_000],
      [599_990, 100],
      [600_000, 10],
      [262_144, 262_144],
    ] as const)
      expect((await readBlobPiece(own, file.sha256, from, length))!.equals(file.bytes.subarray(from, from + length))).toBe(true)
    await age()
    expect(await deleteUnusedBlobs(own, USES)).toBe(1)
    expect(inS3 ? s3.objects.size : folder.names().length).toBe(0)
  })
})

test('without FILES_URL a file is in the database', async () => {
  const file = fileOf(Buffer.from('dentro'))
  await storeFile(database.pool, file)
  expect(await rows()).toEqual([{ inside: true, object: null }])
  expect(await readBlobPiece(database.pool, file.sha256, 2, 3)).toEqual(Buffer.from('ntr'))
})

test('the same content is stored once, however often and by however many at the same moment', async () => {
  const file = fileOf()
  await Promise.all(Array.from({ length: 5 }, () => storeFile(pool, file)))
  await storeFile(pool, file)
  const [row] = await rows()
  expect(folder.names()).toEqual([row!.object])
  await storeBlobs(pool, [file])
  expect(await rows()).toEqual([row])
})

test('a file that is not the one that was stored is never given out, and the error says so', async () => {
  const file = fileOf()
  await storeFile(pool, file)
  const path = await pathOf(file.sha256)
  const damaged = readFileSync(path)
  damaged[300_000]! ^= 1
  writeFileSync(path, damaged)
  await expect(readBlob(pool, file.sha256)).rejects.toThrow(/não é mais o que foi guardado: o hash não confere/)
  await expect(readBlobPiece(pool, file.sha256, 262_144, 10)).rejects.toThrow(FileDamaged)
  expect(await readBlobPiece(pool, file.sha256, 0, 10)).toEqual(file.bytes.subarray(0, 10))
  truncateSync(path, 262_144)
  await expect(readBlobPiece(pool, file.sha256, 262_144, 10)).rejects.toThrow(FileDamaged)
  rmSync(path)
  await expect(readBlob(pool, file.sha256)).rejects.toThrow(/não está onde deveria/)
  await expect(readBlobPiece(pool, file.sha256, 0, 10)).rejects.toThrow(/não está onde deveria/)
})

test('a place that does not answer is not a missing file, and nothing is stored half', async () => {
  const file = fileOf()
  before.put = away
  await expect(storeFile(pool, file)).rejects.toThrow(FilesUnavailable)
  expect(await rows()).toEqual([])
  delete before.put
  await storeFile(pool, file)
  before.read = away
  await expect(readBlob(pool, file.sha256)).rejects.toThrow(FilesUnavailable)
  await expect(readBlobPiece(pool, file.sha256, 0, 10)).rejects.toThrow(/confira se está montado/)
  await expect(readBlob(database.pool, file.sha256)).rejects.toThrow(/defina FILES_URL/)
})

test('a file without another copy goes into the database meanwhile', async () => {
  const file = fileOf()
  before.put = away
  await storeAnywhere(pool, file)
  expect(await rows()).toEqual([{ inside: true, object: null }])
  expect((await readBlob(pool, file.sha256))!.equals(file.bytes)).toBe(true)
})

describe('erasing', () => {
  test('deletes the object after its row, and one that could not be deleted is found later', async () => {
    const [one, two] = [fileOf(), fileOf()]
    for (const file of [one, two]) await storeFile(pool, file)
    await age()
    before.delete = async () => {
      expect(await rows()).toHaveLength(1)
      await away()
    }
    expect(await dropBlobs(pool, USES, [one.sha256])).toBe(1)
    delete before.delete
    expect(await rows()).toHaveLength(1)
    expect(folder.names()).toHaveLength(2)
    expect(await deleteLeftovers(pool)).toEqual({ deleted: 0, bytes: 0 })
    ageObjects()
    expect(await deleteLeftovers(pool)).toEqual({ deleted: 1, bytes: 600_000 })
    expect(folder.names()).toEqual([(await rows())[0]!.object])
    before.delete = away
    await expect(deleteUnusedBlobs(pool, USES)).rejects.toThrow(/1 arquivos sem uso ainda não foram apagados/)
    delete before.delete
    expect(await deleteLeftovers(pool)).toMatchObject({ deleted: 1 })
    expect(folder.names()).toEqual([])
  })

  test('leaves rows whose objects nobody here could delete', async () => {
    await storeFile(pool, fileOf())
    await age()
    expect(await deleteUnusedBlobs(database.pool, USES)).toBe(0)
    expect(await rows()).toHaveLength(1)
  })

  test('does not touch the object of the same content that is stored at that moment', async () => {
    const file = fileOf()
    await storeFile(pool, file)
    await age()
    // The row is gone, its object not yet: another send stores the same content.
    before.delete = async () => {
      delete before.delete
      await storeFile(pool, file)
    }
    await dropBlobs(pool, USES, [file.sha256])
    expect(folder.names()).toEqual([(await rows())[0]!.object])
    expect((await readBlob(pool, file.sha256))!.equals(file.bytes)).toBe(true)
  })

  test('of leftovers spares what is no object of this database', async () => {
    const file = fileOf()
    await storeFile(pool, file)
    const path = await pathOf(file.sha256)
    const others = [join(folder.path, 'leia-me.txt'), path.replace(/[^/]+$/, 'leia-me.txt')]
    for (const other of others) writeFileSync(other, 'x')
    writeFileSync(`${path}.0123abcd.part`, 'half')
    ageObjects()
    await database.asOwner("update installation set files_folder = repeat('0', 32)")
    expect(await deleteLeftovers(pool)).toMatchObject({ deleted: 0 })
    await database.asOwner('update installation set files_folder = $1', [
      path.slice(folder.path.length + 1, folder.path.length + 33),
    ])
    expect(await deleteLeftovers(pool)).toMatchObject({ deleted: 1 })
    expect([path, ...others].every(existsSync)).toBe(true)
    rmSync(others[1]!)
  })
})

describe('moving', () => {
  const letterOf = (sha256: string): Promise<unknown> =>
    database.pool.query(
      "insert into letter (notification_id, ordinal, sha256, pages, sheet) values (gen_random_uuid(), 1, $1, 1, '{}')",
      [Buffer.from(sha256, 'hex')],
    )

  test('takes letters and recordings out and back byte for byte, and leaves attachments where they are', async () => {
    const files = [fileOf(), fileOf(Buffer.from('curto'))]
    const attached = fileOf(Buffer.from('anexo'))
    await storeBlobs(database.pool, [...files, attached])
    for (const { sha256 } of files) await letterOf(sha256)
    await age()
    const seen: number[] = []
    const moved = await moveBlobs(pool, 'outside', USES, done => seen.push(done))
    expect(moved).toEqual({ files: 2, bytes: 600_005, faults: [] })
    expect(seen.at(-1)).toBe(600_005)
    expect(folder.names()).toHaveLength(2)
    expect((await rows()).filter(row => row.inside)).toHaveLength(1)
    for (const { sha256, bytes } of files) expect((await readBlob(pool, sha256))!.equals(bytes)).toBe(true)
    expect(await moveBlobs(pool, 'outside', USES)).toMatchObject({ files: 0 })
    // A move is no use: what nothing refers to is still old.
    expect(await deleteUnusedBlobs(pool, USES)).toBe(1)
    expect(await moveBlobs(pool, 'database', USES)).toMatchObject({ files: 2 })
    expect(folder.names()).toEqual([])
    for (const { sha256, bytes } of files) expect((await readBlob(database.pool, sha256))!.equals(bytes)).toBe(true)
  })

  test('beside whoever reads, uses or deletes the same file', async () => {
    const [read, used, deleted] = [fileOf(), fileOf(), fileOf()]
    for (const file of [read, used, deleted]) await storeFile(pool, file)
    // The object goes between the look at its row and the look at the object itself.
    before.read = async () => {
      delete before.read
      await moveBlobs(pool, 'database', USES)
    }
    const found = await readBlobs(pool, [read.sha256, used.sha256])
    expect(found.get(read.sha256)!.equals(read.bytes) && found.get(used.sha256)!.equals(used.bytes)).toBe(true)
    await letterOf(used.sha256)
    await letterOf(deleted.sha256)
    before.put = async () => {
      await storeFile(pool, used)
      await database.pool.query('delete from blob where sha256 = $1', [Buffer.from(deleted.sha256, 'hex')])
    }
    expect((await moveBlobs(pool, 'outside', USES)).files).toBeGreaterThan(0)
    expect(folder.names()).toEqual((await rows()).flatMap(({ object }) => object ?? []))
    expect(await readBlob(pool, deleted.sha256)).toBeNull()
  })

  test('that ends anywhere leaves every file readable, and a second run goes on', async () => {
    const files = [fileOf(), fileOf(), fileOf()]
    await storeBlobs(pool, files)
    for (const { sha256 } of files) await letterOf(sha256)
    let puts = 0
    before.put = async () => {
      if (++puts === 3) throw new Error('killed')
    }
    await expect(moveBlobs(pool, 'outside', USES)).rejects.toThrow('killed')
    for (const { sha256, bytes } of files) expect((await readBlob(pool, sha256))!.equals(bytes)).toBe(true)
    delete before.put
    expect(await moveBlobs(pool, 'outside', USES)).toMatchObject({ files: 1 })
    before.delete = async () => {
      throw new Error('killed')
    }
    await expect(moveBlobs(pool, 'database', USES)).rejects.toThrow('killed')
    delete before.delete
    expect(await moveBlobs(pool, 'database', USES)).toMatchObject({ files: 2 })
    for (const { sha256, bytes } of files) expect((await readBlob(pool, sha256))!.equals(bytes)).toBe(true)
    ageObjects()
    expect(await deleteLeftovers(pool)).toMatchObject({ deleted: 1 })
    expect(folder.names()).toEqual([])
  })

  test('tells the files that are missing or damaged, and leaves them as they are', async () => {
    const [whole, lost, damaged] = [fileOf(), fileOf(), fileOf()]
    for (const file of [whole, lost, damaged]) await storeFile(pool, file)
    renameSync(await pathOf(lost.sha256), join(folder.path, 'escondido'))
    writeFileSync(await pathOf(damaged.sha256), 'x')
    const states: Record<string, unknown> = {}
    for await (const file of listOutside(pool)) states[file.sha256] = await verifyOutside(pool, file)
    expect(states).toEqual({ [whole.sha256]: 'whole', [lost.sha256]: 'missing', [damaged.sha256]: 'damaged' })
    const { files, faults } = await moveBlobs(pool, 'database', USES)
    expect([files, faults.map(({ sha256 }) => sha256).sort()]).toEqual([1, [lost.sha256, damaged.sha256].sort()])
    expect((await rows()).filter(({ object }) => object !== null)).toHaveLength(2)
  })
})
