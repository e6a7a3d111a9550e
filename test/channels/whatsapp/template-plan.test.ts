import { describe, expect, test } from 'vitest'
import { readParameters, readSingle, readTemplatePlan } from '../../../src/channels/whatsapp/template-plan.js'

describe('a template’s plan', () => {
  test('has defaults: Brazilian Portuguese, numbered parameters, no header, no link button', () => {
    expect(readTemplatePlan({}, 'metadata')).toEqual({ language: 'pt_BR', named: false, header: [], linkButton: null })
  })

  test('is read from its members; what is not ours is left alone', () => {
    const given = { idioma: 'es', parametros: 'nomeados', cabecalho: ['titulo'], botaoLink: 2, outra: { coisa: true } }
    expect(readTemplatePlan(given, 'metadata')).toEqual({ language: 'es', named: true, header: ['titulo'], linkButton: 2 })
  })

  test.each([
    [{ idioma: 7 }, 'metadata.idioma'],
    [{ idioma: 'pt-BR' }, 'metadata.idioma'],
    [{ parametros: 'livres' }, 'metadata.parametros'],
    [{ cabecalho: 'titulo' }, 'metadata.cabecalho'],
    [{ cabecalho: [1] }, 'metadata.cabecalho'],
    [{ botaoLink: '0' }, 'metadata.botaoLink'],
    [{ botaoLink: 10 }, 'metadata.botaoLink'],
    [{ botaoLink: -1 }, 'metadata.botaoLink'],
    [{ botaoLink: 0.5 }, 'metadata.botaoLink'],
  ])('%j is refused by name', (given, field) => {
    expect(readTemplatePlan(given, 'metadata')).toMatch(new RegExp(`^O campo ${field.replace('.', '\\.')} deve ser .*\\.$`))
  })
})

describe('parameters', () => {
  test('are numbered or named, never both', () => {
    expect(readParameters({ '2': 'b', '1': 'a' }, 'x')).toEqual([
      { name: null, text: 'a' },
      { name: null, text: 'b' },
    ])
    expect(readParameters({ nome: 'Ana' }, 'x')).toEqual([{ name: 'nome', text: 'Ana' }])
    expect(readParameters({ nome: 'Ana', '1': 'a' }, 'x')).toMatch(/só números .* ou só nomes/)
    expect(readParameters({ '0': 'a', '1': 'b' }, 'x')).toMatch(/só números/)
    expect(readParameters({}, 'x')).toEqual([])
  })

  test('a single text stands for one', () => {
    expect(readParameters('Aviso', 'cabecalho')).toEqual([{ name: null, text: 'Aviso' }])
    expect(readParameters(['Aviso'], 'cabecalho')).toMatch(/^O campo cabecalho/)
    expect(readParameters('', 'cabecalho')).toMatch(/variável vazia: informe cabecalho/)
  })

  test('hold what WhatsApp accepts: one line, few blanks, never nothing', () => {
    expect(readSingle('x', ' Rua A,\r\n\t nº 7 ')).toEqual({ text: 'Rua A, nº 7' })
    expect(readSingle('x', `a${' '.repeat(9)}b`)).toEqual({ text: 'a    b' })
    expect(readSingle('x', `a \u00a0 ${' '.repeat(400_000)}b`)).toEqual({ text: 'a \u00a0    b' })
    expect(readSingle('x', 12.5)).toEqual({ text: '12.5' })
    for (const nothing of [null, undefined, '', ' \n ']) expect(readSingle('x', nothing)).toMatch(/vazia: informe x/)
    for (const shape of [{}, []]) expect(readSingle('x', shape)).toMatch(/campo x deve ser um texto/)
  })
})
