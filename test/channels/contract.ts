import { describe, expect, onTestFinished, test } from 'vitest'
import { type Carrier, type Provider, SendError, type SendErrorKind } from '../../src/channels/provider.js'
import { request } from '../support/requests.js'

/** What every provider owes the engine, tried against its desk at the simulator. */
export interface ContractSubject<Message> {
  provider: Provider<Message>
  /** The simulator, opened for one test. */
  simulator(): Promise<{ url: string }>
  channel: string
  /** Where the provider finds its desk; the channel's own address unless said. */
  carrier?: string
  /** A message that will be taken, and others whose tries end as their kind says. */
  taken(reference: string): Message
  refused: Partial<Record<SendErrorKind, (reference: string) => Message>>
  /** A message that is taken and never answered; one of the taken ones by a slow carrier unless given. */
  silent?(reference: string): Message
  /** Whether taken messages are named by the carrier. */
  named: boolean
}

const never = (): AbortSignal => new AbortController().signal
const AT_ONCE = 100
const LONGEST = { timeout: 20_000 }

export function describeContract<Message>(subject: ContractSubject<Message>): void {
  const { provider, channel } = subject

  async function open(): Promise<{ carrier: Carrier<Message>; simulator: string }> {
    const { url } = await subject.simulator()
    const carriers = (await request(`${url}/simulator/carriers`)).body as Record<string, string>
    const carrier = await provider.open(new URL(carriers[subject.carrier ?? channel]!))
    onTestFinished(() => carrier.close())
    return { carrier, simulator: url }
  }
  const setFaults = (simulator: string, faults: object) =>
    request(`${simulator}/simulator/faults`, { method: 'PUT', body: { [channel]: faults } })
  const countOf = async (simulator: string): Promise<number> =>
    ((await request(`${simulator}/simulator/log`)).body as { channel: string }[]).filter(entry => entry.channel === channel)
      .length

  describe(`the provider ${provider.name} keeps the contract`, () => {
    test('it says which channel it serves, and a send fits three times into a lease unless it is safe to repeat', () => {
      expect(provider.channel).toBe(channel)
      if (provider.whenUncertain !== 'safe') expect(provider.timeoutMs * 3).toBeLessThanOrEqual(54_000)
    })

    test('a message is sent once, and its names and the answer come back', async () => {
      const { carrier, simulator } = await open()
      const { references, answer } = await carrier.send(subject.taken('contract-1'), never())
      expect(answer).not.toBe('')
      expect(references.length > 0).toBe(subject.named)
      expect(references).not.toContain('')
      expect(await countOf(simulator)).toBe(1)
    })

    test('a hundred at once are all taken, each under names of its own', async () => {
      const { carrier, simulator } = await open()
      const sending = Array.from({ length: AT_ONCE }, (_, index) =>
        carrier.send(subject.taken(`contract-many-${index}`), never()),
      )
      const references = (await Promise.all(sending)).flatMap(receipt => receipt.references)
      expect(references.length >= AT_ONCE).toBe(subject.named)
      expect(new Set(references).size).toBe(references.length)
      expect(await countOf(simulator)).toBe(AT_ONCE)
    })

    test.each(Object.entries(subject.refused))(
      '%s: the error says so, with a Portuguese reason and the carrier’s answer, and nothing is kept there',
      async (kind, make) => {
        const { carrier, simulator } = await open()
        const error = await failureOf(carrier.send(make(`contract-${kind}`), never()))
        expect(error).toMatchObject({ kind, reason: expect.stringMatching(/^\p{Lu}.*\.$/u) })
        expect(error.answer ?? '').not.toBe('')
        expect(await countOf(simulator)).toBe(0)
      },
    )

    test('trouble at the carrier passes: temporary while it lasts, nothing kept there, and taken afterwards', async () => {
      const { carrier, simulator } = await open()
      await carrier.send(subject.taken('contract-2'), never())
      for (const faults of [{ errorRate: 1 }, { outage: true }]) {
        await setFaults(simulator, faults)
        // A connection that breaks under the first one leaves that one in doubt.
        await expect
          .poll(() => kindOf(carrier.send(subject.taken('contract-3'), never())), LONGEST)
          .toMatch(/^(temporary|throttled)$/)
      }
      await setFaults(simulator, {})
      expect(await countOf(simulator)).toBe(1)
      await expect.poll(() => kindOf(carrier.send(subject.taken('contract-3'), never())), LONGEST).toBe('taken')
      expect(await countOf(simulator)).toBe(2)
    })

    test('taken, but never answered: nobody can know', async () => {
      const { carrier, simulator } = await open()
      await carrier.send(subject.taken('contract-4'), never())
      await setFaults(simulator, { resetAfterAccept: true })
      expect((await failureOf(carrier.send(subject.taken('contract-5'), never()))).kind).toBe('uncertain')
      expect(await countOf(simulator)).toBe(2)
    })

    test('whoever gives up waiting is answered at once, and does not know either', async () => {
      const { carrier, simulator } = await open()
      if (subject.silent === undefined) await setFaults(simulator, { latencyMs: 60_000 })
      const giveUp = new AbortController()
      const sending = failureOf(carrier.send((subject.silent ?? subject.taken)('contract-6'), giveUp.signal))
      await expect.poll(() => countOf(simulator), LONGEST).toBe(1)
      giveUp.abort()
      expect((await sending).kind).toBe('uncertain')
    })

    test('a signal that has fired already sends nothing', async () => {
      const { carrier, simulator } = await open()
      expect((await failureOf(carrier.send(subject.taken('contract-7'), AbortSignal.abort()))).kind).toBe('temporary')
      expect(await countOf(simulator)).toBe(0)
    })

    test('closing ends it, twice as well as once, and what is sent afterwards is a temporary trouble', async () => {
      const { carrier } = await open()
      await carrier.send(subject.taken('contract-8'), never())
      await carrier.close()
      await carrier.close()
      expect((await failureOf(carrier.send(subject.taken('contract-9'), never()))).kind).toBe('temporary')
    })
  })
}

const kindOf = (trying: Promise<unknown>): Promise<string> =>
  trying.then(
    () => 'taken',
    (error: SendError) => error.kind,
  )

async function failureOf(trying: Promise<unknown>): Promise<SendError> {
  const error = await trying.then(
    () => null,
    error => error,
  )
  expect(error).toBeInstanceOf(SendError)
  return error as SendError
}
