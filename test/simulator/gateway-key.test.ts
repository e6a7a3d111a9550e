import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Visitor } from '../../simulator/visitor.js'
import { request } from '../support/gateway/requests.js'
import { simulatorForTest, type TestSimulator } from './carriers.js'

/** The simulator’s carriers serve the gateway that started with them, and nobody else on the machine. */
const NUMBER = '+5511987654321'
const REFERENCE = '0198c9a2-0000-7000-8000-000000000001'

/** Every request by which a simulated carrier takes something, with the password in the place where its protocol has it. */
const orders: Record<
  string,
  (key: string) => { path: string; method?: string; headers: Record<string, string>; body?: unknown }
> = {
  'the print shop’s orders': key => ({
    path: '/simulator/carriers/grafica/cartas',
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'idempotency-key': `${REFERENCE}.letter.1` },
    body: { referencia: `${REFERENCE}.letter.1` },
  }),
  'the print shop’s lookups': key => ({
    path: `/simulator/carriers/grafica/cartas/${REFERENCE}.letter.1`,
    headers: { authorization: `Bearer ${key}` },
  }),
  'the post’s tracking': key => ({
    path: '/simulator/carriers/correios/token/v1/autentica/cartaopostagem',
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`simulador:${key}`).toString('base64')}` },
    body: { numero: '0000000000' },
  }),
  'Zenvia’s messages': key => ({
    path: '/carriers/zenvia/v2/channels/sms/messages',
    method: 'POST',
    headers: { 'x-api-token': key },
    body: { from: 'x', to: NUMBER.slice(1), contents: [{ type: 'text', text: 'Oi' }] },
  }),
  'WhatsApp’s messages': key => ({
    path: '/v23.0/106540352242922/messages',
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: { messaging_product: 'whatsapp', to: NUMBER.slice(1), biz_opaque_callback_data: `${REFERENCE}.whatsapp.1` },
  }),
  'the telephone’s calls': key => ({
    path: '/2010-04-01/Accounts/simulador/Calls.json',
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`simulador:${key}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ To: NUMBER, From: NUMBER, Twiml: '<Response/>' }).toString(),
  }),
  'the addresses of the carriers': key => ({ path: '/simulator/carriers', headers: { authorization: `Bearer ${key}` } }),
  'the registration of a gateway': key => ({
    path: '/simulator/routes',
    method: 'PUT',
    headers: { authorization: `Bearer ${key}` },
    body: { callbacks: 'http://127.0.0.1:9/callbacks/simulator', secret: 'ab'.repeat(32) },
  }),
}

const order = (simulator: TestSimulator, name: string, key: string) => {
  const { path, ...options } = orders[name]!(key)
  return request(`${simulator.url}${path}`, options)
}

test.each(Object.keys(orders))('%s are for its own gateway: another key, or the one of another start, is 401', async name => {
  const [simulator, other] = [await simulatorForTest(), await simulatorForTest()]
  for (const key of ['simulador', '', other.key, simulator.key.toUpperCase()]) {
    expect((await order(simulator, name, key)).status, key).toBe(401)
  }
  expect((await order(simulator, name, simulator.key)).status).not.toBe(401)
  const { path, headers, ...rest } = orders[name]!(simulator.key)
  const { authorization: _, 'x-api-token': __, ...bare } = headers
  expect((await request(`${simulator.url}${path}`, { ...rest, headers: bare })).status).toBe(401)
})

test('a simulator makes a key of its own where it is given none', async () => {
  const [one, other] = [await simulatorForTest(), await simulatorForTest()]
  expect(one.key).toMatch(/^[0-9a-f]{64}$/)
  expect(other.key).not.toBe(one.key)
  expect((await simulatorForTest({ key: '12'.repeat(32) })).key).toBe('12'.repeat(32))
})

/** A program on this machine that has nothing to do with the gateway. */
async function bystander(page: string): Promise<{ url: string; hits: string[] }> {
  const hits: string[] = []
  const server = createServer((incoming, response) => {
    hits.push(`${incoming.method} ${incoming.url}`)
    response.writeHead(200, { 'content-type': 'text/html' }).end(page)
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, hits }
}

const FORM = '<form method="post" action="/delete"><button>OK</button></form>'

test('visitors open the links of the gateway’s own site, and no other port or path of this machine', async () => {
  const [victim, site] = [await bystander(FORM), await bystander(FORM)]
  const visitor = new Visitor(Date.now)
  onTestFinished(() => visitor.close())
  visitor.allow(`${site.url}/notifica`)
  const refused = { done: false, detail: expect.stringContaining('fora do PUBLIC_URL do gateway') }
  const urls = [
    victim.url,
    `${victim.url}/notifica`,
    `${site.url}/admin`,
    `${site.url}/notificacoes`,
    victim.url.replace('127.0.0.1', 'localhost'),
  ]
  for (const url of urls) {
    expect(await visitor.visit({ method: 'GET', url, headers: {} })).toMatchObject({ done: false })
    expect((await visitor.open(url)).done).toBe(false)
  }
  expect(await visitor.visit({ method: 'HEAD', url: victim.url, headers: {} })).toEqual(refused)
  expect(victim.hits).toEqual([])
  expect(site.hits).toEqual([])
  expect(await visitor.visit({ method: 'GET', url: `${site.url}/notifica/n/1`, headers: {} })).toMatchObject({ done: true })
})

test('neither a redirect nor a form of the site leads a visitor elsewhere', async () => {
  const victim = await bystander(FORM)
  const redirecting = createServer((incoming, response) => {
    if (incoming.url === '/n/1') response.writeHead(302, { location: victim.url }).end()
    else response.writeHead(200, { 'content-type': 'text/html' }).end(`<form method="post" action="${victim.url}/x"></form>`)
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => redirecting.once('listening', resolve))
  onTestFinished(() => void redirecting.close())
  const site = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`
  const visitor = new Visitor(Date.now)
  onTestFinished(() => visitor.close())
  visitor.allow(site)
  for (const path of ['/n/1', '/n/2']) expect((await visitor.open(`${site}${path}`)).done).toBe(false)
  expect(victim.hits).toEqual([])
})
