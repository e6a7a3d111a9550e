import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Carrier, CarrierEvent, CarrierReport, SendError } from '../../src/channels/provider.js'
import { smppProvider } from '../../src/channels/sms/smpp.js'
import type { SmsMessage } from '../../src/channels/sms/sms-message.js'
import { readTag } from '../../src/domain/delivery/reference-tag.js'
import { ROOT } from '../support/sources.js'

/** Our client against an SMSC made with Net::SMPP, an implementation that shares nothing with ours. */
const missing = spawnSync('perl', ['-MNet::SMPP', '-e', '1']).status !== 0
const PROGRAM = join(ROOT, 'test/peers/sms-smsc.pl')
const TO = '+5511987654321'
const reference = (n: number): string => `01900000-0000-7000-8000-00000000000${n}.sms.1`

interface Peer {
  carrier: Carrier<SmsMessage>
  events: CarrierEvent[]
  lines(kind: string): string[][]
  tell(command: string): void
}

async function peer(): Promise<Peer> {
  const child = spawn('perl', [PROGRAM], { stdio: ['pipe', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', chunk => {
    output += chunk
  })
  const lines = (kind: string): string[][] =>
    output
      .split('\n')
      .filter(line => line.startsWith(`${kind} `))
      .map(line => line.split(' ').slice(1))
  await expect.poll(() => lines('PORT').length).toBe(1)
  const events: CarrierEvent[] = []
  const provider = smppProvider({ onEvents: async items => void events.push(...items), onUnreadable: () => {} })
  const carrier = await provider.open(new URL(`smpp://usuario:senha@127.0.0.1:${lines('PORT')[0]![0]}?from=29000`))
  onTestFinished(() => carrier.close())
  return { carrier, events, lines, tell: command => void child.stdin.write(`${command}\n`) }
}

const send = ({ carrier }: Peer, n: number, text: string) =>
  carrier.send({ reference: reference(n), to: TO, text }, AbortSignal.timeout(120_000))

describe.skipIf(missing)(`Net::SMPP${missing ? ' (missing: install libnet-smpp-perl)' : ''}`, () => {
  test('binds, takes a message with accents in parts, and gives a receipt for each, with ids in another base', async () => {
    const smsc = await peer()
    const text = `Olá, João! ${'Há uma notificação para você. '.repeat(4)}`
    const receipt = await send(smsc, 1, text)
    expect(smsc.lines('BIND')).toEqual([['usuario', 'senha']])
    const parts = smsc.lines('SUBMIT').map(([to, esmClass, coding, hex, registered, tag]) => {
      const bytes = Buffer.from(hex!, 'hex')
      return { to, esmClass, coding, registered, tag: Number.parseInt(tag!, 16), header: bytes.subarray(0, 6), bytes }
    })
    expect(parts.length).toBe(receipt.references.length)
    expect(parts.length).toBeGreaterThan(1)
    for (const [index, part] of parts.entries()) {
      expect(part).toMatchObject({ to: TO.slice(1), esmClass: '64', coding: '8', registered: '17' })
      expect([...part.header]).toEqual([5, 0, 3, expect.any(Number), parts.length, index + 1])
      expect(readTag(part.tag, reference(1))).toEqual({ part: index + 1, parts: parts.length })
    }
    expect(parts.map(({ bytes }) => Buffer.from(bytes.subarray(6)).swap16().toString('utf16le')).join('')).toBe(text)
    await expect.poll(() => smsc.events.length).toBe(parts.length)
    const named = (smsc.events as CarrierReport[]).map(({ of, type }) => ({
      type,
      known: !('ours' in of) && receipt.references.some(name => of.carrier.includes(String(name))),
    }))
    expect(named).toEqual(parts.map(() => ({ type: 'delivered', known: true })))
    await expect.poll(() => smsc.lines('ACK').length).toBe(parts.length)
  })

  test('brings what people answer, in one part or in several', async () => {
    const smsc = await peer()
    await send(smsc, 2, 'Aviso')
    const ucs2 = (text: string): string => Buffer.from(text, 'utf16le').swap16().toString('hex')
    smsc.tell(`reply ${TO.slice(1)} ${Buffer.from('Recebi').toString('hex')} 0 0`)
    smsc.tell(`reply ${TO.slice(1)} 050003aa0201${ucs2('Não ')} 8 64`)
    smsc.tell(`reply ${TO.slice(1)} 050003aa0202${ucs2('é comigo')} 8 64`)
    await expect
      .poll(() => smsc.events.filter(({ kind }) => kind === 'reply'), { timeout: 120_000 })
      .toMatchObject([
        { from: [TO], text: 'Recebi' },
        { from: [TO], text: 'Não ', part: { number: 1, total: 2 } },
        { from: [TO], text: 'é comigo', part: { number: 2, total: 2 } },
      ])
  })

  test('lost in the middle of the window: uncertain, and the receipt on the next connection bears our tag', async () => {
    const smsc = await peer()
    await send(smsc, 3, 'Antes')
    smsc.tell('drop 1')
    await expect.poll(() => smsc.lines('DROPPING').length).toBe(1)
    const kind = await send(smsc, 4, 'Durante').then(
      () => 'taken',
      (error: SendError) => error.kind,
    )
    expect(kind).toBe('uncertain')
    const marks = () =>
      (smsc.events as CarrierReport[]).flatMap(({ of }) =>
        !('ours' in of) && of.tag !== undefined ? [readTag(of.tag.bits, reference(4))] : [],
      )
    await expect.poll(marks).toContainEqual({ part: 1, parts: 1 })
    expect(await send(smsc, 5, 'Depois')).toMatchObject({ delivered: false })
    expect(smsc.lines('BIND')).toHaveLength(2)
  })
})
