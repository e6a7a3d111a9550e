import { expect, test } from 'vitest'
import { createRecipient } from '../../../src/engine/recipient/recipient.js'
import { createRecorder } from '../../../src/engine/record/recorder.js'
import { Wake } from '../../../src/runtime/wake.js'
import { gatewayForFile, testKeys } from '../../support/gateway/gateway.js'
import { send, validSend } from '../../support/gateway/requests.js'

const { database, gateway, account } = await gatewayForFile()
const { pool } = database
const { record } = createRecorder(pool, Date.now, new Wake())

async function newVisit() {
  const { body } = await send(gateway.url, account.token, validSend)
  const target = { notification: (body as { idEmail: string }).idEmail, channel: 'email' }
  return { target, at: new Date(), address: '203.0.113.7', userAgent: 'Firefox', signals: [] }
}
const suppressed = async () => (await pool.query('select reason, notification_id as id from suppression')).rows

test('that the person is another one suppresses the recipient in the transaction that records it, or not at all', async () => {
  const visit = await newVisit()
  const away = () => Promise.reject(new Error('sem banco'))
  await expect(
    createRecipient({ pool, clock: Date.now, keys: testKeys, record: away }).reportWrongPerson(visit),
  ).rejects.toThrow()
  expect(await suppressed()).toEqual([])
  const recipient = createRecipient({ pool, clock: Date.now, keys: testKeys, record })
  expect(await recipient.reportWrongPerson(visit)).toBe('counted')
  expect(await suppressed()).toEqual([{ reason: 'stranger', id: visit.target.notification }])
  // Known already: somebody may have released the address in between.
  await pool.query('delete from suppression')
  await recipient.reportWrongPerson(visit)
  expect(await suppressed()).toHaveLength(1)
})

test('what a person says after the confirmation does not count, and suppresses nobody', async () => {
  await pool.query('delete from suppression')
  const visit = await newVisit()
  const recipient = createRecipient({ pool, clock: Date.now, keys: testKeys, record })
  await recipient.visits.count(visit, 'confirm', 'confirmed')
  expect(await recipient.reportWrongPerson(visit)).toBe('noted')
  expect(await suppressed()).toEqual([])
})
