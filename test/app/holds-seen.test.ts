import { expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { examine, type Finding } from '../../src/app/doctor.js'
import { findAccount } from '../../src/store/accounts/accounts.js'
import { type HoldScope, liftHold, placeHold } from '../../src/store/delivery/holds.js'
import { consoleClient } from '../support/gateway/console.js'
import { gatewayForFile, readMetrics, testKeys } from '../support/gateway/gateway.js'

/** What people hold back is seen by whoever looks at the installation: the doctor, /metrics and the console's overview. */
const { database, gateway, account } = await gatewayForFile()
const { pool } = database

const scopes: HoldScope[] = [
  { channel: null, carrier: null, account: null },
  { channel: 'sms', carrier: null, account: null },
  { channel: 'email', carrier: 'smtp:relay', account: null },
  { channel: null, carrier: null, account: account.id },
]

const doctor = async (): Promise<Finding[]> => {
  const findings: Finding[] = []
  for await (const finding of examine({ config: readConfig({ SIMULATOR: 'off' }), keys: testKeys, pool }))
    if (finding.name === 'Retenções') findings.push(finding)
  return findings
}
const metrics = async (): Promise<string[]> => (await readMetrics(gateway.url)).match(/^carteiro_hold_seconds\{.*$/gm) ?? []

test('with nothing held, the doctor says so', async () => {
  expect(await doctor()).toEqual([{ name: 'Retenções', state: 'ok', found: 'nada está retido', advice: null }])
})

test('the holds in force, and since when, are told by the doctor, /metrics and the overview, until they are lifted', async () => {
  const operator = await consoleClient(pool, gateway.url)
  for (const scope of scopes) await placeHold(pool, { ...scope, reason: 'auditoria', by: 'teste' })
  await pool.query("update hold set created_at = '2026-07-18T12:00:00Z'")

  const { name } = (await findAccount(pool, account.id))!
  const found = (await doctor()).map(finding => [finding.state, finding.found])
  const since = /, desde 18\/07\/2026 09:00:00: auditoria$/
  for (const [state, text] of found) expect([state, text]).toEqual(['warn', expect.stringMatching(since)])
  expect(found.map(([, text]) => text!.replace(since, ''))).toEqual([
    'a instalação inteira',
    'canal sms',
    'canal email, operadora smtp:relay',
    `conta ${name}`,
  ])

  // The figures of the database are read every few seconds.
  await expect.poll(async () => (await metrics()).length, { timeout: 20_000 }).toBe(scopes.length)
  const told = (await metrics()).map(line => line.replace(/ [\d.e+]+$/, ''))
  expect(told).toEqual([
    'carteiro_hold_seconds{scope="installation",channel="",carrier="",account=""}',
    'carteiro_hold_seconds{scope="channel",channel="sms",carrier="",account=""}',
    'carteiro_hold_seconds{scope="carrier",channel="email",carrier="smtp:relay",account=""}',
    `carteiro_hold_seconds{scope="account",channel="",carrier="",account="${name}"}`,
  ])
  for (const line of await metrics()) expect(Number(line.split(' ').at(-1))).toBeGreaterThan(3_600)

  const held = { reason: 'auditoria', since: '2026-07-18T12:00:00.000Z' }
  const holds = [
    { channel: null, carrier: null, account: null, ...held },
    { channel: 'sms', carrier: null, account: null, ...held },
    { channel: 'email', carrier: 'smtp:relay', account: null, ...held },
    { channel: null, carrier: null, account: name, ...held },
  ]
  expect((await operator.get('/overview')).body).toMatchObject({ holds })

  for (const scope of scopes) await liftHold(pool, scope)
  expect(await doctor()).toMatchObject([{ state: 'ok' }])
  expect((await operator.get('/overview')).body).toMatchObject({ holds: [] })
})
