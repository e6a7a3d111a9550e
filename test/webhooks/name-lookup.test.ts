import { lookup as systemLookup } from 'node:dns/promises'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createNameLookup, type NameLookupOptions, type ResolveName } from '../../src/webhooks/name-lookup.js'
import { openOutbound } from '../../src/webhooks/outbound.js'
import { nameServer, type Zone } from '../channels/email/name-server.js'
import { receiverForTest } from '../support/gateway/receiver.js'

/** Names that users gave, asked of a name server on loopback that says what a test wants, or nothing. */
const AAAA = 28

async function lookupWith(zones: Record<string, Zone>, options: NameLookupOptions = {}) {
  const { address, questions } = await nameServer(zones)
  return { resolve: createNameLookup({ servers: [address], hostsFile: '/nonexistent', ...options }), questions }
}

const codeOf = (resolved: Promise<unknown>): Promise<string> =>
  resolved.then(
    () => 'resolved',
    error => error.code,
  )

describe('a name server that keeps silent', () => {
  const names = Array.from({ length: 64 }, (_, index) => `s${index}.silencio.test`)
  const silence = Object.fromEntries(names.map(name => [name, { failure: 'silence' as const }]))

  test('delays only lookups of its own names: others are answered at once', async () => {
    const zones = { ...silence, 'sadio.test': { a: ['127.0.0.1'] } }
    const { resolve, questions } = await lookupWith(zones, { timeoutMs: 600_000 })
    const outbound = openOutbound({ allowed: [], loopback: true, timeoutMs: 600_000, resolve })
    onTestFinished(() => outbound.close())
    const receiver = await receiverForTest()
    const { port } = new URL(receiver.url)
    let failed = 0
    for (const name of names) void outbound.request('POST', `https://${name}/`, {}, '{}').catch(() => failed++)
    await expect.poll(() => new Set(questions.map(question => question.split(' ')[0])).size).toBe(64)
    // By a name that is asked for, by one that is not, and by the system's lookup, which everything else uses.
    for (const host of ['sadio.test', 'localhost'])
      expect((await outbound.request('POST', `http://${host}:${port}/`, {}, '{}')).status).toBe(204)
    expect((await systemLookup('localhost')).address).toMatch(/^(127\.|::1$)/)
    expect(failed).toBe(0)
  })

  test('is named as the reason', async () => {
    const { resolve } = await lookupWith(silence, { timeoutMs: 300 })
    const outbound = openOutbound({ allowed: [], loopback: true, timeoutMs: 600_000, resolve })
    onTestFinished(() => outbound.close())
    await expect(outbound.request('POST', `https://${names[0]}/`, {}, '{}')).rejects.toThrow('O DNS não respondeu.')
  })

  test('is abandoned after seconds, and not asked again at once', async () => {
    let time = 0
    const { resolve, questions } = await lookupWith(silence, { now: () => time })
    const name = names[0]!
    expect(await Promise.all([codeOf(resolve(name)), codeOf(resolve(name))])).toEqual(['EAI_AGAIN', 'EAI_AGAIN'])
    const asked = questions.length
    // Two tries for each family, however many wait for the answer.
    expect(asked).toBeLessThanOrEqual(4)
    expect(await codeOf(resolve(name))).toBe('EAI_AGAIN')
    expect(questions).toHaveLength(asked)
    time += 5_001
    void codeOf(resolve(name))
    await expect.poll(() => questions.length).toBeGreaterThan(asked)
  })

  test('for IPv6 alone costs time, not the IPv4 addresses', async () => {
    const { resolve } = await lookupWith({ 'antigo.test': { a: ['192.0.2.7'], unanswered: AAAA } })
    expect(await resolve('antigo.test')).toEqual([{ address: '192.0.2.7', family: 4 }])
  })
})

describe('answers', () => {
  test('IPv6 comes first and IPv4 last, which gets the time that is left', async () => {
    const { resolve } = await lookupWith({
      'dois.test': { a: ['192.0.2.1', '192.0.2.2'], aaaa: ['20010db8000000000000000000000001'] },
    })
    expect(await resolve('Dois.Test.')).toEqual([
      { address: '2001:db8::1', family: 6 },
      { address: '192.0.2.1', family: 4 },
      { address: '192.0.2.2', family: 4 },
    ])
  })

  test('a burst asks once, and so does everybody for half a minute', async () => {
    let time = 0
    const { resolve, questions } = await lookupWith({ 'rajada.test': { a: ['192.0.2.1'] } }, { now: () => time })
    await Promise.all(Array.from({ length: 50 }, () => resolve('rajada.test')))
    time += 29_000
    await resolve('rajada.test')
    expect(questions.sort()).toEqual(['rajada.test 1', 'rajada.test 28'])
    time += 2_000
    await resolve('rajada.test')
    expect(questions).toHaveLength(4)
  })

  test('a name that does not exist, one without addresses and a server in trouble are told apart', async () => {
    const { resolve } = await lookupWith({ 'vazio.test': {}, 'quebrado.test': { failure: 2 } })
    expect(await codeOf(resolve('nada.test'))).toBe('ENOTFOUND')
    expect(await codeOf(resolve(`${'x'.repeat(64)}.test`))).toBe('ENOTFOUND')
    expect(await resolve('vazio.test')).toEqual([])
    expect(await codeOf(resolve('quebrado.test'))).toBe('EAI_AGAIN')
  })
})

describe('names that need no name server', () => {
  test('localhost, and all below it, is this machine', async () => {
    const { resolve, questions } = await lookupWith({ localhost: { a: ['192.0.2.1'] } })
    for (const name of ['localhost', 'LOCALHOST.', 'api.localhost'])
      expect((await resolve(name)).map(({ address }) => address)).toEqual(['127.0.0.1', '::1'])
    expect(questions).toEqual([])
  })

  test('the hosts file counts before any server, as it stands now', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'carteiro-hosts-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const hostsFile = join(folder, 'hosts')
    writeFileSync(hostsFile, '# rede interna\n10.20.1.1\tErp.Example  erp # o principal\nfd00::1 erp\n\nnada aqui\n')
    const { resolve, questions } = await lookupWith({ 'crm.example': { a: ['192.0.2.9'] } }, { hostsFile })
    const addressesOf = async (name: string, ask: ResolveName = resolve) => (await ask(name)).map(({ address }) => address)
    expect(await addressesOf('erp.example')).toEqual(['10.20.1.1'])
    expect(await addressesOf('erp')).toEqual(['10.20.1.1', 'fd00::1'])
    expect(questions).toEqual([])
    expect(await addressesOf('crm.example')).toEqual(['192.0.2.9'])
    writeFileSync(hostsFile, '10.20.1.200 crm.example\n')
    expect(await addressesOf('crm.example')).toEqual(['10.20.1.200'])
  })

  test('the addresses in the hosts file are checked like all others', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'carteiro-hosts-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const hostsFile = join(folder, 'hosts')
    writeFileSync(hostsFile, '10.20.1.1 erp.example\n')
    const { resolve } = await lookupWith({}, { hostsFile })
    const outbound = openOutbound({ allowed: [], loopback: false, timeoutMs: 5_000, resolve })
    onTestFinished(() => outbound.close())
    await expect(outbound.request('POST', 'https://erp.example/', {}, '{}')).rejects.toThrow(
      '10.20.1.1 não é um endereço público',
    )
  })
})
