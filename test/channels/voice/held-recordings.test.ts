import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/app/config.js'
import type { DeliveryContext, World } from '../../../src/channels/channel-runtime.js'
import type { CarrierEvent } from '../../../src/channels/provider.js'
import type { VoiceConfig } from '../../../src/channels/voice/channel.js'
import { voiceRuntime } from '../../../src/channels/voice/delivery.js'
import { type HeldFolder, holdRecording, offerHeldRecordings } from '../../../src/channels/voice/held-recordings.js'
import { sipProvider } from '../../../src/channels/voice/sip.js'
import { temporaryFolder } from '../../support/temporary-folder.js'
import { RECIPIENT } from '../subject.js'
import { call } from './calls.js'
import { openExchange } from './exchange.js'
import { canCallOverSip } from './subjects.js'

const left = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : [])
/** A folder that nobody has made yet. */
const heldFolderForTest = (): string => join(temporaryFolder(), 'recordings')
const gone = (): Promise<never> => Promise.reject(new Error('the database is gone'))

describe.skipIf(!canCallOverSip)('with baresip and espeak-ng,', () => {
  test.each(['report', 'file'] as const)(
    'a recording outlives a call with a %s that could not be recorded, and the next start offers it',
    async kind => {
      const { url } = await openExchange()
      const heldFolder = heldFolderForTest()
      const refuse = async (events: readonly CarrierEvent[]): Promise<void> =>
        events.some(event => event.kind === kind) ? gone() : undefined
      const carrier = await sipProvider({ onEvents: refuse, heldFolder }).open(url)
      const message = call({ greeting: 'Oi.', text: 'Oi.' }, { to: RECIPIENT.number })
      await expect(carrier.send(message, AbortSignal.timeout(60_000))).rejects.toMatchObject({ kind: 'uncertain' })
      await carrier.close()
      expect(left(heldFolder)).toEqual([expect.stringMatching(/\.wav$/)])

      const told: CarrierEvent[] = []
      const onEvents = async (events: readonly CarrierEvent[]): Promise<void> => void told.push(...events)
      const next = await sipProvider({ onEvents, heldFolder }).open(url)
      await expect.poll(() => told).toMatchObject([{ kind: 'file', of: { ours: message.reference }, id: message.reference }])
      await expect.poll(() => left(heldFolder)).toEqual([])
      await next.close()
    },
  )
})

test('the folder is in the data folder, which outlives services and containers; their temporary folders do not', async () => {
  const config = readConfig({ CARTEIRO_DATA: '/var/lib/carteiro' }).channels.voice as VoiceConfig
  const parts: Partial<DeliveryContext<VoiceConfig>> = {
    config,
    publicUrl: 'https://notifica.example.com',
    simulatorAddress: async () => null,
  }
  const { partsOf } = await voiceRuntime.openDelivery(parts as DeliveryContext<VoiceConfig>)
  expect(partsOf('sip', { simulatorUrl: null } as World)).toMatchObject({ heldFolder: '/var/lib/carteiro/recordings' })
})

test('another trunk does not offer it, one that fails to take it leaves it, and after a week it is deleted', async () => {
  const folder = heldFolderForTest()
  const [own, other] = ['a@trunk:5060', 'b@trunk:5060'].map(trunk => ({ folder, trunk })) as [HeldFolder, HeldFolder]
  const [reference, bytes] = ['0190a3c2-7b1e-7000-8000-000000000001.voice.1', Buffer.from('som')]
  await holdRecording(own, { reference, seconds: 7, bytes })
  expect([statSync(folder), statSync(join(folder, left(folder)[0]!))].map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o600])
  const offered: unknown[] = []
  const take = async (recording: unknown): Promise<void> => void offered.push(recording)
  await offerHeldRecordings(other, take)
  await offerHeldRecordings(own, gone)
  expect(offered).toEqual([])
  const [name] = left(folder)
  await offerHeldRecordings(own, take)
  expect(offered).toEqual([{ reference, seconds: 7, bytes }])
  expect(left(folder)).toEqual([])

  const path = join(folder, name!)
  writeFileSync(path, bytes)
  const old = Date.now() / 1_000 - 8 * 24 * 3_600
  utimesSync(path, old, old)
  await offerHeldRecordings(other, take)
  expect(left(folder)).toEqual([])
})
