import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Visitor } from '../../simulator/visitor.js'
import { FATES, fateNumber } from '../../simulator/whatsapp/fates.js'
import { FAULT_FIELDS } from '../../simulator/whatsapp/labels.js'
import { request } from '../support/gateway/requests.js'
import { readSource } from '../support/sources.js'
import { allowSite, simulatorForTest, type TestSimulator } from './carriers.js'

const PATH = '/v23.0/106540352242922/messages'
const WAIT = { timeout: 120_000, interval: 20 }

const message = (changes: object = {}, template: object = {}) => ({
  messaging_product: 'whatsapp',
  recipient_type: 'individual',
  to: '5531900000001',
  type: 'template',
  template: { name: 'aviso', language: { code: 'pt_BR' }, components: [], ...template },
  biz_opaque_callback_data: 'ref-1',
  ...changes,
})

const post = (simulator: TestSimulator, body: unknown, headers: Record<string, string> = {}) =>
  simulator.ask(PATH, { method: 'POST', body, headers })

const body = (...parameters: object[]) => ({ components: [{ type: 'body', parameters }] })

test('an accepted message has an id and the number as WhatsApp writes it', async () => {
  const simulator = await simulatorForTest()
  const { status, body: answer } = await post(simulator, message())
  expect(status).toBe(200)
  expect(answer).toEqual({
    messaging_product: 'whatsapp',
    contacts: [{ input: '5531900000001', wa_id: '553100000001' }],
    messages: [{ id: expect.stringMatching(/^wamid\./), message_status: 'accepted' }],
  })
  expect(await simulator.message('+5531900000001')).toMatchObject({ channel: 'whatsapp', reference: 'ref-1', template: 'aviso' })
})

describe('the Cloud API refuses what the real one refuses', () => {
  test.each<[string, object, number, number]>([
    ['another product', message({ messaging_product: 'sms' }), 400, 100],
    ['no recipient', message({ to: undefined }), 400, 131008],
    ['a masked recipient', message({ to: '(31) 90000-0001' }), 400, 131009],
    ['another type', message({ type: 'text' }), 400, 131009],
    ['no template name', message({}, { name: '' }), 400, 131008],
    ['a name in capitals', message({}, { name: 'Aviso' }), 400, 131009],
    ['no language', message({}, { language: undefined }), 400, 131008],
    ['a language that is none', message({}, { language: { code: 'pt-BR' } }), 404, 132001],
    [
      'an unknown component',
      message({}, { components: [{ type: 'footer', parameters: [{ type: 'text', text: 'x' }] }] }),
      400,
      131009,
    ],
    ['an empty parameter', message({}, body({ type: 'text', text: '' })), 400, 131008],
    ['a parameter with a line break', message({}, body({ type: 'text', text: 'a\nb' })), 400, 132018],
    ['a parameter with five blanks', message({}, body({ type: 'text', text: 'a     b' })), 400, 132018],
    [
      'named beside numbered ones',
      message({}, body({ type: 'text', text: 'a' }, { type: 'text', parameter_name: 'b', text: 'b' })),
      400,
      132000,
    ],
    [
      'two bodies',
      message(
        {},
        { components: [...body({ type: 'text', text: 'a' }).components, ...body({ type: 'text', text: 'a' }).components] },
      ),
      400,
      131009,
    ],
    [
      'a link button without its place',
      message({}, { components: [{ type: 'button', sub_type: 'url', parameters: [{ type: 'text', text: 'x' }] }] }),
      400,
      131009,
    ],
    ['opaque data over 512 characters', message({ biz_opaque_callback_data: 'x'.repeat(513) }), 400, 131009],
  ])('%s', async (_, given, status, code) => {
    const simulator = await simulatorForTest()
    const answer = await post(simulator, given)
    expect(answer).toMatchObject({ status, body: { error: { code, type: 'OAuthException', fbtrace_id: expect.any(String) } } })
    expect((await simulator.ask('/simulator/log')).body).toEqual([])
  })

  test('a wrong token, a number that is not the sender’s, and a body that is not JSON', async () => {
    const simulator = await simulatorForTest()
    expect(await post(simulator, message(), { authorization: 'Bearer other' })).toMatchObject({
      status: 401,
      body: { error: { code: 190 } },
    })
    expect(await simulator.ask('/v23.0/1/messages', { method: 'POST', body: message() })).toMatchObject({
      body: { error: { code: 33 } },
    })
    expect(await post(simulator, '{')).toMatchObject({ status: 400, body: { error: { code: 100 } } })
  })
})

test('attempts are counted per message, and the third is accepted', async () => {
  const simulator = await simulatorForTest()
  const statuses: number[] = []
  for (let n = 0; n < 3; n++) statuses.push((await post(simulator, message({ to: '5531900000021' }))).status)
  expect(statuses).toEqual([429, 429, 200])
})

test('the API, the page and the document describe every number in the same words', async () => {
  const simulator = await simulatorForTest()
  const document = readSource('docs/whatsapp.md')
  const page = await (await fetch(`${simulator.url}/destinatarios`)).text()
  const { body: listed } = await simulator.ask('/simulator/fates')
  const mine = (listed as { channel: string }[]).filter(({ channel }) => channel === 'whatsapp')
  expect(mine).toEqual(
    FATES.map(fate => ({
      channel: 'whatsapp',
      name: fate.name,
      address: fateNumber(fate),
      meaning: fate.meaning,
      does: fate.does,
    })),
  )
  for (const fate of FATES) {
    expect(document).toContain(`| \`${fateNumber(fate)}\` | ${fate.meaning} | ${fate.does} |`)
    expect(page).toContain(fate.does.replaceAll('"', '&quot;'))
  }
  for (const { name, help, about } of FAULT_FIELDS)
    if (about === 'send' && name !== 'seed') expect(document).toContain(`| \`${name}\` | ${help} |`)
})

describe('the page of a message', () => {
  test('the page shows the phone and runs no script of the message', async () => {
    const simulator = await simulatorForTest()
    await post(simulator, message({}, body({ type: 'text', text: '<script>alert(1)</script>' })))
    const { id } = await simulator.message('+5531900000001')
    const page = await (await fetch(`${simulator.url}/mensagens/${id}`)).text()
    expect(page).toContain('class="chat-bubble"')
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(page).not.toContain('<script>alert(1)')
  })

  test('the recipient can reply, and cannot open a link that the message does not have', async () => {
    const simulator = await simulatorForTest()
    await post(simulator, message({ to: '5531900000025' }))
    const { id } = await simulator.message('+5531900000025')
    const act = (action: string, text?: string) =>
      simulator.ask(`/simulator/messages/${id}/actions`, {
        method: 'POST',
        body: { action, ...(text === undefined ? {} : { text }) },
      })
    expect(await act('reply', 'Ok')).toMatchObject({ status: 202, body: { type: 'reply', state: 'waiting' } })
    expect(await act('open')).toMatchObject({ status: 409, body: { message: 'Esta mensagem não tem link.' } })
    expect(await act('dance')).toMatchObject({ status: 400 })
  })
})

describe('a person who opens a link', () => {
  async function siteForTest(
    page: string,
  ): Promise<{ url: string; asked: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] }> {
    const asked: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = []
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      asked.push({ method: request.method!, url: request.url!, headers: request.headers, body: Buffer.concat(chunks).toString() })
      if (request.method === 'POST') response.writeHead(303, { location: '/aberta' }).end()
      else response.writeHead(200, { 'content-type': 'text/html' }).end(page)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
  }

  test('the visitor loads the page and submits its form as a browser does, without the visible fields', async () => {
    const site = await siteForTest(
      '<form method="post" action="/s/abc"><input type="hidden" name="carimbo" value="a&amp;b"><button>Abrir</button><input type="text" name="armadilha" value=""></form>',
    )
    const visitor = new Visitor(Date.now)
    onTestFinished(() => visitor.close())
    visitor.allow(site.url)
    expect(await visitor.open(`${site.url}/s/abc`)).toEqual({ done: true, detail: `POST ${site.url}/s/abc: 303` })
    expect(site.asked).toMatchObject([
      { method: 'GET', url: '/s/abc' },
      { method: 'POST', url: '/s/abc', body: 'carimbo=a%26b', headers: { origin: site.url, 'sec-fetch-site': 'same-origin' } },
    ])
  })

  test('the visitor gives up at a page without a form and never leaves this machine', async () => {
    const site = await siteForTest('<p>Nada aqui</p>')
    const visitor = new Visitor(Date.now)
    onTestFinished(() => visitor.close())
    visitor.allow(site.url)
    expect((await visitor.open(`${site.url}/s/abc`)).done).toBe(false)
    expect(await visitor.open('https://example.com/s/abc')).toMatchObject({
      done: false,
      detail: expect.stringContaining('fora do PUBLIC_URL'),
    })
  })

  test('the recipient opens the link in the text', async () => {
    const simulator = await simulatorForTest()
    const site = await siteForTest('<form method="post" action="/s/abc"><button>Abrir</button></form>')
    await allowSite(simulator, site.url)
    await post(simulator, message({ to: '5531900000007' }, body({ type: 'text', text: `Veja ${site.url}/s/abc` })))
    await expect.poll(() => site.asked.map(({ method }) => method), WAIT).toEqual(['GET', 'POST'])
    const { id } = await simulator.message('+5531900000007')
    const reports = async () =>
      ((await request(`${simulator.url}/simulator/messages/${id}`)).body as { reports: object[] }).reports
    await expect.poll(reports, WAIT).toContainEqual(expect.objectContaining({ type: 'open', state: 'done' }))
  })
})

describe('the text of a template', () => {
  const reference = '019a8f2e-0000-7000-8000-00000000000a.whatsapp.1'
  const PUT = (simulator: TestSimulator, body: unknown, headers: Record<string, string> = {}) =>
    simulator.ask(`/simulator/whatsapp/texts/${reference}`, { method: 'PUT', body, headers })
  const pageOf = async (simulator: TestSimulator): Promise<string> => {
    const { id } = await simulator.message('+5531900000001')
    return (await fetch(`${simulator.url}/mensagens/${id}`)).text()
  }

  test('that the gateway has is shown filled in, on the phone and in the list', async () => {
    const simulator = await simulatorForTest()
    expect((await PUT(simulator, { text: 'Olá, Maria.\nHá um aviso & <b>mais</b>.' })).status).toBe(200)
    await post(simulator, message({ biz_opaque_callback_data: reference }, body({ type: 'text', text: 'Maria' })))
    const page = await pageOf(simulator)
    expect(page).toContain('<p class="chat-text">Olá, Maria.\nHá um aviso &amp; &lt;b&gt;mais&lt;/b&gt;.</p>')
    expect(page).not.toContain('Template não cadastrado')
    const list = await (await fetch(simulator.url)).text()
    expect(list).toContain('Olá, Maria.')
    expect(list).not.toContain('Template não cadastrado')
    expect(await simulator.message('+5531900000001')).toMatchObject({
      idEmail: '019a8f2e-0000-7000-8000-00000000000a',
      text: 'Olá, Maria.\nHá um aviso & <b>mais</b>.',
    })
  })

  test('that only Meta knows is missed with a warning that says what to do', async () => {
    const simulator = await simulatorForTest()
    await post(simulator, message({}, body({ type: 'text', text: 'Maria' })))
    const page = await pageOf(simulator)
    expect(page).toMatch(/class="warning" role="note">\s*<p><strong>Template não cadastrado\./)
    expect(page).toContain('carteiro template create --account CONTA --channel whatsapp --name aviso')
    expect(await (await fetch(simulator.url)).text()).toContain('<span class="chip warn">Template não cadastrado</span>')
    expect(await simulator.message('+5531900000001')).toMatchObject({ idEmail: null, text: null })
  })

  test('is taken from the gateway alone', async () => {
    const simulator = await simulatorForTest()
    expect((await PUT(simulator, { text: 'x' }, { authorization: 'Bearer x' })).status).toBe(401)
    expect((await PUT(simulator, { text: 1 })).status).toBe(400)
    expect((await PUT(simulator, { text: 'x'.repeat(10_001) })).status).toBe(400)
  })
})
