import { describe, expect, test } from 'vitest'
import type { EmailMessage } from '../../src/channels/email/email-message.js'
import { composeEmail } from '../../src/channels/email/message/compose.js'
import { email } from '../channels/email/messages.js'
import { findProgram, run } from '../support/programs/other-programs.js'

const program = findProgram('python3')

/** Python's own reader of mail, under its strict policy: every defect that it sees is reported. */
const READER = `
import sys, json, email, email.policy, base64
raw = base64.b64decode(sys.stdin.read())
m = email.message_from_bytes(raw, policy=email.policy.SMTPUTF8)
text = m.get_body(('plain',))
html = m.get_body(('html',))
parts = list(m.walk())
print(json.dumps({
  'defects': [str(d) for p in parts for d in p.defects] + [str(d) for p in parts for h in p.values() for d in getattr(h, 'defects', [])],
  'subject': m['subject'],
  'from': [[a.display_name, a.addr_spec] for a in m['from'].addresses],
  'to': [[a.display_name, a.addr_spec] for a in m['to'].addresses],
  'id': m['message-id'].strip(),
  'text': text.get_content().replace('\\r', '').rstrip('\\n'),
  'html': html.get_content().replace('\\r', '').rstrip('\\n'),
  'files': [[a.get_filename(), base64.b64encode(a.get_content() if isinstance(a.get_content(), bytes) else a.get_content().encode()).decode()] for a in m.iter_attachments()],
}))
`

describe.skipIf(program === null)('read by Python (python3 email)', () => {
  const read = (message: EmailMessage): Record<string, unknown> =>
    JSON.parse(run(program!, ['-c', READER], composeEmail(message).toString('base64')))

  test.each<[string, Partial<EmailMessage>]>([
    ['a plain message', {}],
    [
      'accents everywhere',
      { subject: 'Notificação: decisão nº 1 – “urgente” 🎉', toName: 'José Antônio d’Ávila', fromName: 'Órgão Público' },
    ],
    ['a long subject', { subject: 'Comunicação de decisão administrativa '.repeat(10).trim() }],
    ['specials in names', { toName: 'Silva, João (Jr.) <x@y>', fromName: 'a@b.example' }],
    [
      'files',
      {
        attachments: [
          { name: 'Notificação nº 1.pdf', bytes: Buffer.from('um') },
          { name: `${'relatório '.repeat(20)}.pdf`, bytes: Buffer.alloc(5_000, 3) },
        ],
      },
    ],
    ['line breaks and dots', { text: '.\n..\nFrom aqui\n\nfim ç', html: '<p>a</p>\n.\n<p>=C3</p>' }],
  ])('%s comes back as given, without a defect', (_, changes) => {
    const message = email(changes)
    expect(read(message)).toEqual({
      defects: [],
      subject: message.subject,
      from: [[message.fromName, message.from]],
      to: [[message.toName, message.to]],
      id: '<019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b.email.1@orgao.example.com>',
      text: message.text,
      html: message.html,
      files: message.attachments.map(({ name, bytes }) => [name, Buffer.from(bytes).toString('base64')]),
    })
  })
})
