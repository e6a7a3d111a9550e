import type { Keys } from '../../domain/access/keys.js'
import { isLoopbackHost } from '../../domain/access/target-address.js'
import { OperatorError } from '../../domain/errors.js'
import type { Config } from '../config.js'
import type { Log } from '../log.js'

/** The worker's connection to the simulator. */
export interface SimulatorLink {
  url: string
  /** One of the addresses that the simulator publishes; null: it has none of this name. */
  findAddress(name: string): Promise<URL | null>
  /** Registers the addresses to which the simulator reports, and the site that its simulated recipients may open. */
  register(routes: (host: string) => Readonly<Record<string, string>>): Promise<void>
  /** Registers again, because a simulator that was restarted has forgotten the addresses. */
  renew(): Promise<void>
}

const TIMEOUT_MS = 10_000

/** null: no simulator is wanted, or beside real carriers it does not answer, so that test tokens are not served. */
export async function connectSimulator(config: Config, keys: Keys, log: Log): Promise<SimulatorLink | null> {
  const { simulator, simulatorUrl: url, simulatorKey, hasCarriers } = config
  if (!simulator || url === null) return null
  const authorization = `Bearer ${simulatorKey ?? ''}`
  let addresses: Record<string, string>
  try {
    addresses = (await request(`${url}/simulator/carriers`, { headers: { authorization } })) as Record<string, string>
  } catch (err) {
    if (!hasCarriers) throw err
    log.error(
      { err, simulatorUrl: url },
      'the simulator does not answer: messages of test tokens wait for a restart of this worker',
    )
    return null
  }
  let routes: Record<string, string> = {}
  const renew = async (): Promise<void> => {
    await request(`${url}/simulator/routes`, {
      method: 'PUT',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...routes,
        site: config.publicUrl,
        callbacks: `${callbackBase(config, url)}/callbacks/simulator`,
        secret: keys.simulator.toString('hex'),
      }),
    })
  }
  return {
    url,
    findAddress: async name => (addresses[name] === undefined ? null : new URL(addresses[name])),
    async register(routesOf) {
      routes = routesOf(isHere(url) ? '127.0.0.1' : new URL(config.publicUrl).hostname)
      await renew()
    },
    renew,
  }
}

async function request(url: string, options: RequestInit = {}): Promise<unknown> {
  const response = await fetch(url, { ...options, signal: AbortSignal.timeout(TIMEOUT_MS) })
  const text = await response.text()
  if (!response.ok) throw new OperatorError(`O simulador em ${url} respondeu ${response.status}: ${text.slice(0, 200)}`)
  return text === '' ? null : JSON.parse(text)
}

const isHere = (url: string): boolean => isLoopbackHost(new URL(url).hostname)

/** A simulator on this machine calls no other machine: where the public address is elsewhere, it calls our own port. */
const callbackBase = ({ publicUrl, port }: Config, simulatorUrl: string): string =>
  isHere(publicUrl) || !isHere(simulatorUrl) ? publicUrl : `http://127.0.0.1:${port}`
