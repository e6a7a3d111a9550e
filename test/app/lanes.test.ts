import { afterEach, describe, expect, test } from 'vitest'
import { type ChannelWiring, type LaneParts, openLanes } from '../../src/app/worker/lanes.js'
import { identifyCarrier } from '../../src/channels/carrier-name.js'
import type { World } from '../../src/channels/channel-runtime.js'
import { packContent } from '../../src/channels/pack-content.js'
import { unknownClassOf } from '../../src/channels/registry.js'
import { cloud } from '../../src/channels/whatsapp/cloud.js'
import { OperatorError } from '../../src/domain/errors.js'
import type { Queue } from '../../src/domain/queue.js'
import type { Lane } from '../../src/engine/deliver/lane.js'
import { startLanes } from '../../src/engine/deliver/worker.js'
import { takeCarrierEvents } from '../../src/engine/record/carrier-events.js'
import { createRecorder } from '../../src/engine/record/recorder.js'
import { Semaphore } from '../../src/runtime/semaphore.js'
import { Wakes } from '../../src/runtime/wake.js'
import { deferred } from '../support/deferred.js'
import { UNHEARD } from '../support/gateway/attempts.js'
import { gatewayForFile, issueToken } from '../support/gateway/gateway.js'
import { type Parcel, QUICK_TIMING, refused, ScriptedCarrier } from '../support/gateway/lanes.js'
import { request, send, validSend } from '../support/gateway/requests.js'

/** The identities of carriers, and which carrier is asked about which attempt. */
let running: { stop(): Promise<void> } | undefined

const { database, gateway, account } = await gatewayForFile({ account: { settings: { 'contact.rules': false } } })

afterEach(async () => {
  await running?.stop()
  running = undefined
  await database.pool.query("update delivery set state = 'cancelled', lease_owner = null where state <> 'done'")
})

const A = 'pombo://ana:segredo@correio.example:7/x'
const B = 'pombo://bia:segredo@correio.example:7/x'

const wiringOf = (urls: string[], carriers: Record<string, ScriptedCarrier> = {}): ChannelWiring<Parcel> => ({
  channel: 'sms',
  carriers: urls.map(url => new URL(url)),
  concurrency: () => 5,
  identify: url => identifyCarrier({ name: url.protocol.slice(0, -1) }, url),
  provider: url => ({
    name: url.protocol.slice(0, -1),
    channel: 'sms',
    whenUnknown: 'lookup',
    timeoutMs: 2_000,
    open: async () => carriers[url.username] ?? new ScriptedCarrier(),
  }),
  prepare: () => async claim => ({ notification: claim.notification, reference: claim.reference, attempt: claim.attempt }),
})

const NOBODY_ASKS_YET = { timing: { ...QUICK_TIMING, settleMs: 60_000 } }

async function open(wiring: ChannelWiring<Parcel>, changes: Partial<LaneParts> = {}): Promise<Lane<unknown>[]> {
  const wakes = new Wakes<Queue>()
  const recorder = createRecorder(database.pool, Date.now, wakes)
  const groups = await openLanes(wiring, {
    pool: database.pool,
    clock: Date.now,
    recorder,
    pack: packContent,
    simulatorUrl: null,
    hasCarriers: true,
    leaseMs: 30_000,
    timing: { ...QUICK_TIMING, settleMs: 50 },
    trace: undefined,
    simulatorAddress: async () => null,
    takeEvents: async (source, events) =>
      void (await takeCarrierEvents(source, events, { pool: database.pool, clock: Date.now, recorder, ...UNHEARD })),
    onError: () => {},
    ...changes,
  })
  const lanes = groups.flat()
  running = startLanes({
    pool: database.pool,
    clock: Date.now,
    wakes,
    recorder,
    lanes: groups,
    timing: QUICK_TIMING,
    onError: () => {},
  })
  return lanes
}

const identitiesOf = async (...urls: string[]): Promise<string[]> => {
  const lanes = await open(wiringOf(urls))
  await running!.stop()
  running = undefined
  return lanes.map(({ identity }) => identity)
}

describe('the identity of a carrier', () => {
  test('names provider, host and account, alone or beside others, in any order, with any secret and any option', async () => {
    const [ana, bia] = await identitiesOf(A, B)
    expect(ana).toMatch(/^pombo:correio\.example\/[0-9a-f]{8}$/)
    expect(bia).not.toBe(ana)
    expect(await identitiesOf(A)).toEqual([ana])
    expect(await identitiesOf(B, `${A.replace('segredo', 'outro')}?window=9`)).toEqual([bia, ana])
    expect(unknownClassOf(ana!)).toBe(unknownClassOf('pombo'))
    expect(unknownClassOf('smpp:smsc.example/00000000')).toBe('report')
  })

  test('of a simulated carrier is the same after every start, although its port is another one', async () => {
    const start = async (port: number): Promise<string[]> => {
      const simulated = { simulatorUrl: 'http://127.0.0.1:1', simulatorAddress: async () => new URL(`pombo://127.0.0.1:${port}`) }
      const lanes = await open(wiringOf([]), { ...simulated, hasCarriers: false })
      await running!.stop()
      running = undefined
      return lanes.map(({ mode, identity }) => `${mode} ${identity}`)
    }
    expect(await start(7001)).toEqual(['live simulator/pombo', 'test simulator/pombo'])
    expect(await start(7002)).toEqual(['live simulator/pombo', 'test simulator/pombo'])
  })

  test('the same carrier twice is refused, in words that hold no secret', async () => {
    const twice = open(wiringOf([A, B, `${A.replace('segredo', 'outro')}?window=9`]))
    await expect(twice).rejects.toThrow(OperatorError)
    await expect(twice).rejects.toThrow(/^SMS_URL .*pombo:\/\/correio\.example:7/)
    await expect(twice).rejects.not.toThrow(/segredo|outro/)
  })

  test('where the user’s place holds a token, the number tells, and the token does not', () => {
    const identify = (url: string) => cloud.identify!(new URL(url))
    const one = identify('whatsapp://EAAum@graph.facebook.com/v23.0/106540352242922')
    expect(identify('whatsapp://EAAdois@graph.facebook.com/v24.0/106540352242922?pool=3')).toBe(one)
    expect(identify('whatsapp://EAAum@graph.facebook.com/v23.0/106540352242923')).not.toBe(one)
    expect(one).not.toContain('EAA')
  })
})

test('the modes of a channel share no budget of memory: a silent simulator holds up no live message', async () => {
  const gate = deferred<void>()
  const carriers = {
    ana: new ScriptedCarrier(),
    simulador: new ScriptedCarrier(async () => {
      await gate.promise
      return {}
    }),
  }
  const budgets = { live: new Semaphore({ permits: 1 }), test: new Semaphore({ permits: 1 }) }
  const wiring = { ...wiringOf([A], carriers), memory: ({ mode }: World) => ({ budget: budgets[mode], weigh: () => 1 }) }
  await open(wiring, {
    simulatorUrl: 'http://127.0.0.1:1',
    simulatorAddress: async () => new URL('pombo://simulador@127.0.0.1:7'),
  })
  const trial = await issueToken(database.pool, account.id, { mode: 'test' })
  const body = { ...validSend, to: undefined, sms: { number: '11987654321', typeSend: '2' } }
  await send(gateway.url, trial.token, body)
  await expect.poll(() => carriers.simulador.got.length).toBe(1)
  await send(gateway.url, account.token, body)
  await expect.poll(() => carriers.ana.got.length).toBe(1)
  gate.resolve()
})

describe('a send without an answer', () => {
  const accept = async (): Promise<string> => {
    const body = { ...validSend, to: undefined, sms: { number: '11987654321', typeSend: '2' } }
    return ((await send(gateway.url, account.token, body)).body as { idEmail: string }).idEmail
  }
  const described = (id: string) =>
    expect.poll(
      async () =>
        ((await request(`${gateway.url}/gw/sms/${id}`, { token: account.token })).body as { description: string }).description,
    )
  /** Loses every answer; gives the answer that the test set when it is asked. */
  const silent = (found: Awaited<ReturnType<NonNullable<ScriptedCarrier['find']>>>) => {
    const carrier = new ScriptedCarrier(() => Promise.reject(refused('uncertain')))
    const asked: string[] = []
    carrier.find = async reference => {
      asked.push(reference)
      return found
    }
    return { carrier, asked }
  }
  const taken = { references: ['c-1'], answer: 'taken' }

  test('is asked of the carrier that had it, not of its neighbour', async () => {
    const [ana, bia] = [silent('unknown'), silent(taken)]
    Object.assign(ana.carrier, { ready: false })
    await open(wiringOf([A, B], { ana: ana.carrier, bia: bia.carrier }))
    const id = await accept()
    await described(id).toBe('Enviado')
    expect([ana.asked, bia.asked]).toEqual([[], [`${id}.sms.1`]])
    expect(bia.carrier.got).toHaveLength(1)
  })

  test('is still its own after the carrier got a neighbour', async () => {
    // The first worker knows no more than that the answer did not come.
    await open(wiringOf([B], { bia: silent(taken).carrier }), NOBODY_ASKS_YET)
    const id = await accept()
    await described(id).toBe('Em verificação')
    await running!.stop()

    const bia = silent(taken)
    await open(wiringOf([B, A], { bia: bia.carrier }))
    await database.pool.query("update delivery set due_at = now() where notification_id = $1 and state = 'uncertain'", [id])
    await described(id).toBe('Enviado')
    expect(bia.asked).toEqual([`${id}.sms.1`])
  })

  test('of a carrier that is gone is asked of nobody else', async () => {
    const [ana, bia] = [silent('unknown'), silent(taken)]
    Object.assign(ana.carrier, { ready: false })
    await open(wiringOf([A, B], { ana: ana.carrier, bia: bia.carrier }), NOBODY_ASKS_YET)
    const id = await accept()
    await described(id).toBe('Em verificação')
    await running!.stop()

    await open(wiringOf([A], { ana: ana.carrier }))
    await database.pool.query("update delivery set due_at = now() where notification_id = $1 and state = 'uncertain'", [id])
    const isPutOff = async (): Promise<boolean> =>
      (
        await database.pool.query("select from delivery where notification_id = $1 and due_at > now() + interval '1 minute'", [
          id,
        ])
      ).rowCount === 1
    await expect.poll(isPutOff).toBe(true)
    expect(ana.asked).toEqual([])
    await described(id).toBe('Em verificação')
  })
})
