import { expect, onTestFinished, test } from 'vitest'
import type { WebhookClaim } from '../../src/store/webhook/queue.js'
import { Deliverer, type DelivererOptions } from '../../src/webhooks/deliverer.js'
import type { Reply } from '../../src/webhooks/outbound.js'
import { QUICK } from '../support/gateway/webhooks.js'

const LEASE_MS = 3_000

/** Messages of one endpoint that takes one at a time, each with a lease of its own, and renewals that find which of them still hold. */
function deliveringWith(isRenewed: (lease: number) => boolean) {
  const posted: string[] = []
  const ended: number[] = []
  const replies: (() => void)[] = []
  let renewals = 0
  const claims = ['a', 'b', 'c'].map(
    (id, index) =>
      ({
        id,
        lease: index + 1,
        endpoint: 'e',
        account: 'x',
        mode: 'live',
        url: `http://127.0.0.1/${id}`,
        attempt: 1,
      }) as WebhookClaim,
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
    claim: async question => {
      ended.push(...question.ended)
      return claims.splice(0)
    },
    render: async given => given.map(() => '{}'),
    unseal: () => [Buffer.alloc(32)],
    report: async ({ settlement: { message } }) => {
      if (message === 'b') throw new Error('not written')
    },
    release: async () => {},
    abandon: async () => {
      throw new Error('not reachable')
    },
    renew: async leases => {
      renewals++
      return new Set(leases.filter(isRenewed))
    },
    end: async leases => void ended.push(...leases),
    onError: () => {},
  })
  deliverer.start()
  const stop = async () => {
    const stopped = deliverer.stop()
    while (replies.length > 0) replies.shift()!()
    await stopped
  }
  onTestFinished(stop)
  return { posted, ended, stop, answer: () => replies.shift()!(), renewals: () => renewals }
}

test.each([
  ['all', [1, 2, 3], ['a', 'b', 'c']],
  ['some', [1, 3], ['a', 'c']],
  ['no', [], ['a']],
] as const)('when %s leases are renewed, %j, the messages %j are posted', async (_, leases, expected) => {
  const { posted, answer, renewals } = deliveringWith(lease => (leases as readonly number[]).includes(lease))
  await expect.poll(() => posted).toEqual(['a'])
  await expect.poll(renewals, { timeout: LEASE_MS }).toBeGreaterThan(0)
  answer()
  for (const [index] of expected.entries()) {
    await expect.poll(() => posted.length).toBeGreaterThan(index)
    if (index > 0) answer()
  }
  expect(posted).toEqual(expected)
})

test('a lease is ended when its messages have their outcomes, and left to expire when one of them has none', async () => {
  const { posted, answer, ended, stop } = deliveringWith(() => true)
  for (const index of [1, 2, 3]) {
    await expect.poll(() => posted.length).toBe(index)
    answer()
  }
  await stop()
  // The outcome of the second was not written.
  expect(ended.sort()).toEqual([1, 3])
})
