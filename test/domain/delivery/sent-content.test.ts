import { randomBytes, randomInt } from 'node:crypto'
import { inflateRawSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { attachedFiles, composeEmail } from '../../../src/channels/email/message/compose.js'
import { emailContent } from '../../../src/channels/email/message/content.js'
import { encloseContent, encloseNotice } from '../../../src/channels/email/message/enclose.js'
import { quotedPrintable } from '../../../src/channels/email/message/mime.js'
import { makeFrame } from '../../../src/channels/email/preparation.js'
import { packContent } from '../../../src/channels/pack-content.js'
import { completeSettings } from '../../../src/domain/account.js'
import { dictionaryOf } from '../../../src/domain/delivery/content-dictionary.js'
import { findSecrets, maskRanges } from '../../../src/domain/delivery/sent-content.js'
import { sha256 } from '../../../src/domain/evidence/evidence.js'
import { base64Lines } from '../../../src/domain/text/base64-lines.js'
import { email } from '../../channels/email/messages.js'
import { readSource } from '../../support/sources.js'

/** The text of a quoted-printable body. */
const decoded = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replaceAll('=\r\n', '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

test('a code is hidden wherever lines of a quoted-printable text are broken, also where its next character is quoted', () => {
  for (let column = 0; column < 80; column++) {
    for (let cut = 0; cut <= 40; cut += 4) {
      const random = randomBytes(33).toString('base64url')
      const secret = `${random.slice(0, cut)}From${random.slice(cut + 4)}`
      const text = `${'x'.repeat(column)}/n/${secret} e de novo https://a.example/o/${secret}.gif`
      const bytes = quotedPrintable(text)
      const masked = maskRanges(bytes, findSecrets(bytes, [secret]))
      expect(masked.length).toBe(bytes.length)
      // A quoted character is hidden as three stars.
      expect(decoded(masked).replace(/\*{44,46}/g, '#')).toBe(`${'x'.repeat(column)}/n/# e de novo https://a.example/o/#.gif`)
    }
  }
})

test('what is hidden are the bytes in which the copy differs; all else stays', () => {
  const bytes = Buffer.from('a0b1c2d3e4 fica, A0B1C2D3E4 fica, a0b1c2d3e e a0b1 e d3e4 ficam, a0b1c2d3e4a0b1c2d3e4')
  const ranges = findSecrets(bytes, ['a0b1c2d3e4', 'não está'])
  expect(maskRanges(bytes, ranges).toString()).toBe(
    '********** fica, A0B1C2D3E4 fica, a0b1c2d3e e a0b1 e d3e4 ficam, ********************',
  )
  expect(ranges.map(([at, length]) => bytes.toString('utf8', at, at + length)).join('')).toBe('a0b1c2d3e4'.repeat(3))
})

test('the files of an e-mail are found in it, whatever their names and sizes', () => {
  for (let round = 0; round < 100; round++) {
    const sizes = Array.from({ length: randomInt(1, 5) }, () => randomInt(0, 300))
    const attachments = sizes.map((size, index) => ({
      name: `${'notificação '.repeat(randomInt(0, 8))}${index}.${['pdf', 'eml', 'ação'][index % 3]}`,
      bytes: randomBytes(size),
      sha256: String(index),
    }))
    const signature = Buffer.from('DKIM-Signature: x\r\n'.repeat(randomInt(0, 3)))
    const raw = Buffer.concat([signature, composeEmail(email({ attachments }))])
    const files = attachedFiles(email({ attachments }), raw.length)
    expect(files.map(({ sha256 }) => sha256)).toEqual(attachments.flatMap(({ bytes, sha256 }) => (bytes.length ? [sha256] : [])))
    for (const { at, length, sha256 } of files)
      expect(raw.subarray(at, at + length).equals(base64Lines(attachments[Number(sha256)]!.bytes))).toBe(true)
  }
})

test('the document’s test vector is what its rules give', () => {
  const document = readSource('docs/evidence.md')
  const vector = document.slice(document.indexOf('mensagem  Aviso'))
  const value = (name: string): string => new RegExp(`^${name} +(.+)$`, 'm').exec(vector)![1]!
  const message = Buffer.from(value('mensagem'))
  const ranges = findSecrets(message, ['a1b2c3d4e5'])
  const copy = maskRanges(message, ranges)
  expect(copy.toString()).toBe(value('cópia'))
  expect(sha256(copy)).toBe(value('sha256'))
  expect(JSON.stringify(ranges)).toBe(value('posições'))
  const hidden = Buffer.from([...message].filter((byte, at) => byte !== copy[at]))
  expect(String(hidden.length)).toBe(value('hidden'))
  expect(sha256(Buffer.concat([Buffer.from(value('salt'), 'hex'), Buffer.from(value('posições')), hidden]))).toBe(value('secret'))
})

test('a secret is hidden wherever the windows of the search of a large content end', async () => {
  const secret = 'a1b2c3d4e5'
  for (const shift of [0, 3, 9, 10, 200, 255, 256, 300]) {
    const bytes = Buffer.alloc(2_500_000, 'x')
    const places = [0, 1_048_576 - 5 + shift, 2_097_152 - shift, bytes.length - secret.length]
    for (const at of places) bytes.write(secret, at)
    const { hidden } = await packContent({ type: 'text/plain', extension: 'txt', bytes, secrets: [secret] })
    const masked = maskRanges(bytes, hidden!)
    expect(masked.includes(secret)).toBe(false)
    expect(masked.toString().replace(/[^*]/g, '').length).toBe(bytes.toString().replaceAll('x', '').length)
  }
})

test('a content without a secret states its own digest; a short one is not compressed', async () => {
  const bytes = Buffer.from('Olá.')
  const { statement, packing, salt } = await packContent({ type: 'text/plain', extension: 'txt', bytes })
  expect(statement).toEqual({ type: 'text/plain', size: bytes.length, sha256: sha256(bytes) })
  expect([packing, salt]).toEqual(['none', null])
})

test('a dictionary never changes: contents that were stored with it could no longer be read', () => {
  expect(sha256(dictionaryOf('frame-1'))).toBe('6f6382a07d37b70e66583c5d4d3bc877832cbb777f520811e43241d280c22771')
})

test('an e-mail is stored as its difference from the frame that all e-mails have', async () => {
  const frame = makeFrame(
    {
      accountName: 'Cobranças & Filhos',
      settings: completeSettings({ 'brand.color': '#7a1f5c' }),
      subject: 'Aviso',
      recipientName: 'Ana',
    },
    null,
    {
      base: 'https://avisos.example.com',
      link: 'https://avisos.example.com/n/a1b2',
      image: 'https://avisos.example.com/o/a1b2.gif',
    },
  )
  // The second one is so long that another thread packs it.
  const contents = ['Seu contrato vence em 30 dias.', 'Seu contrato vence em 30 dias. '.repeat(5_000)]
  for (const enclosed of [...contents.map(content => encloseContent(content, frame)), encloseNotice(frame)]) {
    const message = email(enclosed)
    const content = emailContent(message, composeEmail(message))!
    const { packing, bytes } = await packContent(content)
    expect(packing).toBe('frame-1')
    // Where this fails because the frame looks otherwise now, add a dictionary of the new frame.
    expect(bytes.length).toBeLessThan(content.bytes.length / 8)
    expect(inflateRawSync(bytes, { dictionary: dictionaryOf('frame-1') }).equals(content.bytes)).toBe(true)
  }
})
