import { describe, expect, onTestFinished, test } from 'vitest'
import type { Carrier, Provider, SendError } from '../../src/channels/provider.js'
import { simulatorForTest, type TestSimulator } from '../simulator/carriers.js'

/** What every provider promises to the engine, shown against its carrier's side in the simulator. */
export interface ContractCase<Message> {
  provider(): Provider<Message>
  /** The carrier's name in /simulator/carriers. */
  carrier: string
  message(to: string): Message
  /** Recipients of fixed fate, as `message` takes them. */
  fates: { taken: string; refused: string; throttled: string; silent: string }
}

const patient = (): AbortSignal => AbortSignal.timeout(20_000)

export function describeContract<Message>(name: string, { provider, carrier, message, fates }: ContractCase<Message>): void {
  const { channel } = provider()

  async function open(): Promise<{ simulator: TestSimulator; opened: Carrier<Message> }> {
    const simulator = await simulatorForTest()
    const carriers = (await simulator.ask('/simulator/carriers')).body as Record<string, string>
    const opened = await provider().open(new URL(carriers[carrier]!))
    onTestFinished(() => opened.close())
    return { simulator, opened }
  }

  const fault = (simulator: TestSimulator, faults: object) =>
    simulator.ask('/simulator/faults', { method: 'PUT', body: { [channel]: faults } })

  const taken = async (simulator: TestSimulator): Promise<unknown[]> =>
    ((await simulator.ask('/simulator/log')).body as { channel: string }[]).filter(entry => entry.channel === channel)

  const errorOf = (sending: Promise<unknown>): Promise<SendError> =>
    sending.then(
      () => Promise.reject(new Error('it was taken')),
      (error: SendError) => error,
    )

  describe(`${name} as a provider`, () => {
    test('hands a message over once and gives the carrier’s references and words', async () => {
      const { simulator, opened } = await open()
      const receipt = await opened.send(message(fates.taken), patient())
      expect(receipt.references.length).toBeGreaterThan(0)
      expect(receipt.references.every(reference => reference !== '')).toBe(true)
      expect(receipt.answer).not.toBe('')
      expect(await taken(simulator)).toHaveLength(1)
    })

    test('a hundred at once are all taken, each under names of its own', async () => {
      const { simulator, opened } = await open()
      const receipts = await Promise.all(Array.from({ length: 100 }, () => opened.send(message(fates.taken), patient())))
      const references = receipts.flatMap(receipt => receipt.references)
      expect(new Set(references).size).toBe(references.length)
      expect(await taken(simulator)).toHaveLength(100)
    })

    test('what the carrier refuses for good is permanent, with a reason in Portuguese', async () => {
      const { simulator, opened } = await open()
      const error = await errorOf(opened.send(message(fates.refused), patient()))
      expect(error).toMatchObject({ name: 'SendError', kind: 'permanent', reason: expect.stringMatching(/^\p{Lu}.*\.$/u) })
      expect(await taken(simulator)).toHaveLength(0)
    })

    test('a carrier that asks to slow down is throttled', async () => {
      const { opened } = await open()
      expect(await errorOf(opened.send(message(fates.throttled), patient()))).toMatchObject({ kind: 'throttled' })
    })

    test('trouble at the carrier is temporary, and so is a carrier that cannot be reached', async () => {
      const { simulator, opened } = await open()
      await opened.send(message(fates.taken), patient())
      await fault(simulator, { errorRate: 1 })
      expect(await errorOf(opened.send(message(fates.taken), patient()))).toMatchObject({ kind: 'temporary' })
      await fault(simulator, { outage: true })
      await expect
        .poll(async () => (await errorOf(opened.send(message(fates.taken), patient()))).kind, { timeout: 10_000 })
        .toBe('temporary')
      await fault(simulator, {})
      await expect
        .poll(
          () =>
            opened.send(message(fates.taken), patient()).then(
              () => 'taken',
              (error: SendError) => error.kind,
            ),
          {
            timeout: 20_000,
          },
        )
        .toBe('taken')
      expect(await taken(simulator)).toHaveLength(2)
    })

    test('taken, and the connection broken before the answer: uncertain', async () => {
      const { simulator, opened } = await open()
      await opened.send(message(fates.taken), patient())
      await fault(simulator, { resetAfterAccept: true })
      expect(await errorOf(opened.send(message(fates.taken), patient()))).toMatchObject({ kind: 'uncertain' })
      expect(await taken(simulator)).toHaveLength(2)
    })

    test('no answer until the signal ends it: uncertain', async () => {
      const { opened } = await open()
      const error = await errorOf(opened.send(message(fates.silent), AbortSignal.timeout(500)))
      expect(error).toMatchObject({ name: 'SendError', kind: 'uncertain' })
    })

    test('a signal that has fired already sends nothing', async () => {
      const { simulator, opened } = await open()
      await opened.send(message(fates.taken), patient())
      expect(await errorOf(opened.send(message(fates.taken), AbortSignal.abort()))).toMatchObject({ kind: 'temporary' })
      expect(await taken(simulator)).toHaveLength(1)
    })

    test('close ends it, twice as well as once, and what comes after is temporary', async () => {
      const { opened } = await open()
      await opened.send(message(fates.taken), patient())
      await opened.close()
      await opened.close()
      expect(await errorOf(opened.send(message(fates.taken), patient()))).toMatchObject({ kind: 'temporary' })
    })
  })
}
