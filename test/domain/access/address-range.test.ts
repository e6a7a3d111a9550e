import { expect, test } from 'vitest'
import {
  addressGroup,
  addressSite,
  clientAddress,
  inRanges,
  normaliseAddress,
  parseRange,
  readRange,
} from '../../../src/domain/access/address-range.js'

test.each([
  ['203.0.113.7', '203.0.113.7/32'],
  ['203.0.113.0/24', '203.0.113.0/24'],
  ['203.0.113.77/24', '203.0.113.0/24'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['10.255.255.255/8', '10.0.0.0/8'],
  ['2001:db8::1', '2001:db8::1/128'],
  ['2001:DB8:0:0::1', '2001:db8::1/128'],
  ['2001:db8::ffff/32', '2001:db8::/32'],
  ['::/0', '::/0'],
  ['::ffff:203.0.113.7', '203.0.113.7/32'],
])('%s is kept as %s', (text, range) => {
  expect(readRange(text)).toBe(range)
})

test('a range of IPv4 addresses written in IPv6 form covers the IPv4 addresses inside', () => {
  const range = readRange('::ffff:203.0.113.0/120')
  expect(range).not.toBe(null)
  expect(inRanges('203.0.113.9', [parseRange(range!)])).toBe(true)
  expect(inRanges('203.0.114.9', [parseRange(range!)])).toBe(false)
})

test.each([
  '',
  'localhost',
  '203.0.113',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '203.0.113.256',
  '203.0.113.7/33',
  '203.0.113.7/-1',
  '203.0.113.7/',
  '203.0.113.7/a',
  '203.0.113.7/24/8',
  '127.1/8',
  '2001:db8::1/129',
  '2001:db8:::1',
  ' 203.0.113.7',
  '203.0.113.7 ',
  '*',
])('%s is no address and no range', text => {
  expect(readRange(text)).toBe(null)
})

test('an address is in a range of its own kind that covers it, and in no other', () => {
  const ranges = ['203.0.113.0/24', '198.51.100.7', '2001:db8::/32'].map(parseRange)
  for (const inside of ['203.0.113.0', '203.0.113.255', '198.51.100.7', '2001:db8::1', '2001:db8:ffff::', '::ffff:203.0.113.9'])
    expect([inside, inRanges(inside, ranges)]).toEqual([inside, true])
  for (const outside of ['203.0.114.0', '198.51.100.8', '2001:db9::1', '::1', 'x', ''])
    expect([outside, inRanges(outside, ranges)]).toEqual([outside, false])
  expect(inRanges('203.0.113.1', [])).toBe(false)
})

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:127.0.0.1', '127.0.0.1'],
  ['::1', '::1'],
  ['2001:DB8::0001', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
])('the socket address %s counts as %s', (text, address) => {
  expect(normaliseAddress(text)).toBe(address)
})

test('one attacker holds an IPv4 address or an IPv6 network of 64 bits', () => {
  expect(addressGroup('203.0.113.7')).toBe('203.0.113.7')
  expect(addressGroup('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64')
  expect(addressGroup('2001:db8:1:2:ffff::')).toBe(addressGroup('2001:db8:1:2::1'))
  expect(addressGroup('2001:db8:1:3::1')).not.toBe(addressGroup('2001:db8:1:2::1'))
  expect(addressSite('2001:db8:1:3::1')).toBe('2001:db8:1::/48')
  expect(addressSite('203.0.113.7')).toBeNull()
})

const proxies = ['10.0.0.0/8', '2001:db8:ffff::/48'].map(parseRange)

test.each([
  ['no proxy is trusted', '203.0.113.7', '198.51.100.1', [], '203.0.113.7'],
  ['the peer is not a trusted proxy', '203.0.113.7', '198.51.100.1', proxies, '203.0.113.7'],
  ['a trusted proxy says nothing', '10.0.0.1', undefined, proxies, '10.0.0.1'],
  ['a trusted proxy names the client', '10.0.0.1', '198.51.100.1', proxies, '198.51.100.1'],
  ['the peer is the proxy in IPv6 form', '::ffff:10.0.0.1', '198.51.100.1', proxies, '198.51.100.1'],
  ['the client made up earlier hops', '10.0.0.1', '127.0.0.1, 192.0.2.9, 198.51.100.1', proxies, '198.51.100.1'],
  ['two trusted proxies follow each other', '10.0.0.1', '203.0.113.5, 198.51.100.1, 10.0.0.2', proxies, '198.51.100.1'],
  ['an IPv6 proxy names an IPv6 client', '2001:db8:ffff::1', '2001:DB8::7', proxies, '2001:db8::7'],
  ['every hop is a trusted proxy', '10.0.0.1', '10.0.0.3, 10.0.0.2', proxies, '10.0.0.3'],
  ['the last hop is unreadable', '10.0.0.1', '198.51.100.1, unknown', proxies, '10.0.0.1'],
  ['a hop has a port', '10.0.0.1', '198.51.100.1, 192.0.2.1:4711', proxies, '10.0.0.1'],
  ['a hop is written in another base', '10.0.0.1', '0x7f.1', proxies, '10.0.0.1'],
  ['the header is empty', '10.0.0.1', '', proxies, '10.0.0.1'],
])('the client address where %s', (_, peer, forwardedFor, trusted, client) => {
  expect(clientAddress(peer, forwardedFor, trusted)).toBe(client)
})
