import { expect, test } from 'vitest'
import { StoreUnavailable } from '../../src/domain/errors.js'
import type { Pool } from '../../src/store/postgres.js'
import { onReplica } from '../../src/store/replica.js'

/** Two servers as their pools answer, and a clock that stands still until it is moved. */
function pair() {
  const state = { now: 0, written: 0, replayed: 0, follows: true, isLost: false }
  const told: boolean[] = []
  const answers = (row: () => object): Pool => ({ query: async () => ({ rows: [row()], rowCount: 1 }) }) as unknown as Pool
  const primary = answers(() => ({ position: String(state.written) }))
  const replica = answers(() => {
    if (state.isLost) throw new Error('Connection terminated')
    return { follows: state.follows, position: String(state.replayed) }
  })
  const readList = onReplica(
    { primary, replica, onUsed: used => told.push(used) },
    { checkEveryMs: 1_000, maxLagMs: 5_000, now: () => state.now },
  )
  const after = async (ms: number, change: Partial<typeof state> = {}): Promise<'primary' | 'replica'> => {
    Object.assign(state, change, { now: state.now + ms })
    return readList(async db => (db === primary ? 'primary' : 'replica'))
  }
  return { after, readList, replica, told }
}

test('lists are read on a replica that has what the primary had five seconds ago', async () => {
  const { after, told } = pair()
  expect(await after(0, { written: 100, replayed: 100 })).toBe('replica')
  expect(await after(1_000, { written: 200, replayed: 150 })).toBe('replica')
  expect(await after(5_000, { written: 300, replayed: 220 })).toBe('replica')
  expect(told).toEqual([])
})

test('one that lags is left alone until it has caught up, which is told once each', async () => {
  const { after, told } = pair()
  await after(0, { written: 100, replayed: 100 })
  await after(1_000, { written: 200 })
  expect(await after(5_000, { written: 300 })).toBe('primary')
  expect(await after(1_000)).toBe('primary')
  expect(await after(500, { replayed: 300 })).toBe('primary')
  expect(await after(500)).toBe('replica')
  expect(told).toEqual([false, true])
})

test('before anything is known, a replica must have everything', async () => {
  const { after } = pair()
  expect(await after(0, { written: 100, replayed: 99 })).toBe('primary')
})

test('one that was promoted, or does not answer, is not used', async () => {
  const { after } = pair()
  expect(await after(0, { follows: false })).toBe('primary')
  expect(await after(1_000, { follows: true })).toBe('replica')
  expect(await after(1_000, { isLost: true })).toBe('primary')
  expect(await after(1_000, { isLost: false })).toBe('replica')
})

test('a read that the replica breaks off is done on the primary, and so are the next ones; a refusal is not repeated', async () => {
  const { after, readList, replica, told } = pair()
  await after(0)
  const answered = await readList(async db => {
    if (db === replica) throw new StoreUnavailable('conflict with recovery')
    return 'answered'
  })
  expect(answered).toBe('answered')
  expect(told).toEqual([false])
  expect(await after(10)).toBe('primary')
  expect(await after(1_000)).toBe('replica')
  const refused = readList(() => Promise.reject(new RangeError('a bad filter')))
  await expect(refused).rejects.toThrow('a bad filter')
})
