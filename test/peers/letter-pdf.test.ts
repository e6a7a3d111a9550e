import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readBlocks } from '../../src/channels/letter/blocks.js'
import type { Sheet } from '../../src/channels/letter/sheet.js'
import { createTypesetter } from '../../src/channels/letter/typesetter.js'

/** The letter as independent programs read it: poppler and zbar. */
const typesetter = createTypesetter(1)
const folder = mkdtempSync(join(tmpdir(), 'carteiro-letter-'))
afterAll(async () => {
  await typesetter.close()
  rmSync(folder, { recursive: true, force: true })
})

const missing = ['pdftotext', 'pdftoppm', 'pdffonts', 'pdfdetach', 'zbarimg'].filter(
  name => spawnSync(name, ['-h']).error !== undefined,
)
const link = 'https://notifica.example.com/n/AZqPLnequ3yNkhIzRFVniaIEo7hwnyLk0r0N3bXwS1kq'
const proof = 'https://notifica.example.com/comprovante/carta/AZqPLnequ3yNkhIzRFVniaIEz2bWcV0xS3q9YtRk8LmN4pQw.pdf'
const sheet = (html: string, more: Partial<Sheet> = {}): Sheet => ({
  layout: 'registrada',
  reference: '019a8f2e-77aa-7c3e-9d12-0123456789ab',
  sender: { name: 'Banco Exemplo S.A.', lines: ['Av. Paulista, 1000', '01310-100 São Paulo – SP'], color: '#0b4f6c' },
  recipient: { name: 'Maria da Conceição', lines: ['Rua das Flores, 100, ap. 42', 'Jardim', '70002-900 Brasília – DF'] },
  date: '15 de novembro de 2026',
  moment: 1_763_200_000,
  subject: 'Notificação extrajudicial',
  blocks: readBlocks(html),
  ...more,
})
const printed = { for: 'recipient', link } as const

async function make(given: Sheet): Promise<{ file: string; pages: number; pdf: Uint8Array }> {
  const { pdf, pages } = await typesetter.compose(given, printed)
  const file = join(folder, `${Math.random().toString(36).slice(2)}.pdf`)
  writeFileSync(file, pdf)
  return { file, pages, pdf }
}

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

test('nothing in a letter is a command of the typesetter', async () => {
  const nasty = '#panic("x") #read("/etc/passwd") $ x $ *a* _b_ @c <d> \\ ` // /* "'
  const { pages } = await typesetter.compose(
    sheet(`<p>${nasty.replaceAll('<', '&lt;')}</p>`, {
      subject: nasty,
      recipient: { name: nasty, lines: [nasty] },
      sender: { name: nasty, lines: [nasty], color: '#000000' },
    }),
    printed,
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

test('a letter that takes too long is given up, and those behind it are made', async () => {
  const hurried = createTypesetter(1, 4_000)
  const endless = sheet(`<ul>${'<li>x</li>'.repeat(20_000)}</ul>`)
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
    test('the address lies in the envelope’s window, with nothing else of the letter', async () => {
      const { file } = await make(sheet('<p>CONTEUDO</p>'))
      // In points from the top left: 20 mm, 50 mm, 90 × 40 mm.
      const mm = (value: number): string => String(Math.round((value / 25.4) * 72))
      const window = text(file, '-x', mm(20), '-y', mm(50), '-W', mm(90), '-H', mm(40))
      expect(window).toContain('Maria da Conceição')
      expect(window).toContain('Rua das Flores, 100, ap. 42')
      expect(window).toContain('70002-900 Brasília – DF')
      expect(window).not.toContain('CONTEUDO')
      expect(window).not.toContain('Notificação')
    })

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
      const receipt = {
        facts: [{ label: 'Situação', value: 'Entregue' }],
        events: [{ at: '15/11/2026 10:00:00', text: 'Postada' }],
        sha256: 'ab'.repeat(32),
        image: null,
      }
      const { pdf } = await typesetter.compose(sheet('<p>Prezada</p>'), { for: 'sender', proof, receipt })
      const file = join(folder, 'receipt.pdf')
      writeFileSync(file, pdf)
      for (const words of ['Andamento', 'Entregue', 'Postada', 'ab'.repeat(32), 'Prezada', 'Página 1 de 1']) {
        expect(text(file)).toContain(words)
      }
      // The letter's first page looks as it did alone.
      expect(text(file, '-f', '2', '-l', '2')).not.toContain('Ref. 019a8f2e')
      expect(codesIn(file, 2)).toBe(proof)
      // The printed file, which has the link, is not attached.
      expect(run('pdfdetach', ['-list', file])).toMatch(/^0 embedded files/)
    })
  },
)
