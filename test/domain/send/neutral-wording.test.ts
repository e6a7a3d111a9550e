import { expect, test } from 'vitest'
import { findExposingWords, neutralWordingWarnings } from '../../../src/domain/send/neutral-wording.js'

test.each([
  ['Regularize sua DÍVIDA hoje', ['dívida']],
  ['Débito em atraso: evite a negativação no SPC e na Serasa', ['débito', 'atraso', 'negativação', 'SPC', 'Serasa']],
  ['Aviso de cobrança e execução judicial', ['cobrança', 'execução']],
  ['{{ nome }}, o processo 123 pede a penhora', ['processo', 'penhora']],
  ['Sua fatura vencida será protestada', ['vencida', 'protesto']],
  ['{{ nome }}, há uma mensagem para você: {SHORT_LINK}', []],
  ['O plano de saúde individual e os débitos-automáticos', ['débito']],
  ['Dividendos e executivos', []],
])('%s', (text, words) => {
  expect(findExposingWords(text)).toEqual(words)
})

test('a warning names the words, where they are seen, and the cure; a text that nobody else sees has none', () => {
  expect(neutralWordingWarnings('Sua dívida', 'na tela bloqueada do celular')).toEqual([
    expect.stringMatching(/“dívida”.*na tela bloqueada do celular.*texto neutro/),
  ])
  expect(neutralWordingWarnings('Sua dívida', undefined)).toEqual([])
})
