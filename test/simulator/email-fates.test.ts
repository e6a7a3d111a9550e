import { describe, expect, test } from 'vitest'
import { DOMAINS } from '../../simulator/email/domains.js'
import { FATES, fateAddress } from '../../simulator/email/fates.js'
import { readSource } from '../support/sources.js'
import {
  allowSite,
  BOUNCES,
  carriersForTest,
  Dialogue,
  partTypes,
  type Received,
  reportFields,
  send,
  settled,
  simulatorForTest,
  siteForTest,
  tryToSend,
} from './carriers.js'

/** Action and status of the delivery reports, in the order of arrival. */
const outcomes = (reports: Received[]): string[] =>
  reports.map(report => {
    const [, recipient] = reportFields(report, 'delivery-status')
    return `${recipient!.Action} ${recipient!.Status}`
  })

describe('entregue', () => {
  test('a delivery is reported in the format of RFC 3464', async () => {
    const { simulator, listener } = await carriersForTest()
    const to = 'entregue+rfc@simulador.test'
    await send(simulator, { to, subject: 'Aviso de vencimento', dsn: { id: 'ref+42 a', recipient: 'Original@Example.com' } })
    const [report] = await listener.wait(1)

    expect(report!.from).toBe('')
    expect(report!.to).toBe(BOUNCES)
    const header = report!.raw.slice(0, report!.raw.indexOf('\r\n\r\n'))
    expect(header).toMatch(/^Content-Type: multipart\/report; report-type=delivery-status;\r\n boundary="/m)
    expect(header).toMatch(/^MIME-Version: 1\.0$/m)
    expect(partTypes(report!)).toEqual(['text/plain', 'message/delivery-status', 'text/rfc822-headers'])
    const [message, recipient] = reportFields(report!, 'delivery-status')
    expect(message).toEqual({
      'Reporting-MTA': 'dns; relay.simulador.test',
      'Original-Envelope-Id': 'ref+42 a',
      'Arrival-Date': expect.stringMatching(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000$/),
    })
    expect(recipient).toEqual({
      'Original-Recipient': 'rfc822;Original@Example.com',
      'Final-Recipient': `rfc822; ${to}`,
      Action: 'delivered',
      Status: expect.stringMatching(/^2\.\d+\.\d+$/),
      'Remote-MTA': 'dns; mx.simulador.test',
      'Diagnostic-Code': expect.stringMatching(/^smtp; 250 2\./),
      'Last-Attempt-Date': expect.any(String),
    })

    const { email } = report!
    expect(email.from).toMatchObject({ address: 'MAILER-DAEMON@relay.simulador.test' })
    expect(email.to).toMatchObject([{ address: BOUNCES }])
    expect(email.subject).toBe('Aviso de entrega')
    expect(email.text).toContain(`<${to}>`)
    const { messageId } = await simulator.message(to)
    expect(report!.raw).toContain(`Message-ID: ${messageId}\r\n`)
    expect(report!.raw).toContain('Subject: Aviso de vencimento\r\n')
    expect(report!.raw).not.toContain('Seu contrato vence')
  })

  test('any other recipient receives the mail too, at that domain and elsewhere', async () => {
    const { simulator, listener } = await carriersForTest()
    for (const to of ['maria@example.com', 'qualquer@simulador.test', 'lido@outro.test']) await send(simulator, { to })
    expect(outcomes(await listener.wait(3))).toEqual(Array(3).fill('delivered 2.1.5'))
  })

  test('subaddresses and capitals do not change a fate', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'Devolvido+a+b@Simulador.TEST' })
    expect(outcomes(await listener.wait(1))).toEqual(['failed 5.1.1'])
  })
})

describe('lido', () => {
  test('the tracking image is loaded as a mail program does, after the delivery', async () => {
    const { simulator, listener } = await carriersForTest()
    const site = await siteForTest()
    await allowSite(simulator, site.url)
    const html = `<!-- <img src="${site.url}/o/comment"> --><img alt="/o/" src='${site.url}/logo.png'>
      <a href="${site.url}/o/link">x</a><IMG width=1 src="${site.url}/e/o/7f3?a=1&amp;b=2"><img src="${site.url}/o/second">`
    await send(simulator, { to: 'lido@simulador.test', html })
    const visits = await site.wait(1)
    const { reports } = await settled(simulator, 'lido@simulador.test')
    expect(visits).toMatchObject([{ method: 'GET', path: '/e/o/7f3?a=1&b=2' }])
    expect(visits[0]!.headers['user-agent']).toMatch(/Thunderbird/)
    expect(visits[0]!.headers.accept).toMatch(/^image\//)
    expect(reports).toMatchObject([
      { type: 'delivered', state: 'done' },
      { type: 'open', state: 'done', detail: expect.stringMatching(/200$/) },
    ])
    expect(outcomes(await listener.wait(1))).toEqual(['delivered 2.1.5'])
  })

  test('a mail without a tracking image is delivered and its opening is refused', async () => {
    const { simulator } = await carriersForTest()
    await send(simulator, { to: 'lido@simulador.test', html: '<img src="cid:x"><img src="/o/relative">' })
    const { reports } = await settled(simulator, 'lido@simulador.test')
    expect(reports[1]).toMatchObject({
      type: 'open',
      state: 'refused',
      detail: expect.stringContaining('imagem de rastreamento'),
    })
  })
})

describe('bounces', () => {
  test('devolvido is accepted and reported as failed', async () => {
    const { simulator, listener } = await carriersForTest()
    expect(await send(simulator, { to: 'devolvido@simulador.test' })).toMatch(/^250 /)
    const reports = await listener.wait(1)
    expect(outcomes(reports)).toEqual(['failed 5.1.1'])
    expect(reportFields(reports[0]!, 'delivery-status')[1]).toMatchObject({
      'Diagnostic-Code': 'smtp; 550 5.1.1 Caixa postal inexistente',
    })
    expect((await settled(simulator, 'devolvido@simulador.test')).reports).toMatchObject([
      { type: 'failed', status: '5.1.1', state: 'done' },
    ])
  })

  test('devolvido-depois is reported as delivered, then as failed', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'devolvido-depois@simulador.test' })
    expect(outcomes(await listener.wait(1))).toEqual(['delivered 2.1.5'])
    expect(outcomes(await listener.wait(2))).toEqual(['delivered 2.1.5', 'failed 5.1.1'])
  })

  test('cheia is reported as delayed, with the end of the retries, then as failed', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'cheia@simulador.test' })
    const reports = await listener.wait(2)
    expect(outcomes(reports)).toEqual(['delayed 4.2.2', 'failed 5.2.2'])
    expect(reportFields(reports[0]!, 'delivery-status')[1]).toHaveProperty('Will-Retry-Until')
    expect(reportFields(reports[1]!, 'delivery-status')[1]).not.toHaveProperty('Will-Retry-Until')
  })

  test('recusado is refused at RCPT, before any content, and nothing is stored', async () => {
    const simulator = await simulatorForTest()
    const dialogue = await Dialogue.open(simulator.smtpUrl)
    await dialogue.read()
    await dialogue.say('EHLO gateway.test')
    await dialogue.say(`MAIL FROM:<${BOUNCES}>`)
    expect(await dialogue.say('RCPT TO:<recusado+9@simulador.test>')).toMatch(/^550 5\.1\.1 /)
    expect(await dialogue.say('DATA')).toMatch(/^503 /)
    expect((await simulator.ask('/simulator/messages')).body).toEqual([])
    expect((await simulator.ask('/simulator/log')).body).toEqual([])
  })
})

describe('temporario', () => {
  const to = 'temporario@simulador.test'

  test('the first two attempts of an envelope id are deferred and the third is accepted', async () => {
    const { simulator, listener } = await carriersForTest()
    for (const messageId of ['<a@x.test>', '<b@x.test>']) {
      expect(await tryToSend(simulator, { to, messageId, dsn: { id: 'ref-7' } })).toMatch(/^451 4\./)
    }
    expect(await tryToSend(simulator, { to, dsn: { id: 'ref-8' } })).toMatch(/^451 /)
    expect((await simulator.ask('/simulator/messages')).body).toEqual([])
    expect(await tryToSend(simulator, { to, dsn: { id: 'ref-7' } })).toMatch(/^250 /)
    expect(outcomes(await listener.wait(1))).toEqual(['delivered 2.1.5'])
  })

  test('without an envelope id the attempts are counted by Message-ID', async () => {
    const simulator = await simulatorForTest()
    const answers: string[] = []
    for (let round = 0; round < 3; round++) answers.push(await tryToSend(simulator, { to, messageId: '<m@x.test>', dsn: null }))
    expect(answers.map(answer => answer.slice(0, 3))).toEqual(['451', '451', '250'])
    expect(await tryToSend(simulator, { to, messageId: '<n@x.test>', dsn: null })).toMatch(/^451 /)
  })
})

describe('slow and silent servers', () => {
  test('lento answers after mails that came later', async () => {
    const { simulator, listener } = await carriersForTest()
    const order: string[] = []
    const slow = await Dialogue.open(simulator.smtpUrl)
    await slow.read()
    await slow.begin('lento@simulador.test')
    const answered = slow.say('Subject: x', '', 'x', '.').then(answer => order.push(`lento ${answer.slice(0, 3)}`))
    for (let round = 0; round < 3; round++)
      order.push(`${round} ${(await send(simulator, { to: 'a@b.test', dsn: null })).slice(0, 3)}`)
    await answered
    expect(order).toEqual(['0 250', '1 250', '2 250', 'lento 250'])
    expect(listener.received).toEqual([])
  })

  test('silencio accepts and stores the content and never answers', async () => {
    const { simulator, listener } = await carriersForTest()
    const silent = await Dialogue.open(simulator.smtpUrl)
    await silent.read()
    await silent.begin('silencio@simulador.test', '', ' NOTIFY=SUCCESS,FAILURE')
    silent.write('Subject: Alguém aí?\r\n\r\nx\r\n.\r\n')
    expect(await simulator.message('silencio@simulador.test')).toMatchObject({ answer: null, reports: [] })
    // A slow server has answered meanwhile.
    expect(await send(simulator, { to: 'lento@simulador.test' })).toMatch(/^250 /)
    await listener.wait(1)
    expect(silent.pending).toBe('')
    expect(silent.closed).toBe(false)
    expect((await simulator.ask('/simulator/log')).body).toMatchObject([{ to: 'lento@simulador.test' }])
  })

  test('silencio closes the connection in the end, without an answer', async () => {
    const simulator = await simulatorForTest({ silenceMs: 200 })
    const silent = await Dialogue.open(simulator.smtpUrl)
    await silent.read()
    await silent.begin('silencio@simulador.test')
    silent.write('Subject: x\r\n\r\nx\r\n.\r\n')
    await silent.untilClosed()
    expect(silent.pending).toBe('')
  })
})

describe('robo', () => {
  test('the image and every link are visited by a scanner without cookies, HEAD first', async () => {
    const { simulator } = await carriersForTest()
    const site = await siteForTest(path => (path === '/first' ? { status: 302, location: '/elsewhere' } : { status: 200 }))
    await allowSite(simulator, site.url)
    const html = `<a href="${site.url}/first">1</a><a href='${site.url}/second?a=1&amp;b=2'>2</a><a href="${site.url}/first">again</a>
      <a href="mailto:x@y.test">m</a><a href="javascript:alert(1)">j</a><a name="none">n</a><img src="${site.url}/o/1.gif">`
    await send(simulator, { to: 'robo@simulador.test', html })
    const { reports } = await settled(simulator, 'robo@simulador.test')
    expect(site.visits.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'HEAD /o/1.gif',
      'GET /o/1.gif',
      'HEAD /first',
      'HEAD /elsewhere',
      'GET /first',
      'GET /elsewhere',
      'HEAD /second?a=1&b=2',
      'GET /second?a=1&b=2',
    ])
    for (const { headers } of site.visits) {
      expect(headers['user-agent']).toMatch(/scanner/i)
      expect(headers.cookie).toBeUndefined()
    }
    expect(reports[1]).toMatchObject({ type: 'scan', state: 'done' })
  })

  test('nothing outside the gateway’s site is visited, by link or by redirection', async () => {
    const { simulator } = await carriersForTest()
    const site = await siteForTest(() => ({ status: 302, location: 'http://192.0.2.1/away' }))
    await allowSite(simulator, site.url)
    const html = `<a href="http://192.0.2.1/x">1</a><a href="https://example.com/">2</a><a href="${site.url}/out">3</a>`
    await send(simulator, { to: 'robo@simulador.test', html })
    const { reports } = await settled(simulator, 'robo@simulador.test')
    expect(site.visits.map(({ method, path }) => `${method} ${path}`)).toEqual(['HEAD /out', 'GET /out'])
    expect(reports[1]!.state).toBe('refused')
    expect(reports[1]!.detail!.split('\n').sort()).toEqual([
      ...Array(2).fill('GET http://192.0.2.1: fora do PUBLIC_URL do gateway, não visitado'),
      'GET https://example.com: fora do PUBLIC_URL do gateway, não visitado',
      ...Array(2).fill('HEAD http://192.0.2.1: fora do PUBLIC_URL do gateway, não visitado'),
      'HEAD https://example.com: fora do PUBLIC_URL do gateway, não visitado',
    ])
  })
})

describe('people', () => {
  test('responde replies to the From address, in the thread', async () => {
    const { simulator, listener } = await carriersForTest()
    const to = 'responde+1@simulador.test'
    await send(simulator, { to, subject: 'Proposta é sua', headers: { References: '<first@x.test>' } })
    const [reply] = await listener.wait(1, 'avisos@exemplo.test')
    const { messageId } = await simulator.message(to)
    expect(reply!.from).toBe(to)
    expect(reply!.email).toMatchObject({
      subject: 'Re: Proposta é sua',
      inReplyTo: messageId,
      references: `<first@x.test> ${messageId}`,
    })
    expect(reply!.email.from).toMatchObject({ address: to })
    expect(reply!.email.text?.trim()).toBe('Recebido, obrigado.')
    expect(reply!.raw).not.toMatch(/^Auto-Submitted:/im)
  })

  test('responde prefers Reply-To', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'responde@simulador.test', headers: { 'Reply-To': 'Respostas <r@exemplo.test>' } })
    await listener.wait(1, 'r@exemplo.test')
  })

  test('reclama sends a complaint in the format of RFC 5965', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'reclama@simulador.test' })
    const report = (await listener.wait(2)).find(({ raw }) => raw.includes('report-type=feedback-report'))!
    expect(report).toMatchObject({ from: '', to: BOUNCES })
    expect(partTypes(report)).toEqual(['text/plain', 'message/feedback-report', 'text/rfc822-headers'])
    expect(reportFields(report, 'feedback-report')[0]).toMatchObject({
      'Feedback-Type': 'abuse',
      Version: '1',
      'User-Agent': expect.any(String),
      'Original-Mail-From': `<${BOUNCES}>`,
      'Original-Rcpt-To': '<reclama@simulador.test>',
    })
  })

  test('ausente sends an automatic reply to the envelope sender, with an empty sender', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'ausente@simulador.test' })
    const away = (await listener.wait(2)).find(({ raw }) => !raw.includes('multipart/report'))!
    const { messageId } = await simulator.message('ausente@simulador.test')
    expect(away).toMatchObject({ from: '', to: BOUNCES })
    expect(away.raw).toMatch(/^Auto-Submitted: auto-replied\r$/m)
    expect(away.email).toMatchObject({ subject: 'Resposta automática: Aviso', inReplyTo: messageId })
  })

  test('ausente does not reply to automatic mail', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'ausente@simulador.test', headers: { 'Auto-Submitted': 'auto-generated' } })
    await listener.wait(1)
    expect((await simulator.message('ausente@simulador.test')).reports.map(({ type }) => type)).toEqual(['delivered'])
  })

  test('confirma reports that the mail was displayed, in the format of RFC 8098', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'confirma@simulador.test', headers: { 'Disposition-Notification-To': '<recibos@example.com>' } })
    const report = (await listener.wait(2)).find(({ raw }) => raw.includes('report-type=disposition-notification'))!
    const { messageId } = await simulator.message('confirma@simulador.test')
    // The receipt goes to the address in the header, not to the envelope sender (RFC 8098, 2.1).
    expect(report).toMatchObject({ from: '', to: 'recibos@example.com' })
    expect(partTypes(report)).toEqual(['text/plain', 'message/disposition-notification', 'text/rfc822-headers'])
    expect(reportFields(report, 'disposition-notification')[0]).toMatchObject({
      'Final-Recipient': 'rfc822; confirma@simulador.test',
      'Original-Message-ID': messageId,
      Disposition: 'manual-action/MDN-sent-manually; displayed',
    })
  })

  test('confirma sends no receipt that the sender did not ask for, also by hand', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'confirma@simulador.test' })
    await listener.wait(1)
    const { id, reports } = await simulator.message('confirma@simulador.test')
    expect(reports.map(({ type }) => type)).toEqual(['delivered'])
    const answer = await simulator.ask(`/simulator/messages/${id}/actions`, { method: 'POST', body: { action: 'confirm' } })
    expect(answer).toMatchObject({ status: 409, body: { message: expect.stringContaining('não pediu confirmação de leitura') } })
  })
})

describe('the table', () => {
  test('the API, the page and the document describe every fate in the same words', async () => {
    const simulator = await simulatorForTest()
    const document = readSource('docs/simulador.md')
    const page = await (await fetch(`${simulator.url}/destinatarios`)).text()
    const { body } = await simulator.ask('/simulator/fates')
    expect((body as { channel: string }[]).filter(({ channel }) => channel === 'email')).toEqual(
      FATES.map(({ name, meaning, does }) => ({ channel: 'email', name, address: `${name}@simulador.test`, meaning, does })),
    )
    for (const fate of FATES) {
      expect(document).toContain(`| \`${fateAddress(fate)}\` | ${fate.meaning} | ${fate.does} | \`${fate.ends}\` |`)
      expect(page).toContain(fate.does.replaceAll('"', '&quot;'))
    }
    for (const { name, meaning } of DOMAINS) {
      expect(document).toContain(`| \`${name}\` | ${meaning} |`)
      expect(page).toContain(meaning)
    }
  })

  test('every fate has a test here', () => {
    const tests = readSource('test/simulator/email-fates.test.ts')
    for (const { name } of FATES) expect(tests.toLowerCase()).toMatch(new RegExp(`['<]${name}[@+]`))
  })
})
