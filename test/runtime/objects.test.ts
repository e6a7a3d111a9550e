import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import type { ListedObject, ObjectStore } from '../../src/runtime/objects/object-store.js'
import { openObjectStore, readObjectStore } from '../../src/runtime/objects/settings.js'
import { s3ForFile } from '../support/programs/s3.js'

const folder = mkdtempSync(join(tmpdir(), 'carteiro-objects-'))
afterAll(() => rmSync(folder, { recursive: true }))
const s3 = await s3ForFile({ page: 3 })
const open = (url: string): ObjectStore => openObjectStore(readObjectStore(url)!)

const put = (store: ObjectStore, object: string, bytes: Uint8Array): Promise<void> =>
  store.put(object, bytes, createHash('sha256').update(bytes).digest('hex'))

async function listAll(store: ObjectStore, from: string): Promise<ListedObject[]> {
  const all: ListedObject[] = []
  for await (const batch of store.list(from)) all.push(...batch)
  return all.sort((a, b) => (a.name < b.name ? -1 : 1))
}

describe.each([
  ['a folder', `file://${folder}`],
  ['a service that speaks S3', s3.url("balde/casa & d'agua (1)")],
])('%s', (_, url) => {
  const store = open(url)
  const bytes = randomBytes(700_000)

  test('gives back what it was given, whole or in parts, and nothing once it is deleted', async () => {
    expect(await store.read('um/ab/objeto-1', 0, 10)).toBeNull()
    await put(store, 'um/ab/objeto-1', bytes)
    expect((await store.read('um/ab/objeto-1', 0, bytes.length))!.equals(bytes)).toBe(true)
    expect((await store.read('um/ab/objeto-1', 300_000, 1_000))!.equals(bytes.subarray(300_000, 301_000))).toBe(true)
    expect((await store.read('um/ab/objeto-1', 699_990, 1_000))!.length).toBe(10)
    expect((await store.read('um/ab/objeto-1', 700_001, 10))!.length).toBe(0)
    await store.delete('um/ab/objeto-1')
    await store.delete('um/ab/objeto-1')
    expect(await store.read('um/ab/objeto-1', 0, 10)).toBeNull()
  })

  test('lists its folders', async () => {
    for (const name of ['quatro/00/a', 'quatro/00/b', 'cinco & seis/00/a']) await put(store, name, Buffer.from('x'))
    expect(await store.listFolders()).toEqual(expect.arrayContaining(['quatro', 'cinco & seis']))
    for (const name of await store.listFolders()) expect(name).not.toContain('/')
  })

  test('lists the objects of one folder, with their sizes and dates, page by page', async () => {
    expect(await listAll(store, 'dois')).toEqual([])
    const names = ['dois/00/a', 'dois/00/b', 'dois/00/c', 'dois/01/a', 'dois/ff/a']
    for (const [size, name] of names.entries()) await put(store, name, Buffer.alloc(size))
    await put(store, 'dois-nao/00/a', Buffer.alloc(1))
    const listed = await listAll(store, 'dois')
    expect(listed.map(({ name, size }) => [name, size])).toEqual(names.map((name, size) => [name, size]))
    for (const { modifiedAt } of listed) expect(Math.abs(modifiedAt.getTime() - Date.now())).toBeLessThan(3_600_000)
  })
})

describe('a folder', () => {
  test('leaves nothing under another name', async () => {
    await put(open(`file://${folder}`), 'tres/00/x', Buffer.from('x'))
    expect(readdirSync(join(folder, 'tres/00'))).toEqual(['x'])
  })

  test('that is not there is not created: its disk may not be mounted', async () => {
    const store = open(`file://${folder}/nao/montada`)
    const gone = /A pasta .*\/nao\/montada: ela não existe\. Crie-a .* confira se está montado\./
    await expect(put(store, 'a/00/x', Buffer.from('x'))).rejects.toThrow(gone)
    await expect(store.read('a/00/x', 0, 1)).rejects.toThrow(gone)
    await expect(store.delete('a/00/x')).rejects.toThrow(gone)
    await expect(listAll(store, 'a')).rejects.toThrow(gone)
    expect(readdirSync(folder)).not.toContain('nao')
  })

  test.skipIf(process.getuid?.() === 0)('without permission says so', async () => {
    mkdirSync(join(folder, 'fechada'))
    chmodSync(join(folder, 'fechada'), 0o500)
    await expect(put(open(`file://${folder}/fechada`), 'a/00/x', Buffer.from('x'))).rejects.toThrow(
      /dê a pasta ao usuário do serviço/,
    )
  })

  test('that a listing cannot read to its end is explained, and a folder that was removed meanwhile is passed over', async () => {
    const path = join(folder, 'lista')
    const store = open(`file://${path}`)
    for (const part of ['00', '01', '02']) {
      mkdirSync(join(path, 'a', part), { recursive: true })
      writeFileSync(join(path, 'a', part, 'x'), '')
    }
    const rest = async (afterFirst: () => void): Promise<string[]> => {
      const listing = store.list('a')
      const names = (await listing.next()).value.map(({ name }: ListedObject) => name)
      afterFirst()
      for await (const batch of listing) names.push(...batch.map(({ name }) => name))
      return names
    }
    // Which folder comes first is up to the file system.
    const parts = readdirSync(join(path, 'a')).map(part => `a/${part}/x`)
    expect(await rest(() => rmSync(join(path, dirname(parts[1]!)), { recursive: true }))).toEqual([parts[0], parts[2]])
    await expect(rest(() => rmSync(path, { recursive: true }))).rejects.toThrow(/^A pasta .*\/lista: ela não existe\./)
  })

  test('that is a file says so', async () => {
    writeFileSync(join(folder, 'arquivo'), '')
    await expect(put(open(`file://${folder}/arquivo`), 'a/00/x', Buffer.from('x'))).rejects.toThrow(/não é uma pasta/)
  })
})

describe('a service that speaks S3', () => {
  test('that refuses, or does not answer, is named without its secrets', async () => {
    const wrong = open(s3.url('balde').replace(/:[^:@]+@/, ':outra@'))
    const refused = put(wrong, 'a/00/x', Buffer.from('x'))
    await expect(refused).rejects.toThrow(
      /^O serviço S3 s3\+http:\/\/127.* respondeu HTTP 403 SignatureDoesNotMatch\. Confira a chave/,
    )
    await expect(listAll(wrong, 'a')).rejects.toThrow(/HTTP 403/)
    const away = open('s3+http://AKIDEXAMPLE:segredo@127.0.0.1:9/balde')
    await expect(away.read('a/00/x', 0, 1)).rejects.toThrow(/^O serviço S3 s3\+http:\/\/127\.0\.0\.1:9\/balde não respondeu/)
    await expect(away.delete('a/00/x')).rejects.not.toThrow(/AKID|segredo/)
    s3.failWith = 503
    await expect(open(s3.url('balde')).delete('a/00/x')).rejects.toThrow(/HTTP 503 InternalError/)
    s3.failWith = null
  })
})

describe('an answer that does not come from the bucket', () => {
  const answers = { status: 404, body: '' }
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(answers.status, { location: 'http://127.0.0.1:9/' }).end(answers.body))
  })
  const address = new Promise<string>(resolve =>
    server.listen(0, '127.0.0.1', () => resolve(`s3+http://K:S@127.0.0.1:${(server.address() as AddressInfo).port}/balde`)),
  )
  afterAll(() => void server.close().closeAllConnections())
  const asked = async (status: number, body: string) => {
    Object.assign(answers, { status, body })
    const store = open(await address)
    return Promise.allSettled([
      store.read('a/00/x', 0, 1),
      store.delete('a/00/x'),
      put(store, 'a/00/x', Buffer.from('x')),
      listAll(store, 'a'),
    ])
  }
  const refusals = (settled: PromiseSettledResult<unknown>[]) =>
    settled.map(result => (result.status === 'rejected' ? String(result.reason.message) : result.value))

  test('does not say that an object is missing: only NoSuchKey does', async () => {
    for (const body of ['<html>404 NoSuchKey nginx</html>', '', '<Error><Code>NoSuchBucket</Code></Error>'])
      expect(refusals(await asked(404, body))).toEqual(Array(4).fill(expect.stringMatching(/respondeu HTTP 404/)))
    const [read, deleted] = refusals(await asked(404, '<Error><Code>NoSuchKey</Code></Error>'))
    expect([read, deleted]).toEqual([null, undefined])
  })

  test.each([
    [301, 'PermanentRedirect'],
    [307, 'TemporaryRedirect'],
  ])('of another region, %s, says to look at the region', async (status, code) => {
    const said = new RegExp(`respondeu HTTP ${status} ${code}\\. Confira a região \\(#region=\\) e o endereço\\.$`)
    expect(refusals(await asked(status, `<Error><Code>${code}</Code></Error>`))).toEqual(
      Array(4).fill(expect.stringMatching(said)),
    )
  })
})

describe('FILES_URL', () => {
  test('is read as the targets of checkpoints are', () => {
    expect(readConfig({}).files).toBeNull()
    expect(readConfig({ FILES_URL: 'file:///srv/arquivos%20do%20carteiro/' }).files).toEqual({
      kind: 'folder',
      path: '/srv/arquivos do carteiro',
    })
    expect(readConfig({ FILES_URL: 's3+https://K:S%2Fx@s3.example/b/p/#region=sa-east-1' }).files).toEqual({
      ...{ kind: 's3', url: 'https://s3.example/b/p', name: 's3+https://s3.example/b/p/', region: 'sa-east-1' },
      ...{ accessKey: 'K', secretKey: 'S/x' },
    })
  })

  test.each([
    'pasta',
    'file:///',
    'file://servidor/pasta',
    'file:///a#every=5',
    'https://K:S@s3.example/b',
    's3+https://s3.example/b',
    's3+https://K:S@s3.example',
    's3+https://K:S@s3.example/b#every=60',
    's3+file:///a',
  ])('%s is refused by name, with what is expected', value => {
    expect(() => readConfig({ FILES_URL: value })).toThrow(/- FILES_URL deve ser file:\/\/\/pasta\/absoluta ou s3\+https:/)
  })
})
