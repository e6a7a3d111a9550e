import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Report } from '../../../../src/channels/email/reports/reports.js'
import { createReturns, RETURNED_NOTES, type TakeReturn } from '../../../../src/channels/email/reports/returns.js'
import { createRecorder } from '../../../../src/engine/record/recorder.js'
import { Wake } from '../../../../src/runtime/wake.js'
import { suppress } from '../../../../src/store/accounts/suppressions.js'
import { brokenChains } from '../../../support/chain.js'
import { createDatabase, type TestDatabase } from '../../../support/database.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../../../support/gateway.js'
import { request, send, validSend } from '../../../support/requests.js'

/** What comes back for one e-mail, again and again, from whoever knows its address. */
let database: TestDatabase
let gateway: Gateway
let account: TestAccount
let take: TakeReturn
let takeElsewhere: TakeReturn
const told: string[] = []

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
  const { pool } = database
  const node = (): TakeReturn =>
    createReturns({
      clock: Date.now,
      record: createRecorder(pool, Date.now, new Wake()).record,
      suppress: (notification, reason) => suppress(pool, { notification, channel: 'email', reason }),
      onLastNote: (notification, kind) => void told.push(`${notification} ${kind}`),
    })
  take = node()
  takeElsewhere = node()
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

const accept = async (): Promise<string> =>
  ((await send(gateway.url, account.token, validSend)).body as { idEmail: string }).idEmail
const reply = (text: string): Report => ({ kind: 'reply', text })
const delayed = { action: 'delayed', status: '4.4.1', diagnostic: null, finalRecipient: null } as const
const notesOf = async (id: string, source: string): Promise<{ reply?: string; lastNote?: boolean }[]> =>
  (
    await database.pool.query(
      "select data from event where notification_id = $1 and type = 'note' and source = $2 order by seq",
      [id, source],
    )
  ).rows.map(row => row.data)

test('a chain holds a hundred of each kind, the last one says so, and the rest is dropped', async () => {
  const id = await accept()
  for (let n = 1; n <= RETURNED_NOTES.most + 5; n++) await take(id, reply(`n.º ${n}`))
  const notes = await notesOf(id, 'report:reply')
  expect(notes).toHaveLength(RETURNED_NOTES.most)
  expect(notes.at(-1)).toMatchObject({ reply: `n.º ${RETURNED_NOTES.most}`, lastNote: true })
  expect(notes.filter(({ lastNote }) => lastNote)).toHaveLength(1)
  expect(told).toEqual([`${id} reply`])
  // Another kind has places of its own, and one report with many entries cannot take more than there are.
  for (let n = 0; n < 3; n++) await take(id, { kind: 'dsn', entries: Array(50).fill(delayed) })
  expect(await notesOf(id, 'report:dsn')).toHaveLength(RETURNED_NOTES.most)
  expect(await brokenChains(database.pool)).toEqual([])

  // What changes the status counts whatever came before it, and so does a wish to be left alone.
  await take(id, { kind: 'dsn', entries: [{ ...delayed, action: 'failed', status: '5.2.2' }] })
  const status = (await request(`${gateway.url}/gw/email/${id}`, { token: account.token })).body
  expect(status).toMatchObject({ description: 'Devolvido', error: true })
  for (let n = 0; n < RETURNED_NOTES.most; n++) await take(id, { kind: 'complaint', feedbackType: 'abuse' })
  await database.pool.query('delete from suppression')
  await take(id, { kind: 'complaint', feedbackType: 'abuse' })
  expect((await database.pool.query('select reason from suppression')).rows).toEqual([{ reason: 'complaint' }])
})

test('concurrent messages, on two nodes, do not exceed the limit of notes', async () => {
  const id = await accept()
  for (let n = 1; n < RETURNED_NOTES.most; n++) await take(id, reply('antes'))
  await Promise.all(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? take : takeElsewhere)(id, reply('junto'))))
  const notes = await notesOf(id, 'report:reply')
  expect(notes).toHaveLength(RETURNED_NOTES.most)
  expect(notes.filter(({ lastNote }) => lastNote)).toHaveLength(1)
  expect(told.filter(line => line.startsWith(id))).toEqual([`${id} reply`])
})
