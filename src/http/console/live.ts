import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { Refusal } from '../../domain/errors.js'
import { type LiveChange, readLiveChanges, readLivePosition } from '../../store/console/live.js'
import { isSessionAlive, type SignedIn } from '../../store/console/sessions.js'
import type { Pool } from '../../store/postgres.js'
import type { ReadList } from '../../store/replica.js'
import { everyone, route } from './route.js'

export interface LiveOptions {
  pool: Pool
  /** The same as that of the lists: a page that is told of a change finds it there. */
  readList: ReadList
  /** Shorter in tests. */
  everyMs?: number
  aliveEveryMs?: number
}

const EVERY_MS = 1_000
const MOST = 1_000
/** A browser is told which notifications changed, or only that many did. */
const MOST_NAMED = 50
/** Also how soon a stream notices that its session has ended. */
const ALIVE_EVERY_MS = 10_000
/** The most live streams of one person on one node. The console opens one for each tab. */
const MAX_STREAMS = 32
/** The most bytes that a reader may leave unread. A page that is shown again asks for everything again, so nothing is lost. */
const MAX_UNREAD_BYTES = 65_536

interface Listener {
  operator: SignedIn
  stream: ServerResponse
  checkedAt: number
}

/**
 * GET /console/api/live: server-sent events that say what changed, so that pages ask again. One reader per process, and none while nobody
 * listens: what a page shows comes from its own request, so an event that is missed is repaired by the next one.
 */
export function addLive(app: FastifyInstance, options: LiveOptions): void {
  const { pool, readList, everyMs = EVERY_MS, aliveEveryMs = ALIVE_EVERY_MS } = options
  const listeners = new Set<Listener>()
  let closing = false
  let running: Promise<void> | null = null

  /** A stream with unread bytes would end only once they are read, which may be never. */
  const end = (listener: Listener): void => {
    listeners.delete(listener)
    if (listener.stream.writableLength > 0) listener.stream.destroy()
    else listener.stream.end()
  }

  const write = (listener: Listener, text: string): void => {
    if (!listeners.has(listener)) return
    if (listener.stream.writableLength > MAX_UNREAD_BYTES) end(listener)
    else listener.stream.write(text)
  }

  async function keepAlive(listener: Listener): Promise<void> {
    if (Date.now() - listener.checkedAt < aliveEveryMs) return
    listener.checkedAt = Date.now()
    if (await isSessionAlive(pool, listener.operator.session)) write(listener, ': alive\n\n')
    else end(listener)
  }

  async function read(): Promise<void> {
    let position = await readList(readLivePosition)
    while (listeners.size > 0 && !closing) {
      const after = position
      const changes = await readList(db => readLiveChanges(db, after, MOST))
      position = changes.at(-1)?.transactionId ?? position
      for (const listener of listeners) {
        const news = describe(listener.operator, changes)
        if (news !== null) write(listener, news)
        await keepAlive(listener)
      }
      await sleep(everyMs)
    }
  }

  /** A database that is away for a while ends nothing: the reader starts again where things are then. */
  const start = (): void => {
    running ??= read()
      .catch(() => sleep(everyMs))
      .then(() => {
        running = null
        if (listeners.size > 0 && !closing) start()
      })
  }

  app.get('/console/api/live', { ...route(everyone), exposeHeadRoute: false }, (request, reply) => {
    const { operator } = request
    // A stream opened now would never end: the stop has ended those that were open.
    if (closing) throw new Refusal('stopping', [], { retryAfter: 5 })
    const open = [...listeners].filter(listener => listener.operator.id === operator.id).length
    if (open >= MAX_STREAMS) throw new Refusal('tooManyStreams', [String(MAX_STREAMS)], { retryAfter: 30 })
    reply.hijack()
    const stream = reply.raw
    stream.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
    })
    stream.write('retry: 3000\n\n')
    const listener = { operator, stream, checkedAt: Date.now() }
    listeners.add(listener)
    stream.once('close', () => listeners.delete(listener))
    start()
  })

  app.addHook('preClose', async () => {
    closing = true
    for (const listener of listeners) end(listener)
    await running
  })
}

/** Only of the accounts that the person may see; null: nothing changed there. */
function describe(operator: SignedIn, changes: readonly LiveChange[]): string | null {
  const theirs = changes.filter(({ account }) => operator.account === null || operator.account === account)
  if (theirs.length === 0) return null
  const notifications = [...new Set(theirs.map(({ notification }) => notification))]
  const named = notifications.length > MOST_NAMED ? null : notifications
  const modes = [...new Set(theirs.map(({ mode }) => mode))]
  return `event: change\ndata: ${JSON.stringify({ modes, notifications: named })}\n\n`
}
