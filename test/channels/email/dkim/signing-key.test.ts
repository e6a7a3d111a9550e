import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { dkimRecord, publishes, readDkimName, readSigningKey, zoneLine } from '../../../../src/channels/email/dkim/signing-key.js'
import { OperatorError } from '../../../../src/domain/errors.js'

const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }) as string
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const ed25519 = generateKeyPairSync('ed25519').privateKey
const base = { domain: 'a.example', selector: 's' }

describe('the name of a key', () => {
  test.each([
    ['Example.COM', 'S1', { domain: 'example.com', selector: 's1' }],
    ['órgão.com.br', '2026.q3', { domain: 'xn--rgo-nla1f.com.br', selector: '2026.q3' }],
  ])('%s %s is read as DNS has it', (domain, selector, name) => {
    expect(readDkimName({ domain, selector })).toEqual(name)
  })

  test.each([
    ['a domain of one label', 'localhost', 's'],
    ['an address', '10.0.0.1', 's'],
    ['a domain with a line break', 'a.example\r\nX: y', 's'],
    ['an empty selector', 'a.example', ''],
    ['a selector that adds a tag', 'a.example', 's; d=b.example'],
    ['a selector with an empty label', 'a.example', 'a..b'],
    ['too long a label', 'a.example', 'a'.repeat(64)],
    ['a name too long for DNS', `${'a.'.repeat(110)}example`, 'a'.repeat(60)],
  ])('%s is none', (_, domain, selector) => {
    expect(readDkimName({ domain, selector })).toBeNull()
  })
})

describe('a private key', () => {
  test.each([
    ['text that is no key', { ...base, privateKeyPem: 'chave' }],
    ['a public key', { ...base, privateKeyPem: createPublicKey(rsa).export({ type: 'spki', format: 'pem' }) as string }],
    [
      'a key behind a password',
      {
        ...base,
        privateKeyPem: ed25519.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' }) as string,
      },
    ],
    [
      'an elliptic curve that DKIM does not know',
      { ...base, privateKeyPem: pem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey) },
    ],
    ['too short an RSA key', { ...base, privateKeyPem: pem(generateKeyPairSync('rsa', { modulusLength: 512 }).privateKey) }],
    ['one of a domain with a line break', { ...base, domain: 'a.example\r\nX: y', privateKeyPem: pem(ed25519) }],
    ['one of a selector with a semicolon', { ...base, selector: 's; d=outro.example', privateKeyPem: pem(ed25519) }],
  ])('%s is refused with a sentence', (_, settings) => {
    expect(() => readSigningKey(settings)).toThrow(OperatorError)
    expect(() => readSigningKey(settings)).toThrow(/^DKIM: /)
  })
})

describe('the DNS record', () => {
  const record = dkimRecord(readSigningKey({ ...base, privateKeyPem: pem(rsa) }))
  const [, publicKey] = /p=(.*)$/.exec(record.value)!

  test('of RSA holds the key in its envelope, of Ed25519 the bare key', () => {
    expect(record.name).toBe('s._domainkey.a.example')
    expect(record.value).toMatch(/^v=DKIM1; k=rsa; p=MII[A-Za-z0-9+/]+=*$/)
    expect(
      createPublicKey({ key: Buffer.from(publicKey!, 'base64'), format: 'der', type: 'spki' }).equals(createPublicKey(rsa)),
    ).toBe(true)
    const { value } = dkimRecord(readSigningKey({ ...base, privateKeyPem: pem(ed25519) }))
    const { x } = createPublicKey(ed25519).export({ format: 'jwk' })
    expect(value).toBe(`v=DKIM1; k=ed25519; p=${Buffer.from(x!, 'base64url').toString('base64')}`)
  })

  test('in a zone file is split into strings that DNS can hold', () => {
    const line = zoneLine(record)
    const strings = [...line.matchAll(/"([^"]*)"/g)].map(([, text]) => text!)
    expect(line).toMatch(/^s\._domainkey\.a\.example\. IN TXT \( "[^"]+" "[^"]+" \)$/)
    expect(strings.map(({ length }) => length)).toEqual([255, record.value.length - 255])
    expect(strings.join('')).toBe(record.value)
    expect(zoneLine({ name: 'x', value: 'short' })).toBe('x. IN TXT "short"')
  })

  test.each([
    ['as we wrote it', record.value],
    ['blanks, other order, no version, no algorithm', ` p=${publicKey!.slice(0, 40)} ${publicKey!.slice(40)} ;n=nota; t=y;`],
    ['for e-mail and SHA-256 among others', `${record.value}; h=sha1:sha256; s=email:outro`],
  ])('counts as published: %s', (_, text) => {
    expect(publishes(text, record)).toBe(true)
  })

  test.each([
    [
      'another key',
      dkimRecord(readSigningKey({ ...base, privateKeyPem: pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey) }))
        .value,
    ],
    ['a revoked key', 'v=DKIM1; k=rsa; p='],
    ['another algorithm', record.value.replace('k=rsa', 'k=ed25519')],
    ['another version', record.value.replace('DKIM1', 'DKIM2')],
    ['SHA-1 only', `${record.value}; h=sha1`],
    ['not for e-mail', `${record.value}; s=outro`],
    ['half of it', record.value.slice(0, 255)],
    ['something else', 'v=spf1 -all'],
    ['nothing', ''],
  ])('does not: %s', (_, text) => {
    expect(publishes(text, record)).toBe(false)
  })
})
