import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { LetterReceipt, Sheet, SheetCopy, SheetLogo } from '../../src/channels/letter/sheet.js'
import { createTypesetter } from '../../src/channels/letter/typesetter.js'
import { sha256 } from '../../src/domain/evidence/evidence.js'
import { readBlocks } from '../../src/runtime/typesetting/blocks.js'
import { pngOf } from '../support/programs/pictures.js'

/** The letter as independent programs read it: poppler and zbar. */
const typesetter = createTypesetter(1)
const folder = mkdtempSync(join(tmpdir(), 'carteiro-letter-'))
afterAll(async () => {
  await typesetter.close()
  rmSync(folder, { recursive: true, force: true })
})

const missing = ['pdftotext', 'pdftoppm', 'pdffonts', 'pdfimages', 'pdfdetach', 'zbarimg'].filter(
  name => spawnSync(name, ['-h']).error !== undefined,
)
const link = 'https://notifica.example.com/n/AZqPLnequ3yNkhIzRFVniaIEo7hwnyLk0r0N3bXwS1kq'
const proof = 'https://notifica.example.com/comprovante/carta/AZqPLnequ3yNkhIzRFVniaIEz2bWcV0xS3q9YtRk8LmN4pQw.pdf'
const typed = { address: 'notifica.example.com/s', code: '7K3M9-Q2X4Z' }
const reference = '019a8f2e-77aa-7c3e-9d12-0123456789ab'
const sender: Sheet['sender'] = {
  name: 'Banco Exemplo',
  lines: ['Av. Paulista, 1000', '01310-100 São Paulo – SP'],
  details: [
    'Banco Exemplo S.A.',
    'CNPJ: 11.222.333/0001-81',
    'Telefone: 0800 123 4567',
    'Site: https://www.exemplo.com.br',
    'Encarregado de dados (LGPD): dados@exemplo.com.br',
  ],
  color: '#0b4f6c',
  logo: null,
}
const sheet = (html: string, more: Partial<Sheet> = {}): Sheet => ({
  layout: 'registrada',
  reference,
  sender: { ...sender },
  recipient: { name: 'Maria da Conceição', lines: ['Rua das Flores, 100, ap. 42', 'Jardim', '70002-900 Brasília – DF'] },
  date: '15 de novembro de 2026',
  moment: 1_763_200_000,
  subject: 'Notificação extrajudicial',
  blocks: readBlocks(html),
  ...more,
})
const printed = { for: 'recipient', link, typed } as const

async function make(given: Sheet, copy: SheetCopy = printed, logo: Buffer | null = null) {
  const { pdf, ...more } = await typesetter.compose(given, copy, logo)
  const file = join(folder, `${Math.random().toString(36).slice(2)}.pdf`)
  writeFileSync(file, pdf)
  return { file, pdf, ...more }
}

const receipt: LetterReceipt = {
  facts: [{ label: 'Situação', value: 'Entregue' }],
  events: [{ at: '15/11/2026 10:00:00', text: 'Postada' }],
  sha256: 'ab'.repeat(32),
  verification: { url: 'https://notifica.example.com/verificar/7k3m9q2x4zab12cd', code: '7K3M-9Q2X-4ZAB-12CD' },
  simulated: false,
  image: null,
}
const senders = { for: 'sender', proof, receipt } as const

/** A sheet with this logo, and the logo itself. */
const branded = (bytes: Buffer, type: SheetLogo['type']): [Sheet, Buffer] => [
  sheet('<p>Olá</p>', { sender: { ...sender, logo: { sha256: sha256(bytes), type } } }),
  bytes,
]

const run = (program: string, options: string[]): string => execFileSync(program, options, { encoding: 'utf8' })
const text = (file: string, ...options: string[]): string => run('pdftotext', [...options, '-layout', file, '-'])

test('the same sheet gives the same bytes, in any thread', async () => {
  const other = createTypesetter(1)
  const given = sheet('<p>Olá</p><table><tr><td>1</td></tr></table>')
  const [first, second] = await Promise.all([typesetter.compose(given, printed), other.compose(given, printed)])
  await other.close()
  expect(Buffer.from(second.pdf).equals(Buffer.from(first.pdf))).toBe(true)
  expect(Buffer.from((await typesetter.compose(given, printed)).pdf).equals(Buffer.from(first.pdf))).toBe(true)
})

test('letters keep their bytes: only another compiler may change them', async () => {
  const { pdf } = await typesetter.compose(sheet('<h1>Aviso</h1><p>Olá, <b>Maria</b> ☎ 🎉</p>'), printed)
  expect(sha256(pdf)).toBe('31aff8b3b948583ff67abfe48848101d81de2e0d11e57821ae3e01ceb2349cc5')
})

test('nothing in a letter is a command of the typesetter', async () => {
  const nasty = '#panic("x") #read("/etc/passwd") $ x $ *a* _b_ @c <d> \\ ` // /* "'
  const { pages } = await typesetter.compose(
    sheet(`<p>${nasty.replaceAll('<', '&lt;')}</p>`, {
      subject: nasty,
      recipient: { name: nasty, lines: [nasty] },
      sender: { ...sender, name: nasty, lines: [nasty], details: [nasty] },
      reference: nasty,
    }),
    { ...printed, typed: { address: nasty, code: nasty } },
  )
  expect(pages).toBe(1)
})

test('what people paste from word processors and telephones is printed, in any face', async () => {
  const pasted = '✓ ☑ ☐ ▪ ➢ ☎ ✉ ﬁ \uf0b7 🎉 👨‍👩‍👧 ½ m² № → Ж'
  const html = `<p>${pasted} <b>${pasted}</b> <i>${pasted}</i> <b><i>${pasted}</i></b></p>`
  const { pages } = await typesetter.compose(sheet(html, { subject: `Aviso ${pasted}` }), printed)
  expect(pages).toBe(1)
})

test('a name in letters that cannot be printed is refused, and the letters are named', async () => {
  const recipient = { name: '中村', lines: ['Rua das Flores, 100'] }
  await expect(typesetter.compose(sheet('<p>Olá</p>', { recipient }), printed)).rejects.toMatchObject({
    name: 'TypesettingError',
    missing: ['中', '村'],
  })
})

test.each([
  ['an SVG that is cut', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect'), 'svg'],
  ['a PNG with nothing in it', Buffer.from('89504e470d0a1a0a', 'hex'), 'png'],
] as const)('%s does not fail the letter: the name stands in its place, and the fault is told', async (_, bytes, type) => {
  for (let round = 0; round < 2; round++) {
    expect(await typesetter.compose(branded(bytes, type)[0], printed, bytes)).toMatchObject({
      pages: 1,
      logoFault: expect.stringMatching(/./),
    })
  }
})

test('a letter that takes too long is given up, and those behind it are made', async () => {
  const hurried = createTypesetter(1, 4_000)
  const endless = sheet(`<ul>${'<li>x</li>'.repeat(12_000)}</ul>`)
  const [lost, made] = await Promise.allSettled([
    hurried.compose(endless, printed),
    hurried.compose(sheet('<p>Olá</p>'), printed),
  ])
  await hurried.close()
  expect(lost).toMatchObject({ status: 'rejected', reason: { name: 'OutOfTime' } })
  expect(made).toMatchObject({ status: 'fulfilled', value: { pages: 1 } })
})

describe.skipIf(missing.length > 0)(
  `read by poppler and zbar${missing.length > 0 ? ` (missing: ${missing.join(', ')})` : ''}`,
  () => {
    /** The words of the first page with their places, in millimetres from the top left. */
    function wordsOf(file: string) {
      const word = /<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">(.*?)<\/word>/g
      return [...run('pdftotext', ['-bbox', '-f', '1', '-l', '1', file, '-']).matchAll(word)].map(([, ...found]) => {
        const [left, top, right, bottom] = found.slice(0, 4).map(points => (Number(points) / 72) * 25.4) as [
          number,
          number,
          number,
          number,
        ]
        return { left, top, right, bottom, text: found[4]!.replaceAll('&amp;', '&') }
      })
    }
    /** The words that are seen through the window: 20 mm from the left, 50 mm from the top, 90 × 40 mm. */
    const inWindow = (words: ReturnType<typeof wordsOf>) =>
      words.filter(({ left, right, top, bottom }) => right > 20 && left < 110 && bottom > 50 && top < 90)

    const longest: Partial<Sheet> = {
      sender: {
        ...sender,
        name: 'Companhia '.repeat(20).trim(),
        lines: ['Avenida '.repeat(25).trim(), 'Bairro '.repeat(10).trim()],
      },
      recipient: {
        name: 'Condomínio '.repeat(18).trim(),
        lines: ['Rodovia '.repeat(25).trim(), 'Distrito '.repeat(8).trim(), `70002-900 ${'Cidade '.repeat(10)}– DF`],
      },
    }

    test.each([
      ['simples', {}],
      ['registrada', {}],
      ['registrada', longest],
    ] as const)(
      '%s: the address lies in the envelope’s window, left-aligned, with nothing else of the letter',
      async (layout, more) => {
        const given = sheet('<p>CONTEUDO</p>', { layout, ...more })
        const seen = inWindow(wordsOf((await make(given)).file))
        const { name, lines } = given.recipient
        const shown = ['Rem.:', [given.sender.name, ...given.sender.lines].join(' · '), name, ...lines].join(' ')
        expect(seen.map(({ text }) => text).join(' ')).toBe(shown)
        // The sheet moves in its envelope: what is to be read keeps its distance from the edges.
        for (const word of seen) {
          expect(word.left, word.text).toBeGreaterThan(24.5)
          expect(word.right, word.text).toBeLessThan(105.5)
          expect(word.top, word.text).toBeGreaterThan(51.5)
          expect(word.bottom, word.text).toBeLessThan(88.5)
        }
        const starts = seen.filter((word, place) => place === 0 || word.top > seen[place - 1]!.top + 0.8).map(({ left }) => left)
        expect(starts.length).toBeGreaterThanOrEqual(1 + 1 + lines.length)
        expect(Math.max(...starts) - Math.min(...starts)).toBeLessThan(0.5)
      },
    )

    test.each(['simples', 'registrada'] as const)('%s: the reference is printed unbroken, as it is', async layout => {
      const { file } = await make(sheet(`<p>Olá</p>${'<p>x</p>'.repeat(90)}`, { layout }))
      // Once on each page, on one line.
      for (const page of ['1', '2']) expect(text(file, '-f', page, '-l', page).split(reference)).toHaveLength(2)
      expect(text(file)).not.toContain('--')
    })

    test('who the sender is stands at the foot of every page', async () => {
      const { file } = await make(sheet(`<p>Olá</p>${'<p>x</p>'.repeat(90)}`))
      for (const page of ['1', '2']) {
        const words = text(file, '-f', page, '-l', page).replaceAll(/\s+/g, ' ')
        for (const detail of sender.details) expect(words).toContain(detail)
      }
    })

    test('whoever has no camera finds the address and the code to type, beside the QR code', async () => {
      for (const layout of ['simples', 'registrada'] as const) {
        const { file } = await make(sheet('<p>Olá</p>', { layout }))
        const words = wordsOf(file)
        for (const shown of [typed.address, typed.code]) expect(words.filter(({ text }) => text === shown)).toHaveLength(1)
      }
      const address = `${'avisos-muito-longos.'.repeat(4)}example.com.br/s`
      const { file } = await make(sheet('<p>Olá</p>'), { ...printed, typed: { ...typed, address } })
      const side = wordsOf(file).filter(({ left, top }) => left > 112 && top > 50 && top < 100)
      expect(side.map(({ text }) => text).join('')).toContain(address)
      for (const word of side) expect(word.right, word.text).toBeLessThan(190.5)
    })

    test('a logo is printed, whatever its kind, and the letter keeps its name', async () => {
      const png = pngOf(300, 100)
      const picture = join(folder, 'logo')
      // The red of the first letter, as a JPEG.
      const area = ['-x', '120', '-y', '60', '-W', '90', '-H', '30']
      const { file: red } = await make(branded(png, 'png')[0], printed, png)
      run('pdftoppm', ['-r', '100', '-jpeg', '-singlefile', ...area, red, picture])
      const svg =
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 30 10"><rect width="30" height="10" fill="#c81e28"/></svg>'
      const kinds = [
        [png, 'png', 'image'],
        [readFileSync(`${picture}.jpg`), 'jpg', 'jpeg'],
        [Buffer.from(svg), 'svg', null],
      ] as const
      for (const [bytes, type, encoding] of kinds) {
        const { file, logoFault } = await make(branded(bytes, type)[0], printed, bytes)
        expect(logoFault).toBeNull()
        const images = run('pdfimages', ['-list', file]).trim().split('\n').slice(2)
        expect(images.map(line => line.trim().split(/\s+/)[8])).toEqual(encoding === null ? [] : [encoding])
        expect(
          wordsOf(file)
            .map(({ text }) => text)
            .join(' '),
        ).toContain('Banco Exemplo')
        expect(inkAt(file, 30, 20)).toBe(true)
      }
      expect(inkAt((await make(sheet('<p>Olá</p>'))).file, 30, 20)).toBe(false)
      // Another picture is another letter.
      const [other] = branded(pngOf(300, 100, [0, 0, 200]), 'png')
      const [first, second] = [
        await make(branded(png, 'png')[0], printed, png),
        await make(other, printed, pngOf(300, 100, [0, 0, 200])),
      ]
      expect(Buffer.from(first.pdf).equals(Buffer.from(second.pdf))).toBe(false)
    })

    /** Whether the pixel at this place of the first page, in millimetres, is of the red of the logos here. */
    const inkAt = (file: string, x: number, y: number): boolean => {
      const [column, row] = [x, y].map(mm => String(Math.round((mm / 25.4) * 100))) as [string, string]
      const area = ['-x', column, '-y', row, '-W', '1', '-H', '1']
      run('pdftoppm', ['-r', '100', '-singlefile', '-f', '1', '-l', '1', ...area, file, `${file}-ink`])
      const bytes = readFileSync(`${file}-ink.ppm`)
      const [red, green, blue] = [...bytes.subarray(-3)] as [number, number, number]
      return red > 150 && green < 100 && blue < 100
    }

    test('a long letter has its pages numbered and named, accents and fonts inside', async () => {
      const { file, pages } = await make(
        sheet(`<h2>Ação</h2>${'<p>Constituição, coração, pingüim, “aspas” e travessão —.</p>'.repeat(90)}`),
      )
      expect(pages).toBeGreaterThan(2)
      const words = text(file)
      for (let page = 1; page <= pages; page++) expect(words).toContain(`Página ${page} de ${pages}`)
      expect(words).toContain('Constituição, coração, pingüim, “aspas” e travessão —.')
      expect(text(file, '-f', '2', '-l', '2')).toContain('Ref. 019a8f2e-77aa-7c3e-9d12-0123456789ab')
      const fonts = run('pdffonts', [file]).trim().split('\n').slice(2)
      expect(fonts.length).toBeGreaterThan(0)
      for (const font of fonts) expect(font).toMatch(/Libertinus.* yes yes yes/)
    })

    const placeOf = (words: ReturnType<typeof wordsOf>, wanted: string) => {
      const found = words.filter(({ text }) => text === wanted)
      expect(found, wanted).toHaveLength(1)
      return found[0]!
    }

    test('a total stands under the last column, and the cells beside a tall one in their own', async () => {
      const html = `<table><thead><tr><th>Parcela</th><th>Vencimento</th><th>Principal</th><th>Multa</th><th>Juros</th><th>Valor</th></tr></thead>
        <tr><td rowspan=2>5ª</td><td>10/08/2026</td><td>1.234,56</td><td>24,69</td><td>44,45</td><td>1.303,70</td></tr>
        <tr><td>10/09/2026</td><td>1.234,57</td><td>24,70</td><td>44,46</td><td>1.303,73</td></tr>
        <tr><td colspan=5>Total</td><td>3.911,10</td></tr><tr><td colspan=6>Observação ${'longa '.repeat(40)}</td></tr></table>`
      for (const edition of [{}, { edition: 2 }] as const) {
        const words = wordsOf((await make(sheet(html, edition))).file)
        for (const [head, ...below] of [
          ['Parcela', '5ª', 'Total', 'Observação'],
          ['Vencimento', '10/08/2026', '10/09/2026'],
          ['Juros', '44,45', '44,46'],
          ['Valor', '1.303,70', '1.303,73', '3.911,10'],
        ] as const)
          for (const text of below) expect(placeOf(words, text).left, text).toBeCloseTo(placeOf(words, head).left, 1)
        expect(placeOf(words, 'Total').top).toBeCloseTo(placeOf(words, '3.911,10').top, 1)
        for (const word of words.filter(({ text }) => text === 'longa')) expect(word.right).toBeLessThan(190.5)
      }
    })

    test('a table that goes over pages repeats its head of two rows', async () => {
      const head = '<tr><th rowspan=2>Contrato</th><th colspan=2>Valores</th></tr><tr><th>Bruto</th><th>Líquido</th></tr>'
      const { file, pages } = await make(sheet(`<table>${head}${'<tr><td>1</td><td>2</td><td>3</td></tr>'.repeat(90)}</table>`))
      expect(pages).toBeGreaterThan(1)
      for (const page of ['1', '2'])
        for (const word of ['Contrato', 'Valores', 'Bruto', 'Líquido'])
          expect(text(file, '-f', page, '-l', page).split(word), word).toHaveLength(2)
    })

    test.each([
      ['over each other', '<tr><td>a<td rowspan=2>b<td>c<tr><td colspan=3>d<td>e'],
      ['past all ends', '<tr><td colspan=1000 rowspan=65534>a<td>b<tr><td rowspan=0>c<tr><td colspan=999>d<td>e'],
      ['a head that is taller than the rest', '<tr><th rowspan=9>a<th>b<tr><th>c<tr><td>d<td>e'],
      ['of a long text', `<tr><td rowspan=2>a${' palavra'.repeat(6_000)}<td>b<tr><td>c<td>d<td>e`],
      ['in many rows', `<tr><td>a<td>b<td>c<td>d<td>e${'<tr><td rowspan=0 colspan=7>x<td rowspan=65534>y'.repeat(1_000)}`],
    ])('spans %s lose nothing', async (_, rows) => {
      const { file } = await make(sheet(`<table>${rows}</table>`))
      const words = new Set(text(file).split(/\s+/))
      for (const word of ['a', 'b', 'c', 'd', 'e']) expect(words).toContain(word)
    })

    test('no heading of the content is taller than the subject', async () => {
      const words = wordsOf((await make(sheet('<h1>Primeiro</h1><p>x</p><h2>Segundo</h2>', { edition: 2 }))).file)
      const height = (wanted: string): number => placeOf(words, wanted).bottom - placeOf(words, wanted).top
      expect(height('Primeiro')).toBeLessThan(height('extrajudicial'))
      expect(height('Segundo')).toBeLessThan(height('Primeiro'))
    })

    test('a sign that no font has leaves a visible mark, and nothing else is lost', async () => {
      const { file } = await make(sheet('<p>Parabéns 🎉 Maria ✓ \uf0b7 item ﬁnal</p>'))
      expect(text(file)).toMatch(/Parabéns □ Maria ✓ • item final/)
    })

    const codesIn = (file: string, page: number): string => {
      run('pdftoppm', ['-r', '150', '-png', '-singlefile', '-f', String(page), '-l', String(page), file, file])
      return run('zbarimg', ['-q', '--raw', '--nodbus', `${file}.png`]).trim()
    }

    test('the QR code leads where the letter can be checked', async () => {
      const { file } = await make(sheet('<p>Olá</p>', { layout: 'simples' }))
      expect(codesIn(file, 1)).toBe(link)
    })

    test('the sender’s copy tells what happened and shows the letter, with its own address in place of the recipient’s link', async () => {
      const { file } = await make(sheet('<p>Prezada</p>'), senders)
      for (const words of [
        'Andamento',
        'Entregue',
        'Postada',
        'ab'.repeat(32),
        'Prezada',
        'Página 1 de 1',
        receipt.verification.code,
      ]) {
        expect(text(file)).toContain(words)
      }
      // The letter's first page looks as it did alone.
      expect(text(file, '-f', '2', '-l', '2')).not.toContain('Ref. 019a8f2e')
      // No code to type either.
      for (const secret of [typed.address, ...typed.code.split('-')]) expect(text(file)).not.toContain(secret)
      expect(codesIn(file, 2)).toBe(proof)
      expect(codesIn(file, 1)).toBe(receipt.verification.url)
      expect(text(file)).not.toContain('SIMULADO')
      const { file: simulated } = await make(sheet('<p>Prezada</p>'), { ...senders, receipt: { ...receipt, simulated: true } })
      for (const page of ['1', '2']) expect(text(simulated, '-f', page, '-l', page)).toContain('SIMULADO')
      // The printed file, which has the link, is not attached.
      expect(run('pdfdetach', ['-list', file])).toMatch(/^0 embedded files/)
    })
  },
)
