import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CarrierFile } from '../../../src/channels/provider.js'
import { voice } from '../../../src/channels/voice/channel.js'
import { endRecordings, takeRecording } from '../../../src/channels/voice/recordings.js'
import type { Recorder } from '../../../src/domain/delivery/change.js'
import { StoreUnavailable } from '../../../src/domain/errors.js'
import { takeCarrierEvents } from '../../../src/engine/record/carrier-events.js'
import { createRecorder } from '../../../src/engine/record/recorder.js'
import { findFaults } from '../../../src/evidence/notification-faults.js'
import { Wake } from '../../../src/runtime/wake.js'
import { deleteUnusedBlobs, dropBlobs } from '../../../src/store/files/blobs.js'
import { readEventLog } from '../../../src/store/notification/event-log.js'
import { createDatabase, type TestDatabase } from '../../support/database/database.js'
import { attemptBy, sourceOf, UNHEARD } from '../../support/gateway/attempts.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../../support/gateway/gateway.js'
import { errorBody, request, send, validSend } from '../../support/gateway/requests.js'

/** How long the recordings of calls are kept. */
const DAYS = 30
let database: TestDatabase
let gateway: Gateway
let account: TestAccount
let recorder: Recorder

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
  recorder = createRecorder(database.pool, Date.now, new Wake())
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

/** A call that was recorded some days ago, and the address of its recording. */
async function record(sound: string, daysAgo: number): Promise<{ id: string; link: string; tellAgain(): Promise<void> }> {
  const body = { ...validSend, to: undefined, voz: { number: '11987654321' } }
  const id = ((await send(gateway.url, account.token, body)).body as { idEmail: string }).idEmail
  const tellAgain = (): Promise<void> =>
    takeRecording(
      { carrier: 'sip', notification: id, ordinal: 1 },
      { kind: 'file', of: { ours: `${id}.voice.1` }, id: `r-${id}`, seconds: 3, bytes: Buffer.from(sound) },
      { pool: database.pool, clock: Date.now, record: recorder.record },
    )
  await tellAgain()
  await database.pool.query("update recording set created_at = now() - $2 * interval '1 day' where notification_id = $1", [
    id,
    daysAgo,
  ])
  const { linkCall } = (await request(`${gateway.url}/gw/voz/${id}`, { token: account.token })).body as { linkCall: string }
  return { id, link: linkCall, tellAgain }
}

const ageBlobs = (): Promise<unknown> => database.pool.query("update blob set touched_at = now() - interval '25 hours'")
const heard = async (link: string): Promise<string> => (await fetch(link)).text()
const blobs = async (): Promise<string[]> =>
  (await database.pool.query("select convert_from(bytes, 'utf8') as text from blob order by text")).rows.map(row => row.text)
const expired = errorBody(410, 'A gravação foi apagada ao fim do prazo em que fica guardada.', 'Gone')

test('when its term is over the sound goes, and the page says so; events, digest and status stay', async () => {
  const [old, young] = [await record('velha', DAYS + 1), await record('nova', DAYS - 1)]
  await ageBlobs()
  expect(await heard(old.link)).toBe('velha')
  await endRecordings({ pool: database.pool, dropBlobs: hashes => dropBlobs(database.pool, voice.blobUses!, hashes) }, DAYS)

  expect(await blobs()).toEqual(['nova'])
  expect(await request(old.link)).toMatchObject({ status: 410, body: expired })
  const page = await fetch(old.link, { headers: { accept: 'text/html' } })
  expect([page.status, page.headers.get('content-type')]).toEqual([410, 'text/html; charset=utf-8'])
  expect(await page.text()).toContain('fale com quem enviou a notificação')
  expect(await heard(young.link)).toBe('nova')
  expect((await request(old.link.replace(/.{6}\.wav$/, 'AAAAAA.wav'))).status).toBe(404)
  const { rows } = await database.pool.query(
    "select data->>'recording' as sha256 from event where notification_id = $1 and type = 'recorded'",
    [old.id],
  )
  expect(rows).toEqual([{ sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }])
  for await (const page of readEventLog(database.pool)) expect(page.flatMap(findFaults)).toEqual([])
})

test('told again it does not come back', async () => {
  const { link, tellAgain } = await record('de novo', DAYS + 1)
  await ageBlobs()
  await endRecordings({ pool: database.pool, dropBlobs: hashes => dropBlobs(database.pool, voice.blobUses!, hashes) }, DAYS)
  await tellAgain()
  expect((await request(link)).status).toBe(410)
  await ageBlobs()
  await deleteUnusedBlobs(database.pool, voice.blobUses!)
  expect(await blobs()).not.toContain('de novo')
})

test('the same sound of a call that still has its term is kept for that one alone', async () => {
  const [old, young] = [await record('igual', DAYS + 1), await record('igual', 1)]
  await ageBlobs()
  await endRecordings({ pool: database.pool, dropBlobs: hashes => dropBlobs(database.pool, voice.blobUses!, hashes) }, DAYS)
  expect((await request(old.link)).status).toBe(410)
  expect(await heard(young.link)).toBe('igual')
})

test('more than one batch of them go in one run', async () => {
  for (let n = 0; n < 25; n++) await record(`muitas ${n}`, DAYS + 1)
  await ageBlobs()
  await endRecordings({ pool: database.pool, dropBlobs: hashes => dropBlobs(database.pool, voice.blobUses!, hashes) }, DAYS)
  expect((await blobs()).filter(text => text.startsWith('muitas'))).toEqual([])
})

test('a database that is gone for a moment costs no recording that came with its bytes', async () => {
  const body = { ...validSend, to: undefined, voz: { number: '11987654321' } }
  const { idEmail: id } = (await send(gateway.url, account.token, body)).body as { idEmail: string }
  await attemptBy(database.pool, id, 'voice', 'sip')
  let losses = 0
  const pool = new Proxy(database.pool, {
    get(target, member) {
      const value = Reflect.get(target, member)
      if (member !== 'query' || losses === 2) return typeof value === 'function' ? value.bind(target) : value
      losses++
      return () => Promise.reject(new StoreUnavailable(new Error('gone')))
    },
  })
  const take = (event: CarrierFile): Promise<boolean> =>
    takeCarrierEvents(sourceOf('voice', 'sip'), [event], { pool, clock: Date.now, recorder, ...UNHEARD })
  const told = { kind: 'file', of: { ours: `${id}.voice.1` }, id: `r-${id}`, seconds: 3 } as const
  // The carrier has the bytes of this one, and repeats its callback.
  await expect(take(told)).rejects.toThrow(StoreUnavailable)
  expect(losses).toBe(1)
  expect(await take({ ...told, bytes: Buffer.from('única') })).toBe(true)
  expect(losses).toBe(2)
  expect(await blobs()).toContain('única')
})
