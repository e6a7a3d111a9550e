import { hash } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import type { EmailMessage } from '../../../../src/channels/email/email-message.js'
import { composeEmail } from '../../../../src/channels/email/message/compose.js'
import { type Composer, createComposer } from '../../../../src/channels/email/message/composer.js'
import { emailContent } from '../../../../src/channels/email/message/content.js'
import type { Frame } from '../../../../src/channels/email/message/frame.js'
import { textFromHtml } from '../../../../src/channels/email/message/text.js'
import { packContent } from '../../../../src/channels/pack-content.js'
import { SendError } from '../../../../src/channels/provider.js'
import type { PackedContent } from '../../../../src/domain/delivery/sent-content.js'
import { email } from '../messages.js'

const withoutSalt = ({ salt: _, ...rest }: PackedContent) => rest

async function composerForTest(): Promise<Composer> {
  const composer = createComposer(1)
  onTestFinished(() => composer.close())
  await composer.compose(email(), false)
  await expect.poll(() => composer.isReady).toBe(true)
  return composer
}

const frame: Frame = {
  sender: { name: 'Banco Aurora', color: '#1f3f8f', logo: null, details: [] },
  subject: 'Aviso',
  recipientName: 'Maria',
  link: 'https://example.com/n/abc',
  image: 'https://example.com/o/abc.gif',
}
const paragraph = '<p>Seu <b>contrato</b> vence em 30 dias. <a href="https://example.com/a">Regularize</a>.</p>\n'
const large = email({ attachments: [{ name: 'ação.pdf', bytes: Buffer.alloc(3_000_000, 'carteiro') }] })

const { html: _, text: __, ...head } = email()
const unenclosed = (content: string): EmailMessage => ({ ...head, content, frame })

test.each([
  ['small', paragraph, email()],
  ['large', paragraph.repeat(500), large],
  ['small unenclosed', paragraph, unenclosed(paragraph)],
  ['large unenclosed', paragraph.repeat(500), unenclosed(paragraph.repeat(500))],
])('a %s message has the same bytes as without a thread, at every attempt', async (_, html, message) => {
  const composer = await composerForTest()
  for (let tries = 0; tries < 2; tries++) {
    expect(await composer.toText(html)).toBe(textFromHtml(html))
    expect(composeEmail(message).equals((await composer.compose(message, false)).raw)).toBe(true)
  }
})

test('messages that are asked for at once have each its own bytes, also those of a few bytes', async () => {
  const composer = await composerForTest()
  const messages = Array.from({ length: 200 }, (_, number) => email({ subject: `Aviso ${number}`, html: 'x'.repeat(number) }))
  const composed = await Promise.all(messages.map(message => composer.compose(message, false)))
  expect(composed.map(({ raw }) => String(raw))).toEqual(messages.map(message => String(composeEmail(message))))
})

test.each([
  ['small', { ...unenclosed(paragraph), secrets: ['contrato'] }],
  ['large', { ...large, text: 'Seu contrato', secrets: ['contrato'] }],
])('a %s message is packed where it is composed, as it would be after it left', async (_, message) => {
  const composer = await composerForTest()
  const [unpacked, { raw, packed }] = await Promise.all([composer.compose(message, false), composer.compose(message, true)])
  expect(unpacked.packed).toBeNull()
  const expected = await packContent(emailContent(message, composeEmail(message)))
  const { salt, statement, ...rest } = packed!
  expect({ ...rest, statement: { ...statement, secret: null } }).toEqual({
    ...withoutSalt(expected),
    statement: { ...expected.statement, secret: null },
  })
  const hidden = packed!.hidden!.map(([at, length]) => raw.subarray(at, at + length))
  const salted = Buffer.concat([salt!, Buffer.from(JSON.stringify(packed!.hidden)), ...hidden])
  expect(statement.secret).toBe(hash('sha256', salted, 'hex'))
})

test('a message that cannot be composed takes no other along', async () => {
  const composer = await composerForTest()
  const broken = { ...email(), attachments: null } as unknown as ReturnType<typeof email>
  const [before, failed, after] = await Promise.allSettled([email(), broken, email()].map(one => composer.compose(one, false)))
  expect([before!.status, failed!.status, after!.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('a small message is composed also where its thread ends before it answers', async () => {
  const composer = await composerForTest()
  const composing = composer.compose(email(), true)
  await composer.close()
  const { raw, packed } = await composing
  expect(composeEmail(email()).equals(raw)).toBe(true)
  expect(packed!.statement.size).toBe(raw.length)
})

test('a large message does not block the event loop', async () => {
  const composer = await composerForTest()
  const done: string[] = []
  const text = Promise.resolve(composer.toText('<ul><li>a'.repeat(14_000))).then(() => done.push('the large one'))
  setTimeout(() => done.push('the rest'), 0)
  await text
  expect(done).toEqual(['the rest', 'the large one'])
})

test('an invalid address is refused as the error that carriers throw', async () => {
  const composer = await composerForTest()
  const refused = Promise.resolve(composer.compose({ ...large, to: 'a@b.com, c@d.com' }, true))
  await expect(refused).rejects.toBeInstanceOf(SendError)
  await expect(refused).rejects.toThrow(/endereço/)
})
