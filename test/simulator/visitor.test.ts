import { expect, onTestFinished, test } from 'vitest'
import { addReport, type Message, newStamp, settleReport } from '../../simulator/message.js'
import { Visitor } from '../../simulator/visitor.js'

const messageForTest = (): Message => ({
  id: 'm1',
  channel: 'email',
  receivedAt: new Date(),
  to: 'ana@example.com',
  from: 'avisos@exemplo.test',
  fromName: '',
  subject: 'Aviso',
  reference: null,
  notification: null,
  answer: '250 ok',
  reports: [],
})

const visitorForTest = (): Visitor => {
  const visitor = new Visitor(Date.now)
  onTestFinished(() => visitor.close())
  return visitor
}

const opened = async () => ({ done: true, detail: 'aberta' })

test('nobody opens a message before the gateway knows that it was delivered', async () => {
  const message = messageForTest()
  const visitor = visitorForTest()
  const delivered = addReport(message, newStamp(Date.now, -10), 'delivered')
  const seen: string[] = []
  const opening = visitor.schedule(message, 'open', 1, () => {
    seen.push(delivered.state)
    return opened()
  })
  const other = visitor.schedule(messageForTest(), 'open', 1, opened)
  await expect.poll(() => other.state).toBe('done')
  expect(opening.state).toBe('waiting')
  settleReport(delivered, 'done', '250 ok', Date.now)
  await expect.poll(() => opening.state).toBe('done')
  expect(seen).toEqual(['done'])
})

test('a later report does not hold back an opening', async () => {
  const message = messageForTest()
  addReport(message, newStamp(Date.now, 60_000), 'reply')
  const opening = visitorForTest().schedule(message, 'open', 1, opened)
  await expect.poll(() => opening.state).toBe('done')
})
