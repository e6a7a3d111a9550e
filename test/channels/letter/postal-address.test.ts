import { expect, test } from 'vitest'
import { addressLines, readPostalAddress, readSenderAddress } from '../../../src/channels/letter/postal-address.js'

const complete = {
  logradouro: 'Rua das Flores',
  numero: '100',
  complemento: 'ap. 42',
  bairro: 'Jardim',
  cidade: 'Brasília',
  uf: 'DF',
  cep: '70002-900',
}
const address = {
  street: 'Rua das Flores',
  number: '100',
  complement: 'ap. 42',
  district: 'Jardim',
  city: 'Brasília',
  state: 'DF',
  postcode: '70002900',
}

test.each<[string, Record<string, never> | object]>([
  ['the documented names', complete],
  [
    'capitals and accents',
    {
      Logradouro: 'Rua das Flores',
      NÚMERO: 100,
      Complemento: 'ap. 42',
      Bairro: 'Jardim',
      Cidade: 'Brasília',
      UF: 'df',
      CEP: '70002900',
    },
  ],
  [
    'other words',
    {
      rua: 'Rua das Flores',
      num: '100',
      compl: 'ap. 42',
      bairro: 'Jardim',
      municipio: 'Brasília',
      estado: 'Distrito Federal',
      codigo_postal: '70.002-900',
    },
  ],
  ['the number inside the street', { ...complete, numero: undefined, logradouro: 'Rua das Flores, nº 100' }],
])('an address is read under %s', (_, variables) => {
  expect(readPostalAddress(JSON.parse(JSON.stringify(variables)))).toEqual({ name: null, address })
})

test('the recipient may be named beside it, and "sem número" is a number', () => {
  expect(readPostalAddress({ ...complete, destinatario: ' Maria  da Silva ', numero: 'S/N' })).toMatchObject({
    name: 'Maria da Silva',
    address: { number: 'S/N' },
  })
})

test.each<[string, object, RegExp]>([
  ['nothing', {}, /informe carta\.variables\.cep, .*logradouro, .*numero, .*cidade, .*uf/],
  ['no number', { ...complete, numero: '' }, /numero.*"S\/N"/],
  ['a short postcode', { ...complete, cep: '7000290' }, /CEP "7000290" é inválido/],
  ['a state that does not exist', { ...complete, uf: 'XX' }, /UF "XX" não existe/],
  ['a state that is a member of every object', { ...complete, uf: 'constructor' }, /não existe/],
  ['a postcode of another state', { ...complete, uf: 'SP' }, /CEP 70002-900 é de DF, não de SP/],
  ['a postcode of no state', { ...complete, cep: '00999-999' }, /não pertence a nenhum estado/],
  ['a street that fits no envelope', { ...complete, logradouro: 'x'.repeat(121) }, /logradouro passa do limite/],
  ['lists and objects where texts belong', { ...complete, cidade: ['Brasília'] }, /cidade/],
])('%s: the reason says what to mend', (_, variables, reason) => {
  const read = readPostalAddress(JSON.parse(JSON.stringify(variables)))
  expect('problem' in read && read.problem).toMatch(reason)
})

test.each([
  ['01001-000', 'SP'],
  ['20040-020', 'RJ'],
  ['72850-000', 'GO'],
  ['73010-000', 'DF'],
  ['73850-000', 'GO'],
  ['69301-000', 'RR'],
  ['69400-000', 'AM'],
  ['69900-000', 'AC'],
  ['76801-000', 'RO'],
  ['99999-000', 'RS'],
])('postcode %s is of %s', (cep, uf) => {
  expect(readPostalAddress({ ...complete, cep, uf })).toHaveProperty('address')
})

test('line breaks cannot move an address out of its lines', () => {
  expect(readPostalAddress({ ...complete, bairro: 'Jardim\r\nSul\u0000' })).toMatchObject({ address: { district: 'Jardim Sul' } })
})

test('an envelope has street, district, then postcode and city', () => {
  expect(addressLines(address)).toEqual(['Rua das Flores, 100, ap. 42', 'Jardim', '70002-900 Brasília – DF'])
  expect(addressLines({ ...address, complement: '', district: '' })).toEqual(['Rua das Flores, 100', '70002-900 Brasília – DF'])
})

test('a sender’s address is seven parts', () => {
  expect(readSenderAddress('Rua das Flores; 100; ap. 42; Jardim; Brasília; DF; 70002-900')).toEqual(address)
  expect(readSenderAddress('Rua das Flores; 100; ; ; Brasília; DF; 70002-900')).toMatchObject({ district: '', complement: '' })
  for (const text of ['', 'Rua', 'a; 1; ; ; Brasília; SP; 70002-900', 'a; 1; ; ; Brasília; DF; 70002-900; x']) {
    expect(readSenderAddress(text), text).toBeNull()
  }
})
