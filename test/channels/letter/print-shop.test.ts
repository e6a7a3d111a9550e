import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readPostDate } from '../../../src/channels/letter/post-date.js'
import { printShopCallback, printShopProvider } from '../../../src/channels/letter/print-shop.js'
import type { CallbackRequest } from '../../../src/channels/provider.js'
import { simulatorForTest } from '../../simulator/carriers.js'
import { letterTo } from './letters.js'

const patient = (): AbortSignal => AbortSignal.timeout(20_000)

/** A print service that answers every request the same way. */
async function answering(status: number, body: string, headers: Record<string, string> = {}) {
  const asked: { method: string; url: string; key: string | undefined; token: string | undefined }[] = []
  const server = createServer((request, response) => {
    const key = request.headers['idempotency-key'] as string | undefined
    asked.push({ method: request.method!, url: request.url!, key, token: request.headers.authorization })
    request.resume().on('end', () => response.writeHead(status, headers).end(body))
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const carrier = await printShopProvider().open(new URL(`print+http://t%40ken@127.0.0.1:${port}/v1/`))
  return { carrier, asked }
}

describe('the print service', () => {
  test('is asked under our reference, with the token of the URL', async () => {
    const { carrier, asked } = await answering(201, '{"id":"C-1"}')
    const letter = letterTo('01000001')
    expect(await carrier.send(letter, patient())).toMatchObject({ references: ['C-1'], delivered: false })
    expect(asked).toEqual([{ method: 'POST', url: '/v1/cartas', key: letter.reference, token: 'Bearer t@ken' }])
  })

  test.each([
    [400, '{"mensagem":"CEP ruim"}', 'permanent'],
    [409, '{}', 'permanent'],
    [401, '{}', 'temporary'],
    [404, '{}', 'temporary'],
    [503, '{"mensagem":"Volto logo."}', 'temporary'],
    // A proxy can have said it.
    [503, '{}', 'uncertain'],
    [408, '', 'uncertain'],
    [429, '{}', 'throttled'],
    // It may have been taken: it is asked for before anything is printed again.
    [500, '{}', 'uncertain'],
    [502, '<html>', 'uncertain'],
    [200, '{}', 'uncertain'],
  ])('%i %s is %s', async (status, body, kind) => {
    const { carrier } = await answering(status, body, { 'retry-after': '7' })
    await expect(carrier.send(letterTo('01000001'), patient())).rejects.toMatchObject({ name: 'SendError', kind })
  })

  test('a letter is unknown only where the service says so in words: a 404 of something in between is no answer', async () => {
    const known = await answering(200, '{"id":"C-1"}')
    expect(await known.carrier.find!('r', null, patient())).toMatchObject({ references: ['C-1'] })
    const unknown = await answering(404, '{"situacao":"desconhecida"}')
    expect(await unknown.carrier.find!('r', null, patient())).toBe('unknown')
    for (const body of ['{}', 'Not Found', '{"error":"no route"}']) {
      const { carrier } = await answering(404, body)
      await expect(carrier.find!('r', null, patient())).rejects.toMatchObject({ name: 'SendError' })
    }
  })

  test('the same reference twice is one letter, and a lost answer is found again', async () => {
    const simulator = await simulatorForTest()
    const { letter: url } = (await simulator.ask('/simulator/carriers')).body as { letter: string }
    const carrier = await printShopProvider().open(new URL(url))
    const letter = letterTo('01000093')
    await expect(carrier.send(letter, patient())).rejects.toMatchObject({ kind: 'uncertain' })
    const found = await carrier.find!(letter.reference, null, patient())
    expect(await carrier.send(letter, patient())).toMatchObject({
      references: (found as { references: readonly string[] }).references,
    })
    expect(((await simulator.ask('/simulator/log')).body as unknown[]).length).toBe(1)
    const other = { ...letterTo('01000001', letter.reference), pdf: Buffer.from('%PDF-1.7 outra'), sha256: '0'.repeat(64) }
    await expect(carrier.send(other, patient())).rejects.toMatchObject({ kind: 'permanent' })
    expect(await carrier.find!('nunca', null, patient())).toBe('unknown')
  })
})

describe('a callback of the print service', () => {
  const now = Date.parse('2026-11-15T12:00:00Z')
  const reader = printShopCallback(
    [
      { identity: 'print-shop:a/1', secret: 'segredo' },
      { identity: 'print-shop:b/2', secret: '' },
    ],
    () => now,
  )
  const sign = (body: string, { secret = 'segredo', at = now } = {}): CallbackRequest => {
    const timestamp = String(Math.floor(at / 1_000))
    const signature = `v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`
    return {
      method: 'POST',
      url: 'https://gateway.example.com/callbacks/print-shop',
      headers: { 'carteiro-timestamp': timestamp, 'carteiro-signature': signature },
      body: Buffer.from(body),
    }
  }
  const told = { referencia: 'r.letter.1', situacao: 'postada', em: '2026-11-15T08:00:00-03:00', sro: 'AA473124829BR' }

  test('that is signed tells of the letter', async () => {
    expect(await reader.read(sign(JSON.stringify(told)))).toEqual({
      carriers: ['print-shop:a/1'],
      events: [
        {
          kind: 'report',
          of: { ours: 'r.letter.1' },
          type: 'sent',
          at: new Date('2026-11-15T11:00:00Z'),
          answer: 'postada',
          trackingCode: 'AA473124829BR',
        },
      ],
    })
  })

  test.each([
    ['processando', { type: 'processed' }],
    ['preparada', { type: 'prepared' }],
    ['entregue', { type: 'delivered' }],
    ['devolvida', { type: 'failed', failure: 'returned', reason: 'Mudou-se' }],
    ['extraviada', { type: 'failed', failure: 'undelivered' }],
    ['recusada', { type: 'failed', failure: 'rejected' }],
  ])('%s', async (situacao, expected) => {
    const content = await reader.read(sign(JSON.stringify({ ...told, situacao, motivo: ' Mudou-se ' })))
    expect(content!.events[0]).toMatchObject(expected)
  })

  test('a date that cannot be read is not taken, the rest is', async () => {
    const content = await reader.read(sign(JSON.stringify({ ...told, em: '02/03/2026' })))
    expect(content!.events).toMatchObject([{ type: 'sent', at: null }])
  })

  test('a code whose check digit is wrong is not taken, the rest is', async () => {
    const content = await reader.read(sign(JSON.stringify({ ...told, sro: 'AA473124828BR' })))
    expect(content!.events[0]).not.toHaveProperty('trackingCode')
  })

  test('words that mean nothing here are taken without effect', async () => {
    for (const body of ['{"referencia":"r","situacao":"toString"}', '[]', 'null', 'lixo', '{"situacao":"postada"}']) {
      expect(await reader.read(sign(body)), body).toEqual({ carriers: ['print-shop:a/1'], events: [] })
    }
  })

  test('unsigned, forged, stale, early, changed or signed with nothing: not from the carrier', async () => {
    const body = JSON.stringify(told)
    const good = sign(body)
    for (const [name, request] of Object.entries({
      unsigned: { ...good, headers: {} },
      forged: sign(body, { secret: 'outro' }),
      empty: sign(body, { secret: '' }),
      stale: sign(body, { at: now - 301_000 }),
      early: sign(body, { at: now + 301_000 }),
      changed: { ...good, body: Buffer.from(body.replace('postada', 'entregue')) },
      retimed: { ...good, headers: { ...good.headers, 'carteiro-timestamp': String(Math.floor(now / 1_000) + 1) } },
      read: { ...good, method: 'GET' },
    })) {
      expect(await reader.read(request), name).toBeNull()
    }
  })
})

describe('the date of a print service or of the post', () => {
  test.each([
    ['2026-11-15T08:00:00-03:00', '2026-11-15T11:00:00.000Z'],
    ['2026-11-15T08:00:00-0300', '2026-11-15T11:00:00.000Z'],
    ['2026-11-15T11:00Z', '2026-11-15T11:00:00.000Z'],
    ['2026-11-15T08:00:00.5', '2026-11-15T11:00:00.500Z'],
    ['2026-11-15 08:00:00', '2026-11-15T11:00:00.000Z'],
    ['2026-11-15', '2026-11-15T03:00:00.000Z'],
  ])('%s is read, in the time of Brasília where it has no zone', (text, moment) => {
    expect(readPostDate(text)?.toISOString()).toBe(moment)
  })

  test.each([
    '02/03/2026',
    '02/03/2026 10:00',
    '2026-02-30',
    '2026-02-30T10:00:00-03:00',
    '2026-11-15T25:00:00',
    '7',
    'Nov 15 2026',
    '',
  ])('%s is no date', text => {
    expect(readPostDate(text)).toBeNull()
  })
})
