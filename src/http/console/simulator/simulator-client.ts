import { STATUS_CODES } from 'node:http'
import { Refusal } from '../../../domain/errors.js'

/** The simulator's own API, as the gateway reaches it. Its page may be out of reach for the browsers of the console. */
export interface SimulatorClient {
  get<T>(path: string): Promise<T>
  /** Its bytes and their type; a file that it does not have is refused. */
  file(path: string): Promise<{ type: string; bytes: Buffer }>
  call<T>(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<T>
}

/** What the simulator refused, in its own words: they say why a real recipient could not do it. */
export class SimulatorRefusal extends Error {
  override readonly name = 'SimulatorRefusal'
  readonly body: { statusCode: number; message: string; error: string }

  constructor(statusCode: number, message: string) {
    super(message)
    this.body = { statusCode, message, error: STATUS_CODES[statusCode] ?? 'Error' }
  }
}

const TIMEOUT_MS = 15_000

export function createSimulatorClient(url: string): SimulatorClient {
  async function ask(path: string, options: RequestInit = {}): Promise<Response> {
    let answer: Response
    try {
      answer = await fetch(`${url}/simulator/${path}`, { ...options, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) })
    } catch (cause) {
      throw new Refusal('simulatorAway', [], { cause })
    }
    if (answer.ok) return answer
    const said = (await answer.json().catch(() => null)) as { message?: unknown } | null
    if (answer.status >= 500 || typeof said?.message !== 'string') throw new Refusal('simulatorAway')
    throw new SimulatorRefusal(answer.status, said.message)
  }
  const json = { 'content-type': 'application/json' }
  return {
    get: async <T>(path: string) => (await (await ask(path)).json()) as T,
    async file(path) {
      const answer = await ask(path)
      const type = answer.headers.get('content-type') ?? 'application/octet-stream'
      return { type, bytes: Buffer.from(await answer.arrayBuffer()) }
    },
    call: async <T>(method: string, path: string, body?: object) =>
      (await (
        await ask(path, { method, ...(body === undefined ? {} : { headers: json, body: JSON.stringify(body) }) })
      ).json()) as T,
  }
}
