import { expect, test } from 'vitest'
import { gatewayForFile, gatewayForTest } from '../support/gateway/gateway.js'
import { errorBody, request } from '../support/gateway/requests.js'
import { visit } from '../support/gateway/visitor.js'

/** The addresses that belong to no notification: people get pages in Portuguese, programs JSON. */

const PERSON = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
const simulator = { SIMULATOR: 'on', SIMULATOR_URL: 'http://127.0.0.1:9', SIMULATOR_KEY: 'ab'.repeat(32) }

const { database, gateway, account } = await gatewayForFile()

const pageAt = async (path: string, url = gateway.url) => {
  const { status, headers, text } = await visit(`${url}${path}`, { headers: PERSON })
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(text).toContain('<html lang="pt-BR">')
  return { status, text, heading: /<h1>([^<]*)<\/h1>/.exec(text)?.[1] }
}

test('/ says what this is and leads to the documentation', async () => {
  const { status, text } = await pageAt('/')
  expect(status).toBe(200)
  expect(text).toContain('href="/docs"')
  expect(text).toContain('Abra o link que está na mensagem')
  expect(text).toContain('href="/s"')
  expect(text).not.toContain('Caixa de entrada simulada')
})

test('/ leads to the simulator where it runs without real carriers', async () => {
  const trial = await gatewayForTest(database.pool, simulator)
  expect((await pageAt('/', trial.url)).text).toContain('href="http://127.0.0.1:9"')
  const serious = await gatewayForTest(database.pool, {
    ...simulator,
    EMAIL_URL: 'smtp://127.0.0.1:9',
    PUBLIC_URL: 'https://carteiro.example',
    EMAIL_FROM: 'avisos@carteiro.example',
  })
  expect((await pageAt('/', serious.url)).text).not.toContain('127.0.0.1:9')
})

test.each([
  ['/gravacao/nada.wav', 'Documento não encontrado'],
  ['/comprovante/carta/nada.pdf', 'Documento não encontrado'],
  ['/nada', 'Página não encontrada'],
  ['/n', 'Página não encontrada'],
  ['/n/%zz', 'Página não encontrada'],
  [`/n/${'A'.repeat(44)}`, 'Link não encontrado'],
  ['/s/zzzzzzzzzz', 'Link não encontrado'],
])('a person at %s learns what to do', async (path, heading) => {
  const page = await pageAt(path)
  expect([page.status, page.heading]).toEqual([404, heading])
  expect(page.text).toMatch(/Confira se/)
})

test.each(['/nada', '/n/nada', '/s/zzzzzzzzzz'])(
  'a reader of a letter who is lost at %s finds where its code is typed',
  async path => {
    const { text } = await pageAt(path)
    expect(text).toContain('href="/s"')
    expect((await pageAt('/s')).heading).toBe('Abrir uma notificação')
  },
)

test.each([
  ['/', 404, 'Rota não encontrada: GET /. Verifique o método e o caminho.'],
  ['/nada', 404, 'Rota não encontrada: GET /nada. Verifique o método e o caminho.'],
  ['/gravacao/nada.wav', 404, 'Gravação não encontrada. Verifique o endereço.'],
  ['/comprovante/carta/nada.pdf', 404, 'Registro não encontrado'],
])('a program at %s gets the one shape of errors', async (path, status, message) => {
  for (const accept of ['*/*', 'application/json', 'audio/*']) {
    const answer = await request(`${gateway.url}${path}`, { headers: { accept } })
    expect([answer.status, answer.body]).toEqual([status, errorBody(status, message, 'Not Found')])
  }
})

test('the API answers JSON to browsers too', async () => {
  const refused = await request(`${gateway.url}/gw/nada`, { headers: PERSON })
  expect([refused.status, refused.body]).toEqual([401, errorBody(401, 'Unauthorized', 'Unauthorized')])
  const unknown = await request(`${gateway.url}/gw/nada`, { headers: PERSON, token: account.token })
  expect([unknown.status, unknown.headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8'])
})
