import { beforeAll, describe, expect, test } from 'vitest'
import type { BulkFields } from '../../../src/domain/send/bulk.js'
import { mapByName, mapToAllByName, readMapping } from '../../../src/domain/send/bulk-mapping.js'
import { requestMaker } from '../../../src/domain/send/bulk-request.js'
import { loadBulkFields } from '../../../src/engine/bulk/fields.js'

let fields: BulkFields
beforeAll(async () => {
  fields = await loadBulkFields()
})

describe('columns mean by their names', () => {
  test.each([
    ['Nome', 'nameTo'],
    ['DESTINATÁRIO', 'nameTo'],
    ['e-mail', 'to'],
    ['Endereço de E-mail', 'to'],
    ['Assunto', 'subject'],
    ['conteudo', 'content'],
    ['Referência', 'customID'],
    ['Celular', 'sms.number'],
    ['WhatsApp', 'whatsapp.number'],
    ['Telefone fixo', 'voz.number'],
    ['CEP', 'carta.variables.cep'],
    ['Município', 'carta.variables.cidade'],
    ['sms.typeSend', 'sms.typeSend'],
    ['whatsapp.variables.template', 'whatsapp.variables.template'],
  ])('%s is %s', (column, path) => {
    expect(mapByName([column], fields, {})).toEqual({ [column]: [path] })
  })

  test('a number serves the channels that the message names, and two columns are never the same member', () => {
    const base = { sms: { typeSend: '2' }, whatsapp: { variables: { template: 'aviso' } } }
    expect(mapByName(['Celular', 'Telefone'], fields, base)).toEqual({
      Celular: ['sms.number', 'whatsapp.number'],
      Telefone: [],
    })
  })

  test.each([[['Celular', 'WhatsApp']], [['WhatsApp', 'Celular']]])(
    "a channel's own column is its number, also beside one of a shared name: %j",
    columns => {
      const base = { sms: { typeSend: '2' }, whatsapp: { variables: { template: 'aviso' } } }
      expect(mapByName(columns, fields, base)).toEqual({ Celular: ['sms.number'], WhatsApp: ['whatsapp.number'] })
    },
  )

  test('a column that is no member is a variable of the templates that the message names, and otherwise not used', () => {
    const base = { template: 'cobranca', sms: { template: 'curta' } }
    expect(mapByName(['Data de vencimento', 'valor'], fields, base)).toEqual({
      'Data de vencimento': ['variables.data_de_vencimento', 'sms.variables.data_de_vencimento'],
      valor: ['variables.valor', 'sms.variables.valor'],
    })
    expect(mapByName(['valor'], fields, {})).toEqual({ valor: [] })
  })
})

test('the names of columns can mean members of every channel, and variables of the template of each', () => {
  const { Nome, Celular, valor } = mapToAllByName(['Nome', 'Celular', 'valor'], fields)
  expect(Nome).toEqual(['nameTo'])
  expect(Celular).toEqual(['sms.number', 'whatsapp.number', 'voz.number'])
  expect(valor).toEqual(fields.templates.map(({ values }) => `${values}.valor`))
})

describe('a mapping that somebody wrote', () => {
  const columns = ['Nome', 'Fone 1']
  test('finds columns whatever their case, and takes one member or several', () => {
    expect(readMapping({ NOME: 'nameTo', 'fone 1': ['sms.number', 'voz.number'] }, columns, fields)).toEqual({
      Nome: ['nameTo'],
      'Fone 1': ['sms.number', 'voz.number'],
    })
  })
  test.each([
    [{ Celular: 'sms.number' }, 'O arquivo não tem a coluna "Celular"'],
    [{ Nome: 'apelido' }, 'leva a coluna "Nome" a apelido'],
    [{ Nome: '__proto__.x' }, 'leva a coluna "Nome"'],
    [{ Nome: 'variables.__proto__' }, 'leva a coluna "Nome"'],
    [{ Nome: 7 }, 'leva a coluna "Nome"'],
    ['texto', 'O parâmetro mapping'],
  ])('%j is refused', (mapping, reason) => {
    expect(() => readMapping(mapping, columns, fields)).toThrow(reason)
  })
})

describe('the request of a line', () => {
  const columns = ['Nome', 'E-mail', 'Celular', 'Contrato']
  const base = {
    subject: 'Contrato {{ contrato }}',
    content: '<p>Olá {{Nome}}, contrato {{ CONTRATO }}.</p>',
    sms: { typeSend: '2', customMessage: 'Oi {{ nome }}: {SHORT_LINK}' },
  }
  const make = (over: object = base) =>
    requestMaker({ columns, mapping: mapByName(columns, fields, over as never), base: over as never }, fields)

  test('is the base with names in braces replaced, escaped in HTML alone, and the columns over it', () => {
    expect(make()(['Ana <b>', 'ana@example.com', '(11) 98765-4321', '47'])).toEqual({
      subject: 'Contrato 47',
      content: '<p>Olá Ana &lt;b&gt;, contrato 47.</p>',
      nameTo: 'Ana <b>',
      to: 'ana@example.com',
      sms: { typeSend: '2', customMessage: 'Oi Ana <b>: {SHORT_LINK}', number: '11987654321' },
    })
    expect(base.sms).toEqual({ typeSend: '2', customMessage: 'Oi {{ nome }}: {SHORT_LINK}' })
  })

  test('leaves out a channel whose columns are blank in the line', () => {
    expect(make()(['Ana', 'ana@example.com', '', '47'])).not.toHaveProperty('sms')
    expect(make()(['Ana', '', '11987654321', '47'])).not.toHaveProperty('to')
  })

  test('refuses a placeholder that is no column: it would be sent as it stands', () => {
    expect(() => make({ ...base, subject: '{{ vencimento }}' })).toThrow('{{ vencimento }}')
  })
})
