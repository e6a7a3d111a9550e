import { describe, expect, onTestFinished, test } from 'vitest'
import { type Carrier, type Provider, SendError, type SendErrorKind } from '../../src/channels/provider.js'
import { request } from '../support/requests.js'

/** What every provider owes the engine, tried against its desk at the simulator. */
export interface ContractSubject<Message> {
  provider: Provider<Message>
  /** The carrier's side, opened for one test: the simulator, or a desk of its own where the simulator has none. */
  simulator?(): Promise<{ url: string }>
  desk?(): Promise<ContractDesk>
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
  /** How many it carries at a time; a hundred unless said. */
  atOnce?: number
  /** Whether there is no moment between taking a message and answering in which the answer could be lost. */
  answersLast?: true
}

/** A carrier's side: where it is, what ails it, and how many messages it took. */
export interface ContractDesk {
  carrier: URL
  setFaults(faults: Faults): unknown
  /** How many messages it kept. */
  count(): number | Promise<number>
}

export interface Faults {
  errorRate?: number
  outage?: boolean
  resetAfterAccept?: boolean
  latencyMs?: number
}

const never = (): AbortSignal => new AbortController().signal
const LONGEST = { timeout: 20_000 }
const LEASE_MS = 54_000

export function describeContract<Message>(subject: ContractSubject<Message>): void {
  const { provider, channel, atOnce = 100 } = subject

  async function open(): Promise<{ carrier: Carrier<Message>; desk: ContractDesk }> {
    const desk = await (subject.desk?.() ?? simulatedDesk(subject))
    const carrier = await provider.open(desk.carrier)
    onTestFinished(() => carrier.close())
    return { carrier, desk }
  }

  describe(`the provider ${provider.name} keeps the contract`, () => {
    test('it says which channel it serves, and a send fits three times into a lease unless it may be repeated, or never is', () => {
      expect(provider.channel).toBe(channel)
      if (provider.whenUnknown === 'lookup' || provider.whenUnknown === 'report')
        expect(provider.timeoutMs * 3).toBeLessThanOrEqual(LEASE_MS)
    })

    test('a message is sent once, and its names and the answer come back', async () => {
      const { carrier, desk } = await open()
      const { references, answer } = await carrier.send(subject.taken('contract-1'), never())
      expect(answer).not.toBe('')
      expect(references.length > 0).toBe(subject.named)
      expect(references).not.toContain('')
      expect(await desk.count()).toBe(1)
    })

    test(`${atOnce} at once are all taken, each under names of its own`, async () => {
      const { carrier, desk } = await open()
      const sending = Array.from({ length: atOnce }, (_, index) => carrier.send(subject.taken(`contract-many-${index}`), never()))
      const references = (await Promise.all(sending)).flatMap(receipt => receipt.references)
      expect(references.length >= atOnce).toBe(subject.named)
      expect(new Set(references).size).toBe(references.length)
      expect(await desk.count()).toBe(atOnce)
    })

    test.each(Object.entries(subject.refused))(
      '%s: the error says so, with a Portuguese reason and the carrier’s answer, and nothing is kept there',
      async (kind, make) => {
        const { carrier, desk } = await open()
        const error = await failureOf(carrier.send(make(`contract-${kind}`), never()))
        expect(error).toMatchObject({ kind, reason: expect.stringMatching(/^\p{Lu}.*\.$/u) })
        expect(error.answer ?? '').not.toBe('')
        expect(await desk.count()).toBe(0)
      },
    )

    test('trouble at the carrier passes: temporary while it lasts, nothing kept there, and taken afterwards', async () => {
      const { carrier, desk } = await open()
      await carrier.send(subject.taken('contract-2'), never())
      for (const faults of [{ errorRate: 1 }, { outage: true }]) {
        await desk.setFaults(faults)
        // A connection that breaks under the first one leaves that one in doubt.
        await expect
          .poll(() => kindOf(carrier.send(subject.taken('contract-3'), never())), LONGEST)
          .toMatch(/^(temporary|throttled)$/)
      }
      await desk.setFaults({})
      expect(await desk.count()).toBe(1)
      await expect.poll(() => kindOf(carrier.send(subject.taken('contract-3'), never())), LONGEST).toBe('taken')
      expect(await desk.count()).toBe(2)
    })

    if (subject.answersLast !== true) {
      test('taken, but never answered: nobody can know', async () => {
        const { carrier, desk } = await open()
        await carrier.send(subject.taken('contract-4'), never())
        await desk.setFaults({ resetAfterAccept: true })
        expect((await failureOf(carrier.send(subject.taken('contract-5'), never()))).kind).toBe('uncertain')
        expect(await desk.count()).toBe(2)
      })
    }

    test('whoever gives up waiting is answered at once, and does not know either', async () => {
      const { carrier, desk } = await open()
      if (subject.silent === undefined) await desk.setFaults({ latencyMs: 60_000 })
      const giveUp = new AbortController()
      const sending = failureOf(carrier.send((subject.silent ?? subject.taken)('contract-6'), giveUp.signal))
      await expect.poll(() => desk.count(), LONGEST).toBe(1)
      giveUp.abort()
      expect((await sending).kind).toBe('uncertain')
    })

    test('a signal that has fired already sends nothing', async () => {
      const { carrier, desk } = await open()
      expect((await failureOf(carrier.send(subject.taken('contract-7'), AbortSignal.abort()))).kind).toBe('temporary')
      expect(await desk.count()).toBe(0)
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

async function simulatedDesk<Message>({ simulator, channel, carrier }: ContractSubject<Message>): Promise<ContractDesk> {
  const { url } = await simulator!()
  const carriers = (await request(`${url}/simulator/carriers`)).body as Record<string, string>
  return {
    carrier: new URL(carriers[carrier ?? channel]!),
    setFaults: faults => request(`${url}/simulator/faults`, { method: 'PUT', body: { [channel]: faults } }),
    async count() {
      const log = (await request(`${url}/simulator/log`)).body as { channel: string }[]
      return log.filter(entry => entry.channel === channel).length
    },
  }
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
