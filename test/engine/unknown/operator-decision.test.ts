import { afterEach, expect, test } from 'vitest'
import { beginLot, findPlaces, markUploaded, openLot } from '../../../src/channels/letter/lot-store.js'
import type { SendError } from '../../../src/channels/provider.js'
import { type RevivalOrder, repairDelivery, reviveRefused } from '../../../src/engine/unknown/operator-decision.js'
import { findFaults } from '../../../src/evidence/notification-faults.js'
import { listQueue } from '../../../src/store/delivery/queue.js'
import { readEventLog } from '../../../src/store/notification/event-log.js'
import { countUnaccounted } from '../../../src/store/notification/unaccounted.js'
import { gatewayForFile, readMetrics } from '../../support/gateway/gateway.js'
import { refused, ScriptedCarrier, startTestWorker, type TestLane, type TestWorker } from '../../support/gateway/lanes.js'
import { request, send, validSend } from '../../support/gateway/requests.js'

let worker: TestWorker | undefined

const { database, gateway, account } = await gatewayForFile({ account: { name: 'acme' } })

afterEach(async () => {
  await worker?.stop()
  worker = undefined
  for await (const page of readEventLog(database.pool)) expect(page.flatMap(findFaults)).toEqual([])
})

const work = (lane: TestLane): void => {
  worker = startTestWorker(database.pool, [lane])
}

const accept = async (more: object = {}): Promise<string> =>
  ((await send(gateway.url, account.token, { ...validSend, ...more })).body as { idEmail: string }).idEmail

const described = (id: string) =>
  expect.poll(
    async () =>
      ((await request(`${gateway.url}/gw/email/${id}`, { token: account.token })).body as { description: string }).description,
  )

const repair = (notification: string, how: 'retry' | 'sent' | 'failed') =>
  repairDelivery(database.pool, Date.now, { notification, channel: 'email', repair: how, by: 'ana' })

const everything = { channel: null, mode: null, account: null, limit: 10 }

test('what gave up is listed with its reason and, once retried by a person, goes as a new message', async () => {
  let mended = false
  const carrier = new ScriptedCarrier(() => (mended ? {} : Promise.reject(refused('temporary'))))
  work({ carrier, options: { retryDelaysMs: [] } })
  const id = await accept()
  await described(id).toBe('Falha no envio')
  expect(await listQueue(database.pool, { ...everything, mode: 'test', state: 'dead' })).toEqual([])
  expect(await listQueue(database.pool, { ...everything, state: 'dead' })).toMatchObject([
    { notification: id, account: 'acme', failureDetail: 'Motivo: temporary', attempt: 1, carrier: 'scripted' },
  ])
  expect(await readMetrics(gateway.url)).toContain('carteiro_deliveries{channel="email",mode="live",state="dead"} 1')
  mended = true
  expect(await repair(id, 'retry')).toBe('recorded')
  await described(id).toBe('Enviado')
  expect(carrier.got.map(parcel => parcel.reference)).toEqual([`${id}.email.1`, `${id}.email.2`])
  expect(await repair(id, 'retry')).toBe('nothing new')
  expect(await listQueue(database.pool, { ...everything, state: 'dead' })).toEqual([])
})

test('what the carrier refused goes again when a person says so, one by one, and both facts stay in the chain', async () => {
  let mended = false
  const carrier = new ScriptedCarrier(() => (mended ? {} : Promise.reject(refused('permanent'))))
  work({ carrier })
  const id = await accept()
  await described(id).toBe('Falha no envio')
  mended = true
  expect(await repair(id, 'retry')).toBe('recorded')
  await described(id).toBe('Enviado')
  expect(carrier.got.map(parcel => [parcel.reference, parcel.attempt])).toEqual([
    [`${id}.email.1`, 1],
    [`${id}.email.2`, 1],
  ])
  const { rows } = await database.pool.query('select type from event where notification_id = $1 order by seq', [id])
  expect(rows.map(({ type }) => type)).toEqual(['accepted', 'failed', 'revived', 'sent'])
  expect(await repair(id, 'retry')).toBe('nothing new')
})

test('all that a carrier refused since a moment, or that gave up on it, goes again at once; nothing else does', async () => {
  let mended = false
  const kinds = new Map<string, SendError['kind']>()
  const carrier = new ScriptedCarrier(({ notification }) => {
    const kind = kinds.get(notification)
    return mended || kind === undefined ? {} : Promise.reject(refused(kind))
  })
  const early = await accept()
  kinds.set(early, 'permanent')
  work({ name: 'relay', carrier, options: { retryDelaysMs: [], settleMs: 60_000 } })
  await described(early).toBe('Falha no envio')
  const since = new Date()
  await worker?.stop()
  const [permanent, dead, uncertain, sent] = [await accept(), await accept(), await accept(), await accept()]
  kinds.set(permanent, 'permanent').set(dead, 'temporary').set(uncertain, 'uncertain')
  work({ name: 'relay', carrier, options: { retryDelaysMs: [], settleMs: 60_000 } })
  for (const id of [permanent, dead]) await described(id).toBe('Falha no envio')
  await described(uncertain).toBe('Em verificação')
  await described(sent).toBe('Enviado')
  mended = true
  const revive = (changes: Partial<RevivalOrder>) =>
    reviveRefused(database.pool, Date.now, {
      channel: 'email',
      carrier: 'relay',
      since,
      reason: null,
      by: 'ana',
      dryRun: false,
      ...changes,
    })
  expect(await revive({ dryRun: true })).toEqual({ found: 2, retried: 0 })
  expect(await revive({ carrier: 'other' })).toEqual({ found: 0, retried: 0 })
  expect(await revive({ channel: 'sms' })).toEqual({ found: 0, retried: 0 })
  expect(await revive({ reason: 'Motivo: perm' })).toEqual({ found: 1, retried: 1 })
  expect(await revive({})).toEqual({ found: 1, retried: 1 })
  expect(await revive({})).toEqual({ found: 0, retried: 0 })
  for (const id of [permanent, dead]) await described(id).toBe('Enviado')
  await described(early).toBe('Falha no envio')
  await described(uncertain).toBe('Em verificação')
  expect(await repair(uncertain, 'sent')).toBe('recorded')
})

test.each([
  ['uncertain', 60_000],
  ['unresolved', 10],
] as const)(
  'one that is %s can be declared sent or failed after a look at the carrier, and only that',
  async (state, settleMs) => {
    const carrier = new ScriptedCarrier(() => Promise.reject(refused('uncertain')))
    work({ carrier, whenUnknown: 'never', options: { settleMs } })
    const [sent, failed] = [await accept(), await accept()]
    for (const id of [sent, failed]) await described(id).toBe('Em verificação')
    await expect
      .poll(() => listQueue(database.pool, { ...everything, state }), { timeout: 120_000 })
      .toMatchObject([{ notification: sent }, { notification: failed }])
    expect(await repair(sent, 'sent')).toBe('recorded')
    expect(await repair(failed, 'failed')).toBe('recorded')
    await described(sent).toBe('Enviado')
    await described(failed).toBe('Falha no envio')
    expect(await repair(sent, 'failed')).toBe('fenced')
    expect(await repair('01900000-0000-7000-8000-000000000000', 'retry')).toBe('unknown')
  },
)

const letterOfUnknownOutcome = async (): Promise<string> => {
  const { body } = await send(gateway.url, account.token, { ...validSend, to: undefined, carta: {} })
  const id = (body as { idEmail: string }).idEmail
  await expect.poll(() => letterStatus(id)).toMatchObject({ description: 'Em verificação' })
  return id
}

const letterStatus = async (id: string) => (await request(`${gateway.url}/gw/carta/${id}`, { token: account.token })).body

const decideOnLetter = (notification: string, how: 'retry' | 'sent' | 'failed') =>
  repairDelivery(database.pool, Date.now, { notification, channel: 'letter', repair: how, by: 'ana' })

test('a letter that a person found at the carrier is in production: the dates of the post are left to the post', async () => {
  work({ channel: 'letter', carrier: new ScriptedCarrier(() => Promise.reject(refused('uncertain'))), whenUnknown: 'never' })
  const id = await letterOfUnknownOutcome()
  expect(await decideOnLetter(id, 'sent')).toBe('recorded')
  const status = await letterStatus(id)
  expect(status).toMatchObject({ description: 'Processado' })
  for (const member of ['datePreparation', 'dateDelivery']) expect(status).not.toHaveProperty(member)
  expect(status).toMatchObject({ dateProcessing: expect.any(String) })
  expect(status).not.toHaveProperty('dateSent')
})

test.each([
  ['sent', 'that waits', []],
  ['failed', 'that waits', []],
  ['retry', 'that waits', []],
  ['failed', 'on its way', ['stays']],
  ['retry', 'on its way', []],
  ['retry', 'that the post has', ['stays']],
] as const)('a person’s "%s" about a letter in a lot %s', async (how, stage, left) => {
  work({ channel: 'letter', carrier: new ScriptedCarrier(() => Promise.reject(refused('uncertain'))), whenUnknown: 'never' })
  const id = await letterOfUnknownOutcome()
  // The next try would take it up at once.
  await worker!.stop()
  worker = undefined
  const reference = `${id}.letter.1`
  const { lot } = await openLot(database.pool, 'e-carta', [reference])
  const upload = { part: 'p', size: 1, sha256: 'ab' }
  const names = [{ name: `${lot}.1`, notification: id, ordinal: 1 }]
  if (stage !== 'that waits') expect(await beginLot(database.pool, 'e-carta', lot, upload, names)).toBe(true)
  if (stage === 'that the post has') await markUploaded(database.pool, lot)
  expect(await decideOnLetter(id, how)).toBe('recorded')
  expect(await findPlaces(database.pool, 'e-carta', [reference])).toHaveLength(left.length)
  // Whoever made a lot with it before must not send it any more.
  if (stage === 'that waits') expect(await beginLot(database.pool, 'e-carta', lot, upload, names)).toBe(false)
})

/** What `carteiro audit` says of one notification. */
async function faultsOf(id: string): Promise<string[]> {
  for await (const page of readEventLog(database.pool)) {
    const found = page.find(notification => notification.id === id)
    if (found !== undefined) return findFaults(found)
  }
  throw new Error('no such notification')
}

const unaccountedMetric = async (): Promise<string | undefined> =>
  /^carteiro_notifications_unaccounted (\S+)$/m.exec(await readMetrics(gateway.url))?.[1]

test.each<[string, string, RegExp]>([
  ['no delivery at all', 'delete from delivery where notification_id = $1', /email foi aceito e não tem entrega/],
  [
    'a channel without its delivery',
    "delete from delivery where notification_id = $1 and channel = 'sms'",
    /o canal sms foi aceito e não tem entrega/,
  ],
  [
    'a delivery that is over without a word of how',
    "update delivery set state = 'done' where notification_id = $1 and channel = 'email'",
    /email\.state é "done"; pelos eventos, "queued"/,
  ],
  [
    'a step that was cancelled by nobody',
    "update delivery set state = 'cancelled' where notification_id = $1 and channel = 'sms'",
    /sms\.state é "cancelled"; pelos eventos, "waiting"/,
  ],
])('%s is counted by the alarm and named by the audit', async (_, damage, words) => {
  const id = await accept({ sms: { number: '11987654321' } })
  expect([await countUnaccounted(database.pool), await faultsOf(id)]).toEqual([0, []])
  await database.pool.query(damage, [id])
  // A page of one, so that pages follow each other.
  expect([await countUnaccounted(database.pool, 1), await countUnaccounted(database.pool)]).toEqual([1, 1])
  expect((await faultsOf(id)).join('\n')).toMatch(words)
  for (const table of ['delivery', 'event']) await database.tamper(`delete from ${table} where notification_id = $1`, [id])
  await database.tamper('delete from notification where id = $1', [id])
})

test('what a worker holds is queued as far as the events know', async () => {
  const id = await accept()
  await database.pool.query(
    "update delivery set state = 'sending', lease_owner = $1, lease_until = now() where notification_id = $1",
    [id],
  )
  expect(await faultsOf(id)).toEqual([])
})

test('the alarm is told by the metrics', async () => {
  await expect.poll(unaccountedMetric).toBe('0')
})
