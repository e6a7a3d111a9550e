import { describe, expect, test } from 'vitest'
import { parseRange } from '../../../src/domain/access/address-range.js'
import { isForbiddenAddress, readWebhookUrl } from '../../../src/domain/access/target-address.js'
import { Refusal } from '../../../src/domain/errors.js'

const strict = { allowed: [], loopback: false }

describe('addresses that are never called', () => {
  test.each([
    ...[
      '0.0.0.0',
      '0.1.2.3',
      '10.0.0.1',
      '100.64.0.1',
      '127.0.0.1',
      '127.255.255.254',
      '169.254.169.254',
      '172.16.0.1',
      '172.31.255.255',
    ],
    ...[
      '192.0.0.1',
      '192.0.2.1',
      '192.168.0.1',
      '198.18.0.1',
      '198.51.100.1',
      '203.0.113.1',
      '224.0.0.1',
      '240.0.0.1',
      '255.255.255.255',
    ],
    ...['::', '::1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd12::1', 'fec0::1', 'ff02::1', '2001:db8::1', '100::1'],
    // IPv4 inside IPv6, in every form that has one.
    ...[
      '::ffff:127.0.0.1',
      '::ffff:a9fe:a9fe',
      '::ffff:0:7f00:1',
      '::127.0.0.1',
      '::a00:1',
      '64:ff9b::7f00:1',
      '64:ff9b::10.0.0.1',
    ],
    ...['2002:7f00:1::', '2002:a9fe:a9fe::1', '64:ff9b:1::1', '2001:0:7f00:1::1'],
    ...['', 'localhost', '2130706433', '0x7f.1', '127.1', '1.2.3.4.5', '1.2.3.256', ':::'],
  ])('%s', address => {
    expect(isForbiddenAddress(address, strict)).toBe(true)
  })
})

test.each([
  '169.254.169.254',
  '169.254.170.2',
  '168.63.129.16',
  '::ffff:168.63.129.16',
  '2002:a83f:8110::1',
  'fd00:ec2::254',
  '100.100.100.200',
])('%s, where a cloud tells a machine its credentials, is not called even inside a range that was allowed', address => {
  const allowed = ['0.0.0.0/0', '::/0'].map(parseRange)
  expect(isForbiddenAddress(address, strict)).toBe(true)
  expect(isForbiddenAddress(address, { allowed, loopback: true })).toBe(true)
})

test.each([
  '8.8.8.8',
  '200.160.2.3',
  '2606:4700::1111',
  '2804:10:8000::1',
  '64:ff9b::808:808',
  '2002:808:808::1',
  '::ffff:8.8.8.8',
])('the public %s is called', address => {
  expect(isForbiddenAddress(address, strict)).toBe(false)
})

test('what the operator allow-listed is called, also in its other forms, and nothing beside it', () => {
  const rules = { allowed: [parseRange('10.20.0.0/16'), parseRange('fd00:1::/32')], loopback: false }
  for (const address of ['10.20.3.4', '::ffff:10.20.3.4', '64:ff9b::10.20.3.4', 'fd00:1::9'])
    expect(isForbiddenAddress(address, rules), address).toBe(false)
  for (const address of ['10.21.0.1', 'fd00:2::9', '127.0.0.1']) expect(isForbiddenAddress(address, rules), address).toBe(true)
})

test('in development this machine is called, in every form of it, and no other private one', () => {
  const rules = { allowed: [], loopback: true }
  for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) expect(isForbiddenAddress(address, rules), address).toBe(false)
  for (const address of ['10.0.0.1', '169.254.169.254', '0.0.0.0', '::'])
    expect(isForbiddenAddress(address, rules), address).toBe(true)
})

describe('URLs of webhooks', () => {
  const codeOf = (url: string, rules = strict): string => {
    try {
      readWebhookUrl(url, rules)
      return 'accepted'
    } catch (error) {
      return (error as Refusal).code
    }
  }

  test.each([
    ['https://sistema.example.com/avisos?x=1', 'accepted'],
    ['https://sistema.example.com:8443/', 'accepted'],
    ['https://8.8.8.8/', 'accepted'],
    ['https://[2606:4700::1111]/', 'accepted'],
    ['', 'webhookUrl'],
    ['sistema.example.com', 'webhookUrl'],
    ['ftp://example.com/', 'webhookUrl'],
    ['file:///etc/passwd', 'webhookUrl'],
    ['javascript:alert(1)', 'webhookUrl'],
    [`https://example.com/${'x'.repeat(2_028)}`, 'accepted'],
    [`https://example.com/${'x'.repeat(2_029)}`, 'tooLong'],
    ['http://sistema.example.com/', 'webhookHttps'],
    ['https://maria:segredo@example.com/', 'webhookCredentials'],
    ['https://maria@example.com/', 'webhookCredentials'],
    ['https://example.com/#x', 'webhookFragment'],
    ['https://example.com:25/', 'webhookPort'],
    ['https://example.com:22/', 'webhookPort'],
    ['http://2130706433', 'webhookAddress'],
    ['https://2130706433/', 'webhookAddress'],
    ['https://0x7f.1/', 'webhookAddress'],
    ['https://0177.0.0.1/', 'webhookAddress'],
    ['https://127.1/', 'webhookAddress'],
    ['https://127。0。0。1/', 'webhookAddress'],
    ['https://１２７.0.0.1/', 'webhookAddress'],
    ['https://[::ffff:a9fe:a9fe]/', 'webhookAddress'],
    ['https://[64:ff9b::7f00:1]/', 'webhookAddress'],
    ['https://[2002:7f00:1::]/', 'webhookAddress'],
    ['https://[::1]/', 'webhookAddress'],
    ['https://169.254.169.254/latest/meta-data', 'webhookAddress'],
    ['https://10.0.0.1/', 'webhookAddress'],
    ['https://localhost/', 'webhookAddress'],
    ['https://api.localhost./', 'webhookAddress'],
    ['http://127.0.0.1:3000/', 'webhookAddress'],
  ])('%s: %s', (url, code) => {
    expect(codeOf(url)).toBe(code)
  })

  test('in development, http to this machine is fine, and nothing else becomes so', () => {
    const rules = { allowed: [], loopback: true }
    for (const url of ['http://localhost:3000/x', 'http://127.0.0.1:80/', 'http://[::1]:3000/', 'https://localhost/'])
      expect(codeOf(url, rules), url).toBe('accepted')
    expect(codeOf('http://example.com/', rules)).toBe('webhookHttps')
    expect(codeOf('http://10.0.0.1/', rules)).toBe('webhookAddress')
    expect(codeOf('http://localhost.example.com/', rules)).toBe('webhookHttps')
  })

  test('every refusal names the field', () => {
    for (const code of [
      'webhookUrl',
      'webhookHttps',
      'webhookCredentials',
      'webhookFragment',
      'webhookPort',
      'webhookAddress',
    ] as const)
      expect(new Refusal(code, ['x']).message).toContain('campo url')
  })
})
