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

test('tables are read cell by cell', () => {
  const text = textFromHtml('<table><tr><td><p>Um</p></td><td><p>Dois</p></td></tr></table>')
  expect(text.split(/\s+/)).toEqual(['Um', 'Dois'])
})

test('text without markup stays as it is', () => {
  expect(textFromHtml('só texto')).toBe('só texto')
  expect(textFromHtml('')).toBe('')
})

test('content of any depth and length is converted', () => {
  expect(textFromHtml(`${'<div>'.repeat(50_000)}fundo`).length).toBeLessThan(100)
  expect(textFromHtml(`<p>${'palavra '.repeat(100_000)}</p>`).length).toBeLessThanOrEqual(131_072)
})
