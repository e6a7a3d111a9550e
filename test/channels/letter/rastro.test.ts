import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createRastro } from '../../../src/channels/letter/rastro.js'

interface Asked {
  path: string
  authorization: string | undefined
}

/** The post's two interfaces, as scripted. */
async function post(objects: unknown, { tokenFor = 3_600, refuseOnce = false } = {}) {
  const asked: Asked[] = []
  let refuse = refuseOnce
  const server = createServer((request, response) => {
    asked.push({ path: request.url!, authorization: request.headers.authorization })
    request.resume().on('end', () => {
      if (request.url!.startsWith('/token/')) {
        const ends = new Date(Date.now() + tokenFor * 1_000 - 3 * 3_600_000).toISOString().slice(0, 19)
        response.writeHead(201).end(JSON.stringify({ token: `t${asked.length}`, expiraEm: ends }))
      } else if (refuse) {
        refuse = false
        response.writeHead(401).end('{}')
      } else response.writeHead(200).end(JSON.stringify({ objetos: objects }))
    })
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { asked, rastro: createRastro(new URL(`http://u%20ser:c%3Ade@127.0.0.1:${port}?cartao=123`), Date.now) }
}

const signal = (): AbortSignal => AbortSignal.timeout(10_000)
const event = (codigo: string, tipo: string, dtHrCriado: string) => ({ codigo, tipo, dtHrCriado, descricao: `${codigo} ${tipo}` })

test('events come oldest first, in Brasília’s time, and mean what code and type say together', async () => {
  const { rastro } = await post([
    {
      codObjeto: 'AA473124829BR',
      eventos: [
        event('BDE', '01', '2026-11-15T10:00:00'),
        event('LDI', '01', '2026-11-14T10:00:00'),
        event('PO', '01', '2026-11-13T10:00:00'),
      ],
    },
  ])
  const events = (await rastro.track(['AA473124829BR'], signal())).get('AA473124829BR')!
  expect(events.map(({ type, at }) => [type, at.toISOString()])).toEqual([
    ['sent', '2026-11-13T13:00:00.000Z'],
    ['note', '2026-11-14T13:00:00.000Z'],
    ['delivered', '2026-11-15T13:00:00.000Z'],
  ])
})

test.each([
  ['BDE', '01', { type: 'delivered' }],
  ['BDI', '01', { type: 'delivered' }],
  ['BDR', '1', { type: 'delivered' }],
  ['OEC', '01', { type: 'note' }],
  ['RO', '01', { type: 'note' }],
  ['BDE', '20', { type: 'note' }],
  ['BDE', '10', { type: 'failed', failure: 'returned', reason: 'Mudou-se' }],
  ['BDE', '21', { type: 'failed', failure: 'returned', reason: 'Ausente' }],
  ['BDE', '23', { type: 'failed', failure: 'returned', reason: 'Devolvido ao remetente' }],
  ['BDE', '80', { type: 'failed', failure: 'undelivered', reason: 'Extraviada' }],
  ['RO', '10', { type: 'note' }],
])('%s/%s', async (code, type, expected) => {
  const { rastro } = await post([{ codObjeto: 'X', eventos: [event(code, type, '2026-11-15T10:00:00')] }])
  expect((await rastro.track(['X'], signal())).get('X')).toMatchObject([expected])
})

test('events of the same second keep their order', async () => {
  const at = '2026-11-15T10:00:00'
  const { rastro } = await post([
    { codObjeto: 'X', eventos: [event('BDE', '01', at), event('OEC', '01', at), event('PO', '01', at)] },
  ])
  expect((await rastro.track(['X'], signal())).get('X')!.map(({ type }) => type)).toEqual(['sent', 'note', 'delivered'])
})

test('one token serves many questions, until it ends or is refused', async () => {
  const { rastro, asked } = await post([], { refuseOnce: true })
  await expect(rastro.track(['X'], signal())).rejects.toThrow()
  await rastro.track(['X'], signal())
  await rastro.track(['X'], signal())
  expect(asked.filter(({ path }) => path.startsWith('/token/'))).toHaveLength(2)
  expect(asked[0]!.authorization).toBe(`Basic ${Buffer.from('u ser:c:de').toString('base64')}`)
  const short = await post([], { tokenFor: 30 })
  await short.rastro.track(['X'], signal())
  await short.rastro.track(['X'], signal())
  expect(short.asked.filter(({ path }) => path.startsWith('/token/'))).toHaveLength(2)
})

test('objects without events, and garbage among them, are left out', async () => {
  const { rastro } = await post([
    null,
    7,
    { codObjeto: 'A', mensagem: 'SRO-020' },
    { codObjeto: 'B', eventos: [null, { codigo: 'PO' }, event('PO', '01', 'ontem')] },
  ])
  const known = await rastro.track(['A', 'B'], signal())
  expect([...known]).toEqual([['B', []]])
})

test('an address without credentials stops the start, by the setting’s name', () => {
  for (const url of ['https://api.example.com', 'https://u:c@api.example.com', 'https://u@api.example.com?cartao=1']) {
    expect(() => createRastro(new URL(url), Date.now), url).toThrow(/CORREIOS_URL/)
  }
})
