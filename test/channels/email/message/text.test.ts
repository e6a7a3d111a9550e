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

test.each([
  ['paragraphs have an empty line around them', 'a<p>b</p>c<p>d<p>e', 'a\n\nb\n\nc\n\nd\n\ne'],
  ['empty paragraphs leave no gap of their own', '<p>a</p><p></p><p> <b></b></p><p>b</p>', 'a\n\nb'],
  ['an empty line of a no-break space is kept', '<div>a</div><div>&nbsp;</div><div>b</div>', 'a\n\u00a0\nb'],
  ['great headings have two empty lines before them', '<p>a</p><h1>b</h1><h2>c</h2><h3>d</h3>e', 'a\n\n\nb\n\n\nc\n\n\nd\n\ne'],
  ['small headings have one', '<p>a</p><h4>b</h4><h5>c</h5><h6>d</h6>e', 'a\n\nb\n\nc\n\nd\n\ne'],
  ['line breaks', 'a<br>b<br/><br>c</br>d', 'a\nb\n\nc\nd'],
  ['a line break at the end of a block is not shown', '<div>a<br></div>b<br><p>c</p>', 'a\nb\n\nc'],
  ['a line break between blocks is an empty line', '<div>a</div><div><br></div><div>b</div><br><div>c</div>', 'a\n\nb\n\nc'],
  ['a rule is a line of dashes', '<p>a<hr>b', `a\n\n${'-'.repeat(40)}\n\nb`],
  ['a quotation is marked in every line', 'a<blockquote>b<br>c<p>d</p></blockquote>e', 'a\n\n> b\n> c\n> \n> d\n\ne'],
  ['a quotation inside another', '<blockquote><blockquote>a</blockquote>b</blockquote>', '> > a\n> \n> b'],
  ['an empty quotation is not shown', 'a<blockquote> </blockquote>b', 'a\n\nb'],
  ['white space is kept in <pre> only', '<p> a \n b </p><pre>\nc  d\r\n  <b>e</b>\n</pre> f  g', 'a b\n\nc  d\n  e\n\nf g'],
  ['terms and their descriptions are lines', '<dl><dt>a<dd>b<dt>c<dd>d</dl>', 'a\nb\nc\nd'],
  [
    'what is not shown to recipients',
    '<title>a</title><p>b<script>c</script><style>d</style><template>e</template>f<!-- g --></p>',
    'bf',
  ],
  ['the end of an element that is not open', 'a</div>b</p>c</table></li>d', 'ab\n\ncd'],
])('blocks: %s', (_, html, text) => {
  expect(textFromHtml(html)).toBe(text)
})

test.each('address article aside center div footer form header main nav section'.split(' '))('<%s> has lines of its own', tag => {
  expect(textFromHtml(`a<${tag}>b</${tag}>c`)).toBe('a\nb\nc')
})

test.each([
  ['runs of white space are a space', 'a \t b\r\n\f c\u200b d', 'a b c d'],
  ['at the edge of elements too', ' a<b> b </b> c <i>d</i>e ', 'a b c de'],
  ['a no-break space is a character', 'R$&nbsp;\u00a0 10', 'R$\u00a0\u00a0 10'],
  ['character references', '&lt;b&gt; a&amp;b &ccedil;&#227;o &#x1f600; &copy', '<b> a&b ção 😀 ©'],
  ['what is not markup', 'a < b & c <', 'a < b & c <'],
])('white space: %s', (_, html, text) => {
  expect(textFromHtml(html)).toBe(text)
})

test.each([
  [
    'of an e-mail is without its scheme',
    '<a href="mailto:a@b.br">a@b.br</a> <a href="MAILTO:a@b.br">escreva</a>',
    'a@b.br escreva (a@b.br)',
  ],
  ['is decoded', '<a href="https://n.example/?a=1&amp;b=2">x</a>', 'x (https://n.example/?a=1&b=2)'],
  ['stands alone where there is no text', '<a href="https://n.example/x"><img src="botao.png"></a>', 'https://n.example/x'],
  ['is left out where it leads nowhere', '<a href="#fim">a</a><a href="">b</a><a name="c">c</a><a>d</a>', 'abcd'],
  ['follows a table', '<a href="https://n.example/x"><table><tr><td>Pagar</table></a>', 'Pagar\n\n(https://n.example/x)'],
  ['follows the text in <pre>', '<pre>a  <a href="https://n.example/x">b</a></pre>', 'a  b (https://n.example/x)'],
  ['follows at the end of its paragraph', '<p><a href="https://n.example/x">a</p>b', 'a (https://n.example/x)\n\nb'],
  [
    'follows before another link',
    '<a href=https://n.example/x>a <a href=https://n.example/y>b',
    'a (https://n.example/x)b (https://n.example/y)',
  ],
  ['goes with its text into a block', '<p><a href="https://n.example/x"><div>a</div></a>b', 'a\n(https://n.example/x)b'],
])('the address of a link %s', (_, html, text) => {
  expect(textFromHtml(html)).toBe(text)
})

test.each([
  ['lines of an item begin below each other', 'a<ul><li>b<br>c<p>d</ul>e', 'a\n\n * b\n   c\n   \n   d\n\ne'],
  ['markers are as wide as the widest', '<ol start="9"><li>a<li>b<br>c</ol>', ' 9.  a\n 10. b\n     c'],
  [
    'numbers begin at 1 where they cannot be read',
    '<ol start="x"><li>a</ol><ol start="99999999999"><li>b</ol>',
    ' 1. a\n\n 1. b',
  ],
  ['letters', '<ol type="a" start="26"><li>a<li>b</ol><ol type="A"><li>c</ol>', ' z.  a\n aa. b\n\n A. c'],
  [
    'Roman numerals',
    '<ol type="I" start="1994"><li>a</ol><ol type="i" start="3999"><li>b<li>c</ol>',
    ' MCMXCIV. a\n\n mmmcmxcix. b\n 4000.      c',
  ],
  ['numbers without letters', '<ol type="a" start="-1"><li>a<li>b<li>c</ol>', ' -1. a\n 0.  b\n a.  c'],
  ['a list that is outside the items of its list', '<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>', ' * a\n   * b\n * c'],
  ['text outside items', '<ul>a<li>b</li>c</ul>', '   a\n * b\n   c'],
  ['a list in a cell begins anew', '<ul><li><table><tr><td><ul><li>a<li>b</ul></table></ul>', ' * * a\n    * b'],
  ['items without a list are lines', '<li>a</li><li>b</li>', 'a\nb'],
])('lists: %s', (_, html, text) => {
  expect(textFromHtml(html)).toBe(text)
})

test.each([
  ['cells and rows that are not closed', '<table><tr><td>a<div>b<td>c<tr><th>d<th>e</table>f', 'a\nb\nc\nd | e\n\nf'],
  ['cells without a row', '<table><td>a<td>b<tr><td>c</table>', 'a | b\nc'],
  ['a form around rows', '<table><form><tr><td>a</td><td>b</td></tr></form></table>', 'a | b'],
  ['the end of a block outside the table', '<div><table><tr><td>a</div></td><td>b</td></tr></table>', 'a | b'],
])('tables as browsers read them: %s', (_, html, text) => {
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

test('text below any depth is kept, and what follows the deep elements is outside them', () => {
  for (const tag of ['div', 'b', 'blockquote', 'ul><li']) {
    const text = textFromHtml(`${`<${tag}>`.repeat(5_000)}fundo`)
    expect(text.replace(/[\s>*]/g, '')).toBe('fundo')
  }
  const [begin, end] = ['<blockquote>'.repeat(150), '</blockquote>'.repeat(150)]
  expect(textFromHtml(`${begin}fundo${end}fim`)).toBe(`${'> '.repeat(100)}fundo\n\nfim`)
})
