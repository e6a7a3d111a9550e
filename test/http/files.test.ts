import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DeliveryContext } from '../../src/channels/channel-runtime.js'
import type { LetterConfig } from '../../src/channels/letter/channel.js'
import { letterRuntime } from '../../src/channels/letter/delivery.js'
import type { LetterMessage } from '../../src/channels/letter/letter-message.js'
import { takeRecording } from '../../src/channels/voice/recordings.js'
import { completeSettings } from '../../src/domain/account.js'
import { FilesUnavailable } from '../../src/domain/errors.js'
import { createRecorder } from '../../src/engine/record/recorder.js'
import { exportPerson } from '../../src/evidence/person/export.js'
import { readZip } from '../../src/evidence/verify/zip.js'
import { Wake } from '../../src/runtime/wake.js'
import type { Claim } from '../../src/store/delivery/claims.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { fileOf, filesFolder, storeAt } from '../support/files.js'
import { createAccount, type Gateway, startGateway, type TestAccount, testKeys } from '../support/gateway/gateway.js'
import { openLink, sendNotification } from '../support/gateway/recipients.js'
import { errorBody, request, send, validSend } from '../support/gateway/requests.js'
import { visit } from '../support/gateway/visitor.js'

/** A gateway that keeps recordings and letters in a folder. */
const folder = filesFolder()
const hidden = `${folder.path}-hidden`
let database: TestDatabase
let gateway: Gateway
let account: TestAccount

beforeAll(async () => {
  database = await createDatabase(storeAt(folder.url))
  gateway = await startGateway(database.pool, { FILES_URL: folder.url })
  account = await createAccount(database.pool)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

/** Runs something while the folder is not there, as a disk that is not mounted. */
async function whileAway<T>(work: () => Promise<T>): Promise<T> {
  renameSync(folder.path, hidden)
  try {
    return await work()
  } finally {
    renameSync(hidden, folder.path)
  }
}

async function takeSound(bytes: Buffer): Promise<{ id: string; link: string }> {
  const body = { ...validSend, to: undefined, voz: { number: '11987654321' } }
  const id = ((await send(gateway.url, account.token, body)).body as { idEmail: string }).idEmail
  const { record } = createRecorder(database.pool, Date.now, new Wake())
  await takeRecording(
    { carrier: 'sip', notification: id, ordinal: 1 },
    { kind: 'file', of: { ours: `${id}.voice.1` }, id: `r-${id}`, seconds: 3, bytes },
    { pool: database.pool, clock: Date.now, record },
  )
  const { linkCall } = (await request(`${gateway.url}/gw/voz/${id}`, { token: account.token })).body as { linkCall: string }
  return { id, link: linkCall }
}

const objectOf = async (sha256: string): Promise<string | null> =>
  (await database.pool.query('select object from blob where sha256 = $1', [Buffer.from(sha256, 'hex')])).rows[0].object
const AWAY =
  'O arquivo não pôde ser lido agora: o lugar em que os arquivos ficam guardados não responde. Tente novamente em alguns minutos.'

test('a recording is heard from outside, whole and in ranges, and is among the person’s files', async () => {
  const { bytes, sha256 } = fileOf()
  const { id, link } = await takeSound(bytes)
  expect(folder.names()).toContain(await objectOf(sha256))
  expect(Buffer.from(await (await fetch(link)).arrayBuffer()).equals(bytes)).toBe(true)
  const range = await fetch(link, { headers: { range: 'bytes=262100-524400' } })
  expect([range.status, range.headers.get('content-range')]).toEqual([206, 'bytes 262100-524400/600000'])
  expect(Buffer.from(await range.arrayBuffer()).equals(bytes.subarray(262_100, 524_401))).toBe(true)
  const person = { contacts: [], names: [] } as unknown as Parameters<typeof exportPerson>[1]
  const parts: Uint8Array[] = []
  for await (const part of (await exportPerson(database.pool, person, [id], new Date())).write()) parts.push(part)
  expect(Buffer.concat(parts).includes(bytes)).toBe(true)
})

test('a person’s export goes on without the files that are missing or damaged, and names them; a store that is away ends it', async () => {
  const sounds = [fileOf(), fileOf(), fileOf()]
  const ids: string[] = []
  for (const { bytes } of sounds) ids.push((await takeSound(bytes)).id)
  const paths = await Promise.all(sounds.map(async ({ sha256 }) => join(folder.path, (await objectOf(sha256))!)))
  rmSync(paths[0]!)
  writeFileSync(paths[1]!, 'another')
  const person = { contacts: [], names: [], account: null }
  const make = () => exportPerson(database.pool, person, ids, new Date())
  const { missingFiles, files, write } = await make()
  expect(missingFiles).toEqual([
    { path: expect.stringContaining(`${ids[0]}/gravacao-1-`), reason: expect.stringContaining('não está onde deveria') },
    { path: expect.stringContaining(`${ids[1]}/gravacao-1-`), reason: expect.stringContaining('o hash não confere') },
  ])
  const parts: Uint8Array[] = []
  for await (const part of write()) parts.push(part)
  const found = readZip(Buffer.concat(parts))
  expect([...found.keys()].filter(path => path.includes('gravacao'))).toEqual([expect.stringContaining(ids[2]!)])
  expect(files).toBe(found.size - 1)
  expect(JSON.parse(Buffer.from(found.get('dados.json')!).toString()).missingFiles).toEqual(missingFiles)
  await whileAway(() => expect(make()).rejects.toThrow(FilesUnavailable))
})

test('what cannot be read now is answered 503 to programs and people, and a changed file is never given out', async () => {
  const { bytes, sha256 } = fileOf()
  const { link } = await takeSound(bytes)
  await whileAway(async () => {
    const answer = await request(link)
    expect([answer.status, answer.body]).toEqual([503, errorBody(503, AWAY, 'Service Unavailable')])
    expect(answer.headers.get('retry-after')).toBe('60')
    const page = await visit(link, { headers: { accept: 'text/html' } })
    expect([page.status, page.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8'])
    expect(page.text).toContain(AWAY)
  })
  const path = join(folder.path, (await objectOf(sha256))!)
  writeFileSync(path, Buffer.concat([Buffer.from([bytes[0]! ^ 1]), bytes.subarray(1)]))
  const damaged = await request(link)
  expect([damaged.status, JSON.stringify(damaged.body)]).toEqual([503, expect.stringContaining('o hash não confere')])
  expect((await visit(link, { headers: { accept: 'text/html' } })).text).toContain('o hash não confere')
  writeFileSync(path, bytes)
  expect((await fetch(link)).status).toBe(200)
})

test('a recording of which there is no other copy goes into the database while the folder is away', async () => {
  const { bytes, sha256 } = fileOf()
  const { link } = await whileAway(() => takeSound(bytes))
  expect(await objectOf(sha256)).toBeNull()
  expect(Buffer.from(await (await fetch(link)).arrayBuffer()).equals(bytes)).toBe(true)
})

test('a recording that somebody attaches is read from outside, and answered 503 while it cannot be', async () => {
  const { bytes } = fileOf()
  await takeSound(bytes)
  const attachments = [{ name: 'ligacao.wav', base64: bytes.toString('base64') }]
  const { url, target } = await sendNotification(gateway, database.pool, account, { attachments }, 'email')
  const cookie = await openLink(url, target)
  const read = () => fetch(`${url}/anexo/1`, { headers: { cookie } })
  expect(Buffer.from(await (await read()).arrayBuffer()).equals(bytes)).toBe(true)
  await whileAway(async () => {
    const answer = await read()
    expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining(AWAY)])
  })
})

test('a letter whose PDF cannot be stored is not made; once it is, every attempt has the same bytes', async () => {
  const body = { ...validSend, to: undefined, carta: { modelo: 'registrada', variables: {} } }
  const { idEmail } = (await send(gateway.url, account.token, body)).body as { idEmail: string }
  const delivery = await letterRuntime.openDelivery({
    pool: database.pool,
    keys: testKeys,
    publicUrl: gateway.url,
    config: { carriers: [], keyFile: null, tracking: null },
    hasCarriers: false,
    simulatorAddress: async () => null,
    shortLink: async () => '7k3m9q2x4z',
  } as unknown as DeliveryContext<LetterConfig>)
  const claim = {
    ...{ notification: idEmail, channel: 'letter', account: account.id, accountName: 'Conta', recipientName: 'Maria da Silva' },
    ...{
      settings: completeSettings({}),
      ordinal: 1,
      reference: `${idEmail}.letter.1`,
      subject: 'Aviso',
      content: '<p>Aviso</p>',
    },
    request: { variables: { logradouro: 'Rua A', numero: '1', cidade: 'São Paulo', uf: 'SP', cep: '01001-000' } },
    acceptedAt: new Date(),
  } as unknown as Claim
  try {
    const prepare = delivery.prepare({} as never) as (claim: Claim) => Promise<LetterMessage>
    await whileAway(() => expect(prepare(claim)).rejects.toThrow(FilesUnavailable))
    expect((await database.pool.query('select from letter')).rowCount).toBe(0)
    const first = await prepare(claim)
    const object = (await objectOf(first.sha256))!
    expect(readFileSync(join(folder.path, object)).equals(Buffer.from(first.pdf))).toBe(true)
    expect(Buffer.from((await prepare(claim)).pdf).equals(Buffer.from(first.pdf))).toBe(true)
    await whileAway(() => expect(prepare(claim)).rejects.toThrow(FilesUnavailable))
  } finally {
    await delivery.close?.()
  }
})
