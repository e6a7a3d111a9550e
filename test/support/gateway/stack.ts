import { pino } from 'pino'
import { createSimulator, type Simulator } from '../../../simulator/simulator.js'
import { readConfig } from '../../../src/app/config.js'
import { openFiles } from '../../../src/app/database/database.js'
import { startWorker } from '../../../src/app/worker/worker.js'
import type { RecipientLimits } from '../../../src/engine/recipient/recipient.js'
import { freePort } from '../../../src/runtime/free-port.js'
import { createDatabase, type TestDatabase } from '../database/database.js'
import { type Gateway, startGateway, testKeys } from './gateway.js'
import { QUICK_TIMING } from './lanes.js'
import { request } from './requests.js'
import { ANY_TIME } from './visitor.js'

/** The gateway, its worker and the simulated carriers, each on its own port, over one database. */
export interface Stack {
  database: TestDatabase
  gateway: Gateway
  simulator: Simulator
  /** The link in the e-mail that the simulated carrier got for this address. */
  linkFor(to: string): Promise<string>
  close(): Promise<void>
}

/** A simulated person who opens a message soon is one all the same: how soon says only how busy the machine is. */
const ANY_PACE: Partial<RecipientLimits> = { robot: { sinceSentMs: ANY_TIME, sincePageMs: ANY_TIME } }

export async function startStack(
  recipientLimits: Partial<RecipientLimits> = ANY_PACE,
  settings: NodeJS.ProcessEnv = {},
): Promise<Stack> {
  const database = await createDatabase(openFiles(readConfig(settings)))
  const simulator = await createSimulator()
  // Links must name the port before the gateway listens.
  const port = await freePort()
  const env = {
    SIMULATOR: 'on',
    SIMULATOR_URL: simulator.url,
    SIMULATOR_KEY: simulator.key,
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    ...settings,
  }
  const gateway = await startGateway(database.pool, env, { recipientLimits })
  const worker = await startWorker({
    config: readConfig(env),
    keys: testKeys,
    pool: database.pool,
    databaseUrl: database.url,
    log: pino({ level: 'silent' }),
    timing: QUICK_TIMING,
    channelOptions: { email: { forwardEveryMs: 100 } },
  })
  return {
    database,
    gateway,
    simulator,
    async linkFor(to) {
      const found = await request(`${simulator.url}/simulator/messages?to=${encodeURIComponent(to)}&wait=60s`)
      const [{ id }] = found.body as [{ id: string }]
      const { links } = (await request(`${simulator.url}/simulator/messages/${id}`)).body as { links: string[] }
      return links.find(link => new URL(link).pathname.startsWith('/n/'))!
    },
    async close() {
      await worker.close()
      await gateway.close()
      await simulator.close()
      await database.drop()
    },
  }
}
