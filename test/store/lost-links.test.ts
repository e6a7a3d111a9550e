import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/domain/id.js'
import { replyLimit } from '../../src/engine/recipient/replies.js'
import { deleteLostLinks, findCodes, insertLinks } from '../../src/store/recipient/links.js'
import { deleteLostCounts, takeAttempt } from '../../src/store/recipient/visit-counts.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, startGateway } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'

let database: TestDatabase
let gateway: Gateway

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

/** Marks a notification with a link and one visit, and tells later whether they are still there. */
async function visit(notification: string): Promise<void> {
  await insertLinks(database.pool, [{ code: notification.replaceAll('-', '').slice(0, 20), notification, channel: 'sms' }])
  await takeAttempt(database.pool, notification, replyLimit)
}

const isKnown = async (notification: string): Promise<boolean[]> => {
  const [code] = await findCodes(database.pool, [{ notification, channel: 'sms' }])
  const count = await database.pool.query('select from visit_count where notification_id = $1', [notification])
  return [code !== null, count.rowCount === 1]
}

async function prune(): Promise<void> {
  await deleteLostLinks(database.pool)
  await deleteLostCounts(database.pool)
}

test('links and counts live as long as their notification, however old, and go with its month', async () => {
  const old = newId(Date.now() - 40 * 86_400_000)
  await visit(old)
  // Nothing to compare with: nothing goes.
  await prune()
  expect(await isKnown(old)).toEqual([true, true])

  const account = await createAccount(database.pool)
  const { idEmail } = (await send(gateway.url, account.token, validSend)).body as { idEmail: string }
  await visit(idEmail)
  await prune()
  expect(await isKnown(idEmail)).toEqual([true, true])
  expect(await isKnown(old)).toEqual([false, false])
})
