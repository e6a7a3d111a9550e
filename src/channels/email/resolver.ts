import { NODATA, NOTFOUND } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { BoundedCache } from '../../runtime/bounded-cache.js'

/** DNS lookups of a mail domain. unknown: no name server answered, which proves nothing about the domain. */
export interface MailResolver {
  /** Empty: the domain exists and has no MX record. A null MX (RFC 7505) is the exchange ".". */
  exchangers(domain: string): Promise<Lookup<Exchanger>>
  /** IPv4 and IPv6 addresses of a name. */
  addresses(name: string): Promise<Lookup<string>>
}

export interface Exchanger {
  priority: number
  exchange: string
}

export type Lookup<T> = { status: 'ok'; records: T[] } | { status: 'missing' } | { status: 'unknown' }

export const isNullExchanger = (records: readonly Exchanger[]): boolean => records.length === 1 && records[0]!.exchange === '.'

const TIMEOUT_MS = 2_000

function createResolver(servers: string[] | null, timeout = TIMEOUT_MS): Resolver {
  const resolver = new Resolver({ timeout, tries: 2 })
  if (servers !== null) resolver.setServers(servers)
  return resolver
}

/** The system's name servers, or the ones given. */
export function systemResolver(options: { servers?: string[]; timeoutMs?: number } = {}): MailResolver {
  const resolver = createResolver(options.servers ?? null, options.timeoutMs)
  return cached({
    exchangers: domain =>
      lookup(async () => {
        const records = await resolver.resolveMx(domain)
        return records.map(({ priority, exchange }) => ({ priority, exchange: exchange === '' ? '.' : exchange }))
      }),
    async addresses(name) {
      const found = await Promise.all([lookup(() => resolver.resolve4(name)), lookup(() => resolver.resolve6(name))])
      const records = found.flatMap(answer => (answer.status === 'ok' ? answer.records : []))
      if (records.length > 0) return { status: 'ok', records }
      return found.find(answer => answer.status !== 'ok') ?? { status: 'ok', records }
    },
  })
}

/** The TXT records of a name. They are not cached, because an operator asks just after changing them. */
export function textResolver(servers: string[] | null): (name: string) => Promise<Lookup<string>> {
  const resolver = createResolver(servers)
  return name => lookup(async () => (await resolver.resolveTxt(name)).map(strings => strings.join('')))
}

async function lookup<T>(ask: () => Promise<T[]>): Promise<Lookup<T>> {
  try {
    return { status: 'ok', records: await ask() }
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === NODATA) return { status: 'ok', records: [] }
    return { status: code === NOTFOUND ? 'missing' : 'unknown' }
  }
}

/** Asks the simulator instead of a name server, so that tests of missing domains need no network. */
export function simulatedResolver(simulatorUrl: string): MailResolver {
  async function ask<T>(name: string, type: 'MX' | 'A', member: string): Promise<Lookup<T>> {
    try {
      const url = `${simulatorUrl.replace(/\/+$/, '')}/simulator/dns?${new URLSearchParams({ name, type })}`
      const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
      const answer = (await response.json()) as Record<string, unknown>
      if (answer.status === 'nxdomain') return { status: 'missing' }
      const records = answer[member]
      return answer.status === 'ok' && Array.isArray(records) ? { status: 'ok', records } : { status: 'unknown' }
    } catch {
      return { status: 'unknown' }
    }
  }
  return cached({
    exchangers: domain => ask(domain, 'MX', 'exchangers'),
    addresses: name => ask(name, 'A', 'addresses'),
  })
}

/** "unknown" is cached shortly, so that a name server that recovers is used soon. */
const CACHE = { size: 10_000, ttlMs: 300_000, unknownTtlMs: 5_000, now: () => performance.now() }

/** Caches answers; concurrent lookups of one name share a request. */
export function cached(resolver: MailResolver, settings: Partial<typeof CACHE> = {}): MailResolver {
  const { size, ttlMs, unknownTtlMs, now } = { ...CACHE, ...settings }
  function remember<T>(ask: (name: string) => Promise<Lookup<T>>): (name: string) => Promise<Lookup<T>> {
    const known = new BoundedCache<string, Promise<Lookup<T>>>({ maxEntries: size, ttlMs, now })
    return name => {
      const key = name.toLowerCase()
      const found = known.get(key)
      if (found !== undefined) return found
      const answer = ask(key)
      known.set(key, answer)
      void answer.then(({ status }) => {
        if (status === 'unknown' && known.get(key) === answer) known.set(key, answer, unknownTtlMs)
      })
      return answer
    }
  }
  return {
    exchangers: remember(domain => resolver.exchangers(domain)),
    addresses: remember(name => resolver.addresses(name)),
  }
}
