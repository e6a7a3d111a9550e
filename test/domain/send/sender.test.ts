import { expect, test } from 'vitest'
import { completeSettings } from '../../../src/domain/account.js'
import { brandName, senderDetails, senderLines } from '../../../src/domain/send/sender.js'

test('a sender who has stated everything is shown in full, with the places that the facts lead to', () => {
  const settings = completeSettings({
    'sender.legalName': 'Aurora Cobranças S.A.',
    'sender.document': '11222333000181',
    'sender.phone': '0800 123 4567',
    'sender.site': 'https://www.aurora.com.br',
    'sender.privacy': 'dados?x@aurora.com.br',
  })
  expect(senderLines(settings)).toEqual([
    'Aurora Cobranças S.A.',
    'CNPJ: 11.222.333/0001-81',
    'Telefone: 0800 123 4567',
    'Site: https://www.aurora.com.br',
    'Encarregado de dados (LGPD): dados?x@aurora.com.br',
  ])
  expect(senderDetails(settings).map(({ href }) => href)).toEqual([
    null,
    null,
    'tel:08001234567',
    'https://www.aurora.com.br',
    'mailto:dados%3Fx@aurora.com.br',
  ])
})

test('only what is set is shown; a page of the privacy contact is a link of its own', () => {
  expect(senderLines(completeSettings({}))).toEqual([])
  const settings = completeSettings({ 'sender.document': '12ABC34501DE35', 'sender.privacy': 'https://aurora.com.br/dados' })
  expect(senderDetails(settings)).toEqual([
    { label: 'CNPJ', value: '12.ABC.345/01DE-35', href: null },
    { label: 'Encarregado de dados (LGPD)', value: 'https://aurora.com.br/dados', href: 'https://aurora.com.br/dados' },
  ])
})

test('the name that recipients see is the brand’s, or the account’s', () => {
  expect(brandName(completeSettings({ 'brand.name': 'Banco Aurora' }), 'aurora')).toBe('Banco Aurora')
  expect(brandName(completeSettings({}), 'aurora')).toBe('aurora')
})
