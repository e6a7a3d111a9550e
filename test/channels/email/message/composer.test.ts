import { expect, onTestFinished, test } from 'vitest'
import { composeEmail } from '../../../../src/channels/email/message/compose.js'
import { type Composer, createComposer } from '../../../../src/channels/email/message/composer.js'
import { textFromHtml } from '../../../../src/channels/email/message/text.js'
import { email } from '../messages.js'

function composerForTest(): Composer {
  const composer = createComposer(1)
  onTestFinished(() => composer.close())
  return composer
}

const paragraph = '<p>Seu <b>contrato</b> vence em 30 dias. <a href="https://example.com/a">Regularize</a>.</p>\n'
const large = email({ attachments: [{ name: 'ação.pdf', bytes: Buffer.alloc(3_000_000, 'carteiro') }] })

test('a small message is composed at once and does not wait for a thread', () => {
  const composer = composerForTest()
  expect(composer.toText(paragraph)).toBe(textFromHtml(paragraph))
  expect(composer.compose(email())).toEqual(composeEmail(email()))
})

test('a large message has the same bytes as a small one would, at every attempt', async () => {
  const composer = composerForTest()
  const html = paragraph.repeat(500)
  const text = composer.toText(html)
  expect(text).toBeInstanceOf(Promise)
  expect(await text).toBe(textFromHtml(html))
  for (let tries = 0; tries < 2; tries++) {
    const raw = composer.compose(large)
    expect(raw).toBeInstanceOf(Promise)
    expect(composeEmail(large).equals(await raw)).toBe(true)
  }
})

test('a large message does not block the event loop', async () => {
  const composer = composerForTest()
  const done: string[] = []
  const text = Promise.resolve(composer.toText('<ul><li>a'.repeat(14_000))).then(() => done.push('the large one'))
  setTimeout(() => done.push('the rest'), 0)
  await text
  expect(done).toEqual(['the rest', 'the large one'])
})

test('an invalid address is refused before a thread is used', () => {
  const composer = composerForTest()
  expect(() => composer.compose({ ...large, to: 'a@b.com, c@d.com' })).toThrow(/endereço/)
})
