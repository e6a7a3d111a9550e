import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type ChannelWiring, openLanes } from '../../src/app/worker/lanes.js'
import { identifyCarrier } from '../../src/channels/carrier-name.js'
import type { LetterMessage } from '../../src/channels/letter/letter-message.js'
import { printShop, printShopProvider } from '../../src/channels/letter/print-shop.js'
import { packContent } from '../../src/channels/pack-content.js'
import { twilio, twilioProvider } from '../../src/channels/voice/twilio.js'
import type { VoiceMessage } from '../../src/channels/voice/voice-message.js'
import type { Queue } from '../../src/domain/queue.js'
import { startLanes } from '../../src/engine/deliver/worker.js'
import { takeCarrierEvents } from '../../src/engine/record/carrier-events.js'
import { createRecorder } from '../../src/engine/record/recorder.js'
import { Wakes } from '../../src/runtime/wake.js'
import { letterTo } from '../channels/letter/letters.js'
import { call } from '../channels/voice/calls.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { UNHEARD } from '../support/gateway/attempts.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'

/** The only carrier of a channel is exchanged for another one of the same provider. */
let database: TestDatabase
let gateway: Gateway
let account: TestAccount
let running: { stop(): Promise<void> } | undefined
const servers: { close(): void }[] = []

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  // At any hour of the day.
  account = await createAccount(database.pool, { settings: { 'contact.rules': false } })
})

afterEach(async () => {
  await running?.stop()
  running = undefined
})

afterAll(async () => {
  for (const server of servers) server.close()
  await gateway.close()
  await database.drop()
})

interface CarrierServer {
  port: number
  /** Method and path of every request. */
  asked: string[]
}

/** Answers every request with a body that says "I never took it", or with an error that says nothing. */
async function startCarrier(status: number, body: object): Promise<CarrierServer> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    const type = { 'content-type': 'application/json' }
    request.resume().on('end', () => response.writeHead(status, type).end(JSON.stringify(body)))
  }).listen(0, '127.0.0.1')
  servers.push(server)
  await new Promise(resolve => server.once('listening', resolve))
  return { port: (server.address() as AddressInfo).port, asked }
}

const letters = (port: number): ChannelWiring<LetterMessage> => ({
  channel: 'letter',
  carriers: [new URL(`print+http://token@127.0.0.1:${port}/v1/`)],
  concurrency: () => 5,
  identify: url => identifyCarrier({ name: 'print-shop', ...printShop }, url),
  provider: () => printShopProvider(),
  prepare:
    () =>
    async ({ reference }) => ({ ...letterTo('01000001'), reference }),
})

const calls = (port: number): ChannelWiring<VoiceMessage> => ({
  channel: 'voice',
  carriers: [new URL(`twilio://AC1:token@127.0.0.1:${port}?from=+551140041234&tls=off`)],
  concurrency: () => 5,
  identify: url => identifyCarrier({ name: 'twilio', ...twilio }, url),
  provider: () =>
    twilioProvider({
      callbackBase: 'http://127.0.0.1:9/callbacks/twilio',
      findKnown: async () => new Set<string>(),
      findRivals: async () => [],
      readPlan: async () => ({ againMs: 60_000, heard: false }),
      onEvents: async () => {},
    }),
  prepare:
    () =>
    async ({ reference, recipient }) =>
      call({}, { reference, to: recipient! }),
})

async function open(wiring: ChannelWiring<LetterMessage> | ChannelWiring<VoiceMessage>): Promise<void> {
  const wakes = new Wakes<Queue>()
  const { pool } = database
  const recorder = createRecorder(pool, Date.now, wakes)
  const lanes = await openLanes(wiring as ChannelWiring<unknown>, {
    pool,
    clock: Date.now,
    recorder,
    pack: packContent,
    simulatorUrl: null,
    hasCarriers: true,
    leaseMs: 30_000,
    timing: { settleMs: 50 },
    trace: undefined,
    simulatorAddress: async () => null,
    takeEvents: async (source, events) =>
      void (await takeCarrierEvents(source, events, { pool, clock: Date.now, recorder, ...UNHEARD })),
    onError: () => {},
  })
  running = startLanes({ pool, clock: Date.now, wakes, recorder, lanes, timing: { pollMs: 50 }, onError: () => {} })
}

const rowOf = async (id: string): Promise<{ state: string; attempt: number; later: boolean }> =>
  (
    await database.pool.query(
      "select state, attempt, due_at > now() + interval '1 minute' as later from delivery where notification_id = $1",
      [id],
    )
  ).rows[0]

test.each([
  ['print-shop', letters, { carta: {} }, 404, { situacao: 'desconhecida' }],
  ['twilio', calls, { voz: { number: '11987654321' } }, 200, { calls: [], next_page_uri: null }],
] as const)(
  'the new %s is neither asked about the attempt of the old one nor given it',
  async (_, wiring, body, status, answer) => {
    const [old, next] = [await startCarrier(500, {}), await startCarrier(status, answer)]
    await open(wiring(old.port))
    const { idEmail: id } = (await send(gateway.url, account.token, { ...validSend, to: undefined, ...body })).body as {
      idEmail: string
    }
    await expect.poll(() => rowOf(id)).toMatchObject({ state: 'uncertain', attempt: 1 })
    await running!.stop()

    await open(wiring(next.port))
    await database.pool.query('update delivery set due_at = now() where notification_id = $1', [id])
    await expect.poll(() => rowOf(id)).toEqual({ state: 'uncertain', attempt: 1, later: true })
    await running!.stop()
    expect(next.asked).toEqual([])

    // The old carrier comes back: it is asked.
    const before = old.asked.length
    await open(wiring(old.port))
    await database.pool.query('update delivery set due_at = now() where notification_id = $1', [id])
    await expect.poll(() => old.asked.length).toBeGreaterThan(before)
    expect(old.asked.at(-1)).toMatch(/^GET /)
  },
)
