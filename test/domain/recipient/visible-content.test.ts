import { expect, test } from 'vitest'
import { hasVisibleContent } from '../../../src/domain/recipient/visible-content.js'

test.each([
  'Olá',
  '<p>Olá</p>',
  '<p></p><p>.</p>',
  'a < b',
  '<p>&amp;</p>',
  '<p>&#x1F99C;</p>',
  '<img src="cid:logo">',
  '<IMG SRC=x />',
  '<img src="&#104;ttps://example.com/a.png">',
  '<script>var x</script><p>Olá</p>',
  '<svg><svg></svg>x</svg>Olá',
  '<template/>Olá',
  '<table><tr><td>🦜</td></tr></table>',
])('%j shows something', html => {
  expect(hasVisibleContent(html)).toBe(true)
})

test.each([
  '',
  ' \n',
  '<p></p>',
  '<p> \u200b\ufeff&nbsp;&zwnj;&#173;</p>',
  '<br><hr>',
  '<!-- Olá -->',
  '<!doctype html><html><head><title>Olá</title><style>p{}</style></head><body></body></html>',
  '<script>Olá</script>',
  '<object>Olá',
  '<svg><text>Olá</text></svg>',
  '<img>',
  '<img src="">',
  '<img src=" " alt="Olá">',
  '<a src="https://example.com/a.png"></a>',
  '<svg><img src="https://example.com/a.png"></svg>',
])('%j shows nothing', html => {
  expect(hasVisibleContent(html)).toBe(false)
})

test('a text after a hundred thousand open elements is found, and so is the absence of one', () => {
  const deep = '<b><i></u>'.repeat(100_000)
  expect(hasVisibleContent(`${deep}Olá`)).toBe(true)
  expect(hasVisibleContent(deep)).toBe(false)
})
