import { inspect } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type Carrier, type CarrierEvent, type Provider, SendError } from '../../src/channels/provider.js'
import type { Channel } from '../../src/domain/channel.js'
import { OperatorError } from '../../src/domain/errors.js'
import { engineTiming } from '../../src/engine/timing.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { type Behaviour, type Inapplicable, type ScriptedSide, type Subject, WAIT_SECONDS } from './subject.js'

const LONGEST = { timeout: 120_000 }
/** Of one send: a signal that many share would gather their listeners. */
const never = (): AbortSignal => new AbortController().signal
/** A sentence, as it is shown to people. */
const SENTENCE = /^\p{Lu}.*\.$/u

/** As the engine makes references; the same one for the same number. */
const reference = (channel: Channel, number: number): string =>
  `0190a3c2-7b1e-7000-8000-${String(number).padStart(12, '0')}.${channel}.1`

export function describeContract<Message>(subject: Subject<Message>): void {
  const { name, channel, setting, cannot, atOnce = 100 } = subject
  let database: TestDatabase
  let made = 0
  let events: CarrierEvent[] = []

  const message = (): Message => subject.message(reference(channel, ++made))
  const providerOf = (side: ScriptedSide<Message>): Provider<Message> =>
    side.provider({ pool: database.pool, onEvents: async told => void events.push(...told) })

  async function open(side: ScriptedSide<Message>): Promise<Carrier<Message>> {
    const carrier = await providerOf(side).open(side.url)
    onTestFinished(() => carrier.close())
    return carrier
  }

  async function start(behaviour: Behaviour = 'accept'): Promise<{ carrier: Carrier<Message>; side: ScriptedSide<Message> }> {
    const side = await subject.start()
    side.behave(behaviour)
    return { side, carrier: await open(side) }
  }

  const hidesSecrets = (error: unknown): void => {
    const shown = inspect(error, { depth: 8 })
    for (const secret of subject.secrets) expect(shown).not.toContain(secret)
  }

  /** The error of a send, which is a SendError with a sentence for people and without a secret, whatever happened. */
  async function failureOf(sending: Promise<unknown>): Promise<SendError> {
    const error: unknown = await sending.then(
      receipt => receipt,
      thrown => thrown,
    )
    expect(error).toBeInstanceOf(SendError)
    hidesSecrets(error)
    expect((error as SendError).reason).toMatch(SENTENCE)
    return error as SendError
  }

  const kindOf = (sending: Promise<unknown>): Promise<string> =>
    sending.then(
      () => 'taken',
      error => (error as SendError).kind,
    )

  /** What the operator reads where a URL cannot be. */
  async function refusalOf(side: ScriptedSide<Message>, url: URL): Promise<string> {
    const error = await providerOf(side)
      .open(url)
      .then(
        () => null,
        thrown => thrown,
      )
    expect(error, url.href).toBeInstanceOf(OperatorError)
    hidesSecrets(error)
    expect((error as OperatorError).message).toContain(setting)
    return (error as OperatorError).message
  }

  const testUnless = (needs: readonly Inapplicable[], statement: string, body: () => Promise<void>): void => {
    const missing = needs.find(need => cannot[need] !== undefined)
    if (missing === undefined) test(statement, body)
    else test.skip(`${statement} (cannot ${missing}: ${cannot[missing]})`)
  }

  describe(`the provider ${name} keeps the contract:`, () => {
    beforeAll(async () => {
      database = await createDatabase()
    })
    beforeEach(() => {
      events = []
    })
    afterAll(() => database.drop())

    test('it says its name and channel, and a send fits three times into a lease unless it may be repeated, or never is', async () => {
      const { name: ownName, channel: ownChannel, whenUnknown, timeoutMs } = providerOf(await subject.start())
      expect([ownName, ownChannel]).toEqual([name, channel])
      if (whenUnknown === 'lookup' || whenUnknown === 'report') expect(timeoutMs * 3).toBeLessThanOrEqual(engineTiming.leaseMs)
    })

    test('a provider that is asked about unknown outcomes can be asked, and no other', async () => {
      const { carrier, side } = await start()
      expect(carrier.find !== undefined).toBe(providerOf(side).whenUnknown === 'lookup')
    })

    test('a message arrives once, and its receipt has the answer and the carrier’s names', async () => {
      const { carrier, side } = await start()
      const { references, answer } = await carrier.send(message(), never())
      expect(answer).not.toBe('')
      expect(references.length > 0).toBe(subject.givesNames)
      expect(references).not.toContain('')
      expect(side.taken()).toHaveLength(1)
    })

    test(`${atOnce} messages at once all arrive, each under names of its own`, async () => {
      const { carrier, side } = await start()
      const receipts = await Promise.all(Array.from({ length: atOnce }, () => carrier.send(message(), never())))
      const names = receipts.flatMap(({ references }) => references)
      expect(names.length >= atOnce).toBe(subject.givesNames)
      expect(new Set(names).size).toBe(names.length)
      expect(side.taken()).toHaveLength(atOnce)
    })

    testUnless(['refuse for good'], 'a permanent refusal is permanent, with the carrier’s own answer', async () => {
      const { carrier, side } = await start('refuse for good')
      const error = await failureOf(carrier.send(message(), never()))
      expect(error.kind).toBe('permanent')
      expect(error.answer ?? '').not.toBe('')
      expect([side.taken(), events]).toEqual([[], []])
    })

    test('a temporary refusal is temporary, with the carrier’s own answer', async () => {
      const { carrier, side } = await start('refuse for a while')
      const error = await failureOf(carrier.send(message(), never()))
      expect(error.kind).toBe('temporary')
      expect(error.answer ?? '').not.toBe('')
      expect([side.taken(), events]).toEqual([[], []])
    })

    testUnless(['throttle'], 'a carrier that asks for fewer messages throttles', async () => {
      const { carrier, side } = await start('throttle')
      expect((await failureOf(carrier.send(message(), never()))).kind).toBe('throttled')
      expect(side.taken()).toEqual([])
    })

    testUnless(['throttle', 'say how long to wait'], 'throttling says how long to wait', async () => {
      const { carrier } = await start('throttle')
      expect((await failureOf(carrier.send(message(), never()))).retryAfterMs).toBe(WAIT_SECONDS * 1_000)
    })

    test('a carrier that is not there is temporary: nothing left', async () => {
      const side = await subject.start()
      await side.leave()
      const carrier = await open(side)
      expect((await failureOf(carrier.send(message(), never()))).kind).toBe('temporary')
      expect(events).toEqual([])
    })

    test('trouble at the carrier passes: once it is back, messages arrive again', async () => {
      const { carrier, side } = await start('refuse for a while')
      expect(await kindOf(carrier.send(message(), never()))).toBe('temporary')
      await side.leave()
      // A connection that breaks under the first message leaves its outcome unknown.
      await expect.poll(() => kindOf(carrier.send(message(), never())), LONGEST).toBe('temporary')
      await side.comeBack()
      side.behave('accept')
      await expect.poll(() => kindOf(carrier.send(message(), never())), LONGEST).toBe('taken')
      expect(side.taken()).toHaveLength(1)
    })

    test('silence after the message left is an unknown outcome, told as soon as the signal ends the wait, and nothing is left open', async () => {
      const { carrier, side } = await start('stay silent')
      const giveUp = new AbortController()
      const sending = failureOf(carrier.send(message(), giveUp.signal))
      await expect.poll(() => side.taken().length, LONGEST).toBe(1)
      giveUp.abort()
      expect((await sending).kind).toBe('uncertain')
      await carrier.close()
      await expect.poll(() => side.open(), LONGEST).toBe(0)
    })

    test('a break after the message left is an unknown outcome', async () => {
      const { carrier, side } = await start('reset')
      expect((await failureOf(carrier.send(message(), never()))).kind).toBe('uncertain')
      expect(side.taken()).toHaveLength(1)
    })

    test('garbage for an answer is never a success, nor a refusal', async () => {
      const { side } = await start('answer garbage')
      for (let turn = 0; turn < 2; turn++) {
        const carrier = await open(side)
        const { kind } = await failureOf(carrier.send(message(), never()))
        expect(kind).toBe(subject.garbageIs ?? 'uncertain')
      }
    })

    testUnless(['stand behind a proxy'], 'a 503 or 408 that a proxy can have given is an unknown outcome', async () => {
      const { carrier } = await start('answer by a proxy')
      for (let turn = 0; turn < 3; turn++) expect((await failureOf(carrier.send(message(), never()))).kind).toBe('uncertain')
    })

    test('a signal that has fired already sends nothing', async () => {
      const { carrier, side } = await start()
      expect((await failureOf(carrier.send(message(), AbortSignal.abort()))).kind).toBe('temporary')
      expect(side.taken()).toEqual([])
    })

    test('a send that is called off at its beginning ends, and one that is called temporary sent nothing', async () => {
      const { carrier, side } = await start('stay silent')
      const giveUp = new AbortController()
      const sending = failureOf(carrier.send(message(), giveUp.signal))
      giveUp.abort()
      const { kind } = await sending
      expect(kind).toMatch(/^(temporary|uncertain)$/)
      await carrier.close()
      if (kind === 'temporary') expect(side.taken()).toEqual([])
    })

    testUnless(['carry our reference'], 'the same reference makes the same message, another one another', async () => {
      const { carrier, side } = await start()
      const same = message()
      await carrier.send(same, never())
      await carrier.send(same, never())
      expect(new Set(side.taken()).size).toBe(1)
      await carrier.send(message(), never())
      expect(new Set(side.taken()).size).toBe(2)
    })

    test('closing ends every connection and process, twice as well as once, and nothing is sent afterwards', async () => {
      const { carrier, side } = await start()
      await carrier.send(message(), never())
      await carrier.close()
      await carrier.close()
      await expect.poll(() => side.open(), LONGEST).toBe(0)
      expect((await failureOf(carrier.send(message(), never()))).kind).toBe('temporary')
      expect(side.taken()).toHaveLength(1)
    })

    test.each(subject.badUrls)('%s stops the start with the setting’s name, for %j', async (url, says) => {
      expect(await refusalOf(await subject.start(), new URL(url))).toContain(says)
    })

    testUnless(['hold a password'], 'a user or password that is not well encoded stops the start', async () => {
      const side = await subject.start()
      for (const part of ['username', 'password'] as const) {
        const wrong = new URL(side.url)
        if (wrong[part] === '') continue
        wrong[part] = '%zz'
        await refusalOf(side, wrong)
      }
    })

    test('an option that does not exist stops the start with its name', async () => {
      const side = await subject.start()
      side.url.searchParams.set('naoexiste', '1')
      expect(await refusalOf(side, side.url)).toContain('naoexiste')
    })
  })
}
