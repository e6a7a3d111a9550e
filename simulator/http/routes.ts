import type { FastifyInstance } from 'fastify'
import { refuse } from '../../src/domain/errors.js'
import type { CallbackRoute, Callbacks } from '../callbacks.js'
import { isLoopback } from '../loopback.js'
import type { Outbox } from '../outbox.js'
import { Refused } from '../refused.js'
import type { Visitor } from '../visitor.js'
import { readObject, readUrl } from './readers.js'

export interface RouteParts {
  /** Where the simulator listens; routes beyond loopback are taken only where it serves beyond it too. */
  host: string
  outbox: Outbox
  callbacks: Callbacks
  visitor: Visitor
}

/** Where a gateway says what comes back to it, and how. */
export function addRoutes(app: FastifyInstance, { host, outbox, callbacks, visitor }: RouteParts): void {
  const local = isLoopback(host)
  const shown = () => ({ bounces: outbox.routes, callbacks: callbacks.bases })

  app.get('/simulator/routes', async () => shown())
  app.put('/simulator/routes', async ({ body }) => {
    const given = readObject(body)
    if (given.bounces === undefined && given.callbacks === undefined) return refuse('required', 'bounces')
    const bounces = given.bounces === undefined ? null : readBounces(given.bounces, local)
    const callback = readCallbacks(given, local)
    if (given.site !== undefined) visitor.allow(readUrl(given.site, 'site', ['http:', 'https:']).href)
    if (bounces !== null) outbox.register(bounces)
    if (callback !== null) callbacks.register(callback)
    return shown()
  })
}

function readBounces(value: unknown, local: boolean): string {
  const { host, hostname, port } = readUrl(value, 'bounces', ['smtp:'])
  if (port === '') return refuse('wrongValue', 'bounces')
  keepNear(hostname, 'bounces', local)
  return `smtp://${host}`
}

/** 16 bytes are the least that cannot be guessed. */
const SECRET = /^([0-9a-f]{2}){16,128}$/i

function readCallbacks({ callbacks, secret }: Record<string, unknown>, local: boolean): CallbackRoute | null {
  if (callbacks === undefined) return secret === undefined ? null : refuse('required', 'callbacks')
  const { origin, pathname, hostname, username, search, hash } = readUrl(callbacks, 'callbacks', ['http:', 'https:'])
  if (username !== '' || search !== '' || hash !== '') return refuse('wrongValue', 'callbacks')
  keepNear(hostname, 'callbacks', local)
  if (secret === undefined) return refuse('required', 'secret')
  if (typeof secret !== 'string') return refuse('notText', 'secret')
  if (!SECRET.test(secret)) return refuse('wrongValue', 'secret')
  return { base: `${origin}${pathname.replace(/\/+$/, '')}`, secret }
}

function keepNear(hostname: string, field: string, local: boolean): void {
  if (local && !isLoopback(hostname)) {
    throw new Refused(400, `O campo ${field} deve apontar para esta máquina (127.0.0.1), onde o simulador está.`)
  }
}
