import { readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { CarrierEvent } from '../../../src/channels/provider.js'
import { holdRecording, offerHeldRecordings } from '../../../src/channels/voice/held-recordings.js'
import { sipProvider } from '../../../src/channels/voice/sip.js'
import { RECIPIENT } from '../subject.js'
import { call } from './calls.js'
import { openExchange } from './exchange.js'
import { canCallOverSip } from './subjects.js'

const left = (): string[] => readdirSync(tmpdir()).filter(name => name.startsWith('carteiro-'))
const gone = (): Promise<never> => Promise.reject(new Error('the database is gone'))

describe.skipIf(!canCallOverSip)('with baresip and espeak-ng,', () => {
  test.each(['report', 'file'] as const)(
    'a recording outlives a call with a %s that could not be recorded, and the next start offers it',
    async kind => {
      const { url } = await openExchange()
      const refuse = async (events: readonly CarrierEvent[]): Promise<void> =>
        events.some(event => event.kind === kind) ? gone() : undefined
      const carrier = await sipProvider({ onEvents: refuse }).open(url)
      const message = call({ greeting: 'Oi.', text: 'Oi.' }, { to: RECIPIENT.number })
      await expect(carrier.send(message, AbortSignal.timeout(60_000))).rejects.toMatchObject({ kind: 'uncertain' })
      await carrier.close()
      expect(left()).toEqual([expect.stringMatching(/^carteiro-recording-.*\.wav$/)])

      const told: CarrierEvent[] = []
      const onEvents = async (events: readonly CarrierEvent[]): Promise<void> => void told.push(...events)
      const next = await sipProvider({ onEvents }).open(url)
      await expect.poll(() => told).toMatchObject([{ kind: 'file', of: { ours: message.reference }, id: message.reference }])
      await expect.poll(left).toEqual([])
      await next.close()
    },
  )
})

test('another trunk does not offer it, one that fails to take it leaves it, and after a week it is deleted', async () => {
  await openExchange()
  const [reference, bytes] = ['0190a3c2-7b1e-7000-8000-000000000001.voice.1', Buffer.from('som')]
  await holdRecording('a@trunk:5060', { reference, seconds: 7, bytes })
  const offered: unknown[] = []
  const take = async (recording: unknown): Promise<void> => void offered.push(recording)
  await offerHeldRecordings('b@trunk:5060', take)
  await offerHeldRecordings('a@trunk:5060', gone)
  expect(offered).toEqual([])
  const [name] = left()
  await offerHeldRecordings('a@trunk:5060', take)
  expect(offered).toEqual([{ reference, seconds: 7, bytes }])
  expect(left()).toEqual([])

  const path = join(tmpdir(), name!)
  writeFileSync(path, bytes)
  const old = Date.now() / 1_000 - 8 * 24 * 3_600
  utimesSync(path, old, old)
  await offerHeldRecordings('b@trunk:5060', take)
  expect(left()).toEqual([])
})
