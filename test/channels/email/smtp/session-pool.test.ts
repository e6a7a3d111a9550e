import { expect, onTestFinished, test, vi } from 'vitest'
import { type PoolSettings, SessionPool } from '../../../../src/channels/email/smtp/session-pool.js'
import { deferred } from '../../../support/deferred.js'
import { type ScriptedServer, scriptedServer } from '../scripted-server.js'

const never = new AbortController().signal
const envelope = { from: 'b@bounce.example.com', to: 'a@example.net', id: 'r' }

function pool(server: ScriptedServer, changes: Partial<PoolSettings> = {}): SessionPool {
  const made = new SessionPool({
    server: { host: '127.0.0.1', port: server.port, helo: 'x.example', tls: 'off', credentials: null },
    size: 2,
    ...changes,
  })
  onTestFinished(() => made.close())
  return made
}

const send = (made: SessionPool): Promise<unknown> =>
  made.run(never, (session, limits) => session.send(envelope, Buffer.from('x\r\n'), limits))

test('a connection is closed with QUIT after its maximum of messages', async () => {
  const server = await scriptedServer()
  const made = pool(server, { maxMessages: 3 })
  for (let turn = 0; turn < 7; turn++) await send(made)
  expect(server.connections).toBe(3)
  await expect.poll(() => server.commands.filter(command => command === 'QUIT')).toHaveLength(2)
})

test('an idle connection is closed after a while, and the pool says when it is empty', async () => {
  const server = await scriptedServer()
  let empty = 0
  const made = pool(server, { idleMs: 50, onEmpty: () => empty++ })
  await send(made)
  await expect.poll(() => server.open).toBe(0)
  expect(empty).toBe(1)
  await send(made)
  expect(server.connections).toBe(2)
})

test('a pool is not empty while a message is under way that needs another connection', async () => {
  const thought = deferred<string>()
  const server = await scriptedServer({
    at: (at, _, connection) => {
      if (at === 'MAIL' && connection === 1 && server.messages.length === 1) return '421 4.7.0 Enough'
      return at === 'greeting' && connection === 2 ? thought.promise : undefined
    },
  })
  let empty = 0
  const made = pool(server, { size: 1, idleMs: 50, onEmpty: () => empty++ })
  await send(made)
  const sending = send(made)
  await expect.poll(() => server.connections).toBe(2)
  expect(empty).toBe(0)
  thought.resolve('220 Hello')
  await sending
  await expect.poll(() => empty).toBe(1)
})

test('a connection that the server closes while idle is forgotten at once', async () => {
  const server = await scriptedServer({ at: at => (at === 'end' ? '250 Ok\r\n421 4.3.2 Bye' : undefined) })
  let empty = 0
  const made = pool(server, { onEmpty: () => empty++ })
  await send(made)
  await expect.poll(() => empty).toBe(1)
})

test('a server that is down fails every message and occupies no connection slot', async () => {
  const server = await scriptedServer({ at: at => (at === 'greeting' && server.connections <= 6 ? 'CLOSE' : undefined) })
  const made = pool(server)
  const outcomes = await Promise.allSettled(Array.from({ length: 6 }, () => send(made)))
  expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true)
  await Promise.all([send(made), send(made), send(made)])
  expect(server.messages).toHaveLength(3)
})

test('a stale connection takes the other idle ones with it: a restarted server closed them all', async () => {
  const server = await scriptedServer({
    at: (at, _, connection) => (at === 'MAIL' && connection <= 2 && server.messages.length >= 2 ? 'RESET' : undefined),
  })
  const made = pool(server)
  await Promise.all([send(made), send(made)])
  await Promise.all([send(made), send(made)])
  expect(server.messages).toHaveLength(4)
})

test('a message waits for a connection as long as a server may take to reply, and the pool reports when all are stuck', async () => {
  const thought = deferred<string>()
  const server = await scriptedServer({ at: at => (at === 'end' && server.messages.length === 1 ? thought.promise : undefined) })
  const made = pool(server, { size: 1, startTimeoutMs: 300, stuckMs: 400 })
  const sending = Promise.all([send(made), send(made)])
  expect(made.isStuck).toBe(false)
  await vi.waitFor(() => expect(made.isStuck).toBe(true), { timeout: 120_000 })
  thought.resolve('250 2.0.0 At last')
  await sending
  expect(made.isStuck).toBe(false)
  expect(server.connections).toBe(1)
  expect(server.messages).toHaveLength(2)
})

test('a message that waits too long was not tried: all connections are busy', async () => {
  const server = await scriptedServer({ at: at => (at === 'end' ? 'SILENCE' : undefined) })
  const made = pool(server, { size: 1, waitTimeoutMs: 300 })
  const first = send(made).catch(() => {})
  await expect(send(made)).rejects.toMatchObject({
    kind: 'temporary',
    reason: expect.stringContaining('ocupadas'),
    untried: true,
  })
  made.close()
  void first
})
