import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { rawRequest } from '../support/raw-http.js'
import { BOUNCES, listenerForTest, type Message, register, send, simulatorForTest, type TestSimulator } from './carriers.js'

const list = async (simulator: TestSimulator, query: string): Promise<Message[]> =>
  (await simulator.ask(`/simulator/messages${query}`)).body as Message[]

const subjects = (messages: Message[]): string[] => messages.map(({ subject }) => subject)

describe('the list of messages', () => {
  test('the list has the newest message first and can be searched', async () => {
    const simulator = await simulatorForTest()
    await send(simulator, { to: 'maria@example.com', subject: 'Primeira cobrança' })
    await send(simulator, { to: 'joao@example.com', subject: 'Segunda cobrança' })
    const [second] = await list(simulator, '')
    await send(simulator, { to: 'Maria@Example.com', subject: 'Convite' })
    expect(subjects(await list(simulator, ''))).toEqual(['Convite', 'Segunda cobrança', 'Primeira cobrança'])
    expect(subjects(await list(simulator, '?to=maria@example.com'))).toEqual(['Convite', 'Primeira cobrança'])
    expect(subjects(await list(simulator, '?subject=COBRAN%C3%87A'))).toEqual(['Segunda cobrança', 'Primeira cobrança'])
    expect(subjects(await list(simulator, `?since=${encodeURIComponent(second!.receivedAt)}`))).toEqual([
      'Convite',
      'Segunda cobrança',
    ])
    expect(subjects(await list(simulator, `?since=${second!.receivedAt}&to=maria@example.com`))).toEqual(['Convite'])
    expect(subjects(await list(simulator, '?channel=email&limit=1'))).toEqual(['Convite'])
    expect(await list(simulator, '?channel=sms')).toEqual([])
    expect(await list(simulator, '?to=maria@example')).toEqual([])
  })

  test('a request with wait returns at the first message that matches', async () => {
    const simulator = await simulatorForTest()
    const waiting = list(simulator, '?to=maria@example.com&wait=30s')
    const other = list(simulator, '?to=joao@example.com&wait=500ms')
    await send(simulator, { to: 'ana@example.com' })
    expect(await other).toEqual([])
    await send(simulator, { to: 'maria@example.com', subject: 'Chegou' })
    expect(subjects(await waiting)).toEqual(['Chegou'])
    expect(subjects(await list(simulator, '?to=maria@example.com&wait=30s'))).toEqual(['Chegou'])
  })

  test('a request with wait ends when the simulator closes', async () => {
    const simulator = await simulatorForTest()
    const waiting = list(simulator, '?to=maria@example.com&wait=60s').catch(() => 'cut off')
    await list(simulator, '')
    await simulator.close()
    expect([[], 'cut off']).toContainEqual(await waiting)
  })

  test('a wrong parameter is refused by name', async () => {
    const simulator = await simulatorForTest()
    for (const query of [
      'wait=61s',
      'wait=2m',
      'wait=soon',
      'wait=-1',
      'since=yesterday',
      'since=2026-99-99T00:00:00Z',
      'limit=x',
      'to=a&to=b',
    ]) {
      expect(await simulator.ask(`/simulator/messages?${query}`), query).toMatchObject({
        status: 400,
        body: { statusCode: 400, message: expect.stringContaining(query.split('=')[0]!), error: 'Bad Request' },
      })
    }
  })

  test('the list can be emptied, and the log keeps its entries until it is emptied too', async () => {
    const simulator = await simulatorForTest()
    await send(simulator, { to: 'maria@example.com' })
    const { id } = await simulator.message('maria@example.com')
    const headers = { 'content-type': 'application/json' }
    expect(await simulator.ask('/simulator/messages', { method: 'DELETE', headers })).toMatchObject({ status: 200 })
    expect(await list(simulator, '')).toEqual([])
    expect(await simulator.ask(`/simulator/messages/${id}`)).toMatchObject({ status: 404 })
    expect((await simulator.ask('/simulator/log')).body).toMatchObject([{ id }])
    await simulator.ask('/simulator/log', { method: 'DELETE' })
    expect((await simulator.ask('/simulator/log')).body).toEqual([])
  })
})

describe('one message', () => {
  test('a message is shown with envelope, headers, texts, links and attachments', async () => {
    const simulator = await simulatorForTest()
    const content = Buffer.from([0, 1, 2, 255, 254])
    await send(simulator, {
      to: 'maria@example.com',
      from: '"Conta, Ção" <avisos@exemplo.test>',
      subject: 'Cobrança nº 7 €',
      text: 'Olá, Maria',
      html: '<p>Olá, <a href="https://exemplo.test/a?b=1&amp;c=2">Maria</a></p>',
      messageId: '<m7@exemplo.test>',
      attachments: [
        { filename: 'contrato nº 1.pdf', content },
        { filename: 'b.txt', content: Buffer.from('b') },
      ],
      dsn: { id: 'ref-7' },
    })
    const message = await simulator.message('maria@example.com')
    expect(message).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      idEmail: null,
      channel: 'email',
      from: 'avisos@exemplo.test',
      fromName: 'Conta, Ção',
      to: 'maria@example.com',
      subject: 'Cobrança nº 7 €',
      reference: '<m7@exemplo.test>',
      messageId: '<m7@exemplo.test>',
      receivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}-03:00$/),
      answer: `250 2.6.0 OK: queued as ${message.id}`,
      envelope: {
        from: BOUNCES,
        to: 'maria@example.com',
        envid: 'ref-7',
        ret: 'HDRS',
        notify: ['SUCCESS', 'FAILURE', 'DELAY'],
        orcpt: 'rfc822;maria@example.com',
      },
      headers: expect.arrayContaining([{ name: 'Message-ID', value: '<m7@exemplo.test>' }]),
      text: expect.stringMatching(/^Olá, Maria\s*$/),
      html: expect.stringContaining('<p>Olá, <a'),
      links: ['https://exemplo.test/a?b=1&c=2'],
      attachments: [
        {
          name: 'contrato nº 1.pdf',
          type: 'application/pdf',
          size: 5,
          sha256: createHash('sha256').update(content).digest('hex'),
        },
        { name: 'b.txt', type: 'text/plain', size: 1, sha256: createHash('sha256').update('b').digest('hex') },
      ],
      reports: [expect.objectContaining({ type: 'delivered' })],
    })
    const file = await fetch(`${simulator.url}/simulator/messages/${message.id}/attachments/0`)
    expect(Buffer.from(await file.arrayBuffer())).toEqual(content)
    expect(file.headers.get('content-type')).toBe('application/octet-stream')
    expect(file.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''contrato%20n%C2%BA%201.pdf")
    expect(file.headers.get('x-content-type-options')).toBe('nosniff')
    expect(file.headers.get('content-security-policy')).toContain('sandbox')
  })

  test('a message without HTML has the links of its text', async () => {
    const simulator = await simulatorForTest()
    await send(simulator, { to: 'maria@example.com', text: 'Veja https://exemplo.test/x e <http://exemplo.test/y>' })
    expect(await simulator.message('maria@example.com')).toMatchObject({
      html: null,
      links: ['https://exemplo.test/x', 'http://exemplo.test/y'],
    })
  })

  test('unknown messages and unknown attachments are not found', async () => {
    const simulator = await simulatorForTest()
    await send(simulator, { to: 'maria@example.com' })
    const { id } = await simulator.message('maria@example.com')
    for (const path of [
      'x',
      'x/raw',
      'x/attachments/0',
      `${id}/attachments/0`,
      `${id}/attachments/-1`,
      `${id}/attachments/length`,
    ]) {
      expect(await simulator.ask(`/simulator/messages/${path}`), path).toMatchObject({
        status: 404,
        body: { statusCode: 404, error: 'Not Found' },
      })
    }
  })
})

describe('bounds', () => {
  test('beyond the number of messages the oldest are dropped, and the log keeps them all in order', async () => {
    const simulator = await simulatorForTest({ maxMessages: 3 })
    for (let number = 1; number <= 5; number++)
      await send(simulator, { to: `m${number}@example.com`, messageId: `<${number}@x.test>` })
    expect((await list(simulator, '')).map(({ to }) => to)).toEqual(['m5@example.com', 'm4@example.com', 'm3@example.com'])
    expect((await simulator.ask('/simulator/log')).body).toEqual(
      [1, 2, 3, 4, 5].map(number => ({
        id: expect.any(String),
        channel: 'email',
        to: `m${number}@example.com`,
        reference: `<${number}@x.test>`,
        messageId: `<${number}@x.test>`,
        envid: 'ref-1',
        answer: expect.stringMatching(/^250 /),
        receivedAt: expect.any(String),
      })),
    )
  })

  test('beyond the number of bytes the oldest messages are dropped', async () => {
    const simulator = await simulatorForTest({ maxBytes: 100_000 })
    const text = 'x '.repeat(15_000)
    for (let number = 1; number <= 4; number++) await send(simulator, { to: `m${number}@example.com`, text })
    expect((await list(simulator, '')).map(({ to }) => to)).toEqual(['m4@example.com', 'm3@example.com', 'm2@example.com'])
    await send(simulator, { to: 'm5@example.com', text: text.repeat(3) })
    expect((await list(simulator, '')).map(({ to }) => to)).toEqual(['m5@example.com'])
  })

  test('a dropped message still sends its reports', async () => {
    const simulator = await simulatorForTest({ maxMessages: 1 })
    const listener = await listenerForTest()
    await register(simulator, listener.url)
    await send(simulator, { to: 'devolvido-depois@simulador.test' })
    await send(simulator, { to: 'maria@example.com', dsn: null })
    expect((await listener.wait(2)).map(({ raw }) => /^Action: (\w+)/m.exec(raw)![1])).toEqual(['delivered', 'failed'])
  })
})

describe('the rest of the API', () => {
  test('the simulated DNS has domains with every kind of defect', async () => {
    const simulator = await simulatorForTest()
    const dns = async (name: string, type = 'MX') => (await simulator.ask(`/simulator/dns?name=${name}&type=${type}`)).body
    const ordinary = { status: 'ok', exchangers: [{ priority: 10, exchange: 'mx.simulador.test' }] }
    expect(await dns('simulador.test')).toEqual(ordinary)
    expect(await dns('example.com')).toEqual(ordinary)
    expect(await dns('xinexistente.test')).toEqual(ordinary)
    expect(await dns('Inexistente.TEST.')).toEqual({ status: 'nxdomain', exchangers: [] })
    expect(await dns('a.inexistente.test')).toEqual({ status: 'nxdomain', exchangers: [] })
    expect(await dns('sem-correio.test')).toEqual({ status: 'ok', exchangers: [{ priority: 0, exchange: '.' }] })
    expect(await dns('sem-mx.test')).toEqual({ status: 'ok', exchangers: [] })
    expect(await dns('falha-dns.test')).toEqual({ status: 'servfail', exchangers: [] })
    expect(await dns('sem-mx.test', 'A')).toEqual({ status: 'ok', addresses: [] })
    expect(await dns('example.com', 'a')).toEqual({ status: 'ok', addresses: ['127.0.0.1'] })
    expect(await dns('example.com', 'AAAA')).toEqual({ status: 'ok', addresses: [] })
    expect(await dns('example.com', 'TXT')).toMatchObject({ statusCode: 400 })
    expect(await dns('')).toMatchObject({ statusCode: 400 })
  })

  test('the carrier URLs name the ports that are open', async () => {
    const simulator = await simulatorForTest()
    expect((await simulator.ask('/simulator/carriers')).body).toMatchObject({ email: simulator.smtpUrl })
    expect(simulator.smtpUrl).toMatch(/^smtp:\/\/127\.0\.0\.1:\d+$/)
    expect(simulator.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  })

  test('a simulator listens on the ports that it is given, unless they are taken', async () => {
    const first = await simulatorForTest()
    const ports = { http: Number(new URL(first.url).port), smtp: Number(new URL(first.smtpUrl).port) }
    await expect(simulatorForTest({ ports: { http: ports.http } })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    await expect(simulatorForTest({ ports: { smtp: ports.smtp } })).rejects.toMatchObject({ code: 'EADDRINUSE' })
    await first.close()
    const second = await simulatorForTest({ ports })
    expect([second.url, second.smtpUrl]).toEqual([first.url, first.smtpUrl])
  })

  test('every refusal has the three members, in Portuguese', async () => {
    const simulator = await simulatorForTest()
    const json = { 'content-type': 'application/json' }
    const put = { method: 'PUT', headers: json }
    for (const [path, options, status, message] of [
      ['/simulator/nothing', {}, 404, /^Rota não encontrada: GET \/simulator\/nothing\./],
      ['/simulator/messages', { method: 'PATCH' }, 404, /^Rota não encontrada: PATCH/],
      ['/simulator/faults', { ...put, body: '{"email":' }, 400, /não é um JSON válido/],
      ['/simulator/faults', { ...put, body: '{"email":{"__proto__":1}}' }, 400, /__proto__/],
      ['/simulator/faults', put, 400, /corpo da requisição está vazio/],
      ['/simulator/faults', { ...put, body: '[]' }, 400, /objeto JSON/],
      ['/simulator/faults', { method: 'PUT', headers: { 'content-type': 'text/plain' }, body: 'x' }, 400, /Content-Type/],
      ['/simulator/faults', { ...put, body: JSON.stringify({ x: 'x'.repeat(1_100_000) }) }, 413, /1 MiB/],
      ['/simulator/messages/%ff', {}, 400, /URL/],
    ] as const) {
      const answer = await simulator.ask(path, options)
      expect(answer, path).toMatchObject({ status })
      expect(answer.body).toEqual({ statusCode: status, message: expect.stringMatching(message), error: expect.any(String) })
    }
  })

  test('other sites in the same browser can neither read nor change anything', async () => {
    const simulator = await simulatorForTest()
    const { port } = new URL(simulator.url)
    const rebound = await rawRequest(simulator.url, ['GET /simulator/messages HTTP/1.0', 'Host: evil.example'])
    expect(rebound).toMatchObject({ status: 403, body: { statusCode: 403, error: 'Forbidden' } })
    const put = (origin: string) =>
      simulator.ask('/simulator/faults', { method: 'PUT', body: { email: { outage: true } }, headers: { origin } })
    for (const origin of ['https://evil.example', 'null', `http://127.0.0.1:${Number(port) + 1}`]) {
      expect(await put(origin)).toMatchObject({ status: 403 })
    }
    expect((await simulator.ask('/simulator/faults')).body).toMatchObject({ email: { outage: false } })
    expect(await put(`http://127.0.0.1:${port}`)).toMatchObject({ status: 200 })
  })
})
