import { BADNAME, NODATA, NOTFOUND } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { isLoopbackName } from '../domain/target-address.js'
import { BoundedCache } from '../runtime/bounded-cache.js'
import { type NamedAddress, openHosts } from './hosts-file.js'

/**
 * The addresses of names that users gave, asked over sockets of our own. The system's lookup has threads for two names at a
 * time, shared by all that connects: whoever's name server keeps silent would stop every other connection of the process.
 */
export type ResolveName = (hostname: string) => Promise<NamedAddress[]>

export interface NameLookupOptions {
  /** Instead of the system's name servers. */
  servers?: readonly string[]
  hostsFile?: string
  now?: () => number
}

interface Answer {
  addresses: NamedAddress[]
  /** Why there are none, in the system lookup's words. */
  failure: 'ENOTFOUND' | 'EAI_AGAIN' | null
  cause?: unknown
  keptMs: number
}

const TRY_MS = 1_000
const TRIES = 2
/** For both families and all name servers together: time to connect must be left. */
const QUESTION_MS = 3_000
/** Enough that a burst asks once; the guard checks what is remembered like anything else. */
const LEAST_KEPT_MS = 1_000
const MOST_KEPT_MS = 30_000
const FAILURE_KEPT_MS = 5_000
const MOST_NAMES = 10_000

/** RFC 6761: nobody is asked for these. */
const LOOPBACK: NamedAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/** One question per name at a time, and answers remembered for as long as they say, up to half a minute. */
export function createNameLookup(options: NameLookupOptions = {}): ResolveName {
  const { servers, hostsFile = '/etc/hosts', now = () => performance.now() } = options
  const readHosts = openHosts(hostsFile)
  const known = new BoundedCache<string, Promise<Answer>>({ maxEntries: MOST_NAMES, now })
  const remember = (name: string): Promise<Answer> => {
    const found = known.get(name)
    if (found !== undefined) return found
    const answer = ask(name, servers)
    known.set(name, answer)
    void answer.then(({ keptMs }) => {
      if (known.get(name) === answer) known.set(name, answer, keptMs)
    })
    return answer
  }
  return async hostname => {
    const name = hostname.toLowerCase().replace(/\.$/, '')
    if (isLoopbackName(name)) return LOOPBACK
    const written = readHosts().get(name)
    if (written !== undefined) return written
    const { addresses, failure, cause } = await remember(name)
    if (failure !== null) throw Object.assign(new Error(`${failure} ${name}`, { cause }), { code: failure })
    return addresses
  }
}

/** Never rejects. A resolver of its own: it ends with the question, and knows the name servers of this moment. */
async function ask(name: string, servers: readonly string[] | undefined): Promise<Answer> {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
  if (servers !== undefined) resolver.setServers(servers)
  const deadline = setTimeout(() => resolver.cancel(), QUESTION_MS)
  // The last address gets all the time there is to connect: where IPv6 leads nowhere, that must be an IPv4 one.
  const answers = await Promise.allSettled([resolver.resolve6(name, { ttl: true }), resolver.resolve4(name, { ttl: true })])
  clearTimeout(deadline)
  const records = answers.flatMap((answer, index) =>
    answer.status === 'fulfilled' ? answer.value.map(record => ({ ...record, family: index === 0 ? 6 : 4 })) : [],
  )
  if (records.length > 0) {
    const ttlMs = 1_000 * Math.min(...records.map(({ ttl }) => ttl))
    return {
      addresses: records.map(({ address, family }) => ({ address, family })),
      failure: null,
      keptMs: Math.min(MOST_KEPT_MS, Math.max(LEAST_KEPT_MS, ttlMs)),
    }
  }
  const causes = answers.flatMap(answer => (answer.status === 'rejected' ? [answer.reason as NodeJS.ErrnoException] : []))
  return { addresses: [], ...judgeFailures(causes), keptMs: FAILURE_KEPT_MS }
}

/** A name that exists but has no address is no failure; a server that did not answer proves nothing. */
function judgeFailures(causes: readonly NodeJS.ErrnoException[]): Pick<Answer, 'failure' | 'cause'> {
  const missing = causes.find(({ code }) => code === NOTFOUND || code === BADNAME)
  if (missing !== undefined) return { failure: 'ENOTFOUND', cause: missing }
  const unanswered = causes.find(({ code }) => code !== NODATA)
  return unanswered === undefined ? { failure: null } : { failure: 'EAI_AGAIN', cause: unanswered }
}
