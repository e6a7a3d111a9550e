import { OperatorError } from '../domain/errors.js'
import type { Keys } from '../domain/keys.js'
import { isLoopbackHost } from '../domain/target-address.js'
import type { Config } from './config.js'
import type { Log } from './log.js'

/** The worker's connection to the simulator: the addresses of its carriers, and ours to which it reports. */
export interface SimulatorLink {
  url: string
  /** One of the addresses that the simulator publishes; null: it has none of this name. */
  findAddress(name: string): Promise<URL | null>
  /** Tells the simulator where its reports go, and whose pages its people may open. */
  register(routes: (host: string) => Readonly<Record<string, string>>): Promise<void>
  /** The same again: a simulator that was restarted has forgotten it. */
  renew(): Promise<void>
}

const TIMEOUT_MS = 10_000

/** null: no simulator is wanted, or beside real carriers it does not answer, so that test tokens are not served. */
export async function connectSimulator(config: Config, keys: Keys, log: Log): Promise<SimulatorLink | null> {
  const { simulator, simulatorUrl: url, hasCarriers } = config
  if (!simulator || url === null) return null
  let addresses: Record<string, string>
  try {
    addresses = (await request(`${url}/simulator/carriers`)) as Record<string, string>
  } catch (err) {
    if (!hasCarriers) throw err
    const message = 'the simulator does not answer: messages of test tokens wait until this worker is started again'
    log.error({ err, simulatorUrl: url }, message)
    return null
  }
  let routes: Record<string, string> = {}
  const renew = async (): Promise<void> => {
    await request(`${url}/simulator/routes`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
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

/** A simulator on this machine calls nobody beyond it: where the public address lies elsewhere, it calls our own port. */
function callbackBase({ publicUrl, port }: Config, simulatorUrl: string): string {
  return isHere(publicUrl) || !isHere(simulatorUrl) ? publicUrl : `http://127.0.0.1:${port}`
}
