import { expect, onTestFinished, test } from 'vitest'
import type { WebhookClaim } from '../../src/store/webhook/queue.js'
import { Deliverer, type DelivererOptions } from '../../src/webhooks/deliverer.js'
import type { Reply } from '../../src/webhooks/outbound.js'
import { QUICK } from '../support/gateway/webhooks.js'

const LEASE_MS = 3_000

type Found = 'renewed' | 'passedOver' | 'lost'

/** Messages of one endpoint that takes one at a time, and renewals that find of each what the test says. */
function deliveringWith(found: (id: string) => Found, leaseMs = LEASE_MS) {
  const posted: string[] = []
  const replies: (() => void)[] = []
  let renewals = 0
  const claims = ['a', 'b', 'c'].map(
    id => ({ id, endpoint: 'e', account: 'x', mode: 'live', url: `http://127.0.0.1/${id}`, attempt: 1 }) as WebhookClaim,
  )
  const deliverer = new Deliverer({
    clock: Date.now,
    leaseMs,
    maxInFlight: 1,
    maxHeld: 10,
    rules: { plan: QUICK.plan!, random: Math.random },
    failuresToPause: 5,
    outbound: {
      request: (_method: string, url: string) =>
        new Promise<Reply>(resolve => {
          posted.push(url.at(-1)!)
          replies.push(() => resolve({ status: 204, headers: {}, body: Buffer.alloc(0) } as unknown as Reply))
        }),
      close: async () => {},
    } as unknown as DelivererOptions['outbound'],
    claim: async () => claims.splice(0),
    render: async given => given.map(() => '{}'),
    unseal: () => [Buffer.alloc(32)],
    report: async () => {},
    release: async () => {},
    renew: async messages => {
      renewals++
      const those = (wanted: Found) => new Set(messages.map(({ message }) => message).filter(id => found(id) === wanted))
      return { renewed: those('renewed'), passedOver: those('passedOver') }
    },
    onError: error => {
      throw error
    },
  })
  deliverer.start()
  onTestFinished(async () => {
    const stopped = deliverer.stop()
    while (replies.length > 0) replies.shift()!()
    await stopped
  })
  return { posted, answer: () => replies.shift()!(), renewals: () => renewals }
}

test.each([
  ['renewed', ['a', 'b', 'c']],
  ['passedOver', ['a', 'b', 'c']],
  ['lost', ['a']],
] as const)('messages that a renewal says are %s: %j are posted', async (found, expected) => {
  const { posted, answer, renewals } = deliveringWith(() => found)
  await expect.poll(() => posted).toEqual(['a'])
  await expect.poll(renewals, { timeout: LEASE_MS }).toBeGreaterThan(0)
  answer()
  for (const [index] of expected.entries()) {
    await expect.poll(() => posted.length).toBeGreaterThan(index)
    if (index > 0) answer()
  }
  expect(posted).toEqual(expected)
})

test('while renewals pass over a message of which the outcome is being written, the leases of the others go on', async () => {
  const leaseMs = 1_200
  const { posted, answer, renewals } = deliveringWith(id => (id === 'a' ? 'passedOver' : 'renewed'), leaseMs)
  await expect.poll(() => posted).toEqual(['a'])
  // Longer than the first lease.
  await expect.poll(renewals, { timeout: 4 * leaseMs }).toBeGreaterThan(8)
  answer()
  await expect.poll(() => posted).toEqual(['a', 'b'])
  answer()
  await expect.poll(() => posted).toEqual(['a', 'b', 'c'])
})

test('a message that renewals pass over until its lease is over is not posted', async () => {
  const leaseMs = 1_200
  const { posted, answer, renewals } = deliveringWith(id => (id === 'b' ? 'passedOver' : 'renewed'), leaseMs)
  await expect.poll(() => posted).toEqual(['a'])
  await expect.poll(renewals, { timeout: 4 * leaseMs }).toBeGreaterThan(8)
  answer()
  await expect.poll(() => posted).toEqual(['a', 'c'])
})
