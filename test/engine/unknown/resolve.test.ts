import { expect, test } from 'vitest'
import type { Found } from '../../../src/channels/provider.js'
import { type ResolveResult, resolveOutcome } from '../../../src/engine/unknown/resolve.js'
import { refused } from '../../support/gateway/lanes.js'

const HOUR = 3_600_000

/** Asks a carrier about an outcome that has been unknown for so long. */
function ask(unknownForMs: number, find: () => Promise<Found>, stop = new AbortController().signal): Promise<ResolveResult> {
  const notification = '0190a3c2-7b1e-7000-8000-000000000001'
  const outcome = {
    notification,
    channel: 'voice',
    mode: 'live',
    carrier: 'twilio',
    reference: `${notification}.voice.1`,
    recipient: '+5511987654321',
    attempt: 1,
    ordinal: 1,
    failovers: 0,
    unknownCount: 1,
    unknownForMs,
  } as const
  const provider = { whenUnknown: 'lookup', timeoutMs: 1_000 } as const
  const record = async () => 'recorded' as const
  return resolveOutcome({ provider, carrier: { find }, identity: 'twilio', clock: Date.now, record }, outcome, 0, stop)
}

const cannotTell = (): Promise<never> => Promise.reject(refused('temporary'))

test('an outcome that the carrier could not tell in a day is left to a person', async () => {
  expect(await ask(23 * HOUR, cannotTell)).toBe('later')
  expect(await ask(24 * HOUR, cannotTell)).toEqual({ unresolved: expect.stringContaining('uma pessoa precisa conferir') })
})

test('the carrier is asked once more even then, and a worker that stops decides nothing', async () => {
  expect(await ask(48 * HOUR, async () => ({ references: ['CA1'], answer: 'taken' }))).toBe('resolved')
  expect(await ask(48 * HOUR, async () => 'unknown')).toBe('resolved')
  expect(await ask(48 * HOUR, cannotTell, AbortSignal.abort())).toBe('later')
})
