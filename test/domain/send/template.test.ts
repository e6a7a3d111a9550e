import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { channels, moduleOf } from '../../../src/channels/registry.js'
import type { JsonObject } from '../../../src/domain/notification.js'
import {
  checkTemplate,
  isPlainTemplate,
  MAX_TEMPLATE_CHARACTERS,
  MAX_TEMPLATE_ELEMENTS,
  MAX_TEMPLATE_VARIABLES,
  renderTemplate,
  type TemplateVariable,
} from '../../../src/domain/send/template.js'
import fc from '../../support/generated.js'

const obligatory = (...names: string[]): TemplateVariable[] => names.map(name => ({ name, required: true }))
const optional = (...names: string[]): TemplateVariable[] => names.map(name => ({ name, required: false }))

/** Checks and renders, as a template that was saved and is then used. */
function fill(content: string, values: JsonObject = {}, channel: (typeof channels)[number] = 'sms') {
  const variables = checkTemplate(content, null)
  return 'fault' in variables ? variables : renderTemplate(moduleOf(channel).templates.html, content, variables, values)
}

describe('what a content uses', () => {
  test.each([
    ['Olá', []],
    ['{{ nome }}, {{ contrato }} e {{nome}}', ['nome', 'contrato']],
    ['{{ cliente_nome | upcase }}', ['cliente_nome']],
    ['{% if vip %}{{ desconto }}{% endif %}', ['vip', 'desconto']],
    ['{% for item in itens %}{{ item.valor }}{% endfor %}', ['itens']],
    ['{% assign total = valor | times: 2 %}{{ total }}', ['valor']],
    ['{{ endereço }}', ['endereço']],
  ])('%s', (content, names) => {
    expect(checkTemplate(content, null)).toEqual(obligatory(...names))
  })

  test('declared variables are kept as declared, unused ones too', () => {
    const declared = [...optional('nome'), ...obligatory('outra')]
    expect(checkTemplate('Olá, {{ nome }}', declared)).toEqual(declared)
  })

  test('an undeclared variable is named', () => {
    expect(checkTemplate('{{ nome }} {{ contrato }}', obligatory('nome'))).toEqual({ fault: 'undeclared', variable: 'contrato' })
  })

  test.each([
    ['{% if nome %}', 1],
    ['a\nb {{ nome', 2],
    ['{{ nome | inexistente }}', 1],
    ['{% inexistente %}', 1],
    ['a\n\n{% endfor %}', 3],
    ["{{constructor.constructor('return process')()}}", 1],
    ['{% limite %}', 1],
    ['{{ nome | limit exceeded }}', 1],
  ])('what is no Liquid is a syntax fault with its line: %j', (content, line) => {
    expect(checkTemplate(content, null)).toEqual({ fault: 'syntax', line })
  })
})

describe('words that Liquid ignores are refused, with the cure', () => {
  test.each([
    ['{{ nome completo }}', 'Escreva {{ nome_completo }}: o nome de uma variável não tem espaços'],
    ['{{- data do vencimento -}}', 'Escreva {{ data_do_vencimento }}: o nome de uma variável não tem espaços'],
    ['{{ valor , data }}', /^Deixe um só valor/],
    ['{{ nome, }}', /^Deixe um só valor/],
    ['{{ nome ) resto }}', /^Deixe um só valor/],
    ['{{ "a" "b" }}', /^Deixe um só valor/],
    ['{{ nome == }}', /^Deixe um só valor/],
    ['{{ nome | upcase , data }}', /^Deixe um só valor/],
    ['{% if nome completo %}', /^Deixe um só valor/, '{% endif %}'],
    ['{% elsif nome completo %}', /^Deixe um só valor/, '{% endif %}', '{% if a %}'],
    ['{% unless a, b %}', /^Deixe um só valor/, '{% endunless %}'],
    ['{% case a b %}', /^Deixe um só valor/, '{% when 1 %}{% endcase %}'],
    ['{% when 1 b %}', /^Deixe um só valor/, '{% endcase %}', '{% case a %}'],
    ['{% assign total = a b %}', /^Deixe um só valor/],
    ['{% echo a b %}', /^Deixe um só valor/],
    ['{% cycle "a" b, "c" %}', /^Deixe um só valor/],
    ['{% capture nome completo %}', /^Deixe um só valor/, '{% endcapture %}'],
    ['{% endcapture nome %}', /^Deixe um só valor/, '', '{% capture nome %}'],
    ['{% else if b %}', /escreva elsif/, '{% endunless %}', '{% unless a %}'],
    ['{% for item in itens | sort %}', /só reversed, limit, offset; um filtro vai antes/, '{% endfor %}'],
    ['{% for item in lista longa %}', /só reversed, limit, offset/, '{% endfor %}'],
    ['{% for item in itens limit 2 %}', /só reversed, limit, offset/, '{% endfor %}'],
    ['{% tablerow item in itens reversed %}', /só cols, limit, offset/, '{% endtablerow %}'],
  ])('%s', (found, cure, after = '', before = '') => {
    const text = typeof cure === 'string' ? cure : expect.stringMatching(cure)
    expect(checkTemplate(`Olá ${before}${found}${after}`, null)).toEqual({ fault: 'ignored', found, cure: text })
  })

  test('also inside a liquid tag; a long tag is cut', () => {
    expect(checkTemplate('{% liquid\n  assign a = b\n  echo a b\n%}', null)).toHaveProperty('found', 'echo a b')
    expect(checkTemplate(`{{ ${'a'.repeat(200)} b }}`, null)).toHaveProperty('found', `{{ ${'a'.repeat(77)}…`)
  })

  test.each([
    '{{ nome | append: " ", sobrenome | upcase }}',
    '{{- nome -}}',
    '{{ nome | default: "cliente, senhor" }}',
    '{{ not vip }} {{ a == b and c contains "x" or d }}',
    '{% if a > 1 and b != "x" %}{% elsif c %}{% else %}{% endif %}',
    '{% unless a %}{% elsif b %}{% else %}{% endunless %}',
    '{% case a %}{% when 1, 2 or "ou" %}{% else %}{% endcase %}',
    '{% assign x = a | split: "," %}{% for i in x reversed limit: 2 offset: 1 %}{{ i }}{% break %}{% else %}{% endfor %}',
    '{% for i in (1..3), limit: 2 %}{{ forloop.index }}{% endfor %}{% tablerow i in (1..4) cols: 2 %}{{ i }}{% endtablerow %}',
    '{% cycle "a", "b" %}{% cycle "g": "a", b %}{% increment n %}{% capture "x" %}{% endcapture %}{% echo %}{% echo a %}',
    '{% comment texto livre %}{{ nome completo }}{% endcomment %}{% raw %}{{ nome completo }}{% endraw %}{% # nota livre %}',
    '{% liquid\n  if a\n  echo b | upcase\n  endif\n%}',
  ])('what Liquid reads whole stays accepted: %s', content => {
    expect(checkTemplate(content, null)).not.toHaveProperty('fault')
  })
})

describe('a member of a request variable, which no send can fill in, is refused', () => {
  test.each([
    ['{{ cliente.nome }}', 'cliente.nome', '{{ cliente_nome }}'],
    ['{{ cliente["nome completo"] | upcase }}', "cliente['nome completo']", '{{ cliente_nome_completo }}'],
    ['{% if cliente.endereço.uf == "SP" %}{% endif %}', 'cliente.endereço.uf', '{{ cliente_endereço_uf }}'],
    ['{{ "Olá" | append: cliente.nome }}', 'cliente.nome', '{{ cliente_nome }}'],
    ['{{ nome.first }}', 'nome.first', '{{ nome_first }}'],
    ['{% for i in pedido.itens %}{% endfor %}', 'pedido.itens', '{{ pedido_itens }}'],
  ])('%s', (content, found, right) => {
    expect(checkTemplate(content, null)).toEqual({ fault: 'member', found, right })
    expect(checkTemplate(content, obligatory('cliente', 'nome', 'pedido'))).toEqual({ fault: 'member', found, right })
  })

  test.each([
    ['{{ nome.size }}{{ nome[0] }}', 'Ana', '3A'],
    ['{% assign itens = nome | split: "," %}{{ itens.first }}{{ itens.last }}{{ itens.size }}{{ itens[1] }}', 'x,y', 'xy2y'],
    ['{% assign itens = nome | split: "," %}{% for i in itens %}{{ forloop.index }}{{ i.size }}{% endfor %}', 'x,yy', '1122'],
  ])('the size and the characters of a text, made lists and loops stay: %s', (content, nome, text) => {
    expect(fill(content, { nome })).toEqual({ text })
  })
})

describe('strictness', () => {
  test.each([{}, { nome: null }, { nome: '' }, { nome: '  \n' }, { nome: '\u200b' }])(
    'a missing obligatory variable is named: %j',
    values => {
      expect(fill('Olá, {{ nome }}', values)).toEqual({ fault: 'missing', variable: 'nome' })
    },
  )

  test.each([{}, { nome: null }, { nome: '' }])('a missing optional variable leaves nothing behind: %j', values => {
    expect(renderTemplate(false, 'Olá[{{ nome }}]', optional('nome'), values)).toEqual({ text: 'Olá[]' })
  })

  test('zero and false are values', () => {
    expect(fill('{{ saldo }} {{ ativo }}', { saldo: 0, ativo: false })).toEqual({ text: '0 false' })
  })

  test('a missing member of a variable is named, whatever its name is', () => {
    for (const variable of ['cliente.nome', 'cliente.limite'])
      expect(renderTemplate(false, `{{ ${variable} }}`, obligatory('cliente'), { cliente: { idade: 3 } })).toEqual({
        fault: 'missing',
        variable,
      })
  })

  test('values that the template does not declare are not seen', () => {
    expect(renderTemplate(false, '{{ nome }}', obligatory('nome'), { nome: 'Ana', outra: 'x' })).toEqual({ text: 'Ana' })
    expect(renderTemplate(false, '{{ outra }}', [], { outra: 'x' })).toEqual({ fault: 'missing', variable: 'outra' })
  })
})

describe('markup', () => {
  const content = '<b>{{ nome }}</b>'
  const nome = `<script>alert("x")</script> & 'y'`

  test.each(['email', 'letter'] as const)('in %s values are escaped, the content is not', channel => {
    expect(fill(content, { nome }, channel)).toEqual({
      text: '<b>&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt; &amp; &#39;y&#39;</b>',
    })
  })

  test.each(['sms', 'whatsapp', 'voice'] as const)('in %s, which is no page, values stay as they are', channel => {
    expect(fill(content, { nome }, channel)).toEqual({ text: `<b>${nome}</b>` })
  })

  test('no value becomes markup, whatever it holds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), text => {
        const filled = fill('{{ nome }}', { nome: `${text}<i>` }, 'email')
        expect('text' in filled && !/[<>"']/.test(filled.text)).toBe(true)
      }),
      { numRuns: 5_000 },
    )
  })
})

describe('only own members', () => {
  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'prototype', 'valueOf'])(
    '%s of a value is no member',
    name => {
      for (const value of ['text', { a: 1 }, [1, 2]])
        expect(renderTemplate(false, `{{ a.${name} }}`, obligatory('a'), { a: value })).toEqual({
          fault: 'missing',
          variable: `a.${name}`,
        })
    },
  )

  test.each(['constructor', '__proto__', 'toString'])('%s is no variable unless it was given', name => {
    expect(fill(`{{ ${name} }}`)).toEqual({ fault: 'missing', variable: name })
  })

  test('a variable may be called constructor', () => {
    expect(fill('{{ constructor }}', { constructor: 'Obra S.A.' })).toEqual({ text: 'Obra S.A.' })
  })
})

describe('bounds', () => {
  test('a machine that stood still once is no template that is too slow; one that stands still always is', () => {
    const clock = vi.spyOn(performance, 'now')
    onTestFinished(() => clock.mockRestore())
    clock.mockReturnValueOnce(0).mockReturnValue(10_000)
    expect(fill('Olá {{ nome }}', { nome: 'Ana' })).toEqual({ text: 'Olá Ana' })
    let now = 0
    clock.mockImplementation(() => {
      now += 10_000
      return now
    })
    expect(fill('Olá {{ nome }}', { nome: 'Ana' })).toEqual({ fault: 'limits' })
  })

  const page = 'x'.repeat(190_000)
  const text = 'x'.repeat(900_000)

  test.each<[string, string, JsonObject]>([
    ['an endless range', '{% for i in (1..1000000000) %}x{% endfor %}', {}],
    ['loops in loops', '{% for i in (1..100000) %}{% for j in (1..100000) %}x{% endfor %}{% endfor %}', {}],
    ['empty loops in loops', '{% for i in (1..100000) %}{% for j in (1..100000) %}{% endfor %}{% endfor %}', {}],
    ['half a gigabyte out of a long content', `{% for i in (1..2500) %}${page}{% endfor %}`, {}],
    ['more than a text can hold', `{% for i in (1..10000) %}${page}{% endfor %}`, {}],
    ['half a gigabyte out of a long value', '{% for i in (1..500) %}{{ a }}{% endfor %}', { a: text }],
    ['a text that doubles', '{% assign a = "xxxx" %}{% for i in (1..99) %}{% assign a = a | append: a %}{% endfor %}{{ a }}', {}],
    [
      'a capture that doubles',
      '{% capture a %}xxxx{% endcapture %}{% for i in (1..99) %}{% capture a %}{{ a }}{{ a }}{% endcapture %}{% endfor %}{{ a }}',
      {},
    ],
    ['a date padded to the width of a book', "{{ 'now' | date: '%999999999d' }}", {}],
    ['a replacement of every letter by all', '{{ a | replace: "x", a }}', { a: text.slice(0, 5_000) }],
  ])('%s is refused as too much', (_, content, values) => {
    for (const channel of ['sms', 'email'] as const) expect(fill(content, values, channel)).toEqual({ fault: 'limits' })
  })

  test('a content longer than the limit is refused as too much', () => {
    expect(checkTemplate('x'.repeat(MAX_TEMPLATE_CHARACTERS), null)).toEqual([])
    expect(checkTemplate('🙂'.repeat(MAX_TEMPLATE_CHARACTERS), null)).toEqual([])
    expect(checkTemplate('🙂'.repeat(MAX_TEMPLATE_CHARACTERS + 1), null)).toEqual({ fault: 'limits' })
  })

  test('a content uses so many variables and no more, declared or not', () => {
    const outputs = (count: number): string => Array.from({ length: count }, (_, n) => `{{ v${n} }}`).join('')
    const names = (count: number): TemplateVariable[] => obligatory(...Array.from({ length: count }, (_, n) => `v${n}`))
    expect(checkTemplate(outputs(MAX_TEMPLATE_VARIABLES), null)).toHaveLength(MAX_TEMPLATE_VARIABLES)
    expect(checkTemplate(outputs(MAX_TEMPLATE_VARIABLES + 1), null)).toEqual({ fault: 'variables' })
    expect(checkTemplate('', names(MAX_TEMPLATE_VARIABLES + 1))).toEqual({ fault: 'variables' })
  })

  test('a content has so many outputs and tags and no more', () => {
    expect(checkTemplate('{{ a }}'.repeat(MAX_TEMPLATE_ELEMENTS), null)).toEqual(obligatory('a'))
    expect(checkTemplate(`${'{{ a }}'.repeat(MAX_TEMPLATE_ELEMENTS)}{%- if a %}{% endif %}`, null)).toEqual({ fault: 'elements' })
  })

  test('thousands of nested tags are refused, not fatal', () => {
    const content = '{% if a %}'.repeat(9_000) + '{% endif %}'.repeat(9_000)
    const filled = fill(content, { a: 'x' })
    expect(filled).toHaveProperty('fault')
  })

  test('an ordinary message with a long list passes', () => {
    // On a clock that stands still: how busy the machine is does not count.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0)
    onTestFinished(() => clock.mockRestore())
    const itens = Array.from({ length: 500 }, (_, index) => ({ nome: `Item ${index}`, valor: index }))
    const filled = fill('{% for item in itens %}{{ item.nome }}: {{ item.valor }}\n{% endfor %}', { itens: itens }, 'email')
    expect('text' in filled && filled.text.split('\n')).toHaveLength(501)
  })
})

describe('what is so plain that it needs no thread', () => {
  const ana = { nome: 'Ana', idade: 7, vip: true, nada: null }

  test.each([
    'Olá',
    'Olá, {{ nome }}! Contrato {{contrato}}, {{- endereço -}}.',
    '{{ nome | upcase | strip }}',
    'Chaves { sozinhas } e }}',
    Array(100).fill('{{ nome }}').join(' '),
  ])('%s', content => {
    expect(isPlainTemplate(content, ana)).toBe(true)
  })

  test.each([
    '{% if nome %}{% endif %}',
    '{{ nome | append: nome }}',
    '{{ (1..9) }}',
    '{{ nome.size }}',
    '{{ nome[0] }}',
    '{{ "texto" }}',
    '{{{ nome }}{ % if',
    '{{ nome | upcase: 3 }}',
    '{{ nome }',
    Array(101).fill('{{ nome }}').join(' '),
    'x'.repeat(20_001),
  ])('not %s', content => {
    expect(isPlainTemplate(content, ana)).toBe(false)
  })

  test('long values and values with members are not plain', () => {
    expect(isPlainTemplate('{{ nome }}', { nome: 'x'.repeat(20_001) })).toBe(false)
    expect(isPlainTemplate('{{ nome }}', { nome: ['x'] })).toBe(false)
    expect(isPlainTemplate('{{ nome }}', { nome: { a: 1 } })).toBe(false)
  })
})

describe('files', () => {
  test.each(['include', 'render', 'layout'])('%s reaches no file, by a fixed name or by a variable', async tag => {
    const folder = await mkdtemp(join(tmpdir(), 'carteiro-template-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'segredo.liquid')
    writeFileSync(file, 'SEGREDO')
    for (const name of [file, join(folder, 'segredo'), '/etc/passwd', '../../../../etc/passwd', 'package.json']) {
      expect(fill(`{% ${tag} '${name}' %}`)).toHaveProperty('fault', 'syntax')
      const values = { arquivo: name }
      expect(renderTemplate(false, `{% ${tag} arquivo %}`, obligatory('arquivo'), values)).toHaveProperty('fault')
    }
  })
})

describe('any content', () => {
  const fragments = fc.constantFrom(
    ...['{{', '}}', '{%', '%}', 'for', 'if', 'endfor', 'endif', 'in', '(1..9)', ' nome ', ' | ', 'date:', "'%Y'", 'split:', '"'],
    ...[
      'assign',
      '=',
      'a',
      '.',
      '[',
      ']',
      '(',
      ')',
      'limit:',
      '\n',
      'raw',
      'endraw',
      'case',
      'when',
      'capture',
      'constructor',
      '-',
    ],
  )
  test('either renders or names its fault, and never throws', () => {
    const words = fc.array(fc.oneof({ weight: 9, arbitrary: fragments }, fc.string()), { maxLength: 30 })
    fc.assert(
      fc.property(
        words,
        fc.dictionary(fc.constantFrom('nome', 'a'), fc.jsonValue()),
        fc.constantFrom(...channels),
        (parts, values, channel) => {
          const filled = fill(parts.join(''), values as JsonObject, channel)
          if ('fault' in filled) expect(['syntax', 'missing', 'limits', 'ignored', 'member']).toContain(filled.fault)
          else expect(typeof filled.text).toBe('string')
        },
      ),
      { numRuns: 5_000 },
    )
  })
})
