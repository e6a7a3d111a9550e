import { describe, expect, test } from 'vitest'
import { FATES, fateNumber, fateOf } from '../../simulator/sms/fates.js'
import { smppProvider } from '../../src/channels/sms/smpp.js'
import { readSource } from '../support/sources.js'
import { simulatorForTest } from './carriers.js'

describe('numbers with a fixed fate', () => {
  test('the API and the guide describe every number in the same words', async () => {
    const simulator = await simulatorForTest()
    const fates = (await simulator.ask('/simulator/fates')).body as { channel: string; address: string; does: string }[]
    const listed = fates.filter(({ channel }) => channel === 'sms')
    expect(listed.map(({ address }) => address)).toEqual(FATES.map(fateNumber))
    const guide = readSource('docs/sms.md')
    for (const fate of FATES) expect(guide).toContain(`| \`${fateNumber(fate)}\` | ${fate.meaning} | ${fate.does} |`)
  })

  test('a fate is the same in every area code, and other numbers have none', () => {
    expect(fateOf('+5521900000009').digits).toBe('09')
    expect(fateOf('5588900000012').digits).toBe('12')
    for (const number of ['+5511900000099', '+5511987654321', '+5511900001001']) expect(fateOf(number).name).toBe('entregue')
  })
})

describe('a message', () => {
  test('the page shows the escaped text and its parts, and the recipient can be made to act', async () => {
    const simulator = await simulatorForTest()
    const events: unknown[] = []
    const provider = smppProvider({ onEvents: async items => void events.push(...items), onUnreadable: () => {} })
    const carrier = await provider.open(new URL(simulator.smppUrl))
    const text = `<b>Olá</b> ${'x'.repeat(80)}`
    await carrier.send({ reference: 'r.sms.1', to: '+5511900000011', text }, AbortSignal.timeout(10_000))
    const { id, ...message } = (await simulator.message('+5511900000011')) as unknown as { id: string }
    expect(message).toMatchObject({ text, segments: 2, encoding: 'ucs2', via: 'smpp' })
    const page = await (await fetch(`${simulator.url}/mensagens/${id}`)).text()
    expect(page).toContain('<div class="bubble">&lt;b&gt;Olá&lt;/b&gt;')
    expect(page).toMatch(/<dt>Partes<\/dt><dd>2</)
    const act = (action: string, said?: string) =>
      simulator.ask(`/simulator/messages/${id}/actions`, { method: 'POST', body: { action, ...(said ? { text: said } : {}) } })
    expect((await act('open')).status).toBe(409)
    expect((await act('reply', 'Quem é?')).status).toBeLessThan(300)
    await expect
      .poll(() => events, { timeout: 120_000 })
      .toContainEqual(expect.objectContaining({ kind: 'reply', text: 'Quem é?' }))
    expect((await act('fail')).status).toBeLessThan(300)
    await expect
      .poll(() => events, { timeout: 120_000 })
      .toContainEqual(expect.objectContaining({ kind: 'report', type: 'failed' }))
    await carrier.close()
  })

  test('tells its notification, which the gateway writes in the optional parameter of the carrier’s URL', async () => {
    const simulator = await simulatorForTest()
    const idEmail = '019a8f2e-0000-7000-8000-00000000000a'
    const provider = smppProvider({ onEvents: async () => {}, onUnreadable: () => {} })
    const carrier = await provider.open(new URL(simulator.smppUrl))
    const text = 'x'.repeat(200)
    await carrier.send({ reference: `${idEmail}.sms.1`, to: '+5511987654321', text }, AbortSignal.timeout(60_000))
    expect(await simulator.message('+5511987654321')).toMatchObject({ idEmail, segments: 2 })
    await carrier.close()
    const url = simulator.smppUrl.replace(/reference-tlv=\d+/, 'reference-tlv=516')
    await expect(provider.open(new URL(url))).rejects.toThrow('reference-tlv deve ser um número de 5120 a 16383')
  })

  test('receipts wait while no gateway is connected and go to the next one that connects', async () => {
    const simulator = await simulatorForTest()
    const first = await smppProvider({ onEvents: async () => {}, onUnreadable: () => {} }).open(new URL(simulator.smppUrl))
    await first.send({ reference: 'r.sms.1', to: '+5511900000010', text: 'Aviso' }, AbortSignal.timeout(10_000))
    await first.close()
    const events: unknown[] = []
    const second = await smppProvider({ onEvents: async items => void events.push(...items), onUnreadable: () => {} }).open(
      new URL(simulator.smppUrl),
    )
    await expect
      .poll(() => events, { timeout: 120_000 })
      .toContainEqual(expect.objectContaining({ answer: expect.stringContaining('stat:EXPIRED') }))
    await second.close()
  })
})
