import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import PostalMime from 'postal-mime'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { EmailMessage } from '../../src/channels/email/email-message.js'
import { smtpProvider } from '../../src/channels/email/smtp/smtp.js'
import type { Carrier } from '../../src/channels/provider.js'
import { email } from '../channels/email/messages.js'
import { findProgram } from '../support/programs/other-programs.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { smtpSink } from './smtp-sink.js'

const program = findProgram('smtp-sink')
const never = new AbortController().signal

async function carrier(port: number, pool = 5): Promise<Carrier<EmailMessage>> {
  const opened = await smtpProvider({ signer: null }).open(new URL(`smtp://127.0.0.1:${port}?tls=off&pool=${pool}`))
  onTestFinished(() => opened.close())
  return opened
}

describe.skipIf(program === null)('against Postfix’s smtp-sink', () => {
  test.each([
    ['with pipelining', []],
    ['without pipelining', ['-p']],
    ['without ESMTP', ['-e']],
  ])('%s, every message arrives whole, once', async (_, options) => {
    const folder = temporaryFolder()
    const opened = await carrier(await smtpSink(program!, [...options, '-d', 'mail.'], folder))
    const texts = Array.from({ length: 40 }, (_, index) => `Mensagem nº ${index}\n.\n..ponto\nfim`)
    await Promise.all(texts.map((text, index) => opened.send(email({ to: `p${index}@example.net`, text }), never)))
    const files = readdirSync(folder).map(name => readFileSync(join(folder, name)))
    const read = await Promise.all(files.map(file => PostalMime.parse(file)))
    expect(read.map(({ text }) => text?.trim().replace(/\r\n/g, '\n')).sort()).toEqual([...texts].sort())
    expect(read[0]!.subject).toBe('Notificação nº 1')
  })

  test.each([
    ['RCPT', '550 5.1.1 User unknown', 'permanent', 'O endereço do destinatário não existe.'],
    ['MAIL', '553 5.1.8 Sender refused', 'temporary', 'O servidor de e-mail recusou o remetente.'],
    ['.', '554 5.7.1 Spam', 'permanent', 'O servidor recusou a mensagem por suas regras.'],
    ['CONNECT', '554 5.7.1 Blocked', 'temporary', expect.stringMatching(/recusou a conexão\..* EMAIL_URL\.$/)],
  ])('a hard refusal at %s', async (command, reply, kind, reason) => {
    const opened = await carrier(await smtpSink(program!, ['-f', command, '-B', reply]))
    await expect(opened.send(email(), never)).rejects.toMatchObject({ kind, reason, answer: reply })
  })

  test.each(['CONNECT', 'EHLO,HELO', 'MAIL', 'RCPT', 'DATA', '.'])('a soft refusal at %s is temporary', async command => {
    const opened = await carrier(await smtpSink(program!, ['-r', command]))
    await expect(opened.send(email(), never)).rejects.toMatchObject({ kind: 'temporary', answer: expect.stringMatching(/^4/) })
  })

  test('the outcome is unknown after a disconnection at the end of the data, and known after an earlier one', async () => {
    const late = await carrier(await smtpSink(program!, ['-q', '.']))
    await expect(late.send(email(), never)).rejects.toMatchObject({ kind: 'uncertain' })
    const early = await carrier(await smtpSink(program!, ['-q', 'RCPT']))
    await expect(early.send(email(), never)).rejects.toMatchObject({ kind: 'temporary' })
  })
})
