import PostalMime, { type Email } from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { composeEmail, isSafeAddress, messageId } from '../../../../src/channels/email/message/compose.js'
import { SendError } from '../../../../src/channels/provider.js'
import fc from '../../../support/generated.js'
import { email } from '../messages.js'

const parse = (raw: Buffer): Promise<Email> => PostalMime.parse(raw)
const linesOf = (raw: Buffer): string[] => raw.toString('latin1').split('\r\n')
const headerNames = (raw: Buffer): string[] =>
  raw
    .toString('latin1')
    .split('\r\n\r\n')[0]!
    .split('\r\n')
    .filter(line => !/^[ \t]/.test(line))
    .map(line => line.slice(0, line.indexOf(':')))

const EXPECTED = ['From', 'To', 'Subject', 'Date', 'Message-ID', 'Auto-Submitted', 'MIME-Version', 'Content-Type']

/** What every message must be, whatever is in it. */
function expectWellFormed(raw: Buffer): void {
  expect(raw.toString('latin1')).not.toMatch(/[^\r]\n|\r[^\n]|\u0000/)
  expect(raw.subarray(-2).toString()).toBe('\r\n')
  for (const line of linesOf(raw)) expect(line.length).toBeLessThanOrEqual(998)
}

describe('a composed e-mail', () => {
  test('is read back as it was given: names, subject, both bodies, date', async () => {
    const message = email()
    const read = await parse(composeEmail(message))
    expect(read.from).toEqual({ name: 'Órgão de Avisos', address: 'avisos@orgao.example.com' })
    expect(read.to).toEqual([{ name: 'João da Silva', address: 'joao@example.net' }])
    expect(read.subject).toBe('Notificação nº 1')
    expect(read.text?.trim()).toBe(message.text)
    expect(read.html?.trim()).toBe(message.html)
    expect(read.date).toBe('2026-07-18T04:01:32.000Z')
    expect(read.attachments).toEqual([])
  })

  test('has the same bytes at every attempt, and a Message-ID made of the reference and the sender’s domain', async () => {
    const [first, second] = [composeEmail(email()), composeEmail(email())]
    expect(first.equals(second)).toBe(true)
    expect((await parse(first)).messageId).toBe('<019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b.email.1@orgao.example.com>')
    expect(messageId({ reference: 'a b>\r\nX: (1)', from: 'x@y.example' })).toBe('<a%20b%3E%0D%0AX%3A%20%281%29@y.example>')
  })

  test('has exactly the headers that it should have', () => {
    expect(headerNames(composeEmail(email()))).toEqual(EXPECTED)
    const asked = composeEmail(email({ replyTo: 'b+1@bounce.example.com', receiptTo: 'b+1@bounce.example.com' }))
    expect(headerNames(asked)).toEqual([
      'From',
      'To',
      'Reply-To',
      'Subject',
      'Date',
      'Message-ID',
      'Disposition-Notification-To',
      ...EXPECTED.slice(5),
    ])
  })

  test('asks for answers and reading receipts at the addresses given', async () => {
    const read = await parse(composeEmail(email({ replyTo: 'b+1@bounce.example.com', receiptTo: 'b+2@bounce.example.com' })))
    expect(read.replyTo).toEqual([{ name: 'Órgão de Avisos', address: 'b+1@bounce.example.com' }])
    expect(read.headers.find(({ key }) => key === 'disposition-notification-to')?.value).toBe('<b+2@bounce.example.com>')
  })

  test('carries attachments of any name and content', async () => {
    const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7) & 255)
    const names = [
      'contrato.pdf',
      'Notificação de débito nº 12 – João.pdf',
      'com "aspas" e \\barra.txt',
      `${'relatório muito comprido '.repeat(8)}.xlsx`,
      '日本語の請求書.pdf',
      "l'été; (100%) 'fin'.png",
      '🎉.txt',
      'carta.eml',
      'sem-extensao',
    ]
    const raw = composeEmail(email({ attachments: names.map(name => ({ name, bytes })) }))
    expectWellFormed(raw)
    const read = await parse(raw)
    expect(read.attachments.map(({ filename }) => filename)).toEqual(names)
    for (const { content } of read.attachments) expect(Buffer.from(content as ArrayBuffer).equals(bytes)).toBe(true)
    expect(read.attachments.map(({ mimeType }) => mimeType)).toEqual([
      'application/pdf',
      'application/pdf',
      'text/plain',
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      'application/pdf',
      'image/png',
      'text/plain',
      'application/octet-stream',
      'application/octet-stream',
    ])
    expect(read.text?.trim()).toBe('Olá, João.')
  })

  test('carries an empty attachment, and one that is a view into a larger buffer', async () => {
    const whole = Buffer.from('--abcdef--')
    const raw = composeEmail(
      email({
        attachments: [
          { name: 'vazio.txt', bytes: new Uint8Array() },
          { name: 'parte.txt', bytes: whole.subarray(2, 8) },
        ],
      }),
    )
    const read = await parse(raw)
    expect(read.attachments.map(({ content }) => Buffer.from(content as ArrayBuffer).toString())).toEqual(['', 'abcdef'])
  })

  test('folds its headers to 78 columns where there is a blank or an encoded word to fold at', () => {
    const raw = composeEmail(email({ subject: 'Comunicação de decisão '.repeat(30), toName: 'Maria das Dores '.repeat(12) }))
    const head = raw.toString('latin1').split('\r\n\r\n')[0]!
    for (const line of head.split('\r\n')) expect(line.length, line).toBeLessThanOrEqual(78)
  })

  test('has no line over 78 columns in its bodies', async () => {
    const html = `<p>${'x'.repeat(5_000)} ${'á'.repeat(3_000)}</p>`
    const raw = composeEmail(email({ html, text: `${'palavra '.repeat(2_000)}` }))
    for (const line of linesOf(raw)) expect(line.length).toBeLessThanOrEqual(78)
    expect((await parse(raw)).html?.trim()).toBe(html)
  })

  test('quotes what servers on the way would change: a leading dot, "From", blanks at the end of a line', async () => {
    const text = ['.começa com ponto', 'From aqui', 'fim com brancos  ', '.', 'e tab\t', 'fim'].join('\n')
    const raw = composeEmail(email({ text }))
    const body = raw.toString('latin1').split('\r\n\r\n').slice(1).join('\r\n\r\n')
    expect(body).not.toMatch(/^\.|^From|[ \t]$/m)
    expect((await parse(raw)).text?.trim()).toBe(text)
  })

  test('turns every kind of line break into CRLF', async () => {
    const raw = composeEmail(email({ text: 'um\ndois\r\ntrês\rquatro\n\n\ncinco' }))
    expectWellFormed(raw)
    expect((await parse(raw)).text?.replace(/\r\n/g, '\n').trim()).toBe('um\ndois\ntrês\nquatro\n\n\ncinco')
  })
})

describe('header injection', () => {
  const evil = [
    'Oi\r\nBcc: vitima@example.org',
    'Oi\nBcc: vitima@example.org',
    'Oi\rBcc: vitima@example.org',
    'Oi\r\n\r\n<script>corpo</script>',
    'Oi\u0000Bcc: x@y.example',
    'Oi\u0085Bcc: x@y.example',
    'Oi\u2028Bcc: x@y.example',
    '=?UTF-8?Q?Oi=0D=0ABcc:_x@y.example?=',
    `${'a'.repeat(2_000)}\r\nBcc: x@y.example`,
    '"\r\n.\r\nMAIL FROM:<x@y.example>\r\n',
  ]

  test.each(evil.map(text => [text.slice(-50), text]))(
    '%j in subject, names or file name adds no header and no line',
    async (_, text) => {
      const raw = composeEmail(
        email({
          subject: text,
          toName: text,
          fromName: text,
          replyTo: 'b@bounce.example.com',
          attachments: [{ name: text, bytes: Buffer.from('x') }],
        }),
      )
      expectWellFormed(raw)
      expect(headerNames(raw)).toEqual(['From', 'To', 'Reply-To', ...EXPECTED.slice(2)])
      const read = await parse(raw)
      expect(read.bcc).toBeUndefined()
      expect(read.to?.map(({ address }) => address)).toEqual(['joao@example.net'])
      expect(read.from?.address).toBe('avisos@orgao.example.com')
      expect(read.attachments).toHaveLength(1)
      expect(read.text?.trim()).toBe('Olá, João.')
    },
  )

  test('a subject that looks encoded is shown as it was written', async () => {
    const subject = '=?UTF-8?Q?Parab=C3=A9ns?='
    expect((await parse(composeEmail(email({ subject })))).subject).toBe(subject)
  })

  test('a name that is an address stays a name', async () => {
    for (const toName of ['outro@example.org', 'a@b.example, c@d.example', 'Fulano <x@y.example>', '"', '\\', '(nota)', ';:']) {
      const read = await parse(composeEmail(email({ toName })))
      expect(read.to).toEqual([{ name: toName, address: 'joao@example.net' }])
    }
  })

  test.each(
    [
      'a@b.example, c@d.example',
      'a@b.example>\r\nBcc: x@y.example',
      'a b@c.example',
      '<a@b.example>',
      'a@b.example\n',
      'a@[127.0.0.1]',
      'sem-arroba',
      `${'a'.repeat(320)}@b.example`,
    ].map(address => [address.slice(-50), address]),
  )('%j as recipient, sender or reply address is refused for good', (_, address) => {
    expect(isSafeAddress(address)).toBe(false)
    for (const changes of [{ to: address }, { from: address }, { replyTo: address }, { receiptTo: address }]) {
      const error = (() => {
        try {
          composeEmail(email(changes))
        } catch (error) {
          return error
        }
      })()
      expect(error).toBeInstanceOf(SendError)
      expect((error as SendError).kind).toBe('permanent')
    }
  })
})

describe('any text at all', () => {
  const text = fc.string({ unit: 'binary', maxLength: 300 })
  /** How a header shows it: controls and line breaks as blanks. */
  const shown = (value: string): string =>
    value
      .toWellFormed()
      .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
      .trim()

  test('comes back from subject, name and bodies, and the message stays well formed', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, text, async (subject, toName, body) => {
        const raw = composeEmail(email({ subject, toName, text: `|${body}|`, html: `<p>${body}</p>` }))
        expectWellFormed(raw)
        expect(headerNames(raw)).toEqual(EXPECTED)
        const read = await parse(raw)
        expect(read.subject ?? '').toBe(shown(subject))
        expect(read.to).toEqual([{ name: shown(toName), address: 'joao@example.net' }])
        expect(read.text?.replace(/\r\n/g, '\n').trim()).toBe(`|${body.toWellFormed()}|`.replace(/\r\n|\r/g, '\n'))
      }),
      { numRuns: 300 },
    )
  })

  test('comes back from file names', async () => {
    await fc.assert(
      fc.asyncProperty(text, async name => {
        const raw = composeEmail(email({ attachments: [{ name, bytes: Buffer.from('x') }] }))
        expectWellFormed(raw)
        const read = await parse(raw)
        expect(read.attachments[0]!.filename ?? '').toBe(shown(name))
      }),
      { numRuns: 200 },
    )
  })
})
