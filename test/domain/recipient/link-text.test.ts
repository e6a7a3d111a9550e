import { describe, expect, test } from 'vitest'
import { hideLinks, hideLinksIn, linkStandsAlone, makeLinkCode } from '../../../src/domain/recipient/link.js'

describe('the placeholder of the link', () => {
  test.each([
    '{SHORT_LINK}',
    'Leia: {SHORT_LINK}',
    '{SHORT_LINK} (Acme)',
    'a\n{SHORT_LINK}\tb',
    'um {SHORT_LINK} e {SHORT_LINK}',
    'nenhum',
    '',
  ])('stands alone in %j', text => {
    expect(linkStandsAlone(text)).toBe(true)
  })

  test.each([
    'https://evil.example/?x={SHORT_LINK}',
    'https://evil.example/{SHORT_LINK} ',
    '{SHORT_LINK}.evil.example',
    '{SHORT_LINK}/x',
    '{SHORT_LINK}.',
    '({SHORT_LINK})',
    '{SHORT_LINK}{SHORT_LINK}',
    'um {SHORT_LINK} e x{SHORT_LINK}',
    // Blanks without width, and those that fitting a text to an alphabet drops.
    'https://evil.example/?x=\u200b{SHORT_LINK}',
    'https://evil.example/?x=\ufeff{SHORT_LINK}',
    'https://evil.example/?x=\u00ad{SHORT_LINK}',
    'https://evil.example/?x=\u2060{SHORT_LINK}',
    'https://evil.example/?x=\u00a0{SHORT_LINK}',
  ])('does not in %j', text => {
    expect(linkStandsAlone(text)).toBe(false)
  })
})

describe('a link that somebody quotes', () => {
  const code = makeLinkCode(Buffer.alloc(32, 1), '01890a5d-ac96-774b-bcce-b302099a8057', 0)

  test.each([
    [`Recebi https://n.example/n/${code} ontem`, 'Recebi https://n.example/n/… ontem'],
    [`<https://n.example/o/${code}.gif>`, '<https://n.example/o/….gif>'],
    ['veja n.example/s/0k3m9z7q1a.', 'veja n.example/s/….'],
    ['{"text":"https:\\/\\/n.example\\/s\\/0k3m9z7q1a"}', '{"text":"https:\\/\\/n.example\\/s\\/…"}'],
    ['?u=https%3A%2F%2Fn.example%2Fs%2F0K3M9Z7Q1A', '?u=https%3A%2F%2Fn.example%2Fs%2F…'],
    // An answer that was cut.
    [`550 https://n.example/n/${code.slice(0, 40)}`, '550 https://n.example/n/…'],
    ['550 5.1.1 sem link em /n', '550 5.1.1 sem link em /n'],
  ])('%s', (text, hidden) => {
    expect(hideLinksIn(text)).toBe(hidden)
  })

  test('is hidden wherever it is in a value', () => {
    const value = {
      answer: '/s/0k3m9z7q1a',
      list: ['/n/0123456789', 1, null, { deep: '/o/0123456789.gif' }],
      at: undefined,
      n: 2,
    }
    expect(hideLinks(value)).toEqual({ answer: '/s/…', list: ['/n/…', 1, null, { deep: '/o/….gif' }], at: undefined, n: 2 })
  })
})

test('a value with nothing to hide is the same value, and a member of any name stays a member', () => {
  const plain = { answer: '250 OK', steps: [{ command: 'DATA', ms: 1 }], tls: null }
  expect(hideLinks(plain)).toBe(plain)
  const quoted = JSON.parse('{"__proto__":{"text":"https://n.example/s/0k3m9z7q1a"},"rest":["ok"]}')
  expect(JSON.stringify(hideLinks(quoted))).toBe('{"__proto__":{"text":"https://n.example/s/…"},"rest":["ok"]}')
})
