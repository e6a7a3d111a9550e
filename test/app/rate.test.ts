import { expect, test } from 'vitest'
import { type ChannelWiring, type LaneParts, openLanes } from '../../src/app/worker/lanes.js'
import { packContent } from '../../src/channels/pack-content.js'
import { readTwilioAccount } from '../../src/channels/voice/twilio-account.js'
import { readCloudUrl } from '../../src/channels/whatsapp/cloud.js'
import { OperatorError } from '../../src/domain/errors.js'
import type { Queue } from '../../src/domain/queue.js'
import { startLanes } from '../../src/engine/deliver/worker.js'
import { createRecorder } from '../../src/engine/record/recorder.js'
import { Wakes } from '../../src/runtime/wake.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { type Parcel, ScriptedCarrier } from '../support/gateway/lanes.js'
import { send, validSend } from '../support/gateway/requests.js'

const { database, gateway, account } = await gatewayForFile()

const wiring = (url: string, carrier: ScriptedCarrier): ChannelWiring<Parcel> => ({
  channel: 'email',
  carriers: [new URL(url)],
  concurrency: () => 100,
  identify: () => 'smtp:relay/1',
  provider: () => ({
    name: 'smtp',
    channel: 'email',
    whenUnknown: 'safe',
    timeoutMs: 2_000,
    open: async () => carrier,
  }),
  prepare:
    () =>
    async ({ notification, reference, attempt }) => ({ notification, reference, attempt }),
})

function node() {
  const wakes = new Wakes<Queue>()
  const recorder = createRecorder(database.pool, Date.now, wakes)
  const parts: LaneParts = {
    pool: database.pool,
    clock: Date.now,
    recorder,
    pack: packContent,
    simulatorUrl: null,
    hasCarriers: true,
    leaseMs: 30_000,
    trace: undefined,
    simulatorAddress: async () => null,
    takeEvents: async () => {},
    onError: () => {},
  }
  return {
    parts,
    start: async (url: string, carrier: ScriptedCarrier) =>
      startLanes({ ...parts, wakes, lanes: await openLanes(wiring(url, carrier), parts) }),
  }
}

test.each(['0', '-1', '1.5', 'muito', '', '10001'])('a rate of "%s" stops the start and names its setting', async rate => {
  const opened = openLanes(wiring(`smtp://relay.example.com?rate=${rate}`, new ScriptedCarrier()), node().parts)
  await expect(opened).rejects.toThrow(OperatorError)
  await expect(opened).rejects.toThrow(/^EMAIL_URL: rate deve ser um número inteiro de 1 a 10000/)
})

test('carriers that refuse options they do not know know this one', () => {
  expect(readCloudUrl(new URL('whatsapp://EAAexemplo@graph.facebook.com/v23.0/106540352242922?rate=80'))).toBeDefined()
  expect(readTwilioAccount(new URL('twilio://CONTA:TOKEN@api.twilio.com?from=+551140041234&rate=1'))).toBeDefined()
})

test('two nodes send a carrier no more than its rate together, and all of it', async () => {
  const ids = await Promise.all(
    Array.from(
      { length: 40 },
      async () => ((await send(gateway.url, account.token, validSend)).body as { idEmail: string }).idEmail,
    ),
  )
  const carrier = new ScriptedCarrier()
  const begun = performance.now()
  const workers = await Promise.all([1, 2].map(() => node().start('smtp://relay.example.com?rate=20', carrier)))
  await expect.poll(() => carrier.got.length).toBe(40)
  // A burst of two, then twenty per second: a slow machine only takes longer.
  expect(performance.now() - begun).toBeGreaterThan(((40 - 2) / 20) * 1_000)
  await Promise.all(workers.map(worker => worker.stop()))
  expect(carrier.got.map(({ notification }) => notification).sort()).toEqual([...ids].sort())
})
