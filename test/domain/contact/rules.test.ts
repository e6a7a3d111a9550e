import { expect, test } from 'vitest'
import { zonesOfRecipient } from '../../../src/domain/contact/area-zones.js'
import { type HolidayKind, holidayOn } from '../../../src/domain/contact/holidays.js'
import { readHours } from '../../../src/domain/contact/hours.js'
import { type ContactRules, contactDay, waitForHours, waitForNextDay } from '../../../src/domain/contact/rules.js'
import { contactCases } from './contact-cases.js'

const HOURS = { text: 'seg-sex 08:00-20:00; sab 08:00-14:00', call: 'seg-sex 09:00-19:00' }

const rulesOf = (hours: string, holidays: string): ContactRules => ({
  hours: readHours(HOURS[hours as keyof typeof HOURS]),
  holidays: holidays as HolidayKind,
  perDay: 3,
  repeatAfterMs: null,
})

test('Good Friday of 2027 to 2040 is two days before the Easter of the almanac', () => {
  const almanac = `2027-03-28 2028-04-16 2029-04-01 2030-04-21 2031-04-13 2032-03-28 2033-04-17
    2034-04-09 2035-03-25 2036-04-13 2037-04-05 2038-04-25 2039-04-10 2040-04-01`.split(/\s+/)
  const fridays = almanac.map(day => new Date(Date.parse(day) - 2 * 86_400_000).toISOString().slice(0, 10))
  expect(fridays.map(day => holidayOn(day, 'national'))).toEqual(fridays.map(() => 'Sexta-feira Santa'))
})

test('the table has at least 200 dated cases, of every rule and kind of zone', () => {
  expect(contactCases.length).toBeGreaterThanOrEqual(200)
  const rules = contactCases.map(line => line.split(' ')[4])
  expect(new Set(rules)).toEqual(new Set(['go', 'hours', 'day', 'holiday', 'perDay']))
  expect(new Set(contactCases.map(line => line.split(' ')[0])).size).toBeGreaterThan(10)
})

test.each(contactCases)('%s', line => {
  const [area, hours, holidays, at, rule, until] = line.split(' ') as [string, string, string, string, string, string?]
  const zones = zonesOfRecipient(`+55${area}987654321`)
  const rules = rulesOf(hours, holidays)
  const moment = new Date(at)
  const wait = rule === 'perDay' ? waitForNextDay(rules, moment, zones) : waitForHours(rules, moment, zones)
  expect(wait && { rule: wait.rule, until: wait.until }).toEqual(rule === 'go' ? null : { rule, until: new Date(until!) })
  // What a wait ends with is a moment of contact.
  if (wait !== null) expect(waitForHours(rules, wait.until, zones)).toBeNull()
})

test('the day in which contacts are counted is the person’s own', () => {
  const at = new Date('2027-07-07T04:30:00Z')
  const dayOf = (area: string): string => contactDay(at, zonesOfRecipient(`+55${area}987654321`))
  expect([dayOf('11'), dayOf('92'), dayOf('68')]).toEqual(['2027-07-07', '2027-07-07', '2027-07-06'])
})

test('numbers abroad, and recipients without a number, get the time of Brasília', () => {
  expect(zonesOfRecipient('+4915112345678')).toEqual(['America/Sao_Paulo'])
  expect(zonesOfRecipient(null)).toEqual(['America/Sao_Paulo'])
  expect(zonesOfRecipient('+556832123456')).toEqual(['America/Rio_Branco'])
})

test('a wait says why in words', () => {
  const at = new Date('2027-07-06T23:30:00Z')
  expect(waitForHours(rulesOf('text', 'national'), at, ['America/Manaus'])).toBeNull()
  expect(waitForHours(rulesOf('text', 'national'), at, ['America/Sao_Paulo'])?.reason).toBe(
    'o horário de contato é seg-sex 08:00-20:00; sab 08:00-14:00, hora de Brasília',
  )
  expect(holidayOn('2027-11-20', 'national')).toBe('Dia Nacional de Zumbi e da Consciência Negra')
})

test('hours are read as people write them, and nothing that never opens is accepted', () => {
  expect(readHours('Seg-Sex 08:00-20:00; Sáb 08:00-14:00')?.text).toBe('seg-sex 08:00-20:00; sab 08:00-14:00')
  expect(readHours('sab-dom 10:00-24:00')?.days.map(span => span !== null)).toEqual([
    true,
    ...Array<boolean>(5).fill(false),
    true,
  ])
  const wrong = [
    '',
    'sempre que der',
    'seg-sex 20:00-08:00',
    'seg 08:00-08:00',
    'seg 08:00-25:00',
    'seg 8:00-9:00',
    'xyz 08:00-09:00',
  ]
  for (const text of [...wrong, 'seg-sex 08:00-12:00; sex 13:00-18:00', 'seg 08:60-09:00'])
    expect(readHours(text), text).toBeNull()
})
