import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { carriersForTest, send, simulatorForTest, siteForTest, type TestSimulator } from './carriers.js'

const read = async (simulator: TestSimulator, path: string): Promise<string> => {
  const response = await fetch(`${simulator.url}${path}`, { headers: { accept: 'text/html' } })
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  return response.text()
}

/** Submits a form as a browser without scripts does. */
const submit = (simulator: TestSimulator, path: string, fields: Record<string, string>): Promise<Response> =>
  fetch(`${simulator.url}${path}`, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { origin: simulator.url, accept: 'text/html' },
    redirect: 'manual',
  })

/** A message to WhatsApp's simulated carrier. */
async function post(simulator: TestSimulator, reference: string, to = '5511987654321'): Promise<void> {
  const { status } = await simulator.ask('/v23.0/106540352242922/messages', {
    method: 'POST',
    body: {
      messaging_product: 'whatsapp',
      to,
      type: 'template',
      template: { name: 'aviso', language: { code: 'pt_BR' } },
      biz_opaque_callback_data: reference,
    },
  })
  expect(status).toBe(200)
}

/** The idEmail of each group of the list, and how many messages it has. */
const groupsIn = (page: string): [string | null, number][] =>
  page
    .split('<li class="group">')
    .slice(1)
    .map(group => [/idEmail <code>([\w-]+)/.exec(group)?.[1] ?? null, group.match(/href="\/mensagens\//g)!.length])

const hostile = '"><script>fetch("/hit")</script><img src=x onerror=fetch("/hit")>'

describe('pages', () => {
  test('an empty inbox shows the carriers and the test recipients', async () => {
    const simulator = await simulatorForTest()
    const page = await read(simulator, '/')
    expect(page).toContain('<html lang="pt-BR">')
    expect(page).toContain('Nenhuma mensagem ainda')
    expect(page).toContain(simulator.smtpUrl)
    // Whoever reads the page must not learn the carriers' password.
    expect(page).not.toContain(simulator.key)
    expect(page).toContain('lido@simulador.test')
  })

  test('the inbox lists the newest first, can be searched, and has pages', async () => {
    const simulator = await simulatorForTest()
    for (let number = 1; number <= 51; number++)
      await send(simulator, { to: `m${number}@example.com`, subject: `Aviso ${number}.`, dsn: null })
    const first = await read(simulator, '/')
    expect(first).toContain('51 mensagens')
    expect(first.indexOf('Aviso 51.')).toBeLessThan(first.indexOf('Aviso 50.'))
    expect(first).not.toContain('Aviso 1.')
    expect(first).toContain('href="/?page=2"')
    const second = await read(simulator, '/?page=2')
    expect(second).toContain('Aviso 1.')
    expect(second).not.toContain('Aviso 2.')
    const found = await read(simulator, '/?to=m7@example.com')
    expect(found).toContain('1 mensagem de 51')
    expect(found).toContain('Aviso 7.')
    expect(await read(simulator, '/parciais/caixa?subject=aviso+7.')).toMatch(/^<p class="count" role="status">1 mensagem de 51/)
  })

  test('the search finds parts of an address, of a number in any spelling, of a name and of an idEmail', async () => {
    const simulator = await simulatorForTest()
    const notification = '019a8f2e-0000-7000-8000-00000000beef'
    await send(simulator, {
      to: 'Maria.Silva@Example.com',
      subject: 'Carta do José',
      messageId: `<${notification}.email.1@x.test>`,
    })
    await post(simulator, 'ref-1', '5511987654321')
    const found = async (query: string): Promise<string> => /role="status">([^<]*)/.exec(await read(simulator, `/?${query}`))![1]!
    for (const part of ['maria', 'SILVA@', 'example.com', '(11) 98765-4321', '98765', '+55 11', '00000000beef'])
      expect([part, await found(`to=${encodeURIComponent(part)}`)]).toEqual([part, '1 mensagem de 2'])
    expect(await found('subject=jose')).toBe('1 mensagem de 2')
    for (const part of ['joana', '98766', '()']) expect(await found(`to=${encodeURIComponent(part)}`)).toBe('0 mensagens de 2')
    // The API, by which tests wait for their own message, takes whole addresses.
    expect((await simulator.ask('/simulator/messages?to=maria')).body).toEqual([])
  })

  test('the messages of a notification are one group with its idEmail, the group with the newest message first', async () => {
    const simulator = await simulatorForTest()
    const [older, newer] = ['019a8f2e-0000-7000-8000-00000000000a', '019a8f2e-0000-7000-8000-00000000000b']
    const mail = (id: string, subject: string) =>
      send(simulator, { to: 'maria@example.com', subject, messageId: `<${id}.email.1@x.test>` })
    await mail(older, 'Primeiro aviso')
    await mail(newer, 'Segundo aviso')
    expect(groupsIn(await read(simulator, '/'))).toEqual([
      [newer, 1],
      [older, 1],
    ])
    await post(simulator, `${older}.whatsapp.1`)
    await send(simulator, { to: 'joana@example.com', subject: 'Sem notificação' })
    const page = await read(simulator, '/')
    expect(groupsIn(page)).toEqual([
      [null, 1],
      [older, 2],
      [newer, 1],
    ])
    expect(page).toContain('4 mensagens, em 3 notificações')
    expect(page).toContain(`<a href="/notificacoes/${older}">Primeiro aviso</a>`)
    expect(page).toContain('sem idEmail')
    expect((await simulator.ask(`/simulator/messages?idEmail=${older}`)).body).toMatchObject([
      { idEmail: older, channel: 'whatsapp' },
      { idEmail: older, channel: 'email' },
    ])

    const one = await read(simulator, `/notificacoes/${older.toUpperCase()}`)
    expect(one).toContain('<h1>Primeiro aviso</h1>')
    expect(one).toContain('2 mensagens desta notificação')
    expect(one).not.toContain('Segundo aviso')
    const [{ id }] = (await simulator.ask(`/simulator/messages?idEmail=${older}&channel=email`)).body as [{ id: string }]
    const message = await read(simulator, `/mensagens/${id}`)
    expect(message).toContain(`<a href="/notificacoes/${older}"><code>${older}</code></a>`)
    expect(message).toMatch(/Outros canais<\/dt><dd><a href="\/mensagens\/[\w-]+">WhatsApp<\/a>/)
    expect(await read(simulator, '/notificacoes/019a8f2e-0000-7000-8000-00000000000c')).toContain(
      'Nenhuma mensagem desta notificação',
    )
  })

  test('a page holds whole groups: no notification is cut in two', async () => {
    const simulator = await simulatorForTest()
    const id = (number: number): string => `019a8f2e-0000-7000-8000-${String(number).padStart(12, '0')}`
    for (let number = 1; number <= 51; number++) await post(simulator, `${id(number)}.whatsapp.1`)
    for (let number = 1; number <= 51; number++) await post(simulator, `${id(number)}.whatsapp.2`)
    expect(groupsIn(await read(simulator, '/'))).toEqual(Array.from({ length: 50 }, (_, index) => [id(51 - index), 2]))
    expect(groupsIn(await read(simulator, '/?page=2'))).toEqual([[id(1), 2]])
  })

  test('nothing is deleted before a person confirms it, with or without scripts', async () => {
    const simulator = await simulatorForTest()
    await send(simulator, { to: 'maria@example.com', subject: 'Aviso' })
    await send(simulator, { to: 'joana@example.com', subject: 'Aviso' })
    const count = async (): Promise<number> => ((await simulator.ask('/simulator/messages')).body as unknown[]).length
    expect(await read(simulator, '/')).toContain('href="/esvaziar"')
    const question = await read(simulator, '/esvaziar')
    expect(question).toContain('<h1>Esvaziar a caixa?</h1>')
    expect(question).toContain('Apagar as 2 mensagens')
    const [, name, value] = /<button[^>]* name="(\w+)" value="(\w+)"/.exec(question)!
    const unconfirmed = await submit(simulator, '/esvaziar', {})
    expect([unconfirmed.status, await unconfirmed.text()]).toEqual([200, expect.stringContaining('Esvaziar a caixa?')])
    const elsewhere = { method: 'POST', body: new URLSearchParams({ [name!]: value! }), headers: { origin: 'http://evil.test' } }
    expect((await fetch(`${simulator.url}/esvaziar`, elsewhere)).status).toBe(403)
    expect(await count()).toBe(2)
    const confirmed = await submit(simulator, '/esvaziar', { [name!]: value! })
    expect([confirmed.status, confirmed.headers.get('location')]).toEqual([303, '/?esvaziada=1'])
    expect(await count()).toBe(0)
    const page = await read(simulator, '/?esvaziada=1')
    expect(page).toContain('A caixa foi esvaziada.')
    expect(page).toContain('Nenhuma mensagem ainda')
    expect(page).not.toContain('href="/esvaziar"')
    expect(await read(simulator, '/esvaziar')).toContain('A caixa já está vazia.')
  })

  test('the page of a message shows its content, and its buttons act as the recipient', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, {
      to: 'maria@example.com',
      subject: 'Proposta',
      html: '<p>Olá, <a href="https://exemplo.test/?a=1&amp;b=2">Maria</a></p>',
      attachments: [{ filename: 'contrato.pdf', content: Buffer.alloc(2_048) }],
      dsn: { notify: ['failure'] },
    })
    const { id, attachments } = await simulator.message('maria@example.com')
    const page = await read(simulator, `/mensagens/${id}`)
    for (const text of [
      '<h1 class="subject">Proposta</h1>',
      'contrato.pdf',
      '2,0 KiB',
      attachments[0]!.sha256,
      'Nada, por enquanto.',
    ]) {
      expect(page).toContain(text)
    }
    expect(page).toContain('href="https://exemplo.test/?a=1&amp;b=2"')

    const done = await submit(simulator, `/mensagens/${id}/acoes`, { action: 'reply', text: 'Aceito.' })
    expect([done.status, done.headers.get('location')]).toEqual([303, `/mensagens/${id}#retornos`])
    const [reply] = await listener.wait(1, 'avisos@exemplo.test')
    expect(reply!.email.text?.trim()).toBe('Aceito.')
    expect(await read(simulator, `/parciais/mensagens/${id}`)).toContain('Respondida')

    const refused = await submit(simulator, `/mensagens/${id}/acoes`, { action: 'deliver' })
    expect(refused.status).toBe(409)
    expect(await refused.text()).toMatch(/role="alert">O remetente não pediu este aviso \(NOTIFY=FAILURE\)\./)
  })

  test('the faults are a form that works without scripts', async () => {
    const simulator = await simulatorForTest()
    const numbers = { errorRate: '0.25', latencyMs: '0', lateReportsMs: '10', seed: '3' }
    const saved = await submit(simulator, '/falhas/email', { ...numbers, resetAfterAccept: 'on' })
    expect([saved.status, saved.headers.get('location')]).toEqual([303, '/falhas?salvo=1'])
    expect((await simulator.ask('/simulator/faults')).body).toMatchObject({
      email: {
        latencyMs: 0,
        errorRate: 0.25,
        outage: false,
        resetAfterAccept: true,
        duplicateReports: false,
        lateReportsMs: 10,
        seed: 3,
      },
    })
    const page = await read(simulator, '/falhas?salvo=1')
    expect(page).toMatch(/id="email-resetAfterAccept" name="resetAfterAccept" checked/)
    expect(page).toMatch(/id="email-errorRate"[^>]* value="0\.25"/)
    expect(page).toMatch(/role="status">Salvo\./)
    expect(page).toMatch(/Falhas <span class="chip bad">3</)

    const bad = await submit(simulator, '/falhas/email', { ...numbers, errorRate: '2' })
    expect(bad.status).toBe(400)
    expect(await bad.text()).toMatch(/role="alert">O campo email\.errorRate/)
    expect((await submit(simulator, '/falhas/email', { ...numbers, latencyMs: '' })).status).toBe(400)
    expect((await submit(simulator, '/falhas/fax', numbers)).status).toBe(404)
    await submit(simulator, '/falhas/email', { ...numbers, reset: '1' })
    expect((await simulator.ask('/simulator/faults')).body).toMatchObject({ email: { errorRate: 0, resetAfterAccept: false } })
  })

  test('an unknown page is answered with a page', async () => {
    const simulator = await simulatorForTest()
    expect(await read(simulator, '/mensagens/nope')).toContain('Mensagem não encontrada')
    expect(await read(simulator, `/${hostile}`)).not.toContain('<script>fetch')
  })
})

describe('hostile messages', () => {
  test('a hostile message is text on our pages and sandboxed in its frame, under a strict policy', async () => {
    const simulator = await simulatorForTest()
    await send(simulator, {
      to: 'maria@example.com',
      from: `"${hostile.replaceAll('"', '\\"')}" <a@exemplo.test>`,
      subject: hostile,
      html: `<p>${hostile}</p></iframe>"></iframe><script>1</script>`,
      headers: { 'X-Hostile': hostile },
      attachments: [{ filename: `${hostile}.html`, content: Buffer.from(hostile) }],
      dsn: { id: '<script>' },
    })
    const { id } = await simulator.message('maria@example.com')
    for (const path of [
      '/',
      `/mensagens/${id}`,
      '/parciais/caixa',
      `/parciais/mensagens/${id}`,
      `/?to=${encodeURIComponent(hostile)}`,
    ]) {
      const page = await read(simulator, path)
      expect(page.replace('<script src="/simulator/live.js" defer></script>', ''), path).not.toMatch(
        /<script|<img|onerror=fetch\("/,
      )
      expect(page.match(/<\/iframe>/g)?.length ?? 0).toBe(path.startsWith('/mensagens') ? 1 : 0)
    }
    const response = await fetch(`${simulator.url}/mensagens/${id}`)
    const policy = response.headers.get('content-security-policy')!.split('; ')
    expect(policy).toEqual(
      expect.arrayContaining(["default-src 'none'", "script-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"]),
    )
    const [, sandbox] = /<iframe [^>]*sandbox="([^"]*)"/.exec(await response.text())!
    expect(sandbox!.split(' ').sort()).toEqual(['allow-popups', 'allow-popups-to-escape-sandbox'])
  })

  const chromium = '/usr/bin/chromium'
  test.skipIf(!existsSync(chromium))('run nothing and load nothing in Chromium', async () => {
    const simulator = await simulatorForTest()
    const site = await siteForTest()
    const beacon = (name: string): string => `${site.url}/o/${name}`
    const script = (name: string): string => `fetch('${beacon(name)}');document.title='owned';top.document.title='owned'`
    await send(simulator, {
      to: 'maria@example.com',
      from: `"<img src=${beacon('from')} onerror=${script('from-script')}>" <a@exemplo.test>`,
      subject: `</title><script>${script('subject')}</script><img src=${beacon('subject-image')}>`,
      html: `<p id="seen">Olá</p><script>${script('html')}</script><img src="${beacon('image')}" onerror="${script('error')}">
        <svg onload="${script('svg')}"></svg><iframe src="javascript:${script('frame')}"></iframe><link rel=stylesheet href="${beacon('sheet')}">
        <meta http-equiv="refresh" content="0;url=${beacon('refresh')}"><body onload="${script('body')}"><style>p{background:url(${beacon('style')})}</style>
        <form action="${beacon('form')}"><input autofocus onfocus="${script('focus')}"></form>`,
    })
    const { id } = await simulator.message('maria@example.com')
    const profile = mkdtempSync(join(tmpdir(), 'carteiro-chromium-'))
    onTestFinished(() => rmSync(profile, { recursive: true, force: true, maxRetries: 5 }))
    for (const path of ['/', `/mensagens/${id}`]) {
      const { stdout } = await promisify(execFile)(
        chromium,
        [
          '--headless',
          '--no-sandbox',
          '--disable-gpu',
          '--no-first-run',
          '--disable-background-networking',
          `--user-data-dir=${profile}`,
          '--virtual-time-budget=5000',
          '--dump-dom',
          `${simulator.url}${path}`,
        ],
        { timeout: 120_000, maxBuffer: 16_777_216 },
      )
      expect(stdout).toContain('lang="pt-BR"')
      expect(stdout).not.toContain('<title>owned')
    }
    expect(site.visits).toEqual([])
  })
})
