import { afterEach, describe, expect, test } from 'vitest'
import type { CarrierEvent, CarrierReply, CarrierReport } from '../../../src/channels/provider.js'
import { makeTag } from '../../../src/domain/delivery/reference-tag.js'
import { type CarrierEventParts, takeCarrierEvents } from '../../../src/engine/record/carrier-events.js'
import { takeIncompleteReplies } from '../../../src/engine/record/replies.js'
import { takeEarlyReports } from '../../../src/engine/record/reports.js'
import { findFaults } from '../../../src/evidence/notification-faults.js'
import { readEventLog } from '../../../src/store/notification/event-log.js'
import { sourceOf, UNHEARD } from '../../support/gateway/attempts.js'
import { gatewayForFile } from '../../support/gateway/gateway.js'
import { refused, ScriptedCarrier, startTestWorker, type TestLane, type TestWorker } from '../../support/gateway/lanes.js'
import { request, send, validSend } from '../../support/gateway/requests.js'
import { createWebhook } from '../../support/gateway/webhooks.js'

/** What carriers of short messages tell: marks that name a lost send, answers in parts, people who want no more. */
let worker: TestWorker | undefined
let events: CarrierEventParts
let numbers = 0
const source = sourceOf('sms', 'scripted')

const { database, gateway, account } = await gatewayForFile()

afterEach(async () => {
  await worker?.stop()
  worker = undefined
  for await (const page of readEventLog(database.pool)) expect(page.flatMap(findFaults)).toEqual([])
  // Out of the next test's way, but true to its events.
  const later = "now() + interval '10 years'"
  await database.pool.query(`update delivery set due_at = ${later}, lease_until = ${later} where state <> 'done'`)
})

function work(lane: TestLane): void {
  worker = startTestWorker(database.pool, [{ channel: 'sms', whenUnknown: 'report', ...lane }])
  events = { pool: database.pool, clock: Date.now, recorder: worker.recorder, ...UNHEARD }
}

const newNumber = (): string => `119876${String(++numbers).padStart(5, '0')}`

async function accept(number: string): Promise<string> {
  const body = { ...validSend, to: undefined, sms: { number, typeSend: '2' } }
  return ((await send(gateway.url, account.token, body)).body as { idEmail: string }).idEmail
}

const status = async (id: string): Promise<Record<string, unknown>> =>
  (await request(`${gateway.url}/gw/sms/${id}`, { token: account.token })).body as Record<string, unknown>

const described = (id: string) => expect.poll(async () => (await status(id)).description)

const tell = (...items: CarrierEvent[]): Promise<boolean> => takeCarrierEvents(source, items, events)

const report = (carrier: string[], type: CarrierReport['type'], tag?: { recipient: string; bits: number }): CarrierReport => ({
  kind: 'report',
  of: { carrier, ...(tag === undefined ? {} : { tag }) },
  type,
  at: null,
  answer: type,
  ...(type === 'failed' ? { failure: 'undelivered' as const, reason: 'Aparelho desligado.' } : {}),
})

const reply = (number: string, text: string, more: Partial<CarrierReply> = {}): CarrierReply => ({
  kind: 'reply',
  from: [`+55${number}`],
  text,
  id: null,
  inReplyTo: null,
  at: null,
  ...more,
})

describe('a reference tag', () => {
  const lost = (): ScriptedCarrier => new ScriptedCarrier(() => Promise.reject(refused('uncertain')))
  const tagged = (id: string, number: string, part = 1, parts = 1) => ({
    recipient: `+55${number}`,
    bits: makeTag(`${id}.sms.1`, part, parts),
  })

  test('settles the send whose answer was lost, without a second one', async () => {
    const carrier = lost()
    work({ carrier, options: { settleMs: 60_000 } })
    const number = newNumber()
    const id = await accept(number)
    await described(id).toBe('Em verificação')
    await tell(report(['9:1'], 'delivered', tagged(id, number)))
    expect((await status(id)).description).toBe('Entregue')
    expect(carrier.got).toHaveLength(1)
  })

  test('of parts: all of them make it delivered', async () => {
    work({ carrier: lost(), options: { settleMs: 60_000 } })
    const number = newNumber()
    const id = await accept(number)
    await described(id).toBe('Em verificação')
    await tell(report(['9:2'], 'delivered', tagged(id, number, 2, 2)))
    expect((await status(id)).description).toBe('Em verificação')
    await tell(report(['9:3'], 'delivered', tagged(id, number, 1, 2)))
    expect((await status(id)).description).toBe('Entregue')
  })

  test('of another message, or to another number, settles nothing', async () => {
    work({ carrier: lost(), options: { settleMs: 60_000 } })
    const [number, other] = [newNumber(), newNumber()]
    const id = await accept(number)
    await described(id).toBe('Em verificação')
    await tell(report(['9:4'], 'delivered', { ...tagged(id, number), bits: makeTag('another', 1, 1) }))
    await tell(report(['9:5'], 'delivered', { ...tagged(id, number), recipient: `+55${other}` }))
    await takeEarlyReports(events)
    expect((await status(id)).description).toBe('Em verificação')
  })

  test('that fits two sends with unknown outcome settles neither', async () => {
    work({ carrier: lost(), options: { settleMs: 60_000 } })
    const number = newNumber()
    const ids = [await accept(number), await accept(number)]
    for (const id of ids) await described(id).toBe('Em verificação')
    // One in a thousand: made so by hand.
    await database.pool.query('update delivery set reference = $2 where notification_id = $1', [ids[1], `${ids[0]}.sms.1`])
    await tell(report(['9:6'], 'delivered', tagged(ids[0]!, number)))
    for (const id of ids) expect((await status(id)).description).toBe('Em verificação')
  })

  const takenAgain = (name: string): ScriptedCarrier => {
    const carrier = new ScriptedCarrier(({ attempt }) =>
      attempt === 1 ? Promise.reject(refused('uncertain')) : { references: [name] },
    )
    carrier.repeatAfterMs = 0
    return carrier
  }

  test('of the first copy does not fail the second one, which the carrier has', async () => {
    work({ carrier: takenAgain('second:1'), options: { settleMs: 10 } })
    const number = newNumber()
    const id = await accept(number)
    await described(id).toBe('Enviado')
    await tell(report(['first:1'], 'failed', tagged(id, number)))
    expect((await status(id)).description).toBe('Enviado')
    await tell(report(['second:1'], 'delivered', tagged(id, number)))
    expect((await status(id)).description).toBe('Entregue')
  })

  test('of the first copy, which arrived, undoes the failure of the second', async () => {
    work({ carrier: takenAgain('second:2'), options: { settleMs: 10 } })
    const number = newNumber()
    const id = await accept(number)
    await described(id).toBe('Enviado')
    await tell(report(['second:2'], 'failed', tagged(id, number)))
    expect((await status(id)).description).toBe('Não entregue')
    await tell(report(['first:2'], 'delivered', tagged(id, number)))
    expect((await status(id)).description).toBe('Entregue')
  })

  test('that comes before the outcome is known to be unknown is kept, and settles it then', async () => {
    let release: (() => void) | undefined
    const released = new Promise<void>(resolve => {
      release = resolve
    })
    const carrier = new ScriptedCarrier(async () => {
      await released
      throw refused('uncertain')
    })
    work({ carrier, options: { settleMs: 60_000 } })
    const number = newNumber()
    const id = await accept(number)
    await expect.poll(() => carrier.got.length).toBe(1)
    await tell(report(['9:7'], 'delivered', tagged(id, number)))
    expect((await status(id)).description).toBe('Processado')
    release?.()
    await described(id).toBe('Em verificação')
    await takeEarlyReports(events)
    expect((await status(id)).description).toBe('Entregue')
    expect((await database.pool.query("select from early_report where names = array['9:7']")).rows).toEqual([])
  })
})

test('an answer to a send that comes after all was told still names its part', async () => {
  work({ carrier: new ScriptedCarrier(() => Promise.reject(refused('uncertain'))), options: { settleMs: 60_000 } })
  const id = await accept(newNumber())
  await described(id).toBe('Em verificação')
  const late = (number: number): CarrierReport => ({
    ...report([], 'sent'),
    of: { ours: `${id}.sms.1`, carrier: [`late-${number}`], part: { number, total: 2 } },
  })
  await tell({ ...late(1), of: { ours: `${id}.sms.1` } })
  expect((await status(id)).description).toBe('Enviado')
  await tell(late(1), late(2))
  await tell(report(['late-1'], 'delivered'))
  expect((await status(id)).description).toBe('Enviado')
  await tell(report(['late-2'], 'delivered'))
  expect((await status(id)).description).toBe('Entregue')
})

test('senders are told once all parts are where the event says, and never of one alone', async () => {
  await createWebhook(gateway.url, account.token, { url: 'https://example.com/' })
  work({ carrier: new ScriptedCarrier(() => Promise.reject(refused('uncertain'))), options: { settleMs: 60_000 } })
  const number = newNumber()
  const id = await accept(number)
  await described(id).toBe('Em verificação')
  const late = (part: number): CarrierReport => ({
    ...report([], 'sent'),
    of: { ours: `${id}.sms.1`, carrier: [`told-${part}`], part: { number: part, total: 2 } },
  })
  for (const part of [1, 2]) await tell(late(part))
  for (const part of [1, 2]) await tell(report([`told-${part}`], 'delivered'))
  const { rows } = await database.pool.query(
    `select e.type from webhook_message m join event e on e.notification_id = m.notification_id and e.seq = m.event_seq
     where m.notification_id = $1 order by e.seq`,
    [id],
  )
  expect(rows.map(row => row.type)).toEqual(['uncertain', 'sent', 'delivered'])
})

describe('an answer in parts', () => {
  const piece = (number: string, text: string, part: number, total: number): CarrierReply =>
    reply(number, text, { part: { of: `+55${number} 29000 7a`, number: part, total } })

  test('is one answer once all of them are there, in any order, told any number of times', async () => {
    work({ carrier: new ScriptedCarrier(() => ({})) })
    const number = newNumber()
    const id = await accept(number)
    await described(id).toBe('Enviado')
    await tell(piece(number, 'três', 3, 3))
    await tell(piece(number, 'um ', 1, 3))
    expect((await status(id)).answered).toEqual([])
    await Promise.all(Array.from({ length: 10 }, () => tell(piece(number, 'dois ', 2, 3))))
    await takeIncompleteReplies(events)
    expect((await status(id)).answered).toEqual(['um dois três'])
  })

  test('has a character whole that is split between two of them, and a mark where the other half never came', async () => {
    work({ carrier: new ScriptedCarrier(() => ({})) })
    const number = newNumber()
    const id = await accept(number)
    await described(id).toBe('Enviado')
    const halved = (text: string, part: number, halves: object): CarrierReply =>
      reply(number, text, { part: { of: `+55${number} 29000 7b`, number: part, total: 2, halves } })
    await tell(halved('Sim ', 1, { after: '👍'.charCodeAt(0) }), halved(' ok', 2, { before: '👍'.charCodeAt(1) }))
    expect((await status(id)).answered).toEqual(['Sim 👍 ok'])
    await tell(reply(number, 'Não ', { part: { of: 'half', number: 1, total: 2, halves: { after: '👍'.charCodeAt(0) } } }))
    await database.pool.query("update reply_part set received_at = now() - interval '2 hours'")
    await takeIncompleteReplies(events)
    expect((await status(id)).answered).toEqual(['Sim 👍 ok', 'Não �'])
  })

  test('of which the carrier sends a part again stays one answer, and another under the same name is another', async () => {
    work({ carrier: new ScriptedCarrier(() => ({})) })
    const number = newNumber()
    const id = await accept(number)
    await described(id).toBe('Enviado')
    const sweep = async (): Promise<void> => {
      await database.pool.query("update reply_part set received_at = now() - interval '2 hours'")
      await takeIncompleteReplies(events)
    }
    await tell(piece(number, 'um ', 1, 2))
    await tell(piece(number, 'dois', 2, 2))
    await tell(piece(number, 'dois', 2, 2))
    expect((await status(id)).answered).toEqual(['um dois'])
    await tell(piece(number, 'quatro', 2, 2))
    await tell(piece(number, 'três ', 1, 2))
    await tell(piece(number, 'três ', 1, 2))
    expect((await status(id)).answered).toEqual(['um dois', 'três quatro'])
    await sweep()
    expect((await status(id)).answered).toEqual(['um dois', 'três quatro'])
    expect((await database.pool.query('select from reply_part')).rows).toEqual([])
  })

  test('whose last part never comes is told as far as it did', async () => {
    work({ carrier: new ScriptedCarrier(() => ({})) })
    const number = newNumber()
    const id = await accept(number)
    await described(id).toBe('Enviado')
    await tell(piece(number, 'só o começo', 1, 2))
    await takeIncompleteReplies(events)
    expect((await status(id)).answered).toEqual([])
    await database.pool.query("update reply_part set received_at = now() - interval '2 hours'")
    await takeIncompleteReplies(events)
    expect((await status(id)).answered).toEqual(['só o começo'])
    expect((await database.pool.query('select from reply_part')).rows).toEqual([])
  })
})

describe('an answer that ends the messages', () => {
  test('suppresses the number for the account that wrote, and says so in the event', async () => {
    work({ carrier: new ScriptedCarrier(() => ({})) })
    const number = newNumber()
    const id = await accept(number)
    await described(id).toBe('Enviado')
    await tell(reply(number, 'Sair', { id: 'mo-1' }), reply(number, 'Sair', { id: 'mo-1' }))
    expect((await status(id)).answered).toEqual(['Sair'])
    const suppressed = await database.pool.query('select account_id, channel, reason from suppression where recipient = $1', [
      `+55${number}`,
    ])
    expect(suppressed.rows).toEqual([{ account_id: account.id, channel: 'sms', reason: 'opt-out' }])
    const { rows } = await database.pool.query(
      "select data->'optOut' as said from event where notification_id = $1 and type = 'answered'",
      [id],
    )
    expect(rows).toEqual([{ said: true }])
  })

  test('in other words does not', async () => {
    work({ carrier: new ScriptedCarrier(() => ({})) })
    const number = newNumber()
    const id = await accept(number)
    await described(id).toBe('Enviado')
    await tell(reply(number, 'Posso sair mais cedo?'))
    expect((await status(id)).description).toBe('Respondido')
    expect((await database.pool.query('select from suppression where recipient = $1', [`+55${number}`])).rows).toEqual([])
  })
})

describe('receipts and answers in every order', () => {
  const orders = <T>(items: T[]): T[][] =>
    items.length < 2 ? [items] : items.flatMap((item, place) => orders(items.toSpliced(place, 1)).map(rest => [item, ...rest]))

  test('give the same status, also a hundred times in parallel', async () => {
    work({ carrier: new ScriptedCarrier(({ notification }) => ({ references: [`${notification}/1`, `${notification}/2`] })) })
    const all = orders(['enroute', 'part 1', 'part 2', 'answer'])
    const sent = await Promise.all(
      all.map(async order => {
        const number = newNumber()
        return { order, number, id: await accept(number) }
      }),
    )
    for (const { order, number, id } of sent) {
      await described(id).toBe('Enviado')
      const items: Record<string, CarrierEvent> = {
        enroute: report([`${id}/1`], 'note'),
        'part 1': report([`${id}/1`], 'delivered'),
        'part 2': report([`${id}/2`], 'delivered'),
        answer: reply(number, 'Recebi', { id: 'mo' }),
      }
      for (const name of order) await tell(items[name]!)
      expect(await status(id), order.join()).toMatchObject({ description: 'Respondido', answered: ['Recebi'] })
    }
    const number = newNumber()
    const id = await accept(number)
    await described(id).toBe('Enviado')
    const storm = Array.from({ length: 100 }, (_, n) => [
      report([`${id}/${1 + (n % 2)}`], 'delivered'),
      reply(number, 'Recebi', { id: 'mo' }),
    ])
    await Promise.all(storm.map(items => tell(...items)))
    expect(await status(id)).toMatchObject({ description: 'Respondido', answered: ['Recebi'] })
    const { rows } = await database.pool.query('select type from event where notification_id = $1 order by type', [id])
    expect(rows.map(row => row.type)).toEqual(['accepted', 'answered', 'delivered', 'delivered', 'sent'])
  })
})
