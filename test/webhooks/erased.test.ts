import { expect, onTestFinished, test } from 'vitest'
import type { Fact } from '../../src/domain/delivery/transition.js'
import type { LinkTarget } from '../../src/domain/recipient/link.js'
import { brazilianDate } from '../../src/domain/text/dates.js'
import { endTerms } from '../../src/engine/ageing/retention.js'
import { recordChanges } from '../../src/engine/record/record.js'
import { createAccount, gatewayForFile } from '../support/gateway/gateway.js'
import { type Receiver, receiverForTest } from '../support/gateway/receiver.js'
import { sendNotification } from '../support/gateway/recipients.js'
import { createWebhook, happen, startTestDeliverer } from '../support/gateway/webhooks.js'

/** Webhooks about notifications that have lost their visits: the term of visits is over, and that of events is not. */
const { database, gateway } = await gatewayForFile()
const { pool } = database
const DAY_MS = 86_400_000
const endVisits = (): Promise<void> => endTerms({ pool, clock: () => Date.now() + 2 * DAY_MS })

async function visited(body: object = {}, versao = 'v2') {
  const account = await createAccount(pool, { settings: { 'retention.visits': 1 } })
  const receiver = await receiverForTest()
  const { id: endpoint } = await createWebhook(gateway.url, account.token, { url: receiver.url, versao })
  const sent = await sendNotification(gateway, pool, account, body)
  await visit(sent.target, 'read')
  return { receiver, endpoint, ...sent }
}

/** What a person did on the page of the link. */
const visit = ({ notification, channel }: LinkTarget, type: 'read' | 'failed', data: Fact['data'] = {}) =>
  recordChanges(pool, Date.now, [
    { kind: 'fact', notification, fact: { channel, type, at: new Date(), source: 'recipient', data } },
  ])

const arrived = (receiver: Receiver, count: number) => expect.poll(() => receiver.got.length).toBeGreaterThanOrEqual(count)
const settle = (endpoint: string) => pool.query("update webhook_message set state = 'done' where endpoint_id = $1", [endpoint])
const hasVisits = async (id: string): Promise<boolean> =>
  (await pool.query("select from event where notification_id = $1 and source = 'recipient' and salt is not null", [id]))
    .rowCount !== 0
function deliver(): void {
  const deliverer = startTestDeliverer(pool)
  onTestFinished(() => deliverer.stop())
}

test('what happens after the visits were erased is announced, with the dates that the status keeps of them', async () => {
  const { id, endpoint, receiver } = await visited()
  const [before] = (await pool.query('select read_at as at from delivery where notification_id = $1', [id])).rows
  await settle(endpoint)
  await endVisits()
  expect(await hasVisits(id)).toBe(false)
  await happen(pool, id, 'email', 'answered', { answer: 'Sim.' })
  deliver()
  await arrived(receiver, 1)
  expect(receiver.got[0]!.json).toMatchObject({
    status: 'respondido',
    payload: { description: 'Respondido', answered: ['Sim.'], dateReading: brazilianDate(before!.at) },
  })
})

test('a status that visits decided stays as they left it: whoever is not the recipient stays so', async () => {
  const { id, endpoint, receiver, target } = await visited({}, 'v1')
  await visit(target, 'failed', { failure: 'stranger', failureDetail: 'Não sou eu.' })
  await settle(endpoint)
  await endVisits()
  await happen(pool, id, 'email', 'answered', { answer: 'Sim.' })
  deliver()
  await arrived(receiver, 1)
  expect(receiver.got[0]!.json.description).toBe('Não é o destinatário')
})

test('a visit of one channel is no date of another', async () => {
  const { id, endpoint, receiver } = await visited({ sms: { number: '11987654321', typeSend: '2' } })
  await happen(pool, id, 'sms', 'sent')
  await settle(endpoint)
  await endVisits()
  await happen(pool, id, 'sms', 'delivered')
  deliver()
  await arrived(receiver, 1)
  expect(receiver.got[0]!.json).toMatchObject({ channel: 'sms', status: 'entregue', payload: { description: 'Entregue' } })
})

test('a visit stays until the webhook that announces it has gone; other webhooks do not keep it', async () => {
  const [waits, other] = [await visited(), await visited()]
  await pool.query(
    `update webhook_message m set state = 'done' from event e
     where m.endpoint_id = $1 and e.notification_id = m.notification_id and e.seq = m.event_seq and e.source = 'recipient'`,
    [other.endpoint],
  )
  await endVisits()
  expect([await hasVisits(waits.id), await hasVisits(other.id)]).toEqual([true, false])
  deliver()
  await arrived(waits.receiver, 2)
  expect(waits.receiver.got.map(({ json }) => json.status)).toEqual(['enviado', 'lido'])
  const left = async () =>
    (await pool.query("select from webhook_message where endpoint_id = $1 and state <> 'done'", [waits.endpoint])).rowCount
  await expect.poll(left).toBe(0)
  await endVisits()
  expect(await hasVisits(waits.id)).toBe(false)
})
