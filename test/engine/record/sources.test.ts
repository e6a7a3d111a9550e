import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { simulatedName } from '../../../src/channels/carrier-name.js'
import type { CarrierReport } from '../../../src/channels/provider.js'
import { channelModules } from '../../../src/channels/registry.js'
import type { Channel } from '../../../src/domain/channel.js'
import type { CarrierSource } from '../../../src/domain/delivery/carrier-source.js'
import { makeTag } from '../../../src/domain/delivery/reference-tag.js'
import { type CarrierEventParts, takeCarrierEvents } from '../../../src/engine/record/carrier-events.js'
import { createRecorder } from '../../../src/engine/record/recorder.js'
import { takeEarlyReports } from '../../../src/engine/record/reports.js'
import { Wake } from '../../../src/runtime/wake.js'
import { createDatabase, type TestDatabase } from '../../support/database/database.js'
import { brokenChains } from '../../support/evidence/chain.js'
import { attemptBy, sourceOf } from '../../support/gateway/attempts.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../../support/gateway/gateway.js'
import { send, validSend } from '../../support/gateway/requests.js'

/** What carriers tell of messages that were never theirs: it changes nothing, by whatever way it comes. */
let database: TestDatabase
let gateway: Gateway
let account: TestAccount
let events: CarrierEventParts
const foreign: string[] = []

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
  const { pool } = database
  events = {
    pool,
    clock: Date.now,
    recorder: createRecorder(pool, Date.now, new Wake()),
    onUnmatched: () => {},
    onForeign: ({ carriers }, kind) => void foreign.push(`${carriers} ${kind}`),
  }
})

beforeEach(() => {
  foreign.length = 0
})

afterAll(async () => {
  expect(await brokenChains(database.pool)).toEqual([])
  await gateway.close()
  await database.drop()
})

const NUMBER = '+5511987654321'
const parts: Record<Channel, object> = {
  email: { to: 'maria@example.net' },
  sms: { sms: { number: NUMBER, typeSend: '2' } },
  whatsapp: { whatsapp: { number: NUMBER } },
  voice: { voz: { number: NUMBER } },
  letter: { carta: { name: 'Maria' } },
}

const OWN = 'a.example/00000001'
const OTHER = 'b.example/00000002'

/** A live message that a carrier was given. */
async function given(channel: Channel, carrier: string): Promise<string> {
  const { body } = await send(gateway.url, account.token, { ...validSend, to: undefined, ...parts[channel] })
  const { idEmail } = body as { idEmail: string }
  await attemptBy(database.pool, idEmail, channel, carrier)
  return idEmail
}

const stateOf = async (id: string): Promise<unknown> => {
  const { rows } = await database.pool.query(
    `select d.state, d.delivered_at, d.answered_at, d.failure, (select count(*)::int from event e where e.notification_id = d.notification_id) as events,
       (select count(*)::int from recording r where r.notification_id = d.notification_id) as recordings,
       (select count(*)::int from carrier_reference r where r.notification_id = d.notification_id) as names
     from delivery d where d.notification_id = $1`,
    [id],
  )
  return rows[0]
}

const report = (of: CarrierReport['of'], type: CarrierReport['type'] = 'delivered'): CarrierReport => ({
  kind: 'report',
  of,
  type,
  at: null,
  answer: 'stat',
  ...(type === 'failed' ? { failure: 'undelivered', reason: 'Motivo' } : {}),
})

const providers = channelModules.flatMap(({ channel, providers }) => Object.keys(providers).map(name => ({ channel, name })))

describe.each(providers)('a message of a carrier of $name', ({ channel, name }) => {
  const own = `${name}:${OWN}`
  const others: CarrierSource[] = [
    sourceOf(channel, `${name}:${OTHER}`),
    sourceOf(channel, simulatedName(name)),
    { channel, carriers: [own], modes: ['test'] },
    ...providers.filter(other => other.channel !== channel).map(other => sourceOf(other.channel, `${other.name}:${OWN}`)),
  ]

  test('is not touched by what others tell under our reference: reports, names, files', async () => {
    const id = await given(channel, own)
    const before = await stateOf(id)
    const ours = `${id}.${channel}.1`
    for (const source of others) {
      const told = [
        report({ ours }),
        report({ ours, carrier: ['stolen-name'] }, 'failed'),
        { kind: 'file', of: { ours }, id: 'RE1', seconds: 1 } as const,
      ]
      expect(await takeCarrierEvents(source, told, events)).toBe(false)
    }
    expect(await stateOf(id)).toEqual(before)
    expect(foreign).toHaveLength(3 * others.length)
    // An attempt that was never made, by the carrier itself.
    expect(await takeCarrierEvents(sourceOf(channel, own), [report({ ours: `${id}.${channel}.2` })], events)).toBe(false)
    expect(await stateOf(id)).toEqual(before)
    expect(await takeCarrierEvents(sourceOf(channel, own), [report({ ours })], events)).toBe(true)
    expect(await stateOf(id)).toMatchObject({ state: 'done', delivered_at: expect.any(Date) })
  })

  test('is not touched by what others tell under its name, be it before or after the name was stored', async () => {
    const id = await given(channel, own)
    const before = await stateOf(id)
    const names = [`name-${id}`]
    for (const source of others) await takeCarrierEvents(source, [report({ carrier: names })], events)
    await database.pool.query(
      `insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts) values ($1, $2, $3, $4, 1, 1, 1)`,
      [own, names[0], id, channel],
    )
    await database.pool.query('update early_report set due_at = now()')
    await takeEarlyReports(events)
    for (const source of others) await takeCarrierEvents(source, [report({ carrier: names })], events)
    await takeEarlyReports(events)
    expect(await stateOf(id)).toEqual({ ...(before as object), names: 1 })
    // Twice the same carrier under another mode: the early report, and the late one.
    expect(foreign).toEqual([`${own} report`, `${own} report`])
    expect(await takeCarrierEvents(sourceOf(channel, own), [report({ carrier: names })], events)).toBe(true)
    expect(await stateOf(id)).toMatchObject({ state: 'done', delivered_at: expect.any(Date) })
    await database.pool.query('delete from early_report')
  })

  test('is not touched by replies that others pass on, and opts nobody out', async () => {
    const id = await given(channel, own)
    await database.pool.query('update delivery set sent_at = now() where notification_id = $1', [id])
    const before = await stateOf(id)
    const reply = { kind: 'reply' as const, from: [NUMBER], text: 'SAIR', id: `r-${id}`, inReplyTo: null, at: null }
    // The others get nothing of their own, so that a reply can only be meant for this message.
    await database.pool.query('delete from delivery where notification_id <> $1', [id])
    for (const source of others) await takeCarrierEvents(source, [reply], events)
    expect(await stateOf(id)).toEqual(before)
    expect((await database.pool.query('select from suppression')).rows).toEqual([])
  })
})

describe('a short message whose outcome is unknown', () => {
  const number = '+5511987650001'
  const lose = async (carrier: string): Promise<string> => {
    const body = { ...validSend, to: undefined, sms: { number, typeSend: '2' } }
    const { idEmail: id } = (await send(gateway.url, account.token, body)).body as { idEmail: string }
    await attemptBy(database.pool, id, 'sms', carrier)
    const uncertain =
      "update delivery set state = 'uncertain', unknown_count = 1, bound_carrier = carrier where notification_id = $1"
    await database.pool.query(uncertain, [id])
    return id
  }

  test('is not named by the tag of another carrier’s receipt, be it early or late', async () => {
    const [old, next] = ['smpp:old/1', 'smpp:new/2']
    const id = await lose(old)
    const before = await stateOf(id)
    const bits = makeTag(`${id}.sms.1`, 1, 1)
    const told = report({ carrier: ['77:87650001'], tag: { recipient: number, bits } })
    await takeCarrierEvents(sourceOf('sms', next), [told], events)
    await database.pool.query('update early_report set due_at = now()')
    await takeEarlyReports(events)
    expect(await stateOf(id)).toEqual(before)
    await takeCarrierEvents(sourceOf('sms', old), [told], events)
    expect(await stateOf(id)).toMatchObject({ state: 'done', delivered_at: expect.any(Date) })
  })

  test('is named by a receipt over another connection to the same account', async () => {
    const [first, second] = ['smpp:one/1', 'smpp:two/2']
    const id = await lose(first)
    const bits = makeTag(`${id}.sms.1`, 1, 1)
    const source: CarrierSource = { channel: 'sms', carriers: [second, first], modes: ['live'] }
    await takeCarrierEvents(source, [report({ carrier: ['78:87650001'], tag: { recipient: number, bits } })], events)
    expect(await stateOf(id)).toMatchObject({ state: 'done', delivered_at: expect.any(Date) })
  })
})
