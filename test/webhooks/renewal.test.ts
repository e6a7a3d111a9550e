import { expect, onTestFinished, test } from 'vitest'
import type { WebhookClaim } from '../../src/store/webhook/queue.js'
import { Deliverer, type DelivererOptions } from '../../src/webhooks/deliverer.js'
import type { Reply } from '../../src/webhooks/outbound.js'
import { QUICK } from '../support/gateway/webhooks.js'

const LEASE_MS = 3_000

/** Messages of one endpoint that takes one at a time, and a renewal that finds of each what the test says. */
function deliveringWith(found: 'renewed' | 'passedOver' | 'lost') {
  const posted: string[] = []
  const replies: (() => void)[] = []
  let renewals = 0
  const claims = ['a', 'b', 'c'].map(
    id => ({ id, endpoint: 'e', account: 'x', mode: 'live', url: `http://127.0.0.1/${id}`, attempt: 1 }) as WebhookClaim,
  )
  const deliverer = new Deliverer({
    clock: Date.now,
    leaseMs: LEASE_MS,
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
      const ids = new Set(messages.map(({ message }) => message))
      return { renewed: new Set(found === 'renewed' ? ids : []), passedOver: new Set(found === 'passedOver' ? ids : []) }
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
  const { posted, answer, renewals } = deliveringWith(found)
  await expect.poll(() => posted).toEqual(['a'])
  await expect.poll(renewals, { timeout: LEASE_MS }).toBeGreaterThan(0)
  answer()
  for (const [index] of expected.entries()) {
    await expect.poll(() => posted.length).toBeGreaterThan(index)
    if (index > 0) answer()
  }
  expect(posted).toEqual(expected)
})
