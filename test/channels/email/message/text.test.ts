import { expect, test } from 'vitest'
import { textFromHtml } from '../../../../src/channels/email/message/text.js'

test('headings, paragraphs, lists and links become plain text', () => {
  const html = `<h1>Notificação</h1><p>Olá, <b>João</b>.<br>Leia <a href="https://n.example/x">aqui</a>.</p><ul><li>um</li><li>dois</li></ul>`
  expect(textFromHtml(html)).toBe('Notificação\n\nOlá, João.\nLeia aqui (https://n.example/x).\n\n * um\n * dois')
})

test('a link whose text is its address is written once, images and styles are left out', () => {
  const html =
    '<style>p{color:red}</style><p><a href="https://n.example/x">https://n.example/x</a><img src="https://n.example/i.png" alt="logo"></p>'
  expect(textFromHtml(html)).toBe('https://n.example/x')
})

test.each([
  [
    'a row is a line',
    '<table><thead><tr><th>Parcela</th><th>Valor</th></tr></thead><tbody><tr><td>1ª</td><td><b>R$ 10,00</b></td></tr><tr><td>2ª</td><td></td></tr></tbody></table>',
    'Parcela | Valor\n1ª | R$ 10,00\n2ª',
  ],
  ['paragraphs in cells stay on the line', '<table><tr><td><p>Um</p></td><td><p>Dois</p></td></tr></table>', 'Um | Dois'],
  [
    'links keep their addresses',
    '<table><tr><td>Boleto</td><td><a href="https://a.br/b">abrir</a></td></tr></table>',
    'Boleto | abrir (https://a.br/b)',
  ],
  [
    'spacers are not columns',
    '<table><tr><td>a</td><td>&nbsp;</td><td>b</td></tr><tr><td colspan="3"></td></tr></table>',
    'a | b',
  ],
  [
    'a table for the layout is read from top to bottom',
    '<table><tr><td><h1>Aviso</h1><p>Olá</p></td><td><table><tr><td>x</td><td>y</td></tr></table></td></tr></table>fim',
    'Aviso\n\nOlá\nx | y\n\nfim',
  ],
  [
    'what follows a wide cell stays in its column',
    '<table><tr><th>Parcela</th><th>Juros</th><th>Valor</th></tr><tr><td>1ª</td><td>2</td><td>10</td></tr><tr><td colspan=2>Total</td><td>10</td></tr></table>',
    'Parcela | Juros | Valor\n1ª | 2 | 10\nTotal |  | 10',
  ],
  [
    'a tall cell is written once, and the cells beside it stay in their columns',
    '<table><tbody><tr><td rowspan=0>4711</td><td>1ª</td><td>10</td></tr><tr><td>2ª</td><td>20</td></tr></tbody><tr><td>4712</td><td>1ª</td><td>30</td></tr></table>',
    '4711 | 1ª | 10\n | 2ª | 20\n4712 | 1ª | 30',
  ],
  [
    'the largest spans do not lengthen the text',
    '<table><tr><td colspan=1000>a</td><td>b</td></tr><tr><td colspan=7 rowspan=65534>c</td><td>d</td></tr></table>',
    'a |  | b\nc | d',
  ],
  [
    'nothing in a table is lost',
    '<table><caption>Dívida</caption>solto<tr>linha<td>a</td></tr><p>fora</p></table>',
    'Dívida\nsolto\nlinha | a\nfora',
  ],
])('tables: %s', (_, html, text) => {
  expect(textFromHtml(html)).toBe(text)
})

test('lists are numbered or marked, one inside another too', () => {
  expect(textFromHtml('<ol><li>um</li><li>dois<ul><li>a</li></ul></li></ol>')).toBe(' 1. um\n 2. dois\n    * a')
})

test('text without markup stays as it is', () => {
  expect(textFromHtml('só texto')).toBe('só texto')
  expect(textFromHtml('')).toBe('')
})

test('a wide table with large spans makes no long text', () => {
  const html = `<table><tr>${'<td>x</td>'.repeat(2_000)}</tr>${'<tr><td colspan=1000>a</td><td>b</td></tr>'.repeat(2_000)}</table>`
  expect(textFromHtml(html).length).toBeLessThan(html.length)
})

test('content of any depth and length is converted', () => {
  expect(textFromHtml(`${'<div>'.repeat(50_000)}fundo`).length).toBeLessThan(100)
  for (const tag of ['<table>', '<table><tr><td>', '<table><tbody>', '<tr>'])
    expect(textFromHtml(`${tag.repeat(5_000)}fundo`).length).toBeLessThan(100)
  expect(textFromHtml(`<p>${'palavra '.repeat(100_000)}</p>`).length).toBeLessThanOrEqual(131_072)
})
