import { describe, expect, test } from 'vitest'
import { validationFailures } from '../../../src/channels/email/validation-failures.js'
import { channels, moduleOf } from '../../../src/channels/registry.js'
import type { Channel } from '../../../src/domain/channel.js'
import {
  type DeliveryStatus,
  describe as describeBy,
  type Failure,
  newStatus,
  timeline as timelineBy,
} from '../../../src/domain/delivery/status.js'
import fc from '../../support/generated.js'

const describeStatus = (record: DeliveryStatus): string => describeBy(record, moduleOf(record.channel))
const timeline = (record: DeliveryStatus) => timelineBy({ ...record, unknownSince: null }, moduleOf(record.channel))

const accepted = new Date('2026-07-18T04:00:00Z')
const minute = (minutes: number): Date => new Date(accepted.getTime() + minutes * 60_000)

const status = (channel: Channel, changes: Partial<DeliveryStatus> = {}): DeliveryStatus => ({
  ...newStatus(channel, 'queued', accepted),
  ...changes,
})

const labels = (record: DeliveryStatus): string[] => timeline(record).map(({ label }) => label)

describe('3 the description climbs', () => {
  const levels: [Partial<DeliveryStatus>, string][] = [
    [{}, 'Processado'],
    [{ sentAt: minute(1) }, 'Enviado'],
    [{ deliveredAt: minute(2) }, 'Entregue'],
    [{ readAt: minute(3) }, 'Lido'],
    [{ confirmedAt: minute(4) }, 'Confirmou o recebimento'],
  ]

  test.each(channels)('3 of %s, one level at a time', channel => {
    let changes: Partial<DeliveryStatus> = {}
    for (const [change, label] of levels) {
      changes = { ...changes, ...change }
      const expected = channel === 'sms' && label === 'Lido' ? 'Lido (acessou o link)' : label
      expect(describeStatus(status(channel, changes))).toBe(expected)
    }
  })

  test('3 an SMS that was answered: Respondido', () => {
    const record = status('sms', {
      sentAt: minute(1),
      deliveredAt: minute(2),
      answeredAt: minute(5),
      answers: [{ text: 'ok', id: null }],
    })
    expect(describeStatus(record)).toBe('Respondido')
  })

  test('3 it never falls back when a fact of a lower level arrives late', () => {
    // A delivery receipt that comes in after the recipient has read and confirmed.
    const record = status('email', { sentAt: minute(1), readAt: minute(2), confirmedAt: minute(3), deliveredAt: minute(9) })
    expect(describeStatus(record)).toBe('Confirmou o recebimento')
    expect(describeStatus(status('sms', { sentAt: minute(1), answeredAt: minute(2), deliveredAt: minute(3) }))).toBe('Respondido')
  })

  test('3 it never falls, whatever order the facts come in', () => {
    const facts = ['sentAt', 'deliveredAt', 'readAt', 'confirmedAt'] as const
    const order = ['Processado', 'Enviado', 'Entregue', 'Lido', 'Confirmou o recebimento']
    const minutes = fc.record(Object.fromEntries(facts.map(fact => [fact, fc.integer({ min: 0, max: 9 })])))
    fc.assert(
      fc.property(fc.shuffledSubarray([...facts]), minutes, (shuffled, times) => {
        let changes: Partial<DeliveryStatus> = {}
        let level = 0
        for (const fact of shuffled) {
          changes = { ...changes, [fact]: minute(times[fact]!) }
          const next = order.indexOf(describeStatus(status('email', changes)))
          expect(next).toBeGreaterThanOrEqual(level)
          level = next
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('3 what is neither a level nor a failure', () => {
  test('3 an SMS that waits for the e-mail', () => {
    expect(describeStatus(status('sms', { state: 'waiting', isFallback: true }))).toBe('Aguardando o e-mail')
  })

  test.each(channels)('3 a step of %s that waits for its turn: Processado', channel => {
    expect(describeStatus(status(channel, { state: 'waiting' }))).toBe('Processado')
  })

  test('3 an SMS that was not needed', () => {
    const record = status('sms', { state: 'cancelled', isFallback: true, cancelReason: 'not needed', cancelledAt: minute(1) })
    expect(describeStatus(record)).toBe('Não enviado: e-mail entregue')
  })

  test.each(channels)('3 a step of %s ended by finalizar: Finalizado', channel => {
    const record = status(channel, { state: 'cancelled', cancelReason: 'finalized', cancelledAt: minute(1) })
    expect(describeStatus(record)).toBe('Finalizado')
    expect(labels(record)).toEqual(['Processado', 'Finalizado'])
  })

  test.each(channels)('3 an outcome of %s that is being checked at the carrier: Em verificação', channel => {
    expect(describeStatus(status(channel, { state: 'uncertain' }))).toBe('Em verificação')
    expect(describeStatus(status(channel, { state: 'unresolved' }))).toBe('Em verificação')
  })
})

describe('3 failures', () => {
  const failures: [Channel, Failure, string | null, string][] = [
    ['email', 'validation', 'syntax', 'Falha na validação'],
    ['email', 'rejected', '550', 'Falha no envio'],
    ['email', 'bounced', null, 'Devolvido'],
    ['sms', 'rejected', null, 'Falha no envio'],
    ['sms', 'undelivered', null, 'Não entregue'],
    ['whatsapp', 'rejected', 'Template inexistente', 'Falha no envio'],
    ['whatsapp', 'undelivered', null, 'Não entregue'],
    ['voice', 'no-answer', null, 'Não atendida'],
    ['voice', 'busy', null, 'Ocupado'],
    ['voice', 'machine', null, 'Caixa postal'],
    ['voice', 'rejected', null, 'Falha na chamada'],
    ['letter', 'rejected', 'Sem endereço', 'Falha no processamento'],
    ['letter', 'returned', 'Mudou-se', 'Devolvida: Mudou-se'],
  ]

  test.each(failures)('3 %s, %s (%s): %s', (channel, failure, failureDetail, label) => {
    const record = status(channel, { state: 'dead', failure, failureDetail, sentAt: minute(1), failedAt: minute(2) })
    expect(describeStatus(record)).toBe(label)
    expect(labels(record)).toEqual(['Processado', 'Enviado', label])
  })

  test('3 a bounce after the delivery is the last word and keeps the steps before it', () => {
    const record = status('email', { sentAt: minute(1), deliveredAt: minute(2), failedAt: minute(3), failure: 'bounced' })
    expect(describeStatus(record)).toBe('Devolvido')
    expect(labels(record)).toEqual(['Processado', 'Enviado', 'Entregue', 'Devolvido'])
  })

  test('2.5 every failed validation has a short label and a whole sentence, in Portuguese and all different', () => {
    const texts = Object.values(validationFailures)
    expect(Object.keys(validationFailures).sort()).toEqual([
      'disposable',
      'domain-missing',
      'no-exchanger',
      'suppressed',
      'syntax',
    ])
    expect(new Set(texts.map(({ label }) => label)).size).toBe(5)
    for (const { label, description } of texts) {
      expect(label.length).toBeLessThan(30)
      expect(description).toMatch(/^[A-ZÀ-Ú].+\.$/)
    }
  })
})

describe('timeline', () => {
  test('tells every step that happened, oldest first, and nothing that did not', () => {
    const record = status('whatsapp', { readAt: minute(3), sentAt: minute(1), answeredAt: minute(9), deliveredAt: minute(2) })
    expect(timeline(record)).toEqual([
      { label: 'Processado', at: accepted },
      { label: 'Enviado', at: minute(1) },
      { label: 'Entregue', at: minute(2) },
      { label: 'Lido', at: minute(3) },
      { label: 'Respondido', at: minute(9) },
    ])
  })

  test('steps of one and the same moment stand in the order of their levels', () => {
    expect(labels(status('sms', { sentAt: accepted, deliveredAt: accepted, readAt: accepted, answeredAt: accepted }))).toEqual([
      'Processado',
      'Enviado',
      'Entregue',
      'Lido (acessou o link)',
      'Respondido',
    ])
  })
})
