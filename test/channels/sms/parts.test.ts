import { afterEach, expect, test } from 'vitest'
import { laneQueue } from '../../../src/app/worker/lanes.js'
import { packContent } from '../../../src/channels/pack-content.js'
import { createSmsPreparation } from '../../../src/channels/sms/preparation.js'
import { smppProvider } from '../../../src/channels/sms/smpp.js'
import { commands } from '../../../src/channels/sms/smpp-pdu.js'
import type { Queue } from '../../../src/domain/queue.js'
import { Lane } from '../../../src/engine/deliver/lane.js'
import { startLanes } from '../../../src/engine/deliver/worker.js'
import { takeCarrierEvents } from '../../../src/engine/record/carrier-events.js'
import { createRecorder } from '../../../src/engine/record/recorder.js'
import { repairDelivery } from '../../../src/engine/unknown/operator-decision.js'
import { findFaults } from '../../../src/evidence/notification-faults.js'
import { Wakes } from '../../../src/runtime/wake.js'
import { readEventLog } from '../../../src/store/notification/event-log.js'
import { sourceOf, UNHEARD } from '../../support/gateway/attempts.js'
import { gatewayForFile } from '../../support/gateway/gateway.js'
import { QUICK_TIMING } from '../../support/gateway/lanes.js'
import { request, send, validSend } from '../../support/gateway/requests.js'
import { type Script, smscForTest } from './scripted-smsc.js'

/** Messages in several parts from the queue to an SMSC that loses some of them, and back. */
let running: { stop(): Promise<void> } | undefined
const LONG = { timeout: 120_000 }
const NUMBER = '5511987654321'
/** Three parts of UCS-2: one character outside GSM-7. */
const TEXT = `${'ã'.repeat(67)}${'õ'.repeat(67)}☺`

const { database, gateway, account } = await gatewayForFile()

afterEach(async () => {
  await running?.stop()
  running = undefined
  for await (const page of readEventLog(database.pool)) expect(page.flatMap(findFaults)).toEqual([])
  await database.pool.query("update delivery set state = 'cancelled', lease_owner = null where state <> 'done'")
})

/** A worker with one carrier: the real provider, which by default repeats messages without an answer, and stops waiting for answers after a while. */
async function workWith(settleMs: number, script: Script, unanswered = 'replace') {
  const { pool } = database
  const smsc = await smscForTest(script)
  const wakes = new Wakes<Queue>()
  const recorder = createRecorder(pool, Date.now, wakes)
  const provider = smppProvider({
    timeoutMs: 2_000,
    onEvents: async events =>
      void (await takeCarrierEvents(sourceOf('sms', 'smpp'), events, { pool, clock: Date.now, recorder, ...UNHEARD })),
    onUnreadable: () => {},
  })
  const lane = new Lane({
    provider,
    carrier: await provider.open(new URL(`${smsc.url}?unanswered=${unanswered}`)),
    identity: 'smpp',
    mode: 'live',
    rank: 0,
    carriers: 1,
    concurrency: 10,
    retryDelaysMs: [50, 50, 50],
    leaseMs: 30_000,
    settleMs,
    timing: QUICK_TIMING,
    clock: Date.now,
    ...laneQueue(pool, { onError: () => {} }),
    record: change => recorder.record(change),
    pack: packContent,
    prepare: createSmsPreparation({ publicUrl: gateway.url, shortLink: async () => 'x', render: async () => ({ refused: {} }) }),
    onError: () => {},
  }) as unknown as Lane<unknown>
  running = startLanes({
    pool,
    clock: Date.now,
    wakes,
    recorder,
    lanes: [[lane]],
    timing: { ...QUICK_TIMING, leaseMs: 30_000 },
    onError: () => {},
  })
  return {
    smsc,
    /** The parts that came so far, by their number in the header. */
    parts: (): number[] => smsc.got.filter(({ command }) => command === commands.submit).map(({ body }) => partOf(body)),
    deliver: async (id: string): Promise<void> =>
      void (await (await smsc.bound()).ask(commands.deliver, receiptBody(`id:${id} stat:DELIVRD err:000`))),
  }
}

/** The header of concatenation has the number of the part in its last octet; the parts here have the same first octets. */
const partOf = (body: Buffer): number => body[body.indexOf(Buffer.from([5, 0, 3])) + 5]!

const receiptBody = (text: string): Buffer =>
  Buffer.concat([
    Buffer.from(`\0\x01\x01${NUMBER}\0\0\x0029000\0\x04\0\0\0\0\0\0\0\0${String.fromCharCode(text.length)}`, 'latin1'),
    Buffer.from(text, 'latin1'),
  ])

async function accept(): Promise<string> {
  const body = { ...validSend, to: undefined, sms: { number: NUMBER.slice(2), typeSend: '2', customMessage: TEXT } }
  return ((await send(gateway.url, account.token, body)).body as { idEmail: string }).idEmail
}

const described = (id: string) =>
  expect.poll(async () => {
    const { body } = await request(`${gateway.url}/gw/sms/${id}`, { token: account.token })
    return (body as { description: string }).description
  }, LONG)

test('the first part is taken and the others are lost: only they are sent again, and all are delivered', async () => {
  const world = await workWith(4_000, {
    onSubmit(pdu, connection, count) {
      if (count !== 2 && count !== 3) connection.answer(pdu, 0, Buffer.from(`part-${partOf(pdu.body)}\0`))
    },
  })
  const id = await accept()
  await described(id).toBe('Em verificação')
  await world.deliver('part-1')
  await described(id).toBe('Enviado')
  expect(world.parts()).toEqual([1, 2, 3, 2, 3])
  for (const name of ['part-3', 'part-2']) await world.deliver(name)
  await described(id).toBe('Entregue')
})

test('answers that come late settle it, and the receipts that name them are found', async () => {
  const late: (() => void)[] = []
  const world = await workWith(60_000, {
    onSubmit: (pdu, connection) => void late.push(() => connection.answer(pdu, 0, Buffer.from(`late-${partOf(pdu.body)}\0`))),
  })
  const id = await accept()
  await described(id).toBe('Em verificação')
  for (const answer of late.splice(0)) answer()
  await described(id).toBe('Enviado')
  for (const name of ['late-1', 'late-2', 'late-3']) await world.deliver(name)
  await described(id).toBe('Entregue')
  expect(world.parts()).toEqual([1, 2, 3])
})

test('one part is refused for good after the carrier took others: a person decides, and no part leaves twice', async () => {
  const world = await workWith(
    10,
    {
      onSubmit: (pdu, connection, count) =>
        connection.answer(pdu, count === 2 ? 0x65 : 0, Buffer.from(`kept-${partOf(pdu.body)}\0`)),
    },
    'person',
  )
  const { pool } = database
  const id = await accept()
  const told = async () => {
    const text = `select type, data->>'reason' as reason from event where notification_id = $1 and type in ('uncertain', 'unresolved') order by seq`
    return (await pool.query<{ type: string; reason: string }>(text, [id])).rows
  }
  await expect.poll(told, LONG).toEqual([
    {
      type: 'uncertain',
      reason:
        'A mensagem foi em partes: a operadora recusou uma e aceitou outra. Motivo da recusa: A operadora recusou a mensagem.',
    },
    { type: 'unresolved', reason: expect.stringContaining('uma pessoa precisa conferir') },
  ])
  await described(id).toBe('Em verificação')
  expect(world.parts()).toEqual([1, 2, 3])
  // The names of the parts that were taken are kept: their receipts are found.
  for (const name of ['kept-1', 'kept-3']) await world.deliver(name)
  await repairDelivery(pool, Date.now, { notification: id, channel: 'sms', repair: 'retry', by: 'Ana' })
  await described(id).toBe('Enviado')
  expect(world.parts()).toEqual([1, 2, 3, 2])
  await world.deliver('kept-2')
  await described(id).toBe('Entregue')
})
