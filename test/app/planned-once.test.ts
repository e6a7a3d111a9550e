import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { createDemo, demoToken } from '../../src/app/process/demo.js'
import { testKeys } from '../support/gateway/gateway.js'
import { receiverForTest } from '../support/gateway/receiver.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { startStack } from '../support/gateway/stack.js'
import { createWebhook } from '../support/gateway/webhooks.js'

/** Planning a statement over the months costs a millisecond, many times as much as running it. */
const SENDS = 40

test('what is asked of the database for each send, lookup, report and webhook is planned once for each connection', async () => {
  const unnamed = new Map<string, number>()
  const { query } = pg.Client.prototype as { query: (...args: unknown[]) => unknown }
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [asked, given] = args as [string | pg.QueryConfig, unknown]
    const { text, name, values = given } = typeof asked === 'string' ? { text: asked, name: undefined, values: given } : asked
    if (name === undefined && Array.isArray(values)) unnamed.set(text, (unnamed.get(text) ?? 0) + 1)
    return query.apply(this, args)
  } as typeof pg.Client.prototype.query
  onTestFinished(() => {
    pg.Client.prototype.query = query as typeof pg.Client.prototype.query
  })
  const stack = await startStack()
  onTestFinished(() => stack.close())
  const { pool } = stack.database
  await createDemo(pool)
  const token = (await demoToken(pool, testKeys))!
  const receiver = await receiverForTest()
  await createWebhook(stack.gateway.url, token, { url: receiver.url })
  const sendOne = (n: number) =>
    send(stack.gateway.url, token, {
      ...validSend,
      to: `lido+${n}@simulador.test`,
      sms: { number: '11900000007', typeSend: '2', customMessage: 'Ha uma notificacao: {SHORT_LINK}' },
    })
  unnamed.clear()
  for (let n = 0; n < SENDS; n++) {
    const { status, body } = await sendOne(n)
    expect(status).toBe(200)
    await request(`${stack.gateway.url}/gw/email/${(body as { idEmail: string }).idEmail}`, { token })
  }
  const open = async () => (await pool.query("select from delivery where read_at is null and channel = 'email'")).rowCount
  await expect.poll(open).toBe(0)
  const frequent = [...unnamed].filter(([, count]) => count >= SENDS).map(([text, count]) => `${count} × ${text}`)
  expect(frequent).toEqual([])
})
