import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  type ChainedEvent,
  chainEvent,
  commitment,
  eventHash,
  findChainFault,
  GENESIS,
  sha256,
} from '../../../src/domain/evidence/evidence.js'

/** Version 1 of the chain in fixed figures: computed once outside this project. They never change. */
const notification = '019813c4-5a00-7000-8000-000000000001'
const first = {
  notification,
  seq: 1,
  at: '2026-07-18T04:01:32.000Z',
  type: 'accepted',
  source: 'api',
  data: { size: 2, recipientName: 'José da Silva', attachments: [], address: '127.0.0.1' },
  salt: Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex'),
  commit: '981416157e88f8e9cb69c5fabc2a8d23268a88b7e3558a636de2ad76b01c733b',
  prev: '0000000000000000000000000000000000000000000000000000000000000000',
  hash: 'eded0aa02e690d151d342b1c9ba28274e45968aa2e9f42e2764f13fe1234d77e',
}
const second = {
  notification,
  seq: 2,
  at: '2026-07-18T04:01:33.250Z',
  type: 'sent',
  source: 'worker',
  data: { provider: 'smtp' },
  salt: Buffer.from('101112131415161718191a1b1c1d1e1f', 'hex'),
  commit: '2227998653cc38590faea3828e389c9a7d435d0ae562fd8aba23358d9ee1088c',
  prev: 'eded0aa02e690d151d342b1c9ba28274e45968aa2e9f42e2764f13fe1234d77e',
  hash: 'cb9534fba0b87debff081dcee8491eba68da640cceedd55fb4c32e5147ee8d3f',
}

const chain = (length: number): ChainedEvent[] => {
  const events: ChainedEvent[] = []
  for (let seq = 1; seq <= length; seq++) {
    const salt = Buffer.alloc(16, seq)
    const prev = events.at(-1)?.hash ?? GENESIS
    events.push(chainEvent({ notification, seq, at: first.at, type: 'test', source: 'test', data: { seq }, salt, prev }))
  }
  return events
}

test('sha256 gives the figures of FIPS 180-4, of text and of bytes', () => {
  expect(sha256('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  expect(sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  expect(sha256(Buffer.from('abc'))).toBe(sha256('abc'))
})

test('the commitment to the data is SHA-256 of the salt and the canonical JSON', () => {
  expect(commitment(first.salt, first.data)).toBe(first.commit)
  expect(commitment(second.salt, second.data)).toBe(second.commit)
})

test('the hash of an event is SHA-256 of the canonical JSON of its eight members', () => {
  expect(eventHash(first)).toBe(first.hash)
  expect(eventHash(second)).toBe(second.hash)
})

test('chaining an event adds its commitment and its hash and changes nothing else', () => {
  for (const event of [first, second]) {
    const { commit: _, hash: __, ...given } = event
    expect(chainEvent(given)).toEqual(event)
  }
  expect(GENESIS).toBe(first.prev)
})

test('the vector shown in docs/evidence.md holds', () => {
  const page = readFileSync(new URL('../../../../docs/evidence.md', import.meta.url), 'utf8')
  const line = (name: string): string => new RegExp(`^${name} +(.+)$`, 'm').exec(page)![1]!
  const [seq, at] = line('seq, at').split(', ') as [string, string]
  const [type, source] = line('type, source').split(', ') as [string, string]
  const event = chainEvent({
    notification: line('notification'),
    seq: Number(seq),
    at,
    type,
    source,
    data: JSON.parse(line('data')),
    salt: Buffer.from(line('salt'), 'hex'),
    prev: line('prev'),
  })
  expect(event.commit).toBe(line('commit'))
  expect(event.hash).toBe(line('hash'))
})

test('a whole chain has no fault', () => {
  expect(findChainFault([])).toBe(null)
  expect(findChainFault([first, second])).toBe(null)
  expect(findChainFault(chain(20))).toBe(null)
})

test('erased data and salt are no fault', () => {
  const events = chain(5).map((event, index) => (index === 2 ? { ...event, data: null, salt: null } : event))
  expect(findChainFault(events)).toBe(null)
})

test.each([
  ['at', '2026-07-18T04:01:32.001Z'],
  ['type', 'read'],
  ['source', 'console'],
  ['notification', '019813c4-5a00-7000-8000-000000000002'],
  ['commit', 'f'.repeat(64)],
  ['hash', 'f'.repeat(64)],
] as const)('a changed %s is found at its entry', (member, value) => {
  const events = chain(5).map(event => (event.seq === 3 ? { ...event, [member]: value } : event))
  expect(findChainFault(events)).toEqual({ seq: 3, fault: 'hash' })
})

test('changed data, or a changed salt, is found at its entry', () => {
  const forged = chain(5).map(event => (event.seq === 3 ? { ...event, data: { seq: 4 } } : event))
  expect(findChainFault(forged)).toEqual({ seq: 3, fault: 'data' })
  const salted = chain(5).map(event => (event.seq === 4 ? { ...event, salt: Buffer.alloc(16) } : event))
  expect(findChainFault(salted)).toEqual({ seq: 4, fault: 'data' })
})

test('an entry rewritten with a right hash of its own breaks the next one', () => {
  const events = chain(5)
  const { commit: _, hash: __, ...given } = events[2]!
  events[2] = chainEvent({ ...given, data: { seq: 'forged' } })
  expect(findChainFault(events)).toEqual({ seq: 4, fault: 'link' })
})

test.each([
  ['the first entry taken out', (events: ChainedEvent[]) => events.slice(1), { seq: 1, fault: 'sequence' }],
  ['an entry taken out', (events: ChainedEvent[]) => events.filter(event => event.seq !== 3), { seq: 3, fault: 'sequence' }],
  ['an entry doubled', (events: ChainedEvent[]) => [...events.slice(0, 2), ...events.slice(1)], { seq: 3, fault: 'sequence' }],
  ['entries in another order', (events: ChainedEvent[]) => [events[1]!, events[0]!], { seq: 1, fault: 'sequence' }],
  [
    'an entry taken out and the rest renumbered',
    (events: ChainedEvent[]) => events.filter(event => event.seq !== 3).map((event, index) => ({ ...event, seq: index + 1 })),
    { seq: 3, fault: 'link' },
  ],
])('%s is found', (_, tamper, fault) => {
  expect(findChainFault(tamper(chain(5)))).toEqual(fault)
})
