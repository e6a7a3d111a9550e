import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Carteiro, CarteiroError, type NewTemplate, NoAnswerError } from '../../client/client.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { validSend } from '../support/gateway/requests.js'
import { readSource } from '../support/sources.js'

const { gateway, account, database } = await gatewayForFile()
const carteiro = new Carteiro({ url: `${gateway.url}/`, token: account.token })

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

const countSends = async (): Promise<number> =>
  Number((await database.pool.query('select count(*) from notification')).rows[0].count)

test('a send is accepted, looked up by channel and as a whole, listed and finalized', async () => {
  const { idEmail } = await carteiro.send({ ...validSend, customID: 'fatura-1' })
  expect(await carteiro.status('email', idEmail)).toMatchObject({ idEmail, customID: 'fatura-1', error: false })
  expect((await carteiro.fullStatus(idEmail)).lastStatus.email).toBeDefined()
  expect((await carteiro.events(idEmail)).map(({ type }) => type)).toContain('accepted')
  expect((await carteiro.nextSteps(idEmail)).map(({ canal }) => canal)).toEqual(['email'])
  expect((await carteiro.finalize(idEmail)).message).toMatch(/\S/)
  const found = await collect(carteiro.notifications({ customID: 'fatura-1' }))
  expect(found.map(summary => summary.idEmail)).toEqual([idEmail])
})

test('an error has the gateway’s own sentence and status', async () => {
  const error = await carteiro.send({ ...validSend, nameTo: '' }).catch(thrown => thrown)
  expect(error).toBeInstanceOf(CarteiroError)
  expect(error).toMatchObject({ status: 400, body: { statusCode: 400 } })
  expect(error.message).toContain('nameTo')
  const stranger = new Carteiro({ url: gateway.url, token: 'x' })
  await expect(stranger.fullStatus('01900000-0000-7000-8000-000000000000')).rejects.toMatchObject({
    status: 401,
    message: 'Unauthorized',
  })
})

test('the list goes on over its pages, and asks for no more than is wanted', async () => {
  const sent: string[] = []
  for (let number = 0; number < 51; number++) sent.push((await carteiro.send({ ...validSend, customID: 'lote' })).idEmail)
  const listed = await collect(carteiro.notifications({ customID: 'lote' }))
  expect(listed.map(({ idEmail }) => idEmail)).toEqual(sent.reverse())
  for await (const first of carteiro.notifications({ customID: 'lote' })) {
    expect(first.idEmail).toBe(sent[0])
    break
  }
})

test('templates: made, edited, previewed, switched off, listed over pages', async () => {
  const draft: NewTemplate = {
    nome: 'Aviso',
    tipo: 'sms',
    conteudo: 'Olá {{ nome }}',
    variaveis: [{ nome: 'nome', obrigatoria: true }],
  }
  const { id } = await carteiro.templates.create(draft)
  await carteiro.templates.create({ ...draft, nome: 'Outro' })
  expect((await carteiro.templates.edit(id, { conteudo: 'Oi {{ nome }}' })).versao).toBe(2)
  expect((await carteiro.templates.get(id, { versao: 1 })).conteudo).toBe('Olá {{ nome }}')
  expect(await carteiro.templates.preview(id, { nome: 'Ana' })).toEqual({ conteudo: 'Oi Ana' })
  expect((await carteiro.templates.setActive(id, false)).ativo).toBe(false)
  const names = (await collect(carteiro.templates.list({ limit: '1' }))).map(({ nome }) => nome)
  expect(names.sort()).toEqual(['Aviso', 'Outro'])
})

test('a file is a batch: uploaded once, checked, started, paused, cancelled, listed, and its files read', async () => {
  const file = 'nameTo;to\nMaria;maria@example.com\nJoão;nada\n'
  const base = { subject: 'Aviso', content: '<p>Olá.</p>' }
  await carteiro.bulk.saveMapping('cobrança', { mapping: { nameTo: 'nameTo', to: 'to' }, base })
  expect((await carteiro.bulk.mappings()).map(({ nome }) => nome)).toEqual(['cobrança'])
  const { id, repetido } = await carteiro.bulk.upload(file, { name: 'julho', mapping: 'cobrança' })
  expect(repetido).toBe(false)
  expect(await carteiro.bulk.upload(new Blob([file]), { name: 'julho', base })).toMatchObject({ id, repetido: true })
  expect((await carteiro.bulk.check(id, { base })).id).toBe(id)
  expect((await carteiro.bulk.get(id)).total).toBe(2)
  expect((await collect(carteiro.bulk.list())).map(batch => batch.id)).toEqual([id])
  expect(await carteiro.bulk.result(id)).toContain('linha')
  expect(await carteiro.bulk.rejects(id)).toContain('erro')
  expect((await carteiro.bulk.cancel(id)).id).toBe(id)
  await expect(carteiro.bulk.start(id)).rejects.toMatchObject({ status: 409 })
  await carteiro.bulk.removeMapping('cobrança')
  expect(await carteiro.bulk.mappings()).toEqual([])
})

test('the usage of a month is read', async () => {
  expect(await carteiro.usage({ mes: '2026-01' })).toEqual({
    mes: '2026-01',
    custoEstimado: 0,
    teto: null,
    comprometido: 0,
    itens: [],
  })
})

test('the sequence is read and set', async () => {
  const etapas = [{ canal: 'email', esperaMinutos: 0, condicao: 'sempre' } as const]
  expect(await carteiro.sequence.set({ etapas })).toEqual({ etapas })
  expect(await carteiro.sequence.get()).toEqual({ etapas })
  await carteiro.sequence.set({ etapas: [] })
})

const headersOf = ({ headers }: IncomingMessage): Record<string, string> => ({
  authorization: headers.authorization!,
  'content-type': 'application/json',
  ...(headers['idempotency-key'] === undefined ? {} : { 'idempotency-key': String(headers['idempotency-key']) }),
})

/** A gateway that answers as each of these says, and then passes requests on to the real one. */
async function behind(faults: ((request: IncomingMessage, response: ServerResponse) => void)[]) {
  const keys: (string | undefined)[] = []
  const server = createServer(async (request, response) => {
    keys.push(request.headers['idempotency-key'] as string | undefined)
    const fault = faults.shift()
    if (fault !== undefined) return fault(request, response)
    const body = Buffer.concat(await request.toArray())
    const { method } = request
    const answer = await fetch(gateway.url + request.url, {
      method: method!,
      headers: headersOf(request),
      ...(body.length === 0 ? {} : { body }),
    })
    response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()))
  })
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { keys, client: new Carteiro({ url, token: account.token, firstDelayMs: 1, attempts: 4 }) }
}

const unavailable = (_: IncomingMessage, response: ServerResponse) => void response.writeHead(503).end('{"message":"Depois."}')
const broken = (request: IncomingMessage) => void request.socket.destroy()

test('a send is repeated with its key after a break and after 503, and is sent once', async () => {
  const before = await countSends()
  const passOnAndBreak = async (request: IncomingMessage) => {
    const body = Buffer.concat(await request.toArray())
    await fetch(`${gateway.url}/gw/email`, { method: 'POST', headers: headersOf(request), body })
    request.socket.destroy()
  }
  const { client, keys } = await behind([broken, unavailable, passOnAndBreak])
  expect((await client.send(validSend)).idEmail).toMatch(/^[0-9a-f-]{36}$/)
  expect(keys).toHaveLength(4)
  expect(new Set(keys).size).toBe(1)
  expect(await countSends()).toBe(before + 1)
})

test('a send is repeated with its key where the answer breaks off after its first bytes', async () => {
  const before = await countSends()
  const breakOff = async (request: IncomingMessage, response: ServerResponse) => {
    const body = Buffer.concat(await request.toArray())
    await fetch(`${gateway.url}/gw/email`, { method: 'POST', headers: headersOf(request), body })
    response.writeHead(200, { 'content-length': '100' })
    response.write('{"idEmail"', () => request.socket.destroy())
  }
  const { client, keys } = await behind([breakOff])
  expect((await client.send(validSend)).idEmail).toMatch(/^[0-9a-f-]{36}$/)
  expect(new Set(keys).size).toBe(1)
  expect(await countSends()).toBe(before + 1)
})

test('a send without any answer is an error with its key, with which it can be repeated', async () => {
  const { client, keys } = await behind([broken, broken, broken, broken])
  const error = await client.send(validSend).catch(thrown => thrown)
  expect(error).toBeInstanceOf(NoAnswerError)
  expect(error).toMatchObject({ idempotencyKey: keys[0], cause: expect.any(TypeError) })
})

test('what may not be done twice is not repeated, except after 429', async () => {
  const limited = (_: IncomingMessage, response: ServerResponse) => void response.writeHead(429, { 'retry-after': '0' }).end()
  const first = await behind([unavailable])
  await expect(first.client.webhooks.rotate('x')).rejects.toMatchObject({ status: 503, message: 'Depois.' })
  const second = await behind([broken])
  await expect(second.client.webhooks.rotate('x')).rejects.toThrow(TypeError)
  const third = await behind([limited])
  await expect(third.client.webhooks.rotate('01900000-0000-7000-8000-000000000000')).rejects.toMatchObject({ status: 404 })
  expect([first, second, third].map(({ keys }) => keys.length)).toEqual([1, 1, 2])
})

test('attempts end: the last answer is the error; a wait that is asked too long is not waited for', async () => {
  const { client, keys } = await behind([unavailable, unavailable, unavailable, unavailable])
  await expect(client.sequence.get()).rejects.toMatchObject({ status: 503 })
  expect(keys).toHaveLength(4)
  const slow = await behind([(_, response) => void response.writeHead(429, { 'retry-after': '86400' }).end()])
  await expect(slow.client.sequence.get()).rejects.toMatchObject({ status: 429 })
})

test('a signal ends the call with all its attempts', async () => {
  const stop = new AbortController()
  const { client, keys } = await behind([() => stop.abort(new Error('enough'))])
  await expect(client.sequence.get({ signal: stop.signal })).rejects.toThrow('enough')
  expect(keys).toHaveLength(1)
})

test('the examples of docs/cliente.md run', async () => {
  const examples = [...readSource('docs/cliente.md').matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!)
  expect(examples).toHaveLength(2)
  const client = new URL('../../client/client.js', import.meta.url).href
  const [send, receive] = examples.map(code =>
    code
      .replaceAll("'carteiro/client'", `'${client}'`)
      .replace('http://127.0.0.1:8080', gateway.url)
      .replace('process.env.CARTEIRO_TOKEN!', `'${account.token}'`)
      .replace('request: Request): Promise<Response>', 'request)'),
  ) as [string, string]
  const run = (code: string) => import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`)
  const before = await countSends()
  await run(send)
  expect(await countSends()).toBe(before + 1)
  const { default: server } = await run(receive)
  await expect(server.fetch(new Request('http://localhost', { method: 'POST', body: '{}' }))).rejects.toThrow('webhook-id')
})
