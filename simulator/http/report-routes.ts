import type { FastifyInstance } from 'fastify'
import { refuse } from '../../src/domain/errors.js'
import { isLoopback } from '../addresses.js'
import type { CallbackRoute, Callbacks } from '../callbacks.js'
import type { ReportRoutes, SimulatedChannel } from '../channel.js'
import { requireGateway } from '../gateway-key.js'
import { SimulatorError } from '../simulator-error.js'
import type { Visitor } from '../visitor.js'
import { readObject, readUrl } from './readers.js'

export interface ReportRouteParts {
  /** The address at which the simulator listens. While it is loopback, routes must be loopback too. */
  host: string
  /** Shared with the gateway: no other program may have reports sent to it, or signed with a secret of its own. */
  key: string
  callbacks: Callbacks
  visitor: Visitor
  channels: readonly SimulatedChannel[]
}

/** The routes by which a gateway registers the addresses that receive its reports. */
export function addReportRoutes(app: FastifyInstance, { host, key, callbacks, visitor, channels }: ReportRouteParts): void {
  const loopbackOnly = isLoopback(host)
  const own = channels.flatMap(({ reportRoutes }) => (reportRoutes === undefined ? [] : [reportRoutes]))
  const fields = [...own.map(({ field }) => field), 'callbacks']
  const shown = () => ({
    ...Object.fromEntries(own.map(({ field, registered }) => [field, registered])),
    callbacks: callbacks.bases,
  })

  app.get('/simulator/routes', async () => shown())
  app.put('/simulator/routes', async request => {
    requireGateway(request, key)
    const given = readObject(request.body)
    if ([...fields, 'site'].every(field => given[field] === undefined)) return refuse('required', fields[0]!)
    // All members are read before the first one is registered, so that a refused request changes nothing.
    const addresses = own
      .filter(({ field }) => given[field] !== undefined)
      .map(routes => ({ routes, url: readAddress(given[routes.field], routes, loopbackOnly) }))
    const callback = readCallbacks(given, loopbackOnly)
    if (given.site !== undefined) visitor.allow(readUrl(given.site, 'site', ['http:', 'https:']).href)
    for (const { routes, url } of addresses) routes.register(url)
    if (callback !== null) callbacks.register(callback)
    return shown()
  })
}

function readAddress(value: unknown, { field, protocol }: ReportRoutes, loopbackOnly: boolean): string {
  const { host, hostname, port } = readUrl(value, field, [protocol])
  if (port === '') return refuse('wrongValue', field)
  checkHost(hostname, field, loopbackOnly)
  return `${protocol}//${host}`
}

/** At least 16 bytes, so that the secret cannot be guessed. */
const SECRET = /^([0-9a-f]{2}){16,128}$/i

function readCallbacks({ callbacks, secret }: Record<string, unknown>, loopbackOnly: boolean): CallbackRoute | null {
  if (callbacks === undefined) return secret === undefined ? null : refuse('required', 'callbacks')
  const { origin, pathname, hostname, username, search, hash } = readUrl(callbacks, 'callbacks', ['http:', 'https:'])
  if (username !== '' || search !== '' || hash !== '') return refuse('wrongValue', 'callbacks')
  checkHost(hostname, 'callbacks', loopbackOnly)
  if (secret === undefined) return refuse('required', 'secret')
  if (typeof secret !== 'string') return refuse('notText', 'secret')
  if (!SECRET.test(secret)) return refuse('wrongValue', 'secret')
  return { base: `${origin}${pathname.replace(/\/+$/, '')}`, secret }
}

function checkHost(hostname: string, field: string, loopbackOnly: boolean): void {
  if (loopbackOnly && !isLoopback(hostname)) {
    throw new SimulatorError(400, `O campo ${field} deve apontar para esta máquina (127.0.0.1), onde o simulador está.`)
  }
}
