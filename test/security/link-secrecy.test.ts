import { expect, test } from 'vitest'
import { SendError } from '../../src/channels/provider.js'
import type { Fact } from '../../src/domain/delivery/transition.js'
import { recordChanges } from '../../src/engine/record/record.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { type Sent, sendNotification } from '../support/gateway/recipients.js'
import { request } from '../support/gateway/requests.js'

/** The recipient's link is the recipient's alone: whatever others quote of a message, the sender reads it without the link. */

const { database, gateway, account } = await gatewayForFile()

const tell = ({ id }: Sent, type: Fact['type'], data: Fact['data']) =>
  recordChanges(database.pool, Date.now, [
    { kind: 'fact', notification: id, fact: { channel: 'sms', type, at: new Date(), source: 'test', data } },
  ])

test('answers, carriers’ words and failures that repeat the link are recorded and shown without it', async () => {
  const sent = await sendNotification(gateway, database.pool, account, { sms: { number: '11987654321', typeSend: '2' } }, 'sms')
  const code = new URL(sent.short).pathname.slice(3)
  const escaped = JSON.stringify({ contents: [{ text: `Leia ${sent.short}` }] }).replaceAll('/', '\\/')
  await tell(sent, 'note', { answer: escaped, reason: sent.short })
  await tell(sent, 'answered', { answer: `Que link é este? ${sent.short}`, answerId: 'a' })
  await tell(sent, 'failed', {
    failure: 'undelivered',
    failureDetail: `spam: ${sent.short}`,
    answer: encodeURIComponent(sent.short),
  })
  const seen = await Promise.all(
    ['sms', 'full'].map(async path => (await request(`${gateway.url}/gw/${path}/${sent.id}`, { token: account.token })).body),
  )
  expect(seen[0]).toMatchObject({ answered: [expect.stringMatching(/^Que link é este\? http.*\/s\/…$/)] })
  const { rows } = await database.pool.query('select data from event where notification_id = $1', [sent.id])
  expect(rows).toHaveLength(5)
  const { rows: kept } = await database.pool.query('select failure_detail, answers from delivery where notification_id = $1', [
    sent.id,
  ])
  for (const shown of [seen, rows, kept]) expect(JSON.stringify(shown).toLowerCase()).not.toContain(code)
})

test('an error of a carrier that repeats the message reaches the log without the link', () => {
  const error = new SendError('permanent', 'Recusada.', { answer: '400 {"text":"Leia https://n.example/s/0k3m9z7q1a"}' })
  expect(error.message).toBe('permanent: 400 {"text":"Leia https://n.example/s/…"}')
})
