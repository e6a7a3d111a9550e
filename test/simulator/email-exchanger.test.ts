import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { BOUNCES, Dialogue, send, simulatorForTest, tryToSend } from './carriers.js'

test('the exchanger announces the extensions that senders look for', async () => {
  const simulator = await simulatorForTest()
  const dialogue = await Dialogue.open(simulator.smtpUrl)
  expect(await dialogue.read()).toEqual([expect.stringMatching(/^220 /)])
  const keywords = (await dialogue.say('EHLO gateway.test')).split('\r\n').map(line => line.slice(4))
  for (const keyword of ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES', 'DSN', 'SIZE 50331648']) {
    expect(keywords).toContain(keyword)
  }
  expect(keywords).not.toContain('STARTTLS')
  expect(await dialogue.say('QUIT')).toMatch(/^221 /)
})

test('commands can be pipelined', async () => {
  const simulator = await simulatorForTest()
  const dialogue = await Dialogue.open(simulator.smtpUrl)
  await dialogue.read()
  await dialogue.say('EHLO gateway.test')
  const commands = [`MAIL FROM:<${BOUNCES}>`, 'RCPT TO:<recusado@simulador.test>', 'RCPT TO:<maria@example.com>', 'DATA']
  dialogue.write(`${commands.join('\r\n')}\r\n`)
  expect((await dialogue.read(4)).map(reply => reply.slice(0, 3))).toEqual(['250', '550', '250', '354'])
  dialogue.write(`Subject: um\r\n\r\nx\r\n.\r\n${commands.join('\r\n')}\r\n`)
  expect((await dialogue.read(5)).map(reply => reply.slice(0, 3))).toEqual(['250', '250', '550', '250', '354'])
  expect(await simulator.message('maria@example.com')).toMatchObject({ subject: 'um' })
})

test('the parameters of RFC 3461 are stored decoded', async () => {
  const simulator = await simulatorForTest()
  const dialogue = await Dialogue.open(simulator.smtpUrl)
  await dialogue.read()
  await dialogue.begin(
    'maria@example.com',
    ' SIZE=100 BODY=8BITMIME RET=FULL ENVID=a+2Bb+3Dc',
    ' NOTIFY=SUCCESS,DELAY ORCPT=rfc822;m+2Bx@example.com',
  )
  await dialogue.say('Subject: x', '', 'x', '.')
  expect((await simulator.message('maria@example.com')).envelope).toEqual({
    from: BOUNCES,
    to: 'maria@example.com',
    envid: 'a+b=c',
    ret: 'FULL',
    notify: ['SUCCESS', 'DELAY'],
    orcpt: 'rfc822;m+x@example.com',
  })
})

test('every byte is stored: accents, dots at the start of lines, long lines', async () => {
  const simulator = await simulatorForTest()
  const dialogue = await Dialogue.open(simulator.smtpUrl)
  await dialogue.read()
  await dialogue.begin('maria@example.com')
  const content = Buffer.concat([
    Buffer.from('Subject: =?utf-8?B?w6lUw6k=?=\r\n\r\n.\r\n..\r\n...três\r\n'),
    Buffer.from([0xe7, 0xff, 0x00, 0x0a]),
    Buffer.from(`${'y'.repeat(5_000)}\r\n`),
  ])
  dialogue.socket.write(Buffer.from(content.toString('latin1').replace(/(^|\r\n)\./g, '$1..'), 'latin1'))
  expect(await dialogue.say('.')).toMatch(/^250 /)
  const { id, subject } = await simulator.message('maria@example.com')
  expect(subject).toBe('éTé')
  const response = await fetch(`${simulator.url}/simulator/messages/${id}/raw`)
  expect(response.headers.get('content-type')).toBe('message/rfc822')
  expect(
    createHash('sha256')
      .update(Buffer.from(await response.arrayBuffer()))
      .digest('hex'),
  ).toBe(createHash('sha256').update(content).digest('hex'))
})

test('a mail to several recipients is one message for each, with its own fate', async () => {
  const simulator = await simulatorForTest()
  const dialogue = await Dialogue.open(simulator.smtpUrl)
  await dialogue.read()
  await dialogue.say('EHLO gateway.test')
  await dialogue.say(`MAIL FROM:<${BOUNCES}>`)
  for (const to of ['maria@example.com', 'devolvido@simulador.test']) await dialogue.say(`RCPT TO:<${to}>`)
  await dialogue.say('DATA')
  expect(await dialogue.say('Subject: x', '', 'x', '.')).toMatch(/^250 /)
  expect((await simulator.message('maria@example.com')).reports).toEqual([])
  expect((await simulator.message('devolvido@simulador.test')).reports).toMatchObject([{ type: 'failed' }])
  expect((await simulator.ask('/simulator/log')).body).toMatchObject([
    { to: 'maria@example.com' },
    { to: 'devolvido@simulador.test' },
  ])
})

test('a mail larger than the limit is refused and not stored, with or without SIZE', async () => {
  const simulator = await simulatorForTest({ maxBytes: 100_000 })
  const text = `${'x'.repeat(76)}\r\n`.repeat(2_000)
  const dialogue = await Dialogue.open(simulator.smtpUrl)
  await dialogue.read()
  await dialogue.say('EHLO gateway.test')
  expect(await dialogue.say(`MAIL FROM:<${BOUNCES}> SIZE=200000`)).toMatch(/^552 /)
  await dialogue.begin('maria@example.com')
  expect(await dialogue.say(`Subject: x\r\n\r\n${text}.`)).toMatch(/^552 /)
  expect((await simulator.ask('/simulator/messages')).body).toEqual([])
  await dialogue.begin('maria@example.com')
  expect(await dialogue.say('Subject: x', '', 'x', '.')).toMatch(/^250 /)
})

test('a sender that closes the connection inside the content leaves no message', async () => {
  const simulator = await simulatorForTest()
  const dialogue = await Dialogue.open(simulator.smtpUrl)
  await dialogue.read()
  await dialogue.begin('maria@example.com')
  dialogue.write('Subject: half\r\n\r\nx\r\n')
  dialogue.socket.destroy()
  await send(simulator, { to: 'maria@example.com', subject: 'inteira' })
  expect((await simulator.ask('/simulator/messages')).body).toMatchObject([{ subject: 'inteira' }])
})

test('any credentials are accepted', async () => {
  const simulator = await simulatorForTest()
  expect(await tryToSend(simulator, { to: 'maria@example.com', auth: { user: 'a', pass: 'b' } })).toMatch(/^250 /)
})
