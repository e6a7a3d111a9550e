import { expect, test } from 'vitest'
import { judgeCopy, type Memory, type ServerMark } from '../../src/domain/database-copy.js'

const home: ServerMark = { server: '7001', database: 16_384, timeline: 1 }
const judge = (change: Partial<ServerMark>, memory: Memory, othersHadTime = false) =>
  judgeCopy(home, { ...home, ...change }, memory, othersHadTime)

test('a database that lacks what a node remembers is a copy, wherever it runs', () => {
  for (const change of [{}, { timeline: 2 }, { server: '7002' }]) expect(judge(change, 'missing')).toEqual({ cause: 'behind' })
  expect(judge({}, 'copied')).toEqual({ cause: 'folder' })
})

test('a promoted standby that lacks nothing goes on; one of which nobody knows that is a copy', () => {
  expect(judge({ timeline: 2 }, 'contained')).toBe('moved')
  expect(judge({ timeline: 2 }, 'exact')).toBe('moved')
  expect(judge({ timeline: 2 }, 'none')).toBe('ask others')
  expect(judge({ timeline: 2 }, 'none', true)).toEqual({ cause: 'timeline' })
})

test('a dump on another server, or under another name, is a copy unless it ends exactly where the memory does', () => {
  for (const change of [{ server: '7002' }, { database: 16_385 }]) {
    expect(judge(change, 'contained')).toEqual({ cause: 'server' })
    expect(judge(change, 'exact')).toBe('moved')
    expect(judge(change, 'none')).toBe('ask others')
    expect(judge(change, 'none', true)).toEqual({ cause: 'server' })
  }
})

test('a server that was only started again goes on, and a service that tells no identity is no other server', () => {
  expect(judge({}, 'contained')).toBe('same')
  expect(judge({}, 'none')).toBe('ask others')
  expect(judge({}, 'none', true)).toBe('same')
  expect(judge({ server: '0', timeline: 0 }, 'contained')).toBe('same')
})
