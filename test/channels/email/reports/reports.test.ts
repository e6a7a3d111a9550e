import { describe, expect, onTestFinished, test } from 'vitest'
import { createComposer } from '../../../../src/channels/email/message/composer.js'
import { withoutQuotedText } from '../../../../src/channels/email/reports/reply-text.js'
import { readReport } from '../../../../src/channels/email/reports/reports.js'
import fc from '../../../support/generated.js'
import * as samples from './report-samples.js'

describe('reports about delivery', () => {
  test('Postfix: a failure', async () => {
    expect(await readReport(samples.postfixFailure)).toEqual({
      kind: 'dsn',
      messages: ['019a1b2c-3d4e+7f50', '019a1b2c@orgao.example.com'],
      entries: [
        {
          action: 'failed',
          status: '5.1.1',
          diagnostic: '550 5.1.1 <joao@example.net>: Recipient address rejected: User unknown',
          recipients: ['joao@example.net'],
        },
      ],
    })
  })

  test('Postfix: relayed to the next server', async () => {
    expect(await readReport(samples.postfixSuccess)).toMatchObject({
      kind: 'dsn',
      entries: [{ action: 'relayed', status: '2.0.0', recipients: ['joao@example.net'] }],
    })
  })

  test('Postfix: still being retried', async () => {
    expect(await readReport(samples.postfixDelay)).toMatchObject({
      kind: 'dsn',
      entries: [
        {
          action: 'delayed',
          status: '4.4.1',
          diagnostic: 'connect to mx.example.net[192.0.2.25]:25: Connection timed out',
        },
      ],
    })
  })

  test('Exchange: the part for machines is found below alternatives, the returned message is not read', async () => {
    expect(await readReport(samples.exchangeFailure)).toEqual({
      kind: 'dsn',
      messages: ['019a1b2c@orgao.example.com'],
      entries: [
        {
          action: 'failed',
          status: '5.1.10',
          diagnostic:
            '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient maria@empresa.example.com not found by SMTP address lookup',
          recipients: ['maria@empresa.example.com'],
        },
      ],
    })
  })

  test('Gmail: a full mailbox', async () => {
    expect(await readReport(samples.gmailFailure)).toMatchObject({
      kind: 'dsn',
      messages: ['019a1b2c@orgao.example.com'],
      entries: [{ action: 'failed', status: '5.2.2', recipients: ['fulano@gmail.example'] }],
    })
  })

  test('qmail: a bounce in plain words', async () => {
    expect(await readReport(samples.qmailFailure)).toEqual({
      kind: 'dsn',
      messages: ['019a1b2c@orgao.example.com'],
      entries: [
        {
          action: 'failed',
          status: '5.1.1',
          diagnostic: 'Remote host said: 550 sorry, no mailbox here by that name. (#5.1.1)',
          recipients: ['pedro@antigo.example.org'],
        },
      ],
    })
  })

  test('Exim: a bounce in plain words with the recipient in a header', async () => {
    expect(await readReport(samples.eximFailure)).toMatchObject({
      kind: 'dsn',
      entries: [
        {
          action: 'failed',
          status: '5.7.1',
          recipients: ['ana@exim.example.org'],
          diagnostic: '554 5.7.1 Relay access denied',
        },
      ],
    })
  })

  test('an old gateway: a warning in plain words is a delay', async () => {
    expect(await readReport(samples.oldWarning)).toMatchObject({
      kind: 'dsn',
      entries: [{ action: 'delayed', status: null, recipients: ['pedro@antigo.example.org'] }],
    })
  })

  const status = (fields: string): Buffer =>
    Buffer.from(
      [
        'Content-Type: multipart/report; boundary=B; report-type=delivery-status',
        '',
        '--B',
        'Content-Type: message/delivery-status',
        '',
        fields.replace(/\n/g, '\r\n'),
        '--B--',
        '',
      ].join('\r\n'),
    )

  test('several recipients, one report each, with or without the empty line between them', async () => {
    for (const gap of ['\n', '']) {
      const report = await readReport(
        status(
          `Reporting-MTA: dns; x\n\nFinal-Recipient: rfc822; a@x.example\nAction: failed\nStatus: 5.1.1\n${gap}Final-Recipient: rfc822; b@x.example\nAction: delivered\nStatus: 2.1.5\n`,
        ),
      )
      expect(report).toMatchObject({
        kind: 'dsn',
        entries: [
          { action: 'failed', recipients: ['a@x.example'] },
          { action: 'delivered', recipients: ['b@x.example'] },
        ],
      })
    }
  })

  test('sloppy fields: case, blanks, comments, a missing action, everything in one group', async () => {
    const reports: [string, object][] = [
      [
        'FINAL-RECIPIENT: RFC822;<A@x.example>\nACTION: Failed (bad address)\nSTATUS: 5.1.1 (User unknown)\n',
        { action: 'failed', status: '5.1.1', recipients: ['A@x.example'] },
      ],
      [
        'Reporting-MTA: dns; x\nFinal-Recipient: a@x.example\nStatus: 4.2.2\n',
        { action: 'delayed', status: '4.2.2', recipients: ['a@x.example'] },
      ],
      ['\n\n\nFinal-Recipient: rfc822; a@x.example\nAction: expanded\nStatus: 2.0.0\n', { action: 'expanded' }],
      [
        'Original-Recipient: rfc822;a@x.example\nAction: failed\n',
        { action: 'failed', status: null, recipients: ['a@x.example'] },
      ],
    ]
    for (const [fields, entry] of reports) {
      expect(await readReport(status(fields)), fields).toMatchObject({ kind: 'dsn', entries: [entry] })
    }
  })

  test('the international form (RFC 6533) is read too', async () => {
    const raw = samples.postfixFailure.toString().replace('message/delivery-status', 'message/global-delivery-status')
    expect(await readReport(Buffer.from(raw))).toMatchObject({ kind: 'dsn', entries: [{ status: '5.1.1' }] })
  })

  test('an original recipient is read as it is, as xtext, and in its international form', async () => {
    const recipients = async (field: string): Promise<unknown> => {
      const report = await readReport(
        status(`Final-Recipient: rfc822; caixa@x.example\nOriginal-Recipient: ${field}\nAction: failed\n`),
      )
      return report.kind === 'dsn' && report.entries[0]!.recipients
    }
    expect(await recipients('rfc822;ana+2Bboleto@x.example')).toEqual([
      'caixa@x.example',
      'ana+2Bboleto@x.example',
      'ana+boleto@x.example',
    ])
    expect(await recipients('utf-8;jo\\x{E3}o@x.example')).toEqual(['caixa@x.example', 'joão@x.example'])
    expect(await recipients('utf-8;\\x{FFFFFF}@x.example')).toEqual(['caixa@x.example', '@x.example'])
  })

  test('a report for machines that says nothing is no delivery', async () => {
    expect((await readReport(status('Reporting-MTA: dns; x\n\nAction: confused\n'))).kind).not.toBe('dsn')
  })
})

describe('reports about reading', () => {
  test('a person let the mail program answer: displayed', async () => {
    expect(await readReport(samples.readingReceipt)).toEqual({
      kind: 'mdn',
      messages: ['019a1b2c@orgao.example.com'],
      recipients: ['joao@example.net'],
      disposition: 'displayed',
      automatic: false,
    })
  })

  test('a machine answered by itself: deleted', async () => {
    expect(await readReport(samples.automaticReceipt)).toMatchObject({ kind: 'mdn', disposition: 'deleted', automatic: true })
  })
})

test('a complaint says of which kind', async () => {
  expect(await readReport(samples.complaint)).toEqual({
    kind: 'complaint',
    messages: ['019a1b2c@orgao.example.com'],
    recipients: [],
    feedbackType: 'abuse',
  })
})

describe('answers of machines', () => {
  test.each([
    ['Auto-Submitted', samples.vacation],
    ['Precedence', samples.person('fora', 'Precedence: auto_reply\n')],
    ['X-Autoreply', samples.person('fora', 'X-Autoreply: yes\n')],
    [
      'a subject in Portuguese',
      Buffer.from(samples.person('fora').toString().replace('Re: Aviso', '=?utf-8?Q?Resposta_autom=C3=A1tica:_Aviso?=')),
    ],
    ['a subject in English', Buffer.from(samples.person('out').toString().replace('Re: Aviso', 'Out of office: Aviso'))],
  ])('are told by %s', async (_, raw) => {
    expect(await readReport(raw)).toEqual({ kind: 'automatic' })
  })

  test('"Auto-Submitted: no" is a person', async () => {
    expect((await readReport(samples.person('Oi', 'Auto-Submitted: no\n'))).kind).toBe('reply')
  })
})

describe('answers of people', () => {
  test('come without the quoted message', async () => {
    const body =
      'Recebido, obrigado.\n\nJoão\n\nEm sáb., 18 de jul. de 2026 às 01:01, Órgão <avisos@orgao.example.com> escreveu:\n\n> Olá, João.\n> Leia.'
    expect(await readReport(samples.person(body))).toEqual({
      kind: 'reply',
      text: 'Recebido, obrigado.\n\nJoão',
      from: expect.stringContaining('@'),
      id: null,
      files: [],
    })
  })

  test('in HTML alone are read as text', async () => {
    const raw = samples
      .person('<div>Não concordo.</div><blockquote><p>Olá, João</p></blockquote>')
      .toString()
      .replace('text/plain', 'text/html')
    expect(await readReport(Buffer.from(raw))).toMatchObject({ kind: 'reply', text: 'Não concordo.' })
  })

  test('in much HTML are made text elsewhere, and no more of them than is looked at', async () => {
    const composer = createComposer(1)
    onTestFinished(() => composer.close())
    const paragraphs = '<p>Não <b>concordo</b>.</p>\r\n'.repeat(4_000)
    const raw = Buffer.from(samples.person(paragraphs).toString().replace('text/plain', 'text/html'))
    const asked: [length: number, elsewhere: boolean][] = []
    const report = await readReport(raw, html => {
      const text = composer.toText(html)
      asked.push([html.length, text instanceof Promise])
      return text
    })
    expect(asked).toEqual([[65_536, true]])
    expect(report).toEqual(await readReport(raw))
    expect(report).toMatchObject({ kind: 'reply', text: expect.stringMatching(/^Não concordo\./) })
  })

  test('that quote a bounce are still answers', async () => {
    const report = await readReport(samples.person('Recebi este erro: 550 5.1.1 User unknown. Delivery failed?'))
    expect(report.kind).toBe('reply')
  })

  test.each([
    [
      'Gmail in two lines',
      'Sim.\n\nEm sáb., 18 de jul. de 2026 às 01:01, Órgão de Avisos <\navisos@orgao.example.com> escreveu:\n\n> Olá',
      'Sim.',
    ],
    ['Gmail in English', 'Yes.\n\nOn Sat, Jul 18, 2026 at 1:01 AM Avisos <a@b.example> wrote:\n> Hi', 'Yes.'],
    [
      'Outlook',
      'Ciente.\n\n________________________________\nDe: Avisos <a@b.example>\nEnviado: sábado\nPara: João\nAssunto: Aviso\n\nOlá',
      'Ciente.',
    ],
    [
      'Outlook without a rule',
      'Ciente.\n\nDe: Avisos <a@b.example>\nEnviada em: sábado\nPara: João\nAssunto: Aviso\n\nOlá',
      'Ciente.',
    ],
    ['old Outlook', 'Ok\n\n-----Mensagem original-----\nDe: Avisos\n', 'Ok'],
    ['Thunderbird', 'Certo.\n\nEm 18/07/2026 01:01, Avisos escreveu:\n> Olá\n>\n> Leia\n', 'Certo.'],
    ['a signature', 'Certo.\n-- \nJoão\nTel. 1', 'Certo.'],
    ['answers between the lines', '> Pode vir?\nPosso.\n> Quando?\nAmanhã.', 'Posso.\nAmanhã.'],
    [
      'a sentence that begins like a quotation',
      'Em casa ninguém leu.\nDe: nada\nObrigado',
      'Em casa ninguém leu.\nDe: nada\nObrigado',
    ],
    ['only history', 'Em 18/07/2026 01:01, Avisos escreveu:\n> Olá', ''],
    ['nothing', '', ''],
  ])('%s', (_, text, own) => {
    expect(withoutQuotedText(text)).toBe(own)
    expect(withoutQuotedText(text.replace(/\n/g, '\r\n'))).toBe(own)
  })

  test('are bounded in length', () => {
    expect(withoutQuotedText('x'.repeat(100_000)).length).toBe(10_000)
    expect(withoutQuotedText('linha\n'.repeat(100_000)).length).toBeLessThanOrEqual(12_000)
  })
})

describe('whatever arrives', () => {
  test('is read or called unreadable, never an exception', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 2_000 }), async bytes => {
        expect((await readReport(Buffer.from(bytes))).kind).toMatch(/^(dsn|mdn|complaint|automatic|reply|unreadable)$/)
      }),
      { numRuns: 200 },
    )
  })

  test('a real report with random damage is read or called unreadable', async () => {
    const originals = [samples.postfixFailure, samples.exchangeFailure, samples.gmailFailure, samples.readingReceipt]
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...originals),
        fc.array(fc.tuple(fc.nat(3_000), fc.nat(255)), { maxLength: 20 }),
        async (original, damage) => {
          const raw = Buffer.from(original)
          for (const [at, byte] of damage) raw[at % raw.length] = byte
          expect((await readReport(raw)).kind).toMatch(/^(dsn|mdn|complaint|automatic|reply|unreadable)$/)
        },
      ),
      { numRuns: 200 },
    )
  })

  test('nested a thousand deep is unreadable, not a crash', async () => {
    const open = Array.from(
      { length: 1_000 },
      (_, depth) => `Content-Type: multipart/mixed; boundary=b${depth}\r\n\r\n--b${depth}\r\n`,
    )
    expect(await readReport(Buffer.from(open.join('')))).toEqual({ kind: 'unreadable' })
  })

  test('a report that returns megabytes is read by its beginning', async () => {
    const [head] = samples.postfixFailure.toString('latin1').split('--4gT8xq1zK0z9.1784347293/relay.example.com--')
    const raw = Buffer.concat([Buffer.from(head!, 'latin1'), Buffer.alloc(30_000_000, 'returned text\r\n')])
    expect(await readReport(raw)).toMatchObject({ kind: 'dsn', entries: [{ status: '5.1.1' }] })
  })

  test('a mebibyte of empty lines, or of nothing but tags, costs no more than twenty long letters', async () => {
    const head = (type: string): Buffer => Buffer.from(`Subject: x\r\nContent-Type: text/${type}\r\n\r\n`)
    /** Processor time, which does not grow with other programs on the machine; the least of three, for what this one does beside. */
    const took = async (raw: Buffer): Promise<number> => {
      const spent: number[] = []
      for (let round = 0; round < 3; round++) {
        const start = process.cpuUsage()
        await readReport(raw)
        const { user, system } = process.cpuUsage(start)
        spent.push(user + system)
      }
      return Math.min(...spent)
    }
    const letter = Buffer.concat([head('plain'), Buffer.alloc(250_000, `${'palavra '.repeat(6)}\r\n`)])
    await took(letter)
    const usual = await took(letter)
    for (const [type, filling] of [
      ['plain', '\n'],
      ['plain', 'a\r\n'],
      ['html', '<b>'],
      ['html', '<blockquote>'],
    ] as const) {
      const raw = Buffer.concat([head(type), Buffer.alloc(1_048_576, filling)])
      expect(await took(raw), JSON.stringify(filling)).toBeLessThan(20 * usual)
    }
  })

  test('ten thousand recipients in one report are not all listed', async () => {
    const group = 'Final-Recipient: rfc822; a@x.example\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n'
    const raw = Buffer.from(`Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x\r\n\r\n${group.repeat(10_000)}`)
    const report = await readReport(raw)
    expect(report.kind === 'dsn' && report.entries.length).toBe(50)
  })
})
