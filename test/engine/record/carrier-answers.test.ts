import { afterEach, describe, expect, test } from 'vitest'
import { saysMailboxIsGone } from '../../../src/channels/email/preparation.js'
import { type Receipt, SendError } from '../../../src/channels/provider.js'
import { takeCarrierEvents } from '../../../src/engine/record/carrier-events.js'
import { findFaults } from '../../../src/evidence/notification-faults.js'
import { readEventLog } from '../../../src/store/notification/event-log.js'
import { sourceOf, UNHEARD } from '../../support/gateway/attempts.js'
import { gatewayForFile } from '../../support/gateway/gateway.js'
import { ScriptedCarrier, startTestWorker, type TestLane, type TestWorker } from '../../support/gateway/lanes.js'
import { send, validSend } from '../../support/gateway/requests.js'

/** Whatever a carrier answers, what became of the message is recorded. */
let worker: TestWorker | undefined

const { database, gateway, account } = await gatewayForFile()

afterEach(async () => {
  await worker?.stop()
  worker = undefined
  for await (const page of readEventLog(database.pool)) expect(page.flatMap(findFaults)).toEqual([])
})

/** A lease that ends soon: an outcome that cannot be recorded would be an unknown one, and its message sent again. */
const work = (lane: TestLane): void => {
  worker = startTestWorker(database.pool, [lane], 500)
}

const accept = async (): Promise<string> =>
  ((await send(gateway.url, account.token, validSend)).body as { idEmail: string }).idEmail

const rowOf = async (id: string) =>
  (await database.pool.query('select state, attempt, sent_at is not null as sent from delivery where notification_id = $1', [id]))
    .rows[0]

const lastEventOf = async (id: string) =>
  (await database.pool.query('select type, data from event where notification_id = $1 order by seq desc limit 1', [id])).rows[0]

const hostile: [string, Partial<Receipt>][] = [
  ['half a character, as a cut leaves it', { answer: '250 Recebido \ud83d' }],
  ['a NUL', { answer: '250 Recebido\0' }],
  ['a number that is none', { facts: { segments: Number.NaN, cost: Number.POSITIVE_INFINITY } }],
  ['such words deep inside what it tells', { facts: { details: [{ 'na\0me': ['\udc00'] }] } }],
  ['a name with a NUL', { references: ['a\0b'] }],
  ['a name that no index holds', { references: [Array.from({ length: 5_000 }, (_, n) => n.toString(36)).join('')] }],
]

describe('a message that the carrier took with', () => {
  test.each(hostile)('%s is sent, once', async (_, receipt) => {
    const carrier = new ScriptedCarrier(() => receipt)
    work({ carrier })
    const id = await accept()
    await expect.poll(() => rowOf(id), { timeout: 120_000 }).toEqual({ state: 'done', attempt: 1, sent: true })
    expect(carrier.got).toHaveLength(1)
    expect(await lastEventOf(id)).toMatchObject({ type: 'sent', data: { answer: expect.stringMatching(/^250 /) } })
  })
})

test('a refusal in such words is a refusal, and spoils no other outcome of its group', async () => {
  const carrier = new ScriptedCarrier(({ notification }) =>
    notification === bad ? Promise.reject(new SendError('permanent', 'Recusado: \ud83d.', { answer: '550 \0\ud83d' })) : {},
  )
  const bad = await accept()
  const good = await accept()
  work({ carrier })
  for (const id of [bad, good]) await expect.poll(() => rowOf(id)).toMatchObject({ state: 'done', attempt: 1 })
  expect(await lastEventOf(bad)).toMatchObject({ type: 'failed' })
  expect(await lastEventOf(good)).toMatchObject({ type: 'sent' })
})

test('a report in such words counts, whether it finds its message at once or has to wait for it', async () => {
  const carrier = new ScriptedCarrier(({ notification }) => ({ references: [notification] }))
  work({ carrier })
  const id = await accept()
  await expect.poll(() => rowOf(id)).toMatchObject({ state: 'done' })
  const { pool } = database
  const report = (of: string) =>
    takeCarrierEvents(
      sourceOf('email', 'scripted'),
      [{ kind: 'report', of: { carrier: [of, 'x\0\ud83d'] }, type: 'delivered', at: null, answer: 'entregue \ud83d\0' }],
      { pool, clock: Date.now, recorder: worker!.recorder, ...UNHEARD },
    )
  await report(id)
  expect(await lastEventOf(id)).toMatchObject({ type: 'delivered', data: { answer: 'entregue \ufffd' } })
  await report('nobody knows it')
  expect((await pool.query('select names from early_report')).rows).toEqual([{ names: ['nobody knows it', 'x\ufffd'] }])
})

test('a mailbox that does not exist is suppressed in the transaction of the refusal, or neither is there', async () => {
  const { pool } = database
  const gone = () => new SendError('permanent', 'Não existe.', { answer: '550 5.1.1 User unknown' })
  const count = async (): Promise<number> => (await pool.query('select count(*)::int as n from suppression')).rows[0].n
  // The refusal cannot be committed while the suppression cannot.
  await database.asOwner('alter table suppression add constraint drill check (false) not valid')
  work({ carrier: new ScriptedCarrier(() => Promise.reject(gone())), options: { suppresses: saysMailboxIsGone } })
  const id = await accept()
  // Its lease ended, because its outcome could not be recorded.
  await expect.poll(async () => (await lastEventOf(id)).type, { timeout: 120_000 }).toBe('retried')
  await worker!.stop()
  expect(await count()).toBe(0)
  await database.asOwner('alter table suppression drop constraint drill')
  work({ carrier: new ScriptedCarrier(() => Promise.reject(gone())), options: { suppresses: saysMailboxIsGone } })
  const other = await accept()
  await expect.poll(async () => (await lastEventOf(other)).type).toBe('failed')
  expect(await count()).toBe(1)
})
