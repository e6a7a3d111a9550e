import { expect, test } from 'vitest'
import { endOfLink, type LinkLife } from '../../../src/domain/recipient/link.js'

const acceptedAt = new Date('2026-01-01T00:00:00Z')
const life: LinkLife = { settings: { 'link.days': 10 }, acceptedAt, state: 'done', failure: null }
const day = 86_400_000

test('a link opens until the last moment of the account’s days', () => {
  expect(endOfLink(life, acceptedAt.getTime() + 10 * day)).toBeNull()
  expect(endOfLink(life, acceptedAt.getTime() + 10 * day + 1)).toBe('expired')
})

test('a bounce does not close a link: who holds it may read; a stranger’s word and a cancelled channel do', () => {
  const now = acceptedAt.getTime()
  expect(endOfLink({ ...life, failure: 'bounced' }, now)).toBeNull()
  expect(endOfLink({ ...life, failure: 'stranger' }, now)).toBe('stranger')
  expect(endOfLink({ ...life, state: 'cancelled' }, now)).toBe('withdrawn')
})
