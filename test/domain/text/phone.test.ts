import { expect, test } from 'vitest'
import { examineNumber, numberForms, readNumber, readReportedNumber } from '../../../src/domain/text/phone.js'
import fc from '../../support/generated.js'

test.each([
  ['11 digits', '11987654321', '+5511987654321'],
  ['13 digits with 55', '5511987654321', '+5511987654321'],
  ['a leading + and 55', '+5511987654321', '+5511987654321'],
  ['area code 55, not taken for the country', '55987654321', '+5555987654321'],
  ['area code 55 after the country', '5555987654321', '+5555987654321'],
])('a Brazilian mobile is read from %s', (_, text, e164) => {
  expect(readNumber(text, 'mobile')).toBe(e164)
  expect(readNumber(text, 'any')).toBe(e164)
})

test.each([
  ['1133334444', '+551133334444'],
  ['551133334444', '+551133334444'],
  ['+551133334444', '+551133334444'],
  ['4121234567', '+554121234567'],
  ['5533334444', '+555533334444'],
])('a Brazilian fixed line %s can be called and gets no message', (text, e164) => {
  expect(readNumber(text, 'any')).toBe(e164)
  expect(readNumber(text, 'mobile')).toBe(null)
})

test.each(['4740401234', '4745678901', '4633334444'])(
  'a Brazilian fixed line %s is not read as a foreign mobile that happens to have the same digits',
  text => {
    expect(readNumber(text, 'any')).toBe(`+55${text}`)
    expect(readNumber(text, 'mobile')).toBe(null)
  },
)

test.each([
  ['14155552671', '+14155552671'],
  ['+14155552671', '+14155552671'],
  ['+4740401234', '+4740401234'],
  ['351912345678', '+351912345678'],
  ['+351912345678', '+351912345678'],
  ['5491123456789', '+5491123456789'],
])('an international mobile %s is read with its country code', (text, e164) => {
  expect(readNumber(text, 'mobile')).toBe(e164)
  expect(readNumber(text, 'any')).toBe(e164)
})

test('an international fixed line can be called and gets no message', () => {
  expect(readNumber('+442079460958', 'any')).toBe('+442079460958')
  expect(readNumber('+442079460958', 'mobile')).toBe(null)
  expect(readNumber('+351212345678', 'any')).toBe('+351212345678')
  expect(readNumber('+351212345678', 'mobile')).toBe(null)
})

test.each([
  ['nothing', ''],
  ['a mask', '(11) 98765-4321'],
  ['a mask with country', '+55 11 98765-4321'],
  ['spaces', '11 987654321'],
  ['a hyphen', '1198765-4321'],
  ['a space before', ' 11987654321'],
  ['a line break after', '11987654321\n'],
  ['letters', '1198765432a'],
  ['two plus signs', '++5511987654321'],
  ['a plus sign at the end', '5511987654321+'],
  ['Arabic digits', '١١٩٨٧٦٥٤٣٢١'],
  ['full-width digits', '１１９８７６５４３２１'],
  ['an area code that does not exist', '20987654321'],
  ['an area code that does not exist, with 55', '5520987654321'],
  ['an area code with a zero', '10987654321'],
  ['the prefix 0 of a trunk call', '011987654321'],
  ['00 before the country', '005511987654321'],
  ['nine digits that do not begin with 9', '11887654321'],
  ['eight digits that begin with 1', '1112345678'],
  ['eight digits that begin with 0', '1101234567'],
  ['no area code', '987654321'],
  ['too many digits', '119876543210'],
  ['55 and too many digits', '55119876543210'],
  ['+ and a Brazilian number without 55', '+11987654321'],
  ['a country that does not exist', '+999123456789'],
  ['a number too short for its country', '+1415555'],
  ['sixteen digits', '1234567890123456'],
])('%s is no number', (_, text) => {
  expect(readNumber(text, 'mobile')).toBe(null)
  expect(readNumber(text, 'any')).toBe(null)
})

test.each([
  ['by itself', '1187654321', '+5511987654321'],
  ['with 55', '551187654321', '+5511987654321'],
  ['with + and 55', '+551187654321', '+5511987654321'],
  ['beginning with 6', '7161234567', '+5571961234567'],
  ['with the digits of a Norwegian mobile', '4792345678', '+5547992345678'],
])('a mobile without its ninth digit, %s, is not completed, unless a carrier names it', (_, text, e164) => {
  for (const use of ['mobile', 'any'] as const) expect(examineNumber(text, use)).toEqual({ fault: 'no ninth digit' })
  expect(readReportedNumber(text)).toBe(e164)
})

test.each([
  ['(11) 98765-4321', 'masked'],
  ['11 987654321', 'masked'],
  ['1198765432a', 'masked'],
  ['987654321', 'too short'],
  ['1', 'too short'],
  ['+1415555', 'too short'],
  ['20987654321', 'impossible'],
  ['1234567890123456', 'impossible'],
  ['+18005550199', 'impossible'],
] as const)('%s is refused as %s', (text, fault) => {
  for (const use of ['mobile', 'any'] as const) expect(examineNumber(text, use)).toEqual({ fault })
})

test.each(['1133334444', '+442079460958'])('%s is refused as a fixed line where only a mobile will do', text => {
  expect(examineNumber(text, 'mobile')).toEqual({ fault: 'fixed line' })
})

test.each([
  ['955450972', '+955450972', 'Myanmar'],
  ['27827780', '+27827780', 'South Africa'],
])('%s, a Brazilian number without its area code, is not read as %s in %s', (text, foreign) => {
  for (const use of ['mobile', 'any'] as const) expect(examineNumber(text, use)).toEqual({ fault: 'too short' })
  expect(readNumber(foreign, 'any')).toBe(foreign)
})

test('what is read once reads to itself again', () => {
  const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 8, maxLength: 15 })
  fc.assert(
    fc.property(
      fc.constantFrom('', '+', '55', '+55', '5511', '11'),
      digits,
      fc.constantFrom('mobile', 'any'),
      (head, tail, use) => {
        const number = readNumber(head + tail, use)
        if (number === null) return
        expect(number).toMatch(/^\+[1-9]\d{7,14}$/)
        expect(readNumber(number, use)).toBe(number)
        expect(readNumber(number, 'any')).toBe(number)
      },
    ),
    { numRuns: 5_000 },
  )
})

test.each([
  ['a Brazilian mobile without its ninth digit', '558187654321', ['+5581987654321', '+558187654321']],
  ['a Brazilian mobile with it', '5581987654321', ['+5581987654321', '+558187654321']],
  ['a Mexican mobile with the digit of before 2019', '5215512345678', ['+525512345678', '+5215512345678']],
  ['an Argentine mobile without its nine', '541123456789', ['+5491123456789', '+541123456789']],
  ['any other number', '+14155552671', ['+14155552671']],
])('the ways in which WhatsApp may write %s', (_, digits, forms) => {
  expect(numberForms(digits)).toEqual(forms)
})

test('whatever WhatsApp makes of an accepted Brazilian mobile, one of its forms is the one that we keep', () => {
  fc.assert(
    fc.property(fc.constantFrom('11', '31', '81'), fc.stringMatching(/^[0-9]{8}$/), (area, rest) => {
      const kept = readNumber(`${area}9${rest}`, 'mobile')!
      for (const written of [`55${area}9${rest}`, `55${area}${rest}`]) expect(numberForms(written)).toContain(kept)
    }),
  )
})
