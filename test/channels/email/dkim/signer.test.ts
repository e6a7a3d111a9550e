import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createSigner, type SignerSettings } from '../../../../src/channels/email/dkim/signer.js'
import { readSigningKey, type SigningKey } from '../../../../src/channels/email/dkim/signing-key.js'
import { composeEmail } from '../../../../src/channels/email/message/compose.js'
import { email } from '../messages.js'
import { isSigned } from './verifier.js'

const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }) as string
const rsa = pem(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey)
const ed25519 = pem(generateKeyPairSync('ed25519').privateKey)

const keyOf = (privateKeyPem: string, domain = 'orgao.example.com'): SigningKey =>
  readSigningKey({ domain, selector: 'carteiro1', privateKeyPem })

function signer(
  privateKeyPem: string,
  changes: Partial<SignerSettings> = {},
): { sign(raw: Buffer, domain?: string): Promise<Buffer>; close(): Promise<void> } {
  const key = keyOf(privateKeyPem)
  const made = createSigner({ find: () => key, threads: 1, ...changes })
  onTestFinished(() => made.close())
  return { sign: (raw, domain = 'orgao.example.com') => made.forDomain(domain)!(raw), close: () => made.close() }
}

describe.each([
  ['RSA', rsa, 'rsa-sha256'],
  ['Ed25519', ed25519, 'ed25519-sha256'],
])('a signature with %s', (_, key, algorithm) => {
  test('stands in front of the untouched message and verifies', async () => {
    const raw = composeEmail(email())
    const signed = await signer(key).sign(raw)
    expect(signed.subarray(-raw.length).equals(raw)).toBe(true)
    expect(isSigned(signed, key)).toBe(true)
    const header = signed.subarray(0, -raw.length).toString()
    expect(header).toMatch(/^DKIM-Signature: v=1; /)
    expect(header.replace(/\s+/g, ' ')).toContain(`a=${algorithm}; c=relaxed/relaxed; d=orgao.example.com; s=carteiro1;`)
    for (const line of header.split('\r\n')) expect(line.length).toBeLessThanOrEqual(78)
  })

  test('breaks when body, subject, sender or recipient is changed', async () => {
    const signed = (await signer(key).sign(composeEmail(email({ subject: 'Aviso', text: 'cem reais' })))).toString('latin1')
    const changes: [string, string][] = [
      ['cem reais', 'mil reais'],
      ['Subject: Aviso', 'Subject: Avizo'],
      ['<joao@example.net>', '<jose@example.net>'],
      ['<avisos@orgao.', '<avisos@outro.'],
    ]
    for (const [from, to] of changes) {
      expect(signed).toContain(from)
      expect(isSigned(Buffer.from(signed.replace(from, to), 'latin1'), key), to).toBe(false)
    }
  })

  test('survives what relays do to blanks, folding and the end of the message', async () => {
    const signed = (await signer(key).sign(composeEmail(email({ subject: 'Um aviso curto' })))).toString('latin1')
    const touched = `${signed.replace('Subject: Um aviso', 'Subject:  Um\r\n\taviso ')}\r\n\r\n`
    expect(isSigned(Buffer.from(touched, 'latin1'), key)).toBe(true)
  })
})

describe('what is signed', () => {
  const tagH = (signed: Buffer): string[] => /h=([^;]+);/.exec(signed.toString('latin1'))![1]!.replace(/\s/g, '').split(':')

  test('every header of ours, and the ones that must be single once more than present', async () => {
    const raw = composeEmail(email({ replyTo: 'b@bounce.example.com', receiptTo: 'b@bounce.example.com' }))
    expect(tagH(await signer(ed25519).sign(raw))).toEqual([
      ...['from', 'from', 'to', 'to', 'subject', 'subject', 'date', 'date'],
      ...['message-id', 'reply-to', 'mime-version', 'content-type', 'disposition-notification-to', 'auto-submitted'],
    ])
  })

  test('the headers for unsubscribing, where present', async () => {
    const raw = Buffer.from('From: a@b.example\r\nList-Unsubscribe: <x>\r\nList-Unsubscribe-Post: One-Click\r\n\r\noi\r\n')
    const names = tagH(await signer(ed25519).sign(raw))
    expect(names).toContain('list-unsubscribe')
    expect(names).toContain('list-unsubscribe-post')
  })

  test('a second From breaks the signature', async () => {
    const signed = (await signer(ed25519).sign(composeEmail(email()))).toString('latin1')
    const forged = signed.replace('\r\nFrom: ', '\r\nFrom: chefe@example.com\r\nFrom: ')
    expect(forged).not.toBe(signed)
    expect(isSigned(Buffer.from(forged, 'latin1'), ed25519)).toBe(false)
  })

  test.each([
    ['no body', 'From: a@b.example\r\n\r\n'],
    ['a body of empty lines', 'From: a@b.example\r\n\r\n\r\n \r\n\r\n'],
    ['no line break at the end', 'From: a@b.example\r\n\r\noi'],
    ['blanks everywhere', 'From: a@b.example\r\n\r\n  a \t b  \r\n\r\n \t\r\nfim \r\n'],
    ['headers only', 'From: a@b.example\r\n'],
    ['bytes over 127', 'From: joão@b.example\r\n\r\nolá\r\n'],
  ])('a message with %s', async (_, text) => {
    const signed = await signer(ed25519).sign(Buffer.from(text))
    expect(isSigned(text === 'From: a@b.example\r\n' ? Buffer.concat([signed, Buffer.from('\r\n')]) : signed, ed25519)).toBe(true)
  })
})

describe('the threads', () => {
  test('sign many messages at once, each its own', async () => {
    const made = signer(ed25519, { threads: 2 })
    const messages = Array.from({ length: 60 }, (_, index) => composeEmail(email({ subject: `Nº ${index}` })))
    const signed = await Promise.all(messages.map(message => made.sign(message)))
    for (const [index, message] of signed.entries()) {
      expect(message.subarray(-messages[index]!.length).equals(messages[index]!)).toBe(true)
      expect(isSigned(message, ed25519)).toBe(true)
    }
  })

  test('leave the event loop free while they work', async () => {
    const large = composeEmail(email({ attachments: [{ name: 'a', bytes: Buffer.alloc(8_000_000, 1) }] }))
    const made = signer(rsa)
    await made.sign(composeEmail(email()))
    let turns = 0
    const signing = made.sign(large).then(() => 'done')
    const spin = (): Promise<unknown> => new Promise(resolve => setImmediate(resolve))
    while ((await Promise.race([signing, spin().then(() => null)])) === null) turns++
    expect(turns).toBeGreaterThan(10)
  })

  test('that are closed fail what they still had to do', async () => {
    const made = signer(rsa)
    const signing = Promise.allSettled(Array.from({ length: 50 }, () => made.sign(composeEmail(email()))))
    await made.close()
    const outcomes = await signing
    expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0)
  })
})

describe('several keys', () => {
  const second = pem(generateKeyPairSync('ed25519').privateKey)
  const raw = composeEmail(email())
  const domainOf = (signed: Buffer): string => / d=([^;]+);/.exec(signed.toString('latin1'))![1]!

  test('share the threads, each signing for its own domain, whatever the order', async () => {
    const ring: Record<string, [SigningKey, string]> = {
      'a.example': [keyOf(ed25519, 'a.example'), ed25519],
      'b.example': [keyOf(second, 'b.example'), second],
      'c.example': [keyOf(rsa, 'c.example'), rsa],
    }
    const made = signer(rsa, { find: domain => ring[domain]![0], threads: 2 })
    const domains = Array.from({ length: 60 }, (_, index) => Object.keys(ring)[(index * 7) % 3]!)
    const signed = await Promise.all(domains.map(domain => made.sign(raw, domain)))
    expect(signed.map(domainOf)).toEqual(domains)
    for (const [index, message] of signed.entries()) expect(isSigned(message, ring[domains[index]!]![1])).toBe(true)
  })

  test('a key that replaces another one signs from the next message on', async () => {
    let current = keyOf(ed25519)
    const made = signer(rsa, { find: () => current })
    expect(isSigned(await made.sign(raw), ed25519)).toBe(true)
    current = keyOf(second)
    const signed = await made.sign(raw)
    expect(isSigned(signed, second)).toBe(true)
    expect(isSigned(signed, ed25519)).toBe(false)
  })

  test('more keys than a thread caches still sign correctly', async () => {
    const key = keyOf(second)
    const domains = Array.from({ length: 1_005 }, (_, index) => `d${index}.example`)
    const many = new Map(domains.map(domain => [domain, { ...key, domain }]))
    const made = signer(rsa, { find: domain => many.get(domain)! })
    for (let round = 0; round < 2; round++) {
      const signed = await Promise.all(domains.map(domain => made.sign(raw, domain)))
      expect(signed.map(domainOf)).toEqual(domains)
    }
  })

  test('a message of a domain without one leaves as it is', async () => {
    const made = createSigner({ find: () => null })
    onTestFinished(() => made.close())
    expect(made.forDomain('orgao.example.com')).toBeNull()
  })
})
