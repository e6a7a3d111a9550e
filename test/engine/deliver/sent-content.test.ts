import { createHash } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import type { Change } from '../../../src/domain/delivery/change.js'
import { takeCarrierEvents } from '../../../src/engine/record/carrier-events.js'
import { listSentContent, readSentContent, readSentMessage } from '../../../src/store/evidence/sent-content.js'
import { sourceOf, UNHEARD } from '../../support/gateway/attempts.js'
import { gatewayForFile } from '../../support/gateway/gateway.js'
import {
  endWork,
  type Parcel,
  refused,
  ScriptedCarrier,
  startTestWorker,
  type TestLane,
  type TestWorker,
} from '../../support/gateway/lanes.js'
import { send, validSend } from '../../support/gateway/requests.js'

/** Whatever becomes of an attempt, what left is kept with the event that tells of it. */
let worker: TestWorker | undefined

const { database, gateway, account } = await gatewayForFile()
const { pool } = database

afterEach(async () => {
  await endWork(pool, worker)
  worker = undefined
})

function work(lane: TestLane, leaseMs = 30_000): void {
  worker = startTestWorker(pool, [lane], leaseMs)
}

const accept = async (): Promise<string> =>
  ((await send(gateway.url, account.token, validSend)).body as { idEmail: string }).idEmail

const eventsOf = async (id: string) =>
  (await pool.query('select seq, type, data from event where notification_id = $1 order by seq', [id])).rows as {
    seq: number
    type: string
    data: Record<string, unknown>
  }[]

const SECRET = 'a1b2c3d4e5'
const textOf = ({ attempt }: Parcel): string => `Tentativa ${attempt}: https://x.example/s/${SECRET} para você.`

function keeping(script?: ConstructorParameters<typeof ScriptedCarrier>[0]): ScriptedCarrier {
  const carrier = new ScriptedCarrier(script)
  carrier.contentOf = parcel => ({ type: 'text/plain', extension: 'txt', bytes: Buffer.from(textOf(parcel)), secrets: [SECRET] })
  return carrier
}

const typesOf = async (id: string): Promise<string[]> => (await eventsOf(id)).map(({ type }) => type)

test('a message that the carrier took is kept, its event commits to it, and the sender’s copy hides the link', async () => {
  work({ carrier: keeping() })
  const id = await accept()
  await expect.poll(() => typesOf(id)).toEqual(['accepted', 'sent'])
  const [, sent] = await eventsOf(id)
  const text = textOf({ attempt: 1 } as Parcel)
  const copy = text.replace(SECRET, '**********')
  const { bytes, salt } = (await readSentMessage(pool, id, 'email', 1))!
  expect(bytes.toString()).toBe(text)
  expect((await readSentContent(pool, id, 'email', 1))!.toString()).toBe(copy)
  const digest = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')
  expect(sent!.data.content).toEqual({
    type: 'text/plain',
    size: Buffer.byteLength(text),
    sha256: digest(copy),
    hidden: SECRET.length,
    secret: digest(
      Buffer.concat([salt!, Buffer.from(JSON.stringify([[text.indexOf(SECRET), SECRET.length]])), Buffer.from(SECRET)]),
    ),
  })
  expect(await listSentContent(pool, id)).toEqual([
    {
      channel: 'email',
      ordinal: 1,
      seq: 2,
      contentType: 'text/plain',
      extension: 'txt',
      size: Buffer.byteLength(text),
      sha256: digest(copy),
    },
  ])
  expect(await readSentContent(pool, id, 'email', 2)).toBeNull()
})

test('an unknown outcome keeps what may have arrived, and its repetition what was sent then', async () => {
  work({ carrier: keeping(({ attempt }) => (attempt === 1 ? Promise.reject(refused('uncertain')) : {})) })
  const id = await accept()
  await expect.poll(() => typesOf(id)).toEqual(['accepted', 'uncertain', 'retried', 'sent'])
  expect((await listSentContent(pool, id)).map(({ ordinal, seq }) => [ordinal, seq])).toEqual([
    [1, 2],
    [2, 4],
  ])
  for (const attempt of [1, 2])
    expect((await readSentMessage(pool, id, 'email', attempt))!.bytes.toString()).toBe(textOf({ attempt } as Parcel))
})

test('a refused message was taken by nobody, and its event tells the facts of the attempt', async () => {
  const error = refused('permanent')
  error.facts = { smtp: { server: 'mx.example.com' } }
  work({ carrier: keeping(() => Promise.reject(error)) })
  const id = await accept()
  await expect.poll(() => typesOf(id)).toEqual(['accepted', 'failed'])
  expect((await eventsOf(id))[1]!.data).toMatchObject({ smtp: { server: 'mx.example.com' } })
  expect(await listSentContent(pool, id)).toEqual([])
})

describe('where the outcome itself is not recorded, a note keeps the content:', () => {
  test('the carrier’s report came before its answer', async () => {
    const carrier = keeping(async ({ reference }) => {
      const report = { kind: 'report', of: { ours: reference }, type: 'delivered', at: null, answer: 'entregue' } as const
      const parts = { pool, clock: Date.now, recorder: worker!.recorder, ...UNHEARD }
      await takeCarrierEvents(sourceOf('email', 'scripted'), [report], parts)
      return { answer: `250 /s/${SECRET}` }
    })
    work({ carrier })
    const id = await accept()
    await expect.poll(() => typesOf(id)).toEqual(['accepted', 'delivered', 'note'])
    const [, , note] = await eventsOf(id)
    expect(note!.data).toMatchObject({ unrecorded: 'sent', attempt: 1, answer: '250 /s/…', content: { hidden: 10 } })
    expect((await readSentMessage(pool, id, 'email', 1))!.bytes.toString()).toContain(SECRET)
  })

  test('the attempt had lost its lease', async () => {
    let release = (): void => {}
    const first = new Promise<void>(resolve => {
      release = resolve
    })
    const carrier = keeping(async ({ attempt }) => {
      if (attempt === 1) await first
      return {}
    })
    work({ carrier })
    const id = await accept()
    await expect.poll(() => carrier.got.length).toBe(1)
    await pool.query("update delivery set state = 'queued', lease_owner = null, lease_until = null where notification_id = $1", [
      id,
    ])
    await expect.poll(() => typesOf(id)).toEqual(['accepted', 'sent'])
    release()
    await expect.poll(() => typesOf(id)).toEqual(['accepted', 'sent', 'note'])
    expect((await listSentContent(pool, id)).map(({ seq }) => seq)).toEqual([2, 3])
  })
})

test('an outcome that is written twice, because the answer to its commit was lost, keeps one content and adds no note', async () => {
  let outcome: Change | undefined
  work({
    carrier: keeping(),
    options: {
      record: change => {
        outcome = change
        return worker!.recorder.record(change)
      },
    },
  })
  const id = await accept()
  await expect.poll(() => typesOf(id)).toEqual(['accepted', 'sent'])
  expect(await worker!.recorder.record(outcome!)).toBe('fenced')
  expect(await typesOf(id)).toEqual(['accepted', 'sent'])
  expect(await listSentContent(pool, id)).toHaveLength(1)
})

test('a content that cannot be kept does not keep the outcome from being recorded', async () => {
  const carrier = new ScriptedCarrier()
  carrier.contentOf = () => {
    throw new Error('broken')
  }
  const errors: unknown[] = []
  work({ carrier, options: { onError: (_, what) => errors.push(what) } })
  const id = await accept()
  await expect.poll(() => typesOf(id)).toEqual(['accepted', 'sent'])
  expect(errors).toEqual(['a message that was sent could not be kept'])
  expect(carrier.got).toHaveLength(1)
})

test('a large content with files is rebuilt to the byte, and its files are stored once', async () => {
  const carrier = new ScriptedCarrier()
  const file = Buffer.alloc(300_000, 'arquivo ')
  const sha256 = createHash('sha256').update(file).digest()
  await pool.query('insert into blob (sha256, size, bytes) values ($1, $2, $3)', [sha256, file.length, file])
  const [head, middle, tail] = [`${'á'.repeat(200_000)}${SECRET}`, `meio ${SECRET}`, 'fim'].map(part => Buffer.from(part)) as [
    Buffer,
    Buffer,
    Buffer,
  ]
  const exact = Buffer.concat([head, file, middle, file, tail])
  const fileAt = (at: number) => ({ at, length: file.length, sha256: sha256.toString('hex'), encoding: 'none' as const })
  const files = [fileAt(head.length), fileAt(head.length + file.length + middle.length)]
  carrier.contentOf = () => ({ type: 'text/plain', extension: 'txt', bytes: exact, files, secrets: [SECRET] })
  work({ carrier })
  const id = await accept()
  await expect.poll(() => typesOf(id)).toEqual(['accepted', 'sent'])
  expect((await readSentMessage(pool, id, 'email', 1))!.bytes.equals(exact)).toBe(true)
  const copy = (await readSentContent(pool, id, 'email', 1))!
  expect(copy.equals(Buffer.from(exact.toString().replaceAll(SECRET, '*'.repeat(SECRET.length))))).toBe(true)
  const { rows } = await pool.query('select octet_length(bytes) as size, packing from sent_content where notification_id = $1', [
    id,
  ])
  expect(rows).toEqual([{ size: expect.toSatisfy(size => size < 5_000), packing: 'deflate' }])
})
