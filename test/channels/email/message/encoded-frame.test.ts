import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encloseContent, encodeEnclosed } from '../../../../src/channels/email/message/enclose.js'
import type { Frame } from '../../../../src/channels/email/message/frame.js'
import { quotedPrintable } from '../../../../src/channels/email/message/mime.js'
import { BlockWriter } from '../../../../src/runtime/byte-block.js'
import { frameWith, IDENTITY } from '../frames.js'

/** The HTML body of an e-mail, as it is composed and as the whole text would be encoded. */
function bodies(content: string, frame: Frame): [string, string] {
  const writer = new BlockWriter(1)
  const { text, writeHtml } = encodeEnclosed(content, frame)
  writeHtml(writer)
  const whole = encloseContent(content, frame)
  expect(text).toBe(whole.text)
  return [writer.endPart().toString('latin1'), quotedPrintable(whole.html).toString('latin1')]
}

const styled = '<style>p{color:red}</style><body bgcolor="#fafafa"><p>Olá</p></body>'
const withSender = (more: Partial<Frame['sender']>): Frame => {
  const frame = frameWith('abc')
  return { ...frame, sender: { ...frame.sender, ...more } }
}

describe('the frame of which most is encoded once has the same bytes as one that is encoded whole', () => {
  test.each<[string, string, Frame]>([
    ['a short content', '<p>Olá, Maria.</p>', frameWith('abc')],
    ['the sender’s own styles', styled, frameWith('abc')],
    ['the identity of the sender', styled, frameWith('abc', IDENTITY)],
    ['a logo', '<p>Olá', withSender({ logo: { url: 'https://n.test/l/1.png', width: 120, height: 40 } })],
    ['markup and lines in the subject', '<p>Olá', frameWith('abc', {}, { subject: '.<b>"um"</b>\nFrom dois\r\n' })],
    ['places of values in the subject', '\ue001<p>Olá \ue002', frameWith('abc', {}, { subject: '\ue000\ue003 aviso' })],
    ['places of values in the name of the sender', '<p>Olá', withSender({ name: 'Banco \ue001 Aurora' })],
    ['a long link', '<p>Olá', frameWith('a'.repeat(300))],
  ])('%s', (_, content, frame) => {
    for (let times = 0; times < 2; times++) {
      const [composed, whole] = bodies(content, frame)
      expect(composed).toBe(whole)
    }
  })

  test('any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), fc.string(), (content, subject, name) => {
        const [composed, whole] = bodies(content, { ...withSender({ name }), subject })
        expect(composed).toBe(whole)
      }),
      { numRuns: 50 },
    )
  })

  test('frames of two senders are kept apart', () => {
    const [one, other] = ['Banco Aurora', 'Loja Sul'].map(name => bodies('<p>Olá', withSender({ name }))[0])
    expect([one!.includes('Banco Aurora'), one!.includes('Loja Sul')]).toEqual([true, false])
    expect([other!.includes('Banco Aurora'), other!.includes('Loja Sul')]).toEqual([false, true])
  })
})
