import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { createSimulator } from '../../simulator/simulator.js'
import { readConfig } from '../../src/app/config.js'
import { startWorker } from '../../src/app/worker/worker.js'
import type { EmailConfig } from '../../src/channels/email/channel.js'
import { generateDkimKey, removeDkimKey, requireDkimKey, saveDkimKey, startSigning } from '../../src/channels/email/dkim/keys.js'
import { openKeyring } from '../../src/channels/email/dkim/open-keyring.js'
import { dataFolder } from '../support/database/data-folder.js'
import { databaseForTest } from '../support/database/database.js'
import { createAccount, gatewayForTest, testKeys } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'

test('mail is signed with the key of its sender’s domain, else the installation’s; one activated while the worker runs is used', async () => {
  const { pool, url } = await databaseForTest()
  const simulator = await createSimulator()
  onTestFinished(() => simulator.close())
  const file = join(dataFolder(), 'dkim.pem')
  writeFileSync(file, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const env = {
    SIMULATOR: 'on',
    SIMULATOR_URL: simulator.url,
    SIMULATOR_KEY: simulator.key,
    DKIM_DOMAIN: 'Gateway.example.net',
    DKIM_KEY_FILE: file,
  }
  const gateway = await gatewayForTest(pool, env)
  const log = pino({ level: 'silent' })
  const channelOptions = { email: { dkimRefreshMs: 50 } }
  const worker = await startWorker({ config: readConfig(env), keys: testKeys, pool, databaseUrl: url, log, channelOptions })
  onTestFinished(() => worker.close())
  const acme = await createAccount(pool, { settings: { 'email.from': 'avisos@acme.example.com' } })
  const other = await createAccount(pool, { mode: 'test', settings: { 'email.from': 'avisos@sp.outra.example.com' } })

  let count = 0
  /** Who signed the next mail of an account, as its recipient sees it. */
  async function signedBy(token: string): Promise<string | null> {
    const to = `pessoa${++count}@simulador.test`
    expect((await send(gateway.url, token, { ...validSend, to })).status).toBe(200)
    const found = await request(`${simulator.url}/simulator/messages?to=${encodeURIComponent(to)}&wait=20s`)
    const [{ id }] = found.body as [{ id: string }]
    const raw = await (await fetch(`${simulator.url}/simulator/messages/${id}/raw`)).text()
    const [, domain, selector] = / d=([^;]+); s=([^;]+);/.exec(raw) ?? []
    return domain === undefined ? null : `${selector}@${domain}`
  }
  async function activate(domain: string, selector: string): Promise<void> {
    await saveDkimKey(pool, testKeys.sealing, generateDkimKey({ domain, selector }, 'ed25519'))
    await startSigning(pool, await requireDkimKey(pool, testKeys.sealing, { domain, selector }))
  }
  const within = { timeout: 120_000, interval: 50 }

  expect(await signedBy(acme.token)).toBe('carteiro@gateway.example.net')
  await activate('acme.example.com', 's1')
  await activate('outra.example.com', 's1')
  await expect.poll(() => signedBy(acme.token), within).toBe('s1@acme.example.com')
  await expect.poll(() => signedBy(other.token), within).toBe('s1@outra.example.com')

  await activate('acme.example.com', 's2')
  await expect.poll(() => signedBy(acme.token), within).toBe('s2@acme.example.com')
  expect(await signedBy(other.token)).toBe('s1@outra.example.com')
  await removeDkimKey(pool, { domain: 'acme.example.com', selector: 's2' }, true)
  await expect.poll(() => signedBy(acme.token), within).toBe('s1@acme.example.com')
})

test('an installation’s key that cannot be read stops the start with the setting’s name', async () => {
  const { pool } = await databaseForTest()
  const { channels } = readConfig({ DKIM_DOMAIN: 'example.com', DKIM_KEY_FILE: '/nao/existe.pem' })
  const config = channels.email as EmailConfig
  await expect(openKeyring({ config, keys: testKeys, pool, onError: expect.fail })).rejects.toThrow('(DKIM_KEY_FILE)')
})
