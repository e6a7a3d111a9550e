import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { cached, type MailResolver, simulatedResolver, systemResolver } from '../../../src/channels/email/resolver.js'
import { nameServer, type Zone } from './name-server.js'

describe('the system’s name servers', () => {
  async function resolver(zones: Record<string, Zone>): Promise<MailResolver & { questions: string[] }> {
    const { address, questions } = await nameServer(zones)
    return { ...systemResolver({ servers: [address], timeoutMs: 200 }), questions }
  }

  test('exchangers with their priorities', async () => {
    const { exchangers } = await resolver({
      'example.com': {
        mx: [
          [20, 'mx2.example.com'],
          [10, 'mx1.example.com'],
        ],
      },
    })
    const answer = await exchangers('example.com')
    expect(answer).toMatchObject({ status: 'ok' })
    expect(answer.status === 'ok' && answer.records).toContainEqual({ priority: 10, exchange: 'mx1.example.com' })
    expect(answer.status === 'ok' && answer.records).toHaveLength(2)
  })

  test('a null MX is the exchange "."', async () => {
    const { exchangers } = await resolver({ 'example.com': { mx: [[0, '']] } })
    expect(await exchangers('example.com')).toEqual({ status: 'ok', records: [{ priority: 0, exchange: '.' }] })
  })

  test('a domain without exchangers exists and names none', async () => {
    const { exchangers } = await resolver({ 'example.com': { a: ['192.0.2.1'] } })
    expect(await exchangers('example.com')).toEqual({ status: 'ok', records: [] })
  })

  test('a domain that does not exist is missing', async () => {
    const { exchangers, addresses } = await resolver({})
    expect(await exchangers('nowhere.example')).toEqual({ status: 'missing' })
    expect(await addresses('nowhere.example')).toEqual({ status: 'missing' })
  })

  test.each([
    ['a failure', 2],
    ['a refusal', 5],
    ['silence', 'silence'],
  ] as const)('%s proves nothing', async (_, failure) => {
    const { exchangers, addresses } = await resolver({ 'example.com': { failure } })
    expect(await exchangers('example.com')).toEqual({ status: 'unknown' })
    expect(await addresses('example.com')).toEqual({ status: 'unknown' })
  })

  test('addresses of both kinds, or none', async () => {
    const { addresses } = await resolver({
      'both.example': { a: ['192.0.2.1'], aaaa: ['20010db8000000000000000000000001'] },
      'six.example': { aaaa: ['20010db8000000000000000000000002'] },
      'none.example': { mx: [[1, 'x.example']] },
    })
    expect(await addresses('both.example')).toEqual({ status: 'ok', records: ['192.0.2.1', '2001:db8::1'] })
    expect(await addresses('six.example')).toEqual({ status: 'ok', records: ['2001:db8::2'] })
    expect(await addresses('none.example')).toEqual({ status: 'ok', records: [] })
  })

  test('asks once for what it remembers, whatever the case', async () => {
    const { exchangers, questions } = await resolver({ 'example.com': { mx: [[1, 'x.example']] } })
    await Promise.all([exchangers('example.com'), exchangers('EXAMPLE.com')])
    await exchangers('example.com')
    expect(questions).toEqual(['example.com 15'])
  })
})

describe('the simulator’s name server', () => {
  async function simulator(answer: (query: URLSearchParams) => unknown): Promise<{ url: string; queries: string[] }> {
    const queries: string[] = []
    const server = createServer((request, response) => {
      queries.push(request.url!)
      const text = answer(new URL(request.url!, 'http://x').searchParams)
      response.end(typeof text === 'string' ? text : JSON.stringify(text))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, queries }
  }

  test('is asked by name and type', async () => {
    const { url, queries } = await simulator(() => ({
      status: 'ok',
      exchangers: [{ priority: 1, exchange: '.' }],
      addresses: ['127.0.0.1'],
    }))
    const resolver = simulatedResolver(`${url}/`)
    expect(await resolver.exchangers('a.test')).toEqual({ status: 'ok', records: [{ priority: 1, exchange: '.' }] })
    expect(await resolver.addresses('a.test')).toEqual({ status: 'ok', records: ['127.0.0.1'] })
    expect(queries).toEqual(['/simulator/dns?name=a.test&type=MX', '/simulator/dns?name=a.test&type=A'])
  })

  test.each([
    [{ status: 'nxdomain', exchangers: [] }, 'missing'],
    [{ status: 'servfail', exchangers: [] }, 'unknown'],
    [{}, 'unknown'],
    [[], 'unknown'],
    [null, 'unknown'],
    [{ status: 'ok' }, 'unknown'],
    ['not JSON', 'unknown'],
  ])('%j is %s', async (answer, status) => {
    const { url } = await simulator(() => answer)
    expect(await simulatedResolver(url).exchangers('a.test')).toEqual({ status })
  })

  test('that is away proves nothing', async () => {
    expect(await simulatedResolver('http://127.0.0.1:1').exchangers('a.test')).toEqual({ status: 'unknown' })
  })
})

describe('the cache', () => {
  function counting(): { resolver: MailResolver; asked: string[]; answer: { status: 'missing' | 'unknown' } } {
    const asked: string[] = []
    const state = { answer: { status: 'missing' as 'missing' | 'unknown' } }
    const ask = async (name: string): Promise<{ status: 'missing' } | { status: 'unknown' }> => {
      asked.push(name)
      return { status: state.answer.status }
    }
    return { resolver: { exchangers: ask, addresses: ask }, asked, answer: state.answer }
  }

  test('expires, and sooner for an unknown answer', async () => {
    let time = 0
    const { resolver, asked, answer } = counting()
    const remembered = cached(resolver, { ttlMs: 100, unknownTtlMs: 10, now: () => time })
    await remembered.exchangers('a.test')
    time = 99
    await remembered.exchangers('a.test')
    expect(asked).toHaveLength(1)
    time = 100
    answer.status = 'unknown'
    await remembered.exchangers('a.test')
    expect(asked).toHaveLength(2)
    time = 109
    await remembered.exchangers('a.test')
    expect(asked).toHaveLength(2)
    time = 110
    await remembered.exchangers('a.test')
    expect(asked).toHaveLength(3)
  })

  test('is bounded: the oldest is forgotten', async () => {
    const { resolver, asked } = counting()
    const remembered = cached(resolver, { size: 3 })
    for (const name of ['a', 'b', 'c', 'd', 'b', 'a']) await remembered.exchangers(name)
    expect(asked).toEqual(['a', 'b', 'c', 'd', 'a'])
  })
})
