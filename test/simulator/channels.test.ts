import { expect, onTestFinished, test } from 'vitest'
import type { ChannelDeclaration, SimulatedChannel } from '../../simulator/channel.js'
import { describeFaults, FaultSwitch } from '../../simulator/faults.js'
import type { Inbox } from '../../simulator/inbox.js'
import { createSimulator } from '../../simulator/simulator.js'
import { html } from '../../src/domain/text/html.js'
import { request } from '../support/gateway/requests.js'

/** A minimal channel: phones that receive a text over HTTP. */
function phones(channel: 'sms' | 'voice', inbox: Inbox): SimulatedChannel {
  let count = 0
  return {
    channel,
    name: channel === 'sms' ? 'SMS' : 'Ligação',
    faults: new FaultSwitch(describeFaults({ outage: `${channel} fora.` })),
    fates: {
      lead: html`Números de <b>${channel}</b>`,
      list: [{ name: 'lido', address: `+5511${channel}`, meaning: 'Lê', does: 'Lê tudo.', example: true }],
      more: null,
    },
    actions: { read: { label: 'Ler' }, answer: { label: 'Responder', text: { label: 'Texto', value: 'Oi' } } },
    reportLabels: { read: { text: 'Lida', tone: 'good' } },
    allowedContent: channel === 'voice' ? ['media'] : [],
    carriers: url => ({ [channel]: `${url}/${channel}`, [`${channel}-smpp`]: 'smpp://127.0.0.1:1' }),
    async act(message, action, text) {
      const at = new Date()
      message.reports.push({ id: 'r', type: action, status: null, state: 'done', at, doneAt: at, detail: text ?? null })
      return message.reports.at(-1)!
    },
    summarize: () => ({ parts: 1 }),
    detail: async ({ raw }) => ({ text: raw.toString() }),
    file: async ({ raw }, path) => (path === 'audio' ? { type: 'audio/wav', bytes: raw } : null),
    render: async ({ raw }) => ({ content: html`<p class="bubble">${raw.toString()}</p>`, aside: null }),
    addRoutes(app) {
      app.setErrorHandler((_error, _request, reply) => reply.code(422).send({ own: channel }))
      app.post(`/${channel}`, async ({ body }) => {
        const { to, text } = body as { to?: string; text: string }
        if (to === undefined) throw new Error('no recipient')
        const message = {
          id: `${channel}-${++count}`,
          channel,
          receivedAt: new Date(),
          to,
          from: '29000',
          fromName: '',
          subject: text,
          reference: 'ref-1',
          notification: null,
          answer: '200',
          reports: [],
        }
        inbox.add({ message, raw: Buffer.from(text) })
        inbox.record(message)
        return { id: message.id }
      })
    },
    close: async () => {},
  }
}

async function phonesForTest(): Promise<{
  url: string
  ask(path: string, method?: string, body?: unknown): Promise<unknown>
}> {
  const declare = (channel: 'sms' | 'voice'): ChannelDeclaration => ({ open: async ({ inbox }) => phones(channel, inbox) })
  const { url, key, close } = await createSimulator({}, [declare('sms'), declare('voice')])
  onTestFinished(close)
  const ask = async (path: string, method = 'GET', body?: unknown): Promise<unknown> =>
    (
      await request(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${key}` },
        ...(body === undefined ? {} : { body }),
      })
    ).body
  return { url, ask }
}

const read = async (url: string): Promise<string> => (await fetch(url, { headers: { accept: 'text/html' } })).text()

test('an HTTP carrier has its own routes and errors, at the address that the client used', async () => {
  const { url, ask } = await phonesForTest()
  expect(await ask('/simulator/carriers')).toEqual({
    sms: `${url}/sms`,
    'sms-smpp': 'smpp://127.0.0.1:1',
    voice: `${url}/voice`,
    'voice-smpp': 'smpp://127.0.0.1:1',
  })
  expect(await ask('/sms', 'POST', { to: '+55 11 99999-0000', text: 'Olá' })).toEqual({ id: 'sms-1' })
  expect(await ask('/voice', 'POST', {})).toEqual({ own: 'voice' })
  expect(await ask('/simulator/faults', 'PUT', [])).toMatchObject({ statusCode: 400 })
})

test('messages of all channels are listed together, and phone numbers match in any spelling', async () => {
  const { ask } = await phonesForTest()
  await ask('/sms', 'POST', { to: '+5511999990000', text: 'Olá' })
  await ask('/voice', 'POST', { to: '5511999990000', text: 'Alô' })
  const ids = async (query: string): Promise<string[]> =>
    ((await ask(`/simulator/messages${query}`)) as { id: string }[]).map(({ id }) => id)
  expect(await ids('')).toEqual(['voice-1', 'sms-1'])
  expect(await ids('?channel=sms')).toEqual(['sms-1'])
  for (const to of ['+5511999990000', '5511999990000', '%2B55%20(11)%2099999-0000']) {
    expect(await ids(`?to=${to}`), to).toEqual(['voice-1', 'sms-1'])
  }
  for (const to of ['999990000', 'a5511999990000@example.com']) expect(await ids(`?to=${to}`), to).toEqual([])
  expect(await ask('/simulator/messages?channel=sms')).toMatchObject([{ reference: 'ref-1', subject: 'Olá', parts: 1 }])
  expect(await ask('/simulator/messages/sms-1')).toMatchObject({ channel: 'sms', text: 'Olá', answer: '200', reports: [] })
  expect(await ask('/simulator/log')).toEqual([
    { id: 'sms-1', channel: 'sms', to: '+5511999990000', reference: 'ref-1', receivedAt: expect.any(String) },
    { id: 'voice-1', channel: 'voice', to: '5511999990000', reference: 'ref-1', receivedAt: expect.any(String) },
  ])
})

test('a channel has its own files and actions and no others', async () => {
  const { url, ask } = await phonesForTest()
  await ask('/voice', 'POST', { to: '5511999990000', text: 'RIFF' })
  const file = await fetch(`${url}/simulator/messages/voice-1/audio`)
  expect([file.headers.get('content-type'), await file.text()]).toEqual(['audio/wav', 'RIFF'])
  expect(await ask('/simulator/messages/voice-1/raw')).toMatchObject({ statusCode: 404 })
  expect(await ask('/simulator/messages/voice-1/actions', 'POST', { action: 'bounce' })).toMatchObject({
    statusCode: 400,
    message: expect.stringContaining('read, answer'),
  })
  expect(await ask('/simulator/messages/voice-1/actions', 'POST', { action: 'answer', text: '1' })).toMatchObject({
    type: 'answer',
    detail: '1',
  })
})

test('PUT faults changes the channels that it names, all of them or none', async () => {
  const { ask } = await phonesForTest()
  const none = { outage: false, duplicateReports: false, lateReportsMs: 0, seed: 1 }
  const put = (body: unknown): Promise<unknown> => ask('/simulator/faults', 'PUT', body)
  expect(await put({ sms: { outage: true } })).toEqual({ sms: { ...none, outage: true }, voice: none })
  expect(await put({ voice: { seed: 7 } })).toEqual({ sms: { ...none, outage: true }, voice: { ...none, seed: 7 } })
  for (const body of [{ sms: {}, fax: {} }, { sms: {}, voice: { latencyMs: 1 } }, {}]) {
    expect(await put(body), JSON.stringify(body)).toMatchObject({ statusCode: 400 })
  }
  expect(await ask('/simulator/faults')).toEqual({ sms: { ...none, outage: true }, voice: { ...none, seed: 7 } })
})

test('the pages show every channel', async () => {
  const { url, ask } = await phonesForTest()
  const empty = await read(url)
  for (const text of [`SMS: <code>${url}/sms</code>`, `Ligação: <code>${url}/voice</code>`, '<code>+5511voice</code>: lê']) {
    expect(empty).toContain(text)
  }
  await ask('/sms', 'POST', { to: '+5511999990000', text: '<b>Olá</b>' })
  await ask('/voice', 'POST', { to: '5511999990000', text: 'Alô' })
  const filtered = await read(`${url}/?channel=voice`)
  expect(filtered).toContain('1 mensagem de 2')
  expect(filtered).toMatch(/class="chip channel"><span class="hidden">canal <\/span>Ligação</)
  expect(filtered).toContain('<option value="voice" selected>Ligação</option>')
  expect(filtered).not.toContain('/mensagens/sms-1')
  const page = await fetch(`${url}/mensagens/sms-1`)
  const text = await page.text()
  expect(text).toContain('<p class="bubble">&lt;b&gt;Olá&lt;/b&gt;</p>')
  expect(text).toContain('<textarea id="texto-answer" name="text" rows="2" maxlength="10000">Oi</textarea>')
  expect(page.headers.get('content-security-policy')).not.toMatch(/unsafe|media-src/)
  const voice = await fetch(`${url}/mensagens/voice-1`)
  expect(voice.headers.get('content-security-policy')).toContain("media-src 'self'")
  const faults = await read(`${url}/falhas`)
  for (const channel of ['sms', 'voice']) {
    expect(faults).toContain(`action="/falhas/${channel}"`)
    expect(faults).toContain(`<p id="${channel}-outage-ajuda">${channel} fora.</p>`)
    expect(await read(`${url}/destinatarios`)).toContain(`Números de <b>${channel}</b>`)
  }
  expect(faults).not.toContain('sms-latencyMs')
})

test('when one channel cannot open, the others are closed', async () => {
  let closed = 0
  const first: ChannelDeclaration = { open: async ({ inbox }) => ({ ...phones('sms', inbox), close: async () => void closed++ }) }
  const second: ChannelDeclaration = { open: () => Promise.reject(new Error('port taken')) }
  await expect(createSimulator({}, [first, second])).rejects.toThrow('port taken')
  expect(closed).toBe(1)
})

test('a channel gets the port that it declares, and its address is known by that name', async () => {
  const opened: number[] = []
  const channel: ChannelDeclaration = {
    port: { name: 'fax', description: 'porta do fax' },
    async open({ inbox, port }) {
      opened.push(port)
      return { ...phones('sms', inbox), url: `fax://127.0.0.1:${port}` }
    },
  }
  const simulator = await createSimulator({ ports: { fax: 4321 } }, [channel])
  onTestFinished(simulator.close)
  expect(opened).toEqual([4321])
  expect(simulator.carrierUrls).toEqual({ fax: 'fax://127.0.0.1:4321' })
})
