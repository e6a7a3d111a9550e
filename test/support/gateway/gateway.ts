import { pino } from 'pino'
import { afterAll, onTestFinished } from 'vitest'
import { type Api, type ApiParts, buildApi } from '../../../src/app/api/api.js'
import { type Config, readConfig } from '../../../src/app/config.js'
import { claimKeys } from '../../../src/app/database/database.js'
import { deriveKeys, type Keys } from '../../../src/domain/access/keys.js'
import { type Mode, signToken, type TokenClaims } from '../../../src/domain/access/token.js'
import type { AccountSettings } from '../../../src/domain/account.js'
import { newId } from '../../../src/domain/id.js'
import { addRange, insertAccount } from '../../../src/store/accounts/accounts.js'
import { insertToken } from '../../../src/store/accounts/tokens.js'
import type { Pool } from '../../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../database/database.js'

/** A whole gateway in this process, on a test's own database, with accounts made as a test needs them. */
export const testKeys: Keys = deriveKeys(Buffer.alloc(32, 7))

const METRICS_TOKEN = 'leitura-das-metricas'
const testConfig = (env: NodeJS.ProcessEnv = {}): Config => readConfig({ PORT: '0', METRICS_TOKEN, ...env })

export interface Gateway extends Api {
  url: string
}

export async function startGateway(pool: Pool, env: NodeJS.ProcessEnv = {}, parts: Partial<ApiParts> = {}): Promise<Gateway> {
  await claimKeys(pool, testKeys)
  const api = await buildApi({ config: testConfig(env), keys: testKeys, pool, log: pino({ level: 'silent' }), ...parts })
  const url = await api.listen()
  return { ...api, url }
}

interface FileGateway {
  env?: NodeJS.ProcessEnv
  parts?: Partial<ApiParts>
  account?: AccountOptions
}

/** A database, a gateway over it and an account of its own, for all tests of a file. They end with it. */
export async function gatewayForFile({ env, parts, account }: FileGateway = {}): Promise<{
  database: TestDatabase
  gateway: Gateway
  account: TestAccount
}> {
  const database = await createDatabase()
  const gateway = await startGateway(database.pool, env, parts)
  afterAll(async () => {
    await gateway.close()
    await database.drop()
  })
  return { database, gateway, account: await createAccount(database.pool, account) }
}

/** A gateway for a single test. */
export async function gatewayForTest(pool: Pool, env: NodeJS.ProcessEnv = {}, parts: Partial<ApiParts> = {}): Promise<Gateway> {
  const gateway = await startGateway(pool, env, parts)
  onTestFinished(() => gateway.close())
  return gateway
}

export const readMetrics = async (url: string): Promise<string> =>
  (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } })).text()

export interface TestAccount {
  id: string
  token: string
  jti: string
}

export interface AccountOptions {
  name?: string
  entity?: string
  mode?: Mode
  ranges?: string[]
  settings?: Partial<AccountSettings>
  expiresAt?: Date
}

/** By default loopback is registered, so that ordinary tests do not meet the stricter limit. */
export async function createAccount(pool: Pool, options: AccountOptions = {}): Promise<TestAccount> {
  const id = newId(Date.now())
  const name = options.name ?? id
  const made = await insertAccount(pool, {
    id,
    name,
    entityId: newId(Date.now()),
    entityName: options.entity ?? name,
    settings: { 'limit.registered': 1_000_000, ...options.settings },
  })
  if (!made) throw new Error(`account ${name} exists`)
  for (const range of options.ranges ?? ['127.0.0.0/8', '::1/128']) await addRange(pool, id, range)
  return { id, ...(await issueToken(pool, id, options)) }
}

export async function issueToken(
  pool: Pool,
  account: string,
  options: AccountOptions = {},
): Promise<{ token: string; jti: string }> {
  const claims: TokenClaims = {
    jti: newId(Date.now()),
    account,
    mode: options.mode ?? 'live',
    issuedAt: new Date(),
    expiresAt: options.expiresAt ?? null,
  }
  await insertToken(pool, claims)
  return { token: await signToken(testKeys.tokenSigning, claims), jti: claims.jti }
}
