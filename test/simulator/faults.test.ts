import { describe, expect, onTestFinished, test } from 'vitest'
import { FAULT_FIELDS as email } from '../../simulator/email/labels.js'
import { NO_FAULTS } from '../../simulator/faults.js'
import { FAULT_FIELDS as letter } from '../../simulator/letter/labels.js'
import { FAULT_FIELDS as sms } from '../../simulator/sms/labels.js'
import { FAULT_FIELDS as voice } from '../../simulator/voice/labels.js'
import { FAULT_FIELDS as whatsapp } from '../../simulator/whatsapp/labels.js'
import { readSource } from '../support/sources.js'
import { carriersForTest, Dialogue, send, settled, simulatorForTest, type TestSimulator, tryToSend } from './carriers.js'

const NONE = {
  latencyMs: 0,
  errorRate: 0,
  outage: false,
  resetAfterAccept: false,
  duplicateReports: false,
  lateReportsMs: 0,
  seed: 1,
}

async function setFaults(simulator: TestSimulator, email: object): Promise<void> {
  const { status, body } = await simulator.ask('/simulator/faults', { method: 'PUT', body: { email } })
  expect({ status, body }).toMatchObject({ status: 200, body: { email: { ...NONE, ...email } } })
}

const to = 'maria@example.com'

test('all switches are off at first, and a switch that a PUT leaves out is switched off', async () => {
  const simulator = await simulatorForTest()
  expect((await simulator.ask('/simulator/faults')).body).toMatchObject({ email: NONE })
  await setFaults(simulator, { latencyMs: 5, outage: true })
  await setFaults(simulator, { errorRate: 0.5 })
  expect((await simulator.ask('/simulator/faults')).body).toMatchObject({ email: { ...NONE, errorRate: 0.5 } })
})

test('the document describes every switch of every channel in the words of the page', async () => {
  const document = readSource('docs/simulador.md')
  const simulator = await simulatorForTest()
  const channels = { email, sms, whatsapp, voice, letter }
  expect(Object.keys((await simulator.ask('/simulator/faults')).body as object).sort()).toEqual(Object.keys(channels).sort())
  for (const [channel, fields] of Object.entries(channels)) {
    for (const { name, label, help } of fields) {
      expect(document).toContain(`| \`${name}\` | \`${NO_FAULTS[name]}\` | ${label} | `)
      const isCommon = document.includes(`| ${label} | ${help} |`)
      if (!isCommon) expect(document).toContain(`| \`${name}\` | \`${channel}\` | ${help} |`)
    }
  }
})

test('the document leads to the test recipients of every channel', () => {
  const document = readSource('docs/simulador.md')
  const anchors = (text: string): string[] =>
    [...text.matchAll(/^##+ (.+)$/gm)].map(([, title]) =>
      title!
        .toLowerCase()
        .replace(/[^\p{L}\p{N} -]/gu, '')
        .replaceAll(' ', '-'),
    )
  const links = [...document.matchAll(/\]\(([\w-]*\.md)?#([^)]+)\)/g)]
  for (const file of ['sms.md', 'whatsapp.md', 'voz.md', 'carta.md']) expect(links.map(([, to]) => to)).toContain(file)
  for (const [, file = 'simulador.md', anchor] of links) expect(anchors(readSource(`docs/${file}`)), file).toContain(anchor)
})

test('wrong values are refused by name and change nothing', async () => {
  const simulator = await simulatorForTest()
  const bad: [object, string][] = [
    [{ email: { errorRate: 1.1 } }, 'email.errorRate'],
    [{ email: { errorRate: '0.5' } }, 'email.errorRate'],
    [{ email: { latencyMs: -1 } }, 'email.latencyMs'],
    [{ email: { latencyMs: 0.5 } }, 'email.latencyMs'],
    [{ email: { outage: 'yes' } }, 'email.outage'],
    [{ email: { outrage: true } }, 'email'],
    [{ email: [] }, 'email'],
    [{ email: null }, 'email'],
    [{}, 'email'],
    [{ email: { outage: true }, fax: {} }, 'fax'],
  ]
  for (const [body, field] of bad) {
    const answer = await simulator.ask('/simulator/faults', { method: 'PUT', body })
    expect(answer, JSON.stringify(body)).toMatchObject({ status: 400, body: { statusCode: 400, error: 'Bad Request' } })
    expect((answer.body as { message: string }).message).toContain(`O campo ${field} `)
  }
  expect((await simulator.ask('/simulator/faults')).body).toMatchObject({ email: NONE })
})

describe('errorRate', () => {
  test('at 1 every message is deferred and none is stored', async () => {
    const simulator = await simulatorForTest()
    await setFaults(simulator, { errorRate: 1 })
    for (let round = 0; round < 3; round++) expect(await tryToSend(simulator, { to })).toMatch(/^451 4\./)
    expect((await simulator.ask('/simulator/log')).body).toEqual([])
    await setFaults(simulator, {})
    expect(await tryToSend(simulator, { to })).toMatch(/^250 /)
  })

  test('the same seed defers the same messages', async () => {
    const simulator = await simulatorForTest()
    const dialogue = await Dialogue.open(simulator.smtpUrl)
    await dialogue.read()
    const draw = async (seed: number): Promise<string> => {
      await setFaults(simulator, { errorRate: 0.5, seed })
      let answers = ''
      for (let round = 0; round < 24; round++) {
        await dialogue.begin(to)
        answers += (await dialogue.say('Subject: x', '', 'x', '.')).startsWith('250') ? '.' : 'x'
      }
      return answers
    }
    const first = await draw(7)
    expect(first).toContain('.')
    expect(first).toContain('x')
    expect(await draw(8)).not.toBe(first)
    expect(await draw(7)).toBe(first)
  })
})

describe('outage', () => {
  test('an outage ends open connections with 421 and refuses new ones', async () => {
    const simulator = await simulatorForTest()
    const open = await Dialogue.open(simulator.smtpUrl)
    await open.read()
    await open.begin(to)
    open.write('Subject: half\r\n')
    await setFaults(simulator, { outage: true })
    expect(await open.read()).toEqual([expect.stringMatching(/^421 /)])
    await open.untilClosed()
    const fresh = await Dialogue.open(simulator.smtpUrl)
    expect(await fresh.read()).toEqual([expect.stringMatching(/^421 /)])
    await fresh.untilClosed()
    expect(await tryToSend(simulator, { to })).not.toMatch(/^250/)
    expect((await simulator.ask('/simulator/log')).body).toEqual([])
    await setFaults(simulator, {})
    expect(await tryToSend(simulator, { to })).toMatch(/^250 /)
  })
})

describe('resetAfterAccept', () => {
  test('the message is stored and has its fate, and the sender gets no answer', async () => {
    const { simulator, listener } = await carriersForTest()
    await setFaults(simulator, { resetAfterAccept: true })
    const dialogue = await Dialogue.open(simulator.smtpUrl)
    let reset: NodeJS.ErrnoException | undefined
    dialogue.socket.on('error', error => {
      reset = error
    })
    await dialogue.read()
    await dialogue.begin(to, ' ENVID=ref-9', ' NOTIFY=SUCCESS')
    dialogue.write('Message-ID: <m@x.test>\r\n\r\nx\r\n.\r\n')
    await dialogue.untilClosed()
    expect(reset?.code).toBe('ECONNRESET')
    expect(dialogue.pending).toBe('')
    await setFaults(simulator, {})
    await send(simulator, { to, messageId: '<m@x.test>', dsn: { id: 'ref-9' } })
    // The log counts the duplicate.
    expect((await simulator.ask('/simulator/log')).body).toMatchObject(
      Array(2).fill({ to, messageId: '<m@x.test>', envid: 'ref-9' }),
    )
    await listener.wait(2)
  })
})

describe('reports', () => {
  test('with duplicateReports every report comes twice, byte for byte', async () => {
    const { simulator, listener } = await carriersForTest()
    await setFaults(simulator, { duplicateReports: true })
    await send(simulator, { to: 'responde@simulador.test' })
    const received = (await listener.wait(4)).map(({ raw }) => raw).sort()
    expect(received[0]).toBe(received[1])
    expect(received[2]).toBe(received[3])
    expect(received[1]).not.toBe(received[2])
    expect((await settled(simulator, 'responde@simulador.test')).reports.map(({ type }) => type)).toEqual([
      'delivered',
      'delivered',
      'reply',
      'reply',
    ])
  })

  test('with lateReportsMs a report comes after those of messages sent later', async () => {
    const { simulator, listener } = await carriersForTest()
    await setFaults(simulator, { lateReportsMs: 2_000 })
    await send(simulator, { to: 'devolvido+late@simulador.test' })
    await setFaults(simulator, {})
    await send(simulator, { to: 'devolvido+early@simulador.test' })
    const order = (await listener.wait(2)).map(({ raw }) => /^Final-Recipient: rfc822; (\S+)\r$/m.exec(raw)![1])
    expect(order).toEqual(['devolvido+early@simulador.test', 'devolvido+late@simulador.test'])
  })
})

test('with latencyMs the answer comes after those of a quick simulator that was asked later', async () => {
  const [slow, quick] = [await simulatorForTest(), await simulatorForTest()]
  await setFaults(slow, { latencyMs: 2_000 })
  const order: string[] = []
  const dialogue = await Dialogue.open(slow.smtpUrl)
  await dialogue.read()
  await dialogue.begin(to)
  const answered = dialogue.say('Subject: x', '', 'x', '.').then(() => order.push('slow'))
  for (let round = 0; round < 3; round++) await send(quick, { to }).then(() => order.push('quick'))
  await answered
  expect(order).toEqual(['quick', 'quick', 'quick', 'slow'])
})

test('with latencyMs any number of senders can wait at once without a warning', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error): void => void warnings.push(warning)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const simulator = await simulatorForTest()
  await setFaults(simulator, { latencyMs: 500 })
  await Promise.all(Array.from({ length: 20 }, () => send(simulator, { to })))
  expect(warnings).toEqual([])
})
