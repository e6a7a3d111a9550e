import { BADNAME, type LookupAddress, NODATA, NOTFOUND } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { isLoopbackName } from '../domain/access/target-address.js'
import { BoundedCache } from '../runtime/bounded-cache.js'

export type ResolveName = (hostname: string) => Promise<LookupAddress[]>

export interface NameLookupOptions {
  /** Replaces the system's name servers. */
  servers?: readonly string[]
  hostsFile?: string
  now?: () => number
  /** For both address families and all name servers together, so that time to connect remains. */
  timeoutMs?: number
}

interface Answer {
  addresses: LookupAddress[]
  /** With the code of the system's lookup: ENOTFOUND or EAI_AGAIN. */
  error: Error | null
  cacheMs: number
}

const ATTEMPTS = 2
const TIMEOUT_MS = 3_000
/** Long enough for a burst to need one lookup. Cached addresses pass the same checks as new ones. */
const MIN_CACHE_MS = 1_000
const MAX_CACHE_MS = 30_000
const FAILURE_CACHE_MS = 5_000
const MAX_NAMES = 10_000

/** RFC 6761: these names are resolved without a name server. */
const LOOPBACK: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/**
 * Resolves names in users' URLs over our own DNS sockets. The system's lookup resolves two names at a time for the whole process,
 * so a silent name server of one user would block every other connection. An answer is cached for its TTL, at most 30 s.
 */
export function createNameLookup(options: NameLookupOptions = {}): ResolveName {
  const { servers, hostsFile = '/etc/hosts', now = () => performance.now(), timeoutMs = TIMEOUT_MS } = options
  const readHosts = openHosts(hostsFile)
  const known = new BoundedCache<string, Promise<Answer>>({ maxEntries: MAX_NAMES, now })
  const cachedLookup = (name: string): Promise<Answer> => {
    const found = known.get(name)
    if (found !== undefined) return found
    const answer = lookUp(name, servers, timeoutMs)
    known.set(name, answer)
    void answer.then(({ cacheMs }) => {
      if (known.get(name) === answer) known.set(name, answer, cacheMs)
    })
    return answer
  }
  return async hostname => {
    const name = hostname.toLowerCase().replace(/\.$/, '')
    if (isLoopbackName(name)) return LOOPBACK
    const written = readHosts().get(name)
    if (written !== undefined) return written
    const { addresses, error } = await cachedLookup(name)
    if (error !== null) throw error
    return addresses
  }
}

/** Never rejects. Each lookup has its own resolver, which can be cancelled and knows the current name servers. */
async function lookUp(name: string, servers: readonly string[] | undefined, timeoutMs: number): Promise<Answer> {
  const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / (ATTEMPTS + 1)), tries: ATTEMPTS })
  if (servers !== undefined) resolver.setServers(servers)
  const deadline = setTimeout(() => resolver.cancel(), timeoutMs)
  // The last address gets all the remaining time to connect, so it must be an IPv4 one where IPv6 does not work.
  const answers = await Promise.allSettled([resolver.resolve6(name, { ttl: true }), resolver.resolve4(name, { ttl: true })])
  clearTimeout(deadline)
  const records = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []))
  if (records.length === 0) {
    const causes = answers.flatMap(answer => (answer.status === 'rejected' ? [answer.reason as NodeJS.ErrnoException] : []))
    return { addresses: [], error: explainFailures(name, causes), cacheMs: FAILURE_CACHE_MS }
  }
  const ttlMs = 1_000 * Math.min(...records.map(({ ttl }) => ttl))
  return {
    addresses: records.map(({ address }) => ({ address, family: isIP(address) })),
    error: null,
    cacheMs: Math.min(MAX_CACHE_MS, Math.max(MIN_CACHE_MS, ttlMs)),
  }
}

/** A name without addresses is not a failure. A server that did not answer proves nothing about the name. */
function explainFailures(name: string, causes: readonly NodeJS.ErrnoException[]): Error | null {
  const missing = causes.find(({ code }) => code === NOTFOUND || code === BADNAME)
  const cause = missing ?? causes.find(({ code }) => code !== NODATA)
  if (cause === undefined) return null
  const code = missing === undefined ? 'EAI_AGAIN' : 'ENOTFOUND'
  return Object.assign(new Error(`${code} ${name}`, { cause }), { code })
}

/** The entries of the system's hosts file, read again when the file changes. */
function openHosts(file: string): () => ReadonlyMap<string, LookupAddress[]> {
  let seen = ''
  let hosts: ReadonlyMap<string, LookupAddress[]> = new Map()
  return () => {
    try {
      const { mtimeMs, size } = statSync(file)
      const state = `${mtimeMs} ${size}`
      if (state !== seen) hosts = parseHosts(readFileSync(file, 'utf8'))
      seen = state
      return hosts
    } catch {
      // Without the file the name servers are asked, as in the system's lookup.
      return new Map()
    }
  }
}

function parseHosts(text: string): Map<string, LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>()
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/) as [string, ...string[]]
    const family = isIP(address)
    if (family === 0) continue
    for (const name of names) hosts.set(name, [...(hosts.get(name) ?? []), { address, family }])
  }
  return hosts
}
