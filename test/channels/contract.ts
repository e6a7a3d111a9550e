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
  /** Whether taken messages are named by the carrier. */
  named: boolean
}

const never = new AbortController().signal

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
    test('it says which channel it serves, and a send fits three times into a lease', () => {
      expect(provider.channel).toBe(channel)
      expect(provider.timeoutMs * 3).toBeLessThanOrEqual(54_000)
    })

    test('a message is sent once, and its names and the answer come back', async () => {
      const { carrier, simulator } = await open()
      const receipt = await carrier.send(subject.taken('contract-1'), never)
      expect(receipt.answer).not.toBe('')
      expect(receipt.references.length > 0).toBe(subject.named)
      expect(new Set(receipt.references).size).toBe(receipt.references.length)
      expect(await countOf(simulator)).toBe(1)
    })

    test.each(Object.entries(subject.refused))(
      '%s: the error says so, with a Portuguese reason and the carrier’s answer',
      async (kind, make) => {
        const { carrier } = await open()
        const error = await failureOf(carrier.send(make(`contract-${kind}`), never))
        expect(error).toMatchObject({ kind, reason: expect.stringMatching(/\.$/) })
        expect(error.answer ?? '').not.toBe('')
      },
    )

    test('a carrier that is out of order is a temporary trouble, and nothing is kept there', async () => {
      const { carrier, simulator } = await open()
      await setFaults(simulator, { outage: true })
      expect((await failureOf(carrier.send(subject.taken('contract-2'), never))).kind).toMatch(/^(temporary|throttled)$/)
      await setFaults(simulator, {})
      expect(await countOf(simulator)).toBe(0)
      await carrier.send(subject.taken('contract-2'), never)
      expect(await countOf(simulator)).toBe(1)
    })

    test('taken, but never answered: nobody can know', async () => {
      const { carrier, simulator } = await open()
      await setFaults(simulator, { resetAfterAccept: true })
      expect((await failureOf(carrier.send(subject.taken('contract-3'), never))).kind).toBe('uncertain')
      expect(await countOf(simulator)).toBe(1)
    })

    test('whoever gives up waiting is answered at once, and does not know either', async () => {
      const { carrier, simulator } = await open()
      await setFaults(simulator, { latencyMs: 60_000 })
      const giveUp = new AbortController()
      const sending = failureOf(carrier.send(subject.taken('contract-4'), giveUp.signal))
      await expect.poll(() => countOf(simulator), { timeout: 10_000 }).toBe(1)
      giveUp.abort()
      expect((await sending).kind).toBe('uncertain')
    })

    test('a signal that has fired already sends nothing', async () => {
      const { carrier, simulator } = await open()
      expect((await failureOf(carrier.send(subject.taken('contract-5'), AbortSignal.abort()))).kind).toBe('temporary')
      expect(await countOf(simulator)).toBe(0)
    })

    test('closing ends, and what is sent afterwards is a temporary trouble', async () => {
      const { carrier } = await open()
      await carrier.send(subject.taken('contract-6'), never)
      await carrier.close()
      expect((await failureOf(carrier.send(subject.taken('contract-7'), never))).kind).toBe('temporary')
    })
  })
}

async function failureOf(trying: Promise<unknown>): Promise<SendError> {
  const error = await trying.then(
    () => null,
    error => error,
  )
  expect(error).toBeInstanceOf(SendError)
  return error as SendError
}
