import { expect, test } from 'vitest'
import { type ObjectStore, ObjectStoreFault } from '../../src/runtime/objects/object-store.js'
import { watchStore } from '../../src/runtime/objects/watched-store.js'

/** A store whose requests fail as the test says. */
function watchedStore() {
  const fails = new Map<string, Error>()
  const answer = async <T>(access: string, value: T): Promise<T> => {
    const error = fails.get(access)
    if (error !== undefined) throw error
    return value
  }
  const store: ObjectStore = {
    name: 'store',
    put: () => answer('put', undefined),
    read: () => answer('read', Buffer.from('abc')),
    delete: () => answer('delete', undefined),
    async *list() {
      await answer('list', undefined)
      yield [{ name: 'a/b', size: 1, modifiedAt: new Date() }]
    },
    listFolders: () => answer('list', ['a']),
  }
  const told: unknown[] = []
  let now = 0
  const watched = watchStore(store, {
    onLost: (error, access) => told.push([access, (error as Error).message]),
    onBack: (downMs, access) => told.push([access, downMs]),
    now: () => now,
  })
  const ask = (): Promise<unknown[]> =>
    Promise.all([
      watched.put('a', Buffer.from('abc'), 'hash').catch(error => error),
      watched.read('a', 0, 3).catch(error => error),
      watched.delete('a').catch(error => error),
    ])
  return {
    fails,
    told,
    watched,
    ask,
    pass: (ms: number) => {
      now += ms
    },
  }
}

test('an outage is told once when it begins and once when it ends, for each kind of access', async () => {
  const { fails, told, ask, pass } = watchedStore()
  const full = new ObjectStoreFault('full')
  fails.set('put', full)
  for (let round = 0; round < 3; round++) expect(await ask()).toEqual([full, Buffer.from('abc'), undefined])
  expect(told).toEqual([['put', 'full']])
  const away = new ObjectStoreFault('away')
  for (const access of ['put', 'read']) fails.set(access, away)
  for (let round = 0; round < 3; round++) await ask()
  pass(1_500)
  fails.delete('read')
  for (let round = 0; round < 3; round++) await ask()
  pass(500)
  fails.clear()
  for (let round = 0; round < 3; round++) await ask()
  fails.set('put', full)
  await ask()
  expect(told).toEqual([
    ['put', 'full'],
    ['read', 'away'],
    ['read', 1_500],
    ['put', 2_000],
    ['put', 'full'],
  ])
})

test('an error that is not the store’s is no outage', async () => {
  const { fails, told, ask } = watchedStore()
  fails.set('read', new TypeError('a defect'))
  await ask()
  fails.clear()
  await ask()
  expect(told).toEqual([])
})

test('a store that cannot be listed is told of, too, and is back once it was listed to its end', async () => {
  const { fails, told, watched } = watchedStore()
  const listed = async (): Promise<unknown> => {
    const batches: unknown[] = []
    try {
      for await (const batch of watched.list('a')) batches.push(batch)
      return batches
    } catch (error) {
      return error
    }
  }
  const refused = new ObjectStoreFault('refused')
  fails.set('list', refused)
  expect(await listed()).toBe(refused)
  expect(await watched.listFolders().catch(error => error)).toBe(refused)
  expect(told).toEqual([['list', 'refused']])
  fails.clear()
  expect(await listed()).toMatchObject([[{ name: 'a/b' }]])
  expect(await watched.listFolders()).toEqual(['a'])
  expect(told).toEqual([
    ['list', 'refused'],
    ['list', 0],
  ])
})
