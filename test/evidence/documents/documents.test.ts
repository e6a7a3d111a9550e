import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Json } from '../../../src/domain/evidence/canonical-json.js'
import { gradeLabels, gradeWords } from '../../../src/domain/evidence/grade.js'
import { createDocuments, type DocumentParts } from '../../../src/evidence/documents/documents.js'
import { describeData } from '../../../src/evidence/documents/event-details.js'
import { signatureNote } from '../../../src/evidence/documents/legal-notes.js'
import { ThreadDied } from '../../../src/runtime/thread-pool.js'
import { createTypesetter, TypesetterBusy } from '../../../src/runtime/typesetting/typesetter.js'
import type { Dossier } from '../../../src/store/evidence/dossier.js'
import { needPrograms } from '../../support/programs/needed-programs.js'
import { pngOf } from '../../support/programs/pictures.js'
import { certificate, contents, dossiers, ID, logProof, SECRET, verification } from './dossiers.js'

/** What the documents say, as poppler reads it. */
const typesetter = createTypesetter(1)
const folder = mkdtempSync(join(tmpdir(), 'carteiro-documents-'))
afterAll(async () => {
  await typesetter.close()
  rmSync(folder, { recursive: true, force: true })
})

const makerOf = (more: Partial<DocumentParts> = {}) =>
  createDocuments({
    typesetter,
    openSigner: async () => ({ certificate, sign: async pdf => ({ pdf }) }),
    verificationOf: () => verification,
    readProof: async () => null,
    readContents: async () => [],
    makeBundle: async () => null,
    now: () => new Date(),
    ...more,
  })

let files = 0
function fileOf(pdf: Uint8Array | null | { message: string }): string {
  if (pdf === null || 'message' in pdf) throw new Error('no document')
  const file = join(folder, `${++files}.pdf`)
  writeFileSync(file, pdf)
  return file
}
needPrograms('pdftotext', 'pdftoppm', 'qpdf', 'zbarimg')
const run = (program: string, ...options: string[]): string => execFileSync(program, options, { encoding: 'utf8' })
const textOf = (file: string, ...options: string[]): string =>
  run('pdftotext', ...options, '-layout', file, '-').replaceAll('\u200b', '')
/** Without the breaks of lines. */
const flat = (text: string): string => text.replaceAll(/\s+/g, ' ')
const pagesOf = (file: string): number => Number(/Pages:\s+(\d+)/.exec(run('pdfinfo', file))![1])

/** How much of a page is the pale red of the words across it. */
function redShare(file: string, page: number): number {
  const ppm = execFileSync('pdftoppm', ['-r', '30', '-f', String(page), '-l', String(page), file], { maxBuffer: 2 ** 24 })
  const pixels = ppm.subarray(ppm.indexOf('255\n') + 4)
  let red = 0
  for (let at = 0; at + 2 < pixels.length; at += 3) if (pixels[at]! - pixels[at + 1]! > 12 && pixels[at]! > 200) red++
  return red / (pixels.length / 3)
}

const proofOf = async (dossier: Dossier, more?: Partial<DocumentParts>) => fileOf(await makerOf(more).sendingProof(dossier))
const reportOf = async (dossier: Dossier, more?: Partial<DocumentParts>) => fileOf(await makerOf(more).report(dossier))
const whole: Partial<DocumentParts> = {
  readProof: async () => logProof(29),
  readContents: async () => contents,
  makeBundle: async () => ({ name: 'evidencia.zip', bytes: Buffer.from('PK') }),
}

describe('the sending proof', () => {
  test('has a page for each used channel, each with status, dates, recipient, reference, sender, hash and the code', async () => {
    const file = await proofOf(dossiers.full())
    expect(pagesOf(file)).toBe(5)
    for (let page = 1; page <= 5; page++) {
      const text = flat(textOf(file, '-f', String(page), '-l', String(page)))
      for (const words of [
        ID,
        'Maria da Conceição',
        'contrato-4711',
        'Banco Exemplo S.A.',
        '11.222.333/0001-81',
        '15/11/2026 11:00',
        verification.code,
        'SHA-256 do conteúdo',
      ])
        expect(text).toContain(words)
      expect(text).toContain(`página ${page} de 5`)
      expect(text).toContain(`Ref. ${ID}`)
      expect(text).not.toContain('SIMULADO')
    }
    const text = flat(textOf(file))
    for (const words of [
      'maria.conceicao@example.com',
      '+5511987654321',
      'Respondido',
      'Destinatário, pela resposta certa',
      'Operadora, com assinatura',
      'AA123456785BR',
    ])
      expect(text).toContain(words)
  })

  test('has a tracking code on the page of the letter alone: the digest of a recording is none', async () => {
    const dossier = dossiers.full()
    expect(dossier.deliveries.find(({ channel }) => channel === 'voice')).toMatchObject({
      recording: 'cd'.repeat(32),
      trackingCode: null,
    })
    const file = await proofOf(dossier)
    const pages = dossier.deliveries.map((_, place) => flat(textOf(file, '-f', String(place + 1), '-l', String(place + 1))))
    const tracked = pages.filter(text => text.includes('Código de rastreio'))
    expect(tracked).toEqual([expect.stringContaining('Código de rastreio AA123456785BR')])
    for (const text of pages) expect(text).not.toContain('cdcdcdcd')
  })

  test('its QR code leads to the page of verification', async () => {
    const file = await proofOf(dossiers.full())
    run('pdftoppm', '-r', '200', '-png', '-f', '1', '-l', '1', '-singlefile', file, file)
    expect(run('zbarimg', '-q', '--raw', `${file}.png`).trim()).toBe(verification.url)
  })

  test('keeps to one page a channel however long the texts and however many the events', async () => {
    const long = 'palavra '.repeat(400)
    const dossier = dossiers.full({
      subject: long,
      recipientName: 'W'.repeat(2_000),
      customId: 'x'.repeat(500),
      attachments: Array.from({ length: 60 }, (_, place) => ({
        name: `${'anexo-'.repeat(40)}${place}.pdf`,
        sha256: 'ab'.repeat(32),
        size: 1,
      })),
    })
    const answers = Array.from({ length: 40 }, (_, place) => ({
      ...dossier.events.find(({ type }) => type === 'answered')!,
      seq: 100 + place,
    }))
    const file = await proofOf({ ...dossier, events: [...dossier.events, ...answers] })
    expect(pagesOf(file)).toBe(5)
    expect(flat(textOf(file))).toContain('fatos deste canal estão no laudo')
  })

  test('names an attachment in full where the page has room', async () => {
    const name = 'Demonstrativo do débito atualizado até 15-11-2026.pdf'
    const attachments = [name, 'CONTRATO_DE_FINANCIAMENTO_4711_ASSINADO.pdf'].map(name => ({
      name,
      sha256: 'ab'.repeat(32),
      size: 1,
    }))
    const file = await proofOf(dossiers.full({ attachments }))
    expect(pagesOf(file)).toBe(5)
    const labels = run('pdftotext', '-f', '1', '-l', '1', '-x', '0', '-y', '0', '-W', '175', '-H', '800', file, '-')
    const joined = labels.replaceAll(/[\s\u200b]+/g, '')
    for (const { name } of attachments) expect(joined).toContain(`Anexo:${name.replaceAll(' ', '')}`)
  })

  test('of one that failed everywhere says so, and what was sent all the same', async () => {
    const text = flat(textOf(await proofOf(dossiers.failed())))
    for (const words of [
      'Devolvido',
      'A caixa de e-mail não existe.',
      'Não entregue',
      'Não atendida',
      'Devolvida: endereço incorreto',
    ])
      expect(text).toContain(words)
    expect(text).not.toMatch(/Entregue \d/)
  })

  test('of one in progress tells what is proven and what is not, for the channels that were used alone', async () => {
    const file = await proofOf(dossiers.open())
    expect(pagesOf(file)).toBe(2)
    const text = flat(textOf(file))
    expect(text).toContain('o envio está provado, a entrega ainda não')
    expect(text).toContain('Em verificação')
    expect(text).toContain('Não se sabe se a operadora recebeu a mensagem')
  })

  test('is not there before a channel was sent, and says why', async () => {
    expect(await makerOf().sendingProof(dossiers.accepted())).toEqual({
      message: expect.stringMatching(/^Ainda não há o que comprovar/),
    })
    const never = dossiers.accepted()
    const refused = never.deliveries.map(delivery => ({
      ...delivery,
      state: 'done' as const,
      failure: 'rejected' as const,
      failedAt: new Date(),
    }))
    expect(await makerOf().sendingProof({ ...never, deliveries: refused })).toEqual({
      message: expect.stringMatching(/^Não há envio a comprovar.*laudo/),
    })
  })
})

describe('the report', () => {
  test('shows the tables of the content as a browser does', async () => {
    const head = '<tr><th>Parcela</th><th>Vencimento</th><th>Montante</th></tr>'
    const content = `<table>${head}<tr><td>7</td><td>10/11/2026</td><td>1.234,56</td></tr><tr><td colspan=2>Soma</td><td>3.911,10</td></tr></table>`
    const words = run('pdftotext', '-bbox', await reportOf(dossiers.full({ content })), '-')
    const leftOf = (word: string): string => new RegExp(`xMin="([\\d.]+)"[^>]*>${word}<`).exec(words)![1]!
    expect(leftOf('3.911,10')).toBe(leftOf('Montante'))
    expect(leftOf('Soma')).toBe(leftOf('Parcela'))
  })

  test('tells parties, every event with its grade, the dialogue, the signature, contents, chain, proofs and how to verify', async () => {
    const dossier = dossiers.full()
    const file = await reportOf(dossier, whole)
    const text = flat(textOf(file))
    for (const words of [
      ...['Banco Exemplo S.A.', '11.222.333/0001-81', 'Maria da Conceição', 'maria.conceicao@example.com', 'contrato-4711'],
      ...[
        'TLSv1.3',
        'TLS_AES_256_GCM_SHA384',
        'certificado verificado',
        'RCPT TO 250 2.1.5 Ok',
        '250 2.0.0 Ok: queued as 4XyZ1A2B3C',
        'mx1.example.com',
      ],
      ...[
        'DKIM-Signature: v=1; a=rsa-sha256',
        'stat:DELIVRD',
        'ESME_RTHROTTLED',
        'Objeto entregue ao destinatário',
        'AA123456785BR',
      ],
      ...[
        'SHA-256 da gravação',
        'cd'.repeat(32),
        '198.51.100.77',
        'Android 15',
        'é um verificador de links',
        'Recebi, vou pagar amanhã.',
      ],
      ...['Resposta errada à pergunta', 'Quais são os três últimos dígitos do seu CPF?', 'Podem confirmar que ela leu?'],
      ...['contrato-4711.pdf', 'ef'.repeat(32), 'vencimento antecipado', 'R$ 1.234,56'],
      ...[
        'Registro próprio',
        'Operadora, com assinatura',
        'Aparelho do destinatário',
        'Destinatário, pela resposta certa',
        'Resposta do destinatário',
        'Remetente ou qualquer pessoa',
      ],
      ...['1048577', 'Prova de inclusão do evento 29', 'Carimbo do Tempo'],
      ...[
        'MP 2.200-2/2001',
        'Lei 14.063/2020',
        'art. 369',
        'art. 411',
        'art. 422',
        'art. 439',
        'art. 440',
        'art. 441',
        'art. 225',
        'LGPD',
      ],
      ...[
        'npx carteiro verify evidencia.zip',
        'openssl ts -verify',
        'pdfdetach -saveall laudo.pdf',
        verification.code,
        verification.url,
      ],
    ])
      expect(text).toContain(words)
    for (const { hash, commit } of dossier.events) for (const words of [hash, commit]) expect(text).toContain(words)
    for (const word of gradeWords) expect(text).toContain(gradeLabels[word].short)
    const pages = pagesOf(file)
    for (let page = 1; page <= pages; page++)
      expect(flat(textOf(file, '-f', String(page), '-l', String(page)))).toContain(`página ${page} de ${pages}`)
  })

  test('has the file of evidence inside, as PDF/A-3, in Portuguese, with a title; qpdf finds nothing wrong', async () => {
    const file = await reportOf(dossiers.full(), whole)
    expect(run('pdfdetach', '-list', file)).toContain('evidencia.zip')
    const info = run('pdfinfo', file)
    expect(info).toMatch(/Title:\s+Laudo técnico de notificação: Notificação extrajudicial: contrato 4711/)
    expect(run('qpdf', '--check', file)).toContain('No syntax or stream encoding errors')
    expect(run('qpdf', '--qdf', '--object-streams=disable', file, '-')).toMatch(/\/Lang \(pt\)/)
    expect(run('pdfinfo', '-meta', file)).toMatch(/pdfaid:part>3</)
  })

  test('is honest of one in progress: what waits, what is not known, no checkpoint yet', async () => {
    const text = flat(textOf(await reportOf(dossiers.open())))
    for (const words of [
      'ainda não há prova de envio',
      'Em verificação',
      'Ainda não há: os eventos entram no registro público',
      'Nada foi registrado por este canal até agora.',
      '451 4.7.1 Greylisting',
    ])
      expect(text).toContain(words)
    expect(text).not.toContain('openssl ts')
  })

  test('of one that failed everywhere has the reasons and the carriers’ words', async () => {
    const text = flat(textOf(await reportOf(dossiers.failed())))
    for (const words of [
      'User unknown',
      '131026',
      'O número não tem WhatsApp.',
      'nenhuma: a conexão não era TLS',
      'endereço incorreto',
      'Operadora, com assinatura',
    ])
      expect(text).toContain(words)
  })

  test('is of the events that it has: what was recorded while it was made is in none of its parts', async () => {
    const dossier = dossiers.full()
    const early = { ...dossier, events: dossier.events.slice(0, 6) }
    const [known, late] = contents
    const text = flat(
      textOf(
        await reportOf(early, {
          readProof: async () => logProof(9),
          readContents: async () => [known!, { ...late!, seq: 7 }],
        }),
      ),
    )
    expect(text).toContain('cobre 6 dos 6 eventos deste laudo')
    expect(text).toContain('Prova de inclusão do evento 6')
    expect(text).toContain(known!.sha256)
    expect(text).not.toContain(late!.sha256)
    const only = await reportOf(early, { readProof: async () => ({ ...logProof(9), events: logProof(9).events.slice(6) }) })
    expect(flat(textOf(only))).toContain('Ainda não há: os eventos entram no registro público')
  })

  test('is not there while nothing but the acceptance happened', async () => {
    expect(await makerOf().report(dossiers.accepted())).toBeNull()
  })

  test('data that were erased are missing from it, and it says so', async () => {
    const dossier = dossiers.full({ content: null, recipientName: null, subject: null })
    const events = dossier.events.map(event => ({ ...event, data: null, salt: null }))
    const text = flat(
      textOf(
        await reportOf({
          ...dossier,
          events,
          deliveries: dossier.deliveries.map(delivery => ({ ...delivery, recipient: null })),
        }),
      ),
    )
    expect(text).toContain('O texto da notificação foi apagado')
    expect(text).toContain('apagados, como a lei permite')
    expect(text).not.toContain('Maria')
  })
})

describe('a character of two halves at a cut does not stop a document', () => {
  const face = '😀'
  const ended = (units: number): string => `${'a'.repeat(units - 1)}${face}${'b'.repeat(60)}`
  const said = (name: string, value: Json) => {
    const dossier = dossiers.full()
    const [first, second, ...rest] = dossier.events
    return {
      ...dossier,
      events: [first!, { ...second!, data: { ...(second!.data as object), [name]: value } }, ...rest],
    } as Dossier
  }
  const cases: Record<string, Dossier> = {
    'the title of the proof': dossiers.full({ subject: ended(90) }),
    'the title of the report': dossiers.full({ subject: ended(160) }),
    'a fact of the proof': dossiers.full({ customId: ended(110) }),
    'a fact of the report': dossiers.full({ customId: ended(600) }),
    'the name of an attachment': dossiers.full({
      attachments: [{ name: `${ended(59)}.pdf`, sha256: 'ab'.repeat(32), size: 1 }],
    }),
    'the short name of an attachment': dossiers.full({
      subject: 'palavra '.repeat(400),
      recipientName: 'W'.repeat(2_000),
      customId: 'x'.repeat(500),
      attachments: Array.from({ length: 3 }, () => ({ name: `${ended(17)}.pdf`, sha256: 'ab'.repeat(32), size: 1 })),
    }),
    'a value of an event': said('diagnostic', ended(600)),
    'a line of an event': said('reply', ['um', 'dois', ended(1_000)].join('\n')),
    'the message': dossiers.full({ content: `<p>${ended(40_000 - '<p>'.length)}</p>` }),
    'a half that was stored': dossiers.full({ subject: `meio \ud83d caractere` }),
  }
  test.each(Object.entries(cases))('%s', async (_, dossier) => {
    for (const file of [await proofOf(dossier), await reportOf(dossier)]) expect(pagesOf(file)).toBeGreaterThan(0)
  })

  test('and leaves no sign in the place of a half', () => {
    const { facts } = describeData({ channel: 'email', diagnostic: ended(600) })
    expect(facts).toEqual([expect.objectContaining({ value: `${'a'.repeat(599)}… [cortado]` })])
  })
})

describe('whatever the recipient answers, the report is made', () => {
  const answered = (answer: string): Dossier => {
    const dossier = dossiers.full({
      subject: answer,
      customId: answer,
      recipientName: answer,
      content: `<p>${answer} <b>${answer}</b></p>`,
    })
    const events = dossier.events.map((event, place) =>
      place === 1 ? { ...event, data: { channel: 'email', answer, reply: answer } } : event,
    )
    return { ...dossier, events: events as Dossier['events'] }
  }
  test.each([
    ['Hebrew', 'שלום', 'שלום'],
    ['a letter of the other font', 'ɉ', 'ɉ'],
    ['a mark of the other font', 'a\u0363', 'a\u0363'],
    ['marks of both fonts on a letter of one', 'ƀ\u0363\u0301 ɉ\u0363\u0301', 'ƀ'],
    ['an emoji', 'sim 👍🏽', 'sim □'],
    ['a control character', 'sim\u0007', 'sim□'],
    ['a text turned round', '\u202eabc\u202c', 'abc'],
    ['Hebrew turned round', '\u202dשלום', 'שלום'],
    ['accents of another script in Hebrew', 'א\u0375\u0384\u0385א', '□□'],
    ['points upon nothing', '\u05b0\u05b1\u05b2', '□'],
    ['ends of lines between invisible characters', '\ufe0f\r\u200c\u2028\u200b\u0085', ''],
    ['a long word with ends of lines', `${'palavra'.repeat(5)}\u2028${'palavra'.repeat(5)}`, 'palavra'],
    ['an accent at the beginning of a line', 'sim\n\u0303x', 'sim'],
  ])('%s', async (_, answer, shown) => {
    expect(textOf(await reportOf(answered(answer)))).toContain(shown)
  })
})

test('neither document has the recipient’s link or code, wherever somebody quoted it', async () => {
  const dossier = dossiers.full({
    subject: `Veja https://notifica.example.com/n/${SECRET}`,
    customId: `/s/${SECRET.slice(0, 10)}`,
  })
  for (const file of [await proofOf(dossier, whole), await reportOf(dossier, whole)]) {
    const text = textOf(file).replaceAll(/\s+/g, '')
    expect(text).toContain('/n/…')
    for (let at = 0; at + 8 <= SECRET.length; at += 8) expect(text).not.toContain(SECRET.slice(at, at + 8))
  }
})

test('a simulated delivery says SIMULADO on every page of both, in test mode too', async () => {
  for (const dossier of [dossiers.simulated(), dossiers.full({ mode: 'test' })]) {
    for (const file of [await proofOf(dossier), await reportOf(dossier)]) {
      const pages = pagesOf(file)
      for (let page = 1; page <= pages; page++) {
        expect(textOf(file, '-f', String(page), '-l', String(page))).toContain('SIMULADO')
        expect(redShare(file, page)).toBeGreaterThan(0.02)
      }
    }
  }
})

test('a delivery that is not simulated has nothing across its pages', async () => {
  expect(redShare(await proofOf(dossiers.full()), 1)).toBeLessThan(0.002)
})

test('the document says which certificate signs it, and never ICP-Brasil without it', async () => {
  expect(signatureNote(certificate)).toContain('fora da ICP-Brasil')
  expect(signatureNote({ ...certificate, selfMade: false })).toContain('fora da ICP-Brasil')
  expect(signatureNote({ ...certificate, selfMade: false, icpBrasil: true })).toBe(
    'Este PDF é assinado com um certificado da ICP-Brasil.',
  )
  const text = flat(textOf(await reportOf(dossiers.full())))
  expect(text).toContain(certificate.sha256)
  expect(text).toContain('certificado próprio desta instalação, fora da ICP-Brasil')
  expect(text).toContain('pdfsig laudo.pdf')
})

describe('making documents', () => {
  test('the same facts give the same bytes and are set once, however many ask; another fact is another document', async () => {
    let composed = 0
    let bundles = 0
    const counting = {
      ...typesetter,
      compose: (job: Parameters<typeof typesetter.compose>[0]) => {
        composed++
        return typesetter.compose(job)
      },
    }
    const documents = makerOf({
      typesetter: counting,
      makeBundle: async () => ({ name: 'evidencia.zip', bytes: Buffer.from(`PK ${++bundles}`) }),
    })
    const together = await Promise.all(Array.from({ length: 12 }, () => documents.report(dossiers.open())))
    expect([composed, bundles]).toEqual([1, 1])
    expect(await documents.report(dossiers.open())).toBe(together[0])
    expect(composed).toBe(1)
    const later = dossiers.open()
    const event = { ...later.events.at(-1)!, seq: later.events.length + 1, hash: 'ff'.repeat(32) }
    expect(await documents.report({ ...later, events: [...later.events, event] })).not.toBe(together[0])
    expect(composed).toBe(2)
    const other = makerOf()
    expect(
      Buffer.from((await other.sendingProof(dossiers.open())) as Uint8Array).equals(
        Buffer.from((await makerOf().sendingProof(dossiers.open())) as Uint8Array),
      ),
    ).toBe(true)
  })

  test('one that waits for too many others, or takes too long, is refused for now', async () => {
    const busy = makerOf({ typesetter: { ...typesetter, compose: async () => Promise.reject(new TypesetterBusy('busy')) } })
    await expect(busy.sendingProof(dossiers.open())).rejects.toMatchObject({ code: 'overloaded' })
    const stuck = makerOf({ typesetter: { ...typesetter, compose: () => new Promise(() => {}) }, deadlineMs: 1 })
    await expect(stuck.report(dossiers.open())).rejects.toMatchObject({ code: 'overloaded' })
  })

  test('one whose content is lost with the thread that reads it is refused for now', async () => {
    const lost = makerOf({ typesetter: { ...typesetter, read: async () => Promise.reject(new ThreadDied('a test')) } })
    await expect(lost.report(dossiers.open())).rejects.toMatchObject({ code: 'overloaded', cause: { name: 'ThreadDied' } })
  })

  test('a late document is kept for the next who asks', async () => {
    let finish = (): void => {}
    const gate = new Promise<void>(resolve => (finish = resolve))
    const slow = makerOf({
      typesetter: { ...typesetter, compose: async job => gate.then(() => typesetter.compose(job)) },
      deadlineMs: 20,
    })
    await expect(slow.sendingProof(dossiers.open())).rejects.toMatchObject({ code: 'overloaded' })
    finish()
    await expect
      .poll(
        () =>
          slow.sendingProof(dossiers.open()).then(
            made => 'message' in made,
            () => null,
          ),
        { timeout: 20_000 },
      )
      .toBe(false)
  })

  test('the logo of the account is on it; one that cannot be printed is left out', async () => {
    const bytes = pngOf(60, 20)
    const logo = (given: Buffer) => ({
      ...dossiers.open().sender,
      logo: { sha256: 'aa'.repeat(32), type: 'image/png', bytes: given },
    })
    expect(run('pdfimages', '-list', await proofOf(dossiers.open({ sender: logo(bytes) })))).toMatch(/60\s+20/)
    const broken = { ...logo(Buffer.from('no picture')), name: 'x' }
    expect(
      textOf(await proofOf(dossiers.open({ sender: { ...broken, logo: { ...broken.logo, sha256: 'bb'.repeat(32) } } }))),
    ).toContain('Banco Exemplo')
  })

  test('no text is a command of the typesetter, and signs that no font has leave a mark', async () => {
    const text = textOf(await proofOf(dossiers.open({ subject: '#panic("x") $ * _ @a <b> 🎉 漢字' })))
    expect(text).toContain('#panic("x") $ * _ @a <b> □ □□')
  })
})

test('what events say of contents, receipts and words has labels for people', () => {
  const digest = { sha256: 'ab'.repeat(32), size: 12 }
  const message = { ...digest, type: 'application/pdf' }
  const content = { ...digest, type: 'message/rfc822', hidden: 10, secret: 'cd'.repeat(32), message }
  const { facts } = describeData({ channel: 'sms', content, original: digest, said: digest, receipt: { ...digest, type: 'png' } })
  expect(facts).toHaveLength(15)
  for (const { label } of facts) expect(label).toMatch(/^[A-ZÀ-Ú][^:]+$/)
})
