import { strToU8, unzipSync, zipSync } from 'fflate'
import { expect, test } from 'vitest'
import { isReturn, lotFileName, packLot, readReturn } from '../../../src/channels/letter/e-carta/files.js'

const address = {
  street: 'street',
  number: 'number',
  complement: 'complement',
  district: 'district',
  city: 'city',
  state: 'state',
  postcode: 'postcode',
}
const recipient = { name: 'recipient', address }
const letter = { card: 'card', contract: 'contract', product: 'product', recipient, sender: { name: 'sender', address } }

test('a lot is one line of 23 fields and one PDF for each letter, the same bytes whenever it is made', () => {
  const objects = [
    { ...letter, object: 2, recipient: { ...recipient, name: 'José | da\r\nSilva' }, pdf: Buffer.from('%PDF-2') },
    { ...letter, object: 1, pdf: Buffer.from('%PDF-1') },
  ]
  const packed = packLot('12345', 77, objects)
  expect(Buffer.from(packLot('12345', 77, objects.toReversed())).equals(Buffer.from(packed))).toBe(true)
  expect(lotFileName('12345', 77)).toBe('e-Carta_12345_77_servico.zip')
  const files = unzipSync(packed)
  expect(Object.keys(files).sort()).toEqual([
    'e-Carta_12345_77_1_1_complementar.pdf',
    'e-Carta_12345_77_2_1_complementar.pdf',
    'e-Carta_12345_77_servico.txt',
  ])
  const lines = Buffer.from(files['e-Carta_12345_77_servico.txt']!).toString('utf8').trimEnd().split('\r\n')
  expect(lines.map(text => text.split('|').length)).toEqual([23, 23])
  expect(lines[0]!.split('|').slice(0, 7)).toEqual([
    '1',
    '1',
    '77',
    'card',
    'contract',
    'product',
    'e-Carta_12345_77_1_1_complementar.pdf',
  ])
  const parts = Object.keys(address)
  expect(lines[0]!.split('|').slice(7)).toEqual(['recipient', ...parts, 'sender', ...parts])
  expect(lines[1]!.split('|')[7]).toBe('José da Silva')
  expect(Buffer.from(files['e-Carta_12345_77_2_1_complementar.pdf']!).toString()).toBe('%PDF-2')
})

const reportsOf = (kind: string, ...lines: string[]) =>
  readReturn(`e-Carta_12345_77_${kind}.txt`, Buffer.from(lines.join('\r\n'))).reports

test('each return file reports on its letters by lot and object', () => {
  expect(reportsOf('Recibo', '2|1|77|AA473124829BR|15/11/2026 10:00:00', '2|2|77||')).toMatchObject([
    { of: { carrier: ['77.1'] }, type: 'prepared', trackingCode: 'AA473124829BR', at: new Date('2026-11-15T13:00:00Z') },
    { of: { carrier: ['77.2'] }, type: 'prepared', at: null },
  ])
  expect(reportsOf('Postado', '3|1|77|AA473124829BR|15/11/2026')).toMatchObject([
    { type: 'sent', at: new Date('2026-11-15T03:00:00Z') },
  ])
  expect(reportsOf('Postado', '3|1|77|AA473124829BR|31/02/2026 10:00:00')).toMatchObject([{ type: 'sent', at: null }])
  expect(reportsOf('Inconsistencia', '9|1|77|E12|CEP inexistente')).toMatchObject([
    { type: 'failed', failure: 'rejected', reason: 'Os Correios recusaram a carta: CEP inexistente.' },
  ])
  expect(reportsOf('Finalizador', '4|1|77|AA473124829BR|1|', '4|2|77||10|', '4|3|77||80|')).toMatchObject([
    { type: 'delivered' },
    { type: 'failed', failure: 'returned', reason: 'Mudou-se' },
    { type: 'failed', failure: 'undelivered', reason: 'Extraviada' },
  ])
})

test('an end with an unknown reason, or without one, is only noted: it does not say how the delivery ended', () => {
  const of = { carrier: ['77.1'] }
  const noted = (line: string) => reportsOf('Finalizador', line)
  expect(noted('4|1|77||99|')).toEqual([{ kind: 'report', of, type: 'note', at: null, answer: 'finalizador 99' }])
  expect(noted('4|1|77|AA473124829BR|x1|')).toMatchObject([
    { type: 'note', answer: 'finalizador x1', trackingCode: 'AA473124829BR' },
  ])
  for (const line of ['4|1|77|||', '4|1|77|', '4|1|77||0|']) expect(noted(line), line).toMatchObject([{ type: 'note' }])
})

test('lines that are no records, and codes whose digit is wrong, are left out', () => {
  expect(reportsOf('Recibo', '', 'lixo', '2|x|77|', '2|1|77|AA473124820BR|')).toEqual([
    { kind: 'report', of: { carrier: ['77.1'] }, type: 'prepared', at: null, answer: 'recibo' },
  ])
})

const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47)
const receiptsIn = (list: string[], images: Record<string, Uint8Array>) => {
  const bytes = zipSync({
    'indice.txt': strToU8(list.map((image, place) => `5|${place + 1}|77||${image}`).join('\r\n')),
    ...images,
  })
  return readReturn('e-Carta_12345_77_DevolucaoAR.zip', Buffer.from(bytes))
}

test('signed receipts come as images, known by their bytes, in any case and folder', () => {
  const jpg = Uint8Array.of(0xff, 0xd8, 0xff)
  const list = ['ar1.png', 'AR2.JPG', 'imagens\\ar3.png', '1/ar.png', '2/ar.png']
  const images = { 'ar1.png': png, 'ar/ar2.jpg': jpg, 'AR3.png': png, '1/ar.png': png, '2/ar.png': jpg }
  const { reports, receipts, faults } = receiptsIn(list, images)
  expect([reports, faults]).toEqual([[], []])
  expect(receipts.map(({ name, type }) => [name, type])).toEqual([
    ['77.1', 'png'],
    ['77.2', 'jpg'],
    ['77.3', 'png'],
    ['77.4', 'png'],
    ['77.5', 'jpg'],
  ])
  expect(receipts[0]!.bytes).toEqual(png)
})

test('a receipt that cannot be kept becomes a note with its cause', () => {
  const list = ['', 'falta.png', 'ar.png', 'ar.tif', 'grande.png']
  const images = {
    '1/ar.png': png,
    '2/ar.png': png,
    'ar.tif': strToU8('II*'),
    'grande.png': new Uint8Array(2_097_153).fill(0x89),
  }
  const { reports, receipts, faults } = receiptsIn(list, images)
  expect(receipts).toEqual([])
  expect(faults).toHaveLength(5)
  const said = (cause: string) => `O aviso de recebimento não foi guardado: ${cause}.`
  expect(reports).toMatchObject([
    { of: { carrier: ['77.1'] }, type: 'note', reason: said('o retorno não diz o nome da imagem') },
    { of: { carrier: ['77.2'] }, type: 'note', reason: said('o retorno tem 0 imagens com o nome falta.png') },
    { of: { carrier: ['77.3'] }, type: 'note', reason: said('o retorno tem 2 imagens com o nome ar.png') },
    { of: { carrier: ['77.4'] }, type: 'note', reason: said('a imagem ar.tif não é PNG nem JPEG') },
    { of: { carrier: ['77.5'] }, type: 'note', reason: said('a imagem grande.png tem mais de 2 MB') },
  ])
})

test('a return without a line that can be read is refused; one without lines is a report on no letter', () => {
  expect(() => reportsOf('Recibo', 'lixo', '2|x|77|')).toThrow('no line')
  expect(() => receiptsIn([], { 'ar1.png': png })).not.toThrow()
  const images = Buffer.from(zipSync({ 'ar1.png': png }))
  expect(() => readReturn('e-Carta_12345_77_DevolucaoAR.zip', images)).toThrow('no line')
  expect(reportsOf('Inconsistencia', '', '')).toEqual([])
})

test('a return that unpacks to more than it may is refused', () => {
  const bytes = zipSync({ 'a.txt': new Uint8Array(65 * 1_048_576) }, { level: 0 })
  expect(() => readReturn('e-Carta_12345_1_Recibo.zip', Buffer.from(bytes))).toThrow(/more than it may/)
})

test('only return files for our own matrix are read', () => {
  expect(isReturn('12345', 'e-Carta_12345_77_Recibo.txt')).toBe(true)
  expect(isReturn('12345', 'e-Carta_12345_77_20261115_Postado.zip')).toBe(true)
  for (const name of [
    'e-Carta_999_77_Recibo.txt',
    'e-Carta_12345_77_servico.zip',
    'Recibo.txt',
    'e-Carta_12345_77_Recibo.txt.part',
  ]) {
    expect(isReturn('12345', name), name).toBe(false)
  }
})
