import { expect, onTestFinished, test } from 'vitest'
import { createAccount, gatewayForFile } from '../support/gateway/gateway.js'
import { receiverForTest } from '../support/gateway/receiver.js'
import { sendNotification } from '../support/gateway/recipients.js'
import { request } from '../support/gateway/requests.js'
import { createWebhook, QUICK, startTestDeliverer } from '../support/gateway/webhooks.js'

/** Messages that cannot be made, of events that no version of the program has written. */
const { database, gateway } = await gatewayForFile()
const { pool } = database
const damage = (id: string) => database.tamper("update event set data = '{}' where notification_id = $1 and seq = 1", [id])

test('a message that cannot be made fails by the plan, and says so; the others go, to the same endpoint too', async () => {
  const account = await createAccount(pool)
  const receiver = await receiverForTest()
  const { id: endpoint } = await createWebhook(gateway.url, account.token, { url: receiver.url })
  const [bad, good] = [await sendNotification(gateway, pool, account), await sendNotification(gateway, pool, account)]
  await damage(bad.id)
  const told: string[] = []
  const deliverer = startTestDeliverer(pool, {
    timing: { ...QUICK, plan: { delaysMs: [20, 20], laterMs: 20 } },
    onError: (_, what) => told.push(what),
  })
  onTestFinished(() => deliverer.stop())
  await expect.poll(() => receiver.got.map(({ json }) => json.notificationID)).toEqual([good.id])
  const state = async () =>
    (await pool.query('select state from webhook_message where notification_id = $1', [bad.id])).rows[0].state
  await expect.poll(state).toBe('dead')
  const { rows } = await pool.query(
    `select t.status, t.error from webhook_attempt t join webhook_message m on m.id = t.message_id where m.notification_id = $1`,
    [bad.id],
  )
  const error = 'O corpo deste aviso não pôde ser montado; o motivo está no registro do servidor.'
  expect(rows).toEqual(Array(3).fill({ status: null, error }))
  expect(told[0]).toMatch(/^the body of webhook message .* cannot be made$/)
  expect((await pool.query('select failures from webhook_endpoint where id = $1', [endpoint])).rows).toEqual([{ failures: 0 }])
  // The list of attempts shows the message without its body.
  const log = await request(`${gateway.url}/gw/webhooks/${endpoint}/attempts`, { token: account.token })
  expect(log.status).toBe(200)
})

test('a listener gets the messages behind one that cannot be made', async () => {
  const { token, ...account } = await createAccount(pool)
  const listening = (path: string, body: object) =>
    request(`${gateway.url}/gw/webhooks/listen${path}`, { method: 'POST', token, body })
  const { id } = ((await listening('', {})).body as { data: { id: string } }).data
  const bad = await sendNotification(gateway, pool, { token, ...account })
  const good = await sendNotification(gateway, pool, { token, ...account })
  await damage(bad.id)
  const answer = await listening(`/${id}`, {})
  expect(answer.status).toBe(200)
  const bodies = (answer.body as { data: { corpo: string }[] }).data.map(({ corpo }) => JSON.parse(corpo).notificationID)
  expect(bodies).toEqual([good.id])
  expect((await pool.query('select state from webhook_message where notification_id = $1', [bad.id])).rows).toEqual([
    { state: 'dead' },
  ])
})
