import { afterEach, describe, expect, test } from 'vitest'
import type { CarrierEvent, CarrierReport } from '../../../src/channels/provider.js'
import type { Recorder } from '../../../src/domain/delivery/change.js'
import { type CarrierEventParts, takeCarrierEvents } from '../../../src/engine/record/carrier-events.js'
import { CARRIER_NOTES } from '../../../src/engine/record/kept-notes.js'
import { takeEarlyReports } from '../../../src/engine/record/reports.js'
import { repairDelivery, reviveRefused } from '../../../src/engine/unknown/operator-decision.js'
import { findFaults } from '../../../src/evidence/notification-faults.js'
import { readEventLog } from '../../../src/store/notification/event-log.js'
import { deferred } from '../../support/deferred.js'
import { sourceOf, UNHEARD } from '../../support/gateway/attempts.js'
import { gatewayForFile } from '../../support/gateway/gateway.js'
import { refused, ScriptedCarrier, startTestWorker, type TestLane, type TestWorker } from '../../support/gateway/lanes.js'
import { request, send, validSend } from '../../support/gateway/requests.js'

let worker: TestWorker | undefined
let events: CarrierEventParts
const unmatched: string[] = []
const source = sourceOf('sms', 'scripted')
const foreign: string[] = []
const NUMBER = '11987654321'
const HOUR = 60 * 60_000

const { database, gateway, account } = await gatewayForFile()

afterEach(async () => {
  await worker?.stop()
  worker = undefined
  unmatched.length = 0
  expect(foreign).toEqual([])
  for await (const page of readEventLog(database.pool)) expect(page.flatMap(findFaults)).toEqual([])
  // Out of the next test's way, but true to its events.
  const later = "now() + interval '10 years'"
  await database.pool.query(`update delivery set due_at = ${later}, lease_until = ${later} where state <> 'done'`)
})

function work(lane: TestLane): TestWorker {
  worker = startTestWorker(database.pool, [{ channel: 'sms', ...lane }])
  events = {
    pool: database.pool,
    clock: Date.now,
    recorder: worker.recorder,
    onUnmatched: ({ carriers }, kind) => void unmatched.push(`${carriers} ${kind}`),
    onForeign: ({ carriers }, kind) => void foreign.push(`${carriers} ${kind}`),
  }
  return worker
}

const accept = async (number = NUMBER): Promise<string> => {
  const body = { ...validSend, to: undefined, sms: { number, typeSend: '2' } }
  return ((await send(gateway.url, account.token, body)).body as { idEmail: string }).idEmail
}

const status = async (id: string): Promise<Record<string, unknown>> =>
  (await request(`${gateway.url}/gw/sms/${id}`, { token: account.token })).body as Record<string, unknown>

const described = (id: string) => expect.poll(async () => (await status(id)).description)

const report = (of: CarrierReport['of'], type: CarrierReport['type'], more: Partial<CarrierReport> = {}): CarrierReport => ({
  kind: 'report',
  of,
  type,
  at: null,
  answer: `stat:${type}`,
  ...more,
})

const tell = (...items: CarrierEvent[]): Promise<boolean> => takeCarrierEvents(source, items, events)

const typesOf = async (id: string): Promise<string[]> =>
  (await database.pool.query('select type from event where notification_id = $1 order by seq', [id])).rows.map(row => row.type)

/** Loses the first answer, sends once more, and takes the second copy under this name once the test says so. */
const takenAgain = (name: string, taken: Promise<void> = Promise.resolve()): ScriptedCarrier => {
  const carrier = new ScriptedCarrier(async ({ attempt }) => {
    if (attempt === 1) throw refused('uncertain')
    await taken
    return { references: [name] }
  })
  carrier.repeatAfterMs = 0
  return carrier
}

describe('reports of a message that was sent again, under our reference and the name of the copy', () => {
  const repeat = { whenUnknown: 'report', options: { settleMs: 10 } } as const
  const of = (id: string, name: string) => ({ ours: `${id}.sms.1`, carrier: [name] })
  const failed = (id: string, name: string): CarrierReport => report(of(id, name), 'failed', { failure: 'undelivered' })

  test('of the first copy, which failed, do not fail the second one, however often they come', async () => {
    work({ ...repeat, carrier: takenAgain('second:1') })
    const id = await accept()
    await described(id).toBe('Enviado')
    await tell(report(of(id, 'first:1'), 'sent'))
    for (let time = 0; time < 2; time++) await tell(failed(id, 'first:1'), report(of(id, 'first:1'), 'again'))
    await takeEarlyReports(events)
    expect((await status(id)).description).toBe('Enviado')
    await tell(report(of(id, 'second:1'), 'delivered'))
    expect((await status(id)).description).toBe('Entregue')
  })

  test('of the second copy count', async () => {
    work({ ...repeat, carrier: takenAgain('second:2') })
    const id = await accept()
    await described(id).toBe('Enviado')
    await tell(failed(id, 'second:2'))
    expect((await status(id)).description).toBe('Não entregue')
    await tell(report(of(id, 'first:2'), 'delivered'))
    expect((await status(id)).description).toBe('Entregue')
  })

  test('of the second copy count also where they overtake the answer to its send', async () => {
    const taken = deferred()
    const carrier = takenAgain('second:3', taken.promise)
    work({ ...repeat, carrier })
    const id = await accept()
    await expect.poll(() => carrier.got.length).toBe(2)
    await tell(failed(id, 'second:3'))
    taken.resolve()
    await described(id).toBe('Enviado')
    await takeEarlyReports(events)
    expect((await status(id)).description).toBe('Não entregue')
  })
})

describe('reports', () => {
  test('by the carrier’s reference move the status, in any spelling; told twice they count once', async () => {
    work({ carrier: new ScriptedCarrier(({ notification }) => ({ references: [`ff-${notification}`] })) })
    const id = await accept()
    await described(id).toBe('Enviado')
    const delivered = report({ carrier: ['255', `ff-${id}`] }, 'delivered')
    await Promise.all(Array.from({ length: 20 }, () => tell(delivered)))
    await described(id).toBe('Entregue')
    expect(await typesOf(id)).toEqual(['accepted', 'sent', 'delivered'])
  })

  test('of another carrier with the same name for something else change nothing', async () => {
    work({ carrier: new ScriptedCarrier(({ notification }) => ({ references: [notification] })) })
    const id = await accept()
    await described(id).toBe('Enviado')
    await takeCarrierEvents(sourceOf('sms', 'simulator/scripted'), [report({ carrier: [id] }, 'delivered')], events)
    await takeEarlyReports(events)
    expect((await status(id)).description).toBe('Enviado')
  })

  test('that overtake our own commit are kept and told once we know the message, in their order', async () => {
    let answer: (() => void) | undefined
    const sent = new Promise<void>(resolve => {
      answer = resolve
    })
    work({
      carrier: new ScriptedCarrier(async ({ notification }) => {
        await sent
        return { references: [`early-${notification}`] }
      }),
    })
    const id = await accept()
    await tell(report({ carrier: [`early-${id}`] }, 'delivered'), report({ carrier: [`early-${id}`] }, 'read'))
    await takeEarlyReports(events)
    expect((await status(id)).description).toBe('Processado')
    answer?.()
    await described(id).toBe('Enviado')
    await takeEarlyReports(events)
    await described(id).toBe('Lido (acessou o link)')
    const { rows } = await database.pool.query('select from early_report where names = $1', [[`early-${id}`]])
    expect(rows).toEqual([])
  })

  test('that cannot be recorded keep none of the others waiting, and later ones of the same message wait for them', async () => {
    const taken = deferred()
    work({
      carrier: new ScriptedCarrier(async ({ notification }) => {
        await taken.promise
        return { references: [`early-${notification}`] }
      }),
    })
    const [bad, good] = [await accept(), await accept()]
    for (const type of ['delivered', 'read'] as const)
      for (const id of [bad, good]) await tell(report({ carrier: [`early-${id}`] }, type))
    taken.resolve()
    for (const id of [bad, good]) await described(id).toBe('Enviado')
    const recorder: Recorder = {
      record: change =>
        change.notification === bad && change.kind === 'report' && change.fact.type === 'delivered'
          ? Promise.reject(new Error('cannot be recorded'))
          : events.recorder.record(change),
    }
    await expect(takeEarlyReports({ ...events, recorder })).rejects.toThrow('cannot be recorded')
    expect(await typesOf(bad)).toEqual(['accepted', 'sent'])
    expect(await typesOf(good)).toEqual(['accepted', 'sent', 'delivered', 'read'])
    await database.pool.query('update early_report set due_at = now()')
    await takeEarlyReports(events)
    expect(await typesOf(bad)).toEqual(['accepted', 'sent', 'delivered', 'read'])
  })

  test('of what others send under the same account are looked at once in a while, and keep none of ours waiting', async () => {
    const taken = deferred()
    const carrier = new ScriptedCarrier(async ({ notification }) => {
      await taken.promise
      return { references: [`crowded-${notification}`] }
    })
    work({ carrier })
    const id = await accept()
    await expect.poll(() => carrier.got.length).toBe(1)
    await database.pool.query(
      `insert into early_report (channel, carriers, modes, names, report)
       select 'sms', '{scripted}', '{live}', array['foreign-' || n], $1::jsonb from generate_series(1, 1600) n`,
      [report({ carrier: ['foreign'] }, 'note')],
    )
    await tell(report({ carrier: [`crowded-${id}`] }, 'delivered'))
    const probes = async (): Promise<unknown> =>
      (await database.pool.query("select sum(probes)::int as sum from early_report where names[1] like 'foreign-%'")).rows[0].sum
    await takeEarlyReports(events)
    expect(await probes()).toBe(500)
    taken.resolve()
    await described(id).toBe('Enviado')
    await takeEarlyReports(events)
    expect((await status(id)).description).toBe('Entregue')
    for (let round = 0; round < 5; round++) await takeEarlyReports(events)
    expect(await probes()).toBe(1_600)
    await database.pool.query("delete from early_report where names[1] like 'foreign-%'")
  })

  test('that nobody looks at any more are told all the same when their message is known at last', async () => {
    const taken = deferred()
    work({
      carrier: new ScriptedCarrier(async ({ notification }) => {
        await taken.promise
        return { references: [`late-${notification}`] }
      }),
    })
    const id = await accept()
    await tell(report({ carrier: [`late-${id}`] }, 'delivered'))
    const isResting = async (): Promise<unknown> =>
      (await database.pool.query("select due_at = 'infinity' as resting from early_report where names = $1", [[`late-${id}`]]))
        .rows[0].resting
    for (let round = 0; round < 20 && !(await isResting()); round++) {
      await takeEarlyReports(events)
      await database.pool.query("update early_report set due_at = now() where due_at < 'infinity'")
    }
    expect(await isResting()).toBe(true)
    taken.resolve()
    await described(id).toBe('Enviado')
    await takeEarlyReports(events)
    expect((await status(id)).description).toBe('Entregue')
  })

  test('that overtake our commit speak of one message, the one that bears the likeliest of their spellings', async () => {
    const taken = deferred()
    work({
      carrier: new ScriptedCarrier(async ({ notification }) => {
        await taken.promise
        return { references: [`spelling-${notification}`] }
      }),
    })
    const [likely, unlikely] = [await accept('11987650003'), await accept('11987650004')]
    await tell(report({ carrier: [`spelling-${likely}`, `spelling-${unlikely}`] }, 'delivered'))
    taken.resolve()
    for (const id of [likely, unlikely]) await described(id).toBe('Enviado')
    await takeEarlyReports(events)
    expect((await status(likely)).description).toBe('Entregue')
    expect((await status(unlikely)).description).toBe('Enviado')
  })

  test('that change nothing are kept once, also when two workers take them up at once', async () => {
    const taken = deferred()
    const carrier = new ScriptedCarrier(async ({ notification }) => {
      await taken.promise
      return { references: [`noted-${notification}`] }
    })
    const own = work({ carrier })
    const other = startTestWorker(database.pool, [])
    const id = await accept()
    const enroute = report({ carrier: [`noted-${id}`] }, 'note', { answer: 'ENROUTE' })
    await tell(enroute, enroute)
    taken.resolve()
    await described(id).toBe('Enviado')
    await takeEarlyReports(events)
    const again = { pool: database.pool, clock: Date.now, ...UNHEARD }
    await Promise.all(
      [own, other].flatMap(({ recorder }) =>
        Array.from({ length: 10 }, () => takeCarrierEvents(source, [enroute], { ...again, recorder })),
      ),
    )
    await other.stop()
    expect(await typesOf(id)).toEqual(['accepted', 'sent', 'note'])
  })

  test('that change nothing are kept up to a hundred, the last of which says so; what changes something always is', async () => {
    work({ carrier: new ScriptedCarrier(({ notification }) => ({ references: [notification] })) })
    const id = await accept('11987650005')
    await described(id).toBe('Enviado')
    const notes = Array.from({ length: CARRIER_NOTES.most + 20 }, (_, n) =>
      report({ carrier: [id] }, 'note', { answer: `ENROUTE ${n}` }),
    )
    for (const note of notes) await tell(note)
    await tell(report({ carrier: [id] }, 'delivered'))
    const { rows } = await database.pool.query(
      "select data->'lastNote' as last from event where notification_id = $1 and type = 'note' order by seq",
      [id],
    )
    expect(rows).toHaveLength(CARRIER_NOTES.most)
    expect(rows.filter(({ last }) => last === true)).toEqual([rows.at(-1)])
    expect((await status(id)).description).toBe('Entregue')
  })

  test('of a message in three parts: it is delivered when all of them are, and failed when one is', async () => {
    work({ carrier: new ScriptedCarrier(({ notification }) => ({ references: [1, 2, 3].map(n => `${notification}/${n}`) })) })
    const [whole, torn] = [await accept(), await accept('11987650001')]
    for (const id of [whole, torn]) await described(id).toBe('Enviado')
    await tell(report({ carrier: [`${whole}/2`] }, 'delivered'), report({ carrier: [`${whole}/2`] }, 'delivered'))
    await tell(report({ carrier: [`${whole}/1`] }, 'delivered'))
    expect((await status(whole)).description).toBe('Enviado')
    await tell(report({ carrier: [`${whole}/3`] }, 'delivered'))
    expect((await status(whole)).description).toBe('Entregue')
    await tell(report({ carrier: [`${torn}/1`] }, 'delivered'))
    await tell(report({ carrier: [`${torn}/2`] }, 'failed', { failure: 'undelivered', reason: 'Aparelho desligado.' }))
    expect((await status(torn)).description).toBe('Não entregue')
  })

  test('bear the carrier’s date, also when something else was written down since, and never one before the send', async () => {
    work({ carrier: new ScriptedCarrier(({ notification }) => ({ references: [notification] })) })
    const [prompt, skewed] = [await accept(), await accept('11987650002')]
    for (const id of [prompt, skewed]) await described(id).toBe('Enviado')
    const datesOf = async (id: string) =>
      (await database.pool.query('select sent_at, delivered_at from delivery where notification_id = $1', [id])).rows[0]
    const told = new Date((await datesOf(prompt)).sent_at.getTime() + 1)
    await expect.poll(() => Date.now()).toBeGreaterThan(told.getTime() + 10)
    for (const id of [prompt, skewed]) await tell(report({ carrier: [id] }, 'note'))
    await tell(report({ carrier: [prompt] }, 'delivered', { at: told }))
    await tell(report({ carrier: [skewed] }, 'delivered', { at: new Date('2020-01-01T12:00:00Z') }))
    expect((await datesOf(prompt)).delivered_at).toEqual(told)
    const { sent_at, delivered_at } = await datesOf(skewed)
    expect(delivered_at).toEqual(sent_at)
    const { rows } = await database.pool.query(
      "select at, data->>'occurredAt' as told from event where notification_id = $1 and type = 'delivered'",
      [skewed],
    )
    expect(rows[0].told).toBe('2020-01-01T12:00:00.000Z')
    expect(rows[0].at.getTime()).toBeGreaterThan(sent_at.getTime())
  })

  test('by our own reference need no name of the carrier', async () => {
    work({ carrier: new ScriptedCarrier() })
    const id = await accept()
    await described(id).toBe('Enviado')
    await tell(report({ ours: `${id}.sms.1` }, 'delivered'))
    expect((await status(id)).description).toBe('Entregue')
    await tell(report({ ours: 'nothing.of.ours' }, 'delivered'))
    expect(unmatched).toEqual(['scripted report'])
  })
})

describe('a report that bears both names', () => {
  test('teaches us the carrier’s, also where it overtakes the answer to the send', async () => {
    let answer: (() => void) | undefined
    const taken = new Promise<void>(resolve => {
      answer = resolve
    })
    const carrier = new ScriptedCarrier(async () => {
      await taken
      return { references: [] }
    })
    work({ carrier, whenUnknown: 'report' })
    const id = await accept()
    await expect.poll(() => carrier.got.length).toBe(1)
    await tell(report({ ours: `${id}.sms.1`, carrier: [`both-${id}`] }, 'sent'))
    answer?.()
    await tell(report({ carrier: [`both-${id}`] }, 'delivered'))
    expect((await status(id)).description).toBe('Entregue')
    expect(await typesOf(id)).toEqual(['accepted', 'sent', 'delivered'])
    expect(carrier.got).toHaveLength(1)
  })
})

describe('replies', () => {
  const reply = (more: object) => ({
    kind: 'reply' as const,
    from: ['+5511987651111'],
    text: 'Ok',
    id: null,
    inReplyTo: null,
    at: null,
    ...more,
  })

  test('belong to the newest notification to that number, or to the one they name; told twice they count once', async () => {
    work({ carrier: new ScriptedCarrier(({ notification }) => ({ references: [notification] })) })
    const older = await accept('11987651111')
    await described(older).toBe('Enviado')
    const newer = await accept('11987651111')
    await described(newer).toBe('Enviado')
    await tell(reply({ text: 'Recebi', id: 'mo-1' }), reply({ text: 'Recebi', id: 'mo-1' }))
    await tell(reply({ text: 'E este?', id: 'mo-2', inReplyTo: older }))
    expect(await status(newer)).toMatchObject({ description: 'Respondido', answered: ['Recebi'] })
    expect(await status(older)).toMatchObject({ answered: ['E este?'] })
  })

  test('without a number belong to the message that they quote', async () => {
    work({ carrier: new ScriptedCarrier(({ notification }) => ({ references: [notification] })) })
    const id = await accept('11987651112')
    await described(id).toBe('Enviado')
    await tell(reply({ from: [], id: 'mo-3', inReplyTo: id }))
    expect(await status(id)).toMatchObject({ description: 'Respondido', answered: ['Ok'] })
    await tell(reply({ from: [], id: 'mo-4', inReplyTo: 'nothing-of-ours' }))
    expect(unmatched).toEqual(['scripted reply'])
  })

  test('that quote a message without a stored name are no answers to a message with another name', async () => {
    const from = ['+5511987651114']
    const carrier = new ScriptedCarrier(({ notification, attempt }) =>
      carrier.got.length === 1 && attempt === 1 ? { references: [notification] } : Promise.reject(refused('uncertain')),
    )
    work({ carrier, whenUnknown: 'report', options: { settleMs: 60_000 } })
    const named = await accept('11987651114')
    await described(named).toBe('Enviado')
    await tell(reply({ from, id: 'mo-5', inReplyTo: 'of-another-program' }))
    expect(unmatched).toEqual(['scripted reply'])
    expect((await status(named)).answered).toEqual([])
    // The carrier took this one, and the answer with its name was lost.
    const unnamed = await accept('11987651114')
    await described(unnamed).toBe('Em verificação')
    await tell(reply({ from, id: 'mo-6', inReplyTo: 'of-the-lost-answer' }))
    expect((await status(unnamed)).answered).toEqual(['Ok'])
    expect((await status(named)).answered).toEqual([])
  })

  test('without a name are one when the same words come again within the hour, and another one later', async () => {
    work({ carrier: new ScriptedCarrier() })
    const id = await accept('11987651113')
    await described(id).toBe('Enviado')
    const from = ['+5511987651113']
    const start = Math.ceil(Date.now() / HOUR) * HOUR
    for (const minute of [-1, 1, 30]) {
      events = { ...events, clock: () => start + minute * 60_000 }
      await tell(reply({ from }), reply({ from }))
    }
    expect((await status(id)).answered).toEqual(['Ok'])
    await tell(reply({ from, text: 'Sim' }))
    events = { ...events, clock: () => start + 3 * HOUR }
    await tell(reply({ from }))
    expect((await status(id)).answered).toEqual(['Ok', 'Sim', 'Ok'])
  })

  test('from a number that nothing was sent to are told aloud, and nothing changes', async () => {
    work({ carrier: new ScriptedCarrier() })
    await tell(reply({ from: ['+5511900000000'] }))
    expect(unmatched).toEqual(['scripted reply'])
  })
})

describe('a send whose answer was lost', () => {
  const lost = (): ScriptedCarrier =>
    new ScriptedCarrier(({ attempt }) => (attempt === 1 ? Promise.reject(refused('uncertain')) : {}))

  test('waits for the carrier’s report, which settles it without a second send', async () => {
    const carrier = lost()
    work({ carrier, whenUnknown: 'report', options: { settleMs: 60_000 } })
    const id = await accept()
    await described(id).toBe('Em verificação')
    await tell(report({ ours: `${id}.sms.1` }, 'delivered'))
    expect((await status(id)).description).toBe('Entregue')
    expect(carrier.got).toHaveLength(1)
  })

  test('is sent once more when no report comes and the operator chose so, and no third time', async () => {
    const carrier = new ScriptedCarrier(() => Promise.reject(refused('uncertain')))
    carrier.repeatAfterMs = 0
    work({ carrier, whenUnknown: 'report', options: { settleMs: 10 } })
    const id = await accept()
    const stateOf = async (): Promise<string> =>
      (await database.pool.query('select state from delivery where notification_id = $1', [id])).rows[0].state
    await expect.poll(stateOf).toBe('unresolved')
    expect(carrier.got.map(parcel => parcel.reference)).toEqual(Array(2).fill(`${id}.sms.1`))
    expect((await status(id)).description).toBe('Em verificação')
    await tell(report({ ours: `${id}.sms.1` }, 'delivered'))
    expect((await status(id)).description).toBe('Entregue')
  })

  test('is looked up first: what the carrier took is not sent again, what it never took is', async () => {
    const carrier = lost()
    const known = new Map<string, string>()
    carrier.find = async reference => {
      const name = known.get(reference)
      return name === undefined ? 'unknown' : { references: [name], answer: 'found' }
    }
    work({ carrier, whenUnknown: 'lookup', options: { settleMs: 1_000 } })
    const [taken, missed] = [await accept(), await accept('11987652222')]
    known.set(`${taken}.sms.1`, 'call-1')
    for (const id of [taken, missed]) await described(id).toBe('Enviado')
    expect(carrier.got.filter(parcel => parcel.notification === taken)).toHaveLength(1)
    expect(carrier.got.filter(parcel => parcel.notification === missed)).toHaveLength(2)
    await tell(report({ carrier: ['call-1'] }, 'delivered'))
    expect((await status(taken)).description).toBe('Entregue')
  })

  test('is given up when the plan of tries ends, however often the carrier says that it never took it', async () => {
    const carrier = new ScriptedCarrier(() => Promise.reject(refused('uncertain')))
    carrier.find = async () => 'unknown'
    work({ carrier, whenUnknown: 'lookup', options: { settleMs: 10, retryDelaysMs: [10, 10] } })
    const id = await accept()
    await described(id).toBe('Falha no envio')
    expect(carrier.got).toHaveLength(3)
    expect((await typesOf(id)).slice(-2)).toEqual(['uncertain', 'failed'])
    expect((await database.pool.query('select state from delivery where notification_id = $1', [id])).rows).toEqual([
      { state: 'dead' },
    ])
  })

  test('is asked for again while the carrier cannot be asked', async () => {
    const carrier = lost()
    let asked = 0
    carrier.find = async () => (++asked < 3 ? Promise.reject(refused('temporary')) : { references: [], answer: 'found' })
    work({ carrier, whenUnknown: 'lookup', options: { settleMs: 10 } })
    const id = await accept()
    await described(id).toBe('Enviado')
    expect(asked).toBe(3)
    expect(carrier.got).toHaveLength(1)
  })
})

describe('another message after one that reached nobody', () => {
  test('bears a reference of its own, and what is told of the first one no longer matters', async () => {
    const carrier = new ScriptedCarrier(({ reference }) => ({ references: [reference] }))
    work({ carrier })
    const id = await accept()
    await described(id).toBe('Enviado')
    const again = report({ carrier: [`${id}.sms.1`] }, 'again', { delayMs: 0, reason: 'Ocupado' })
    await Promise.all(Array.from({ length: 10 }, () => tell(again)))
    await expect
      .poll(() => carrier.got.map(parcel => parcel.reference), { timeout: 120_000 })
      .toEqual([`${id}.sms.1`, `${id}.sms.2`])
    await expect.poll(() => typesOf(id)).toEqual(['accepted', 'sent', 'again', 'sent'])
    await tell(report({ carrier: [`${id}.sms.1`] }, 'failed', { failure: 'undelivered', reason: 'Tarde demais' }))
    expect((await status(id)).description).toBe('Enviado')
    await tell(report({ carrier: [`${id}.sms.2`] }, 'delivered'))
    expect((await status(id)).description).toBe('Entregue')
  })

  test('may be ordered by a person after the last one, where the report says that the plan is used up', async () => {
    const carrier = new ScriptedCarrier(({ reference }) => ({ references: [reference] }))
    work({ carrier })
    const since = new Date()
    const [ended, final, other] = [await accept(), await accept('11987652222'), await accept('11987653333')]
    const order = (notification: string) =>
      repairDelivery(database.pool, Date.now, { notification, channel: 'sms', repair: 'retry', by: 'Ana' })
    for (const id of [ended, final, other]) await described(id).toBe('Enviado')
    const failure = { failure: 'undelivered', reason: 'Conta bloqueada' } as const
    for (const id of [ended, other])
      await tell(report({ carrier: [`${id}.sms.1`] }, 'failed', { ...failure, facts: { dead: true } }))
    await tell(report({ carrier: [`${final}.sms.1`] }, 'failed', failure))
    for (const id of [ended, final]) expect((await status(id)).description).toBe('Não entregue')
    expect(await order(final)).not.toBe('recorded')
    expect(await order(ended)).toBe('recorded')
    await expect.poll(() => typesOf(ended), { timeout: 120_000 }).toEqual(['accepted', 'sent', 'failed', 'revived', 'sent'])
    expect(carrier.got.at(-1)!.reference).toBe(`${ended}.sms.2`)
    expect((await status(ended)).description).toBe('Enviado')
    // All that remain at once.
    const all = { channel: 'sms', carrier: 'scripted', since, reason: 'Conta bloqueada', by: 'Ana', dryRun: false } as const
    expect(await reviveRefused(database.pool, Date.now, all)).toEqual({ found: 1, retried: 1 })
    await described(other).toBe('Enviado')
  })
})
