import { afterEach, expect, test } from 'vitest'
import { SendError } from '../../../src/channels/provider.js'
import { FilesUnavailable } from '../../../src/domain/errors.js'
import type { Claim } from '../../../src/store/delivery/claims.js'
import { readOldestLate } from '../../../src/store/delivery/queue-depth.js'
import { gatewayForFile } from '../../support/gateway/gateway.js'
import {
  endWork,
  refused,
  ScriptedCarrier,
  startTestWorker,
  type TestLane,
  type TestWorker,
} from '../../support/gateway/lanes.js'
import { request, send, validSend } from '../../support/gateway/requests.js'

/** Carriers of one channel that cannot all do the same, and one that asks for a moment. */
let worker: TestWorker | undefined

const { database, gateway, account } = await gatewayForFile()

afterEach(() => endWork(database.pool, worker))

const work = (...lanes: TestLane[]): void => {
  worker = startTestWorker(database.pool, lanes)
}

const accept = async (): Promise<string> =>
  ((await send(gateway.url, account.token, validSend)).body as { idEmail: string }).idEmail

const described = (id: string) =>
  expect.poll(
    async () =>
      ((await request(`${gateway.url}/gw/email/${id}`, { token: account.token })).body as { description: string }).description,
  )

const stored = async (id: string): Promise<Record<string, unknown>> =>
  (
    await database.pool.query(
      "select state, attempt, carrier, lease_owner as owner, due_at > now() as later from delivery where notification_id = $1 and channel = 'email'",
      [id],
    )
  ).rows[0]

/** Of the oldest late delivery, as if this notification had been accepted ten minutes ago. */
async function ageOf(id: string): Promise<number | undefined> {
  await database.tamper("update notification set accepted_at = now() - interval '10 minutes' where id = $1", [id])
  return (await readOldestLate(database.pool, ['email'])).find(({ mode }) => mode === 'live')?.seconds
}

/** A carrier that can carry nothing of what comes here, and says so when it is asked to. */
function unable(): ScriptedCarrier {
  const carrier = new ScriptedCarrier(() => Promise.reject(refused('permanent')))
  carrier.lacks = () => true
  return carrier
}

test.each([
  ['preferred', true],
  ['second', false],
])('what the %s carrier cannot carry goes by the other, as one attempt', async (_, first) => {
  const [cannot, can] = [unable(), new ScriptedCarrier()]
  const lanes: TestLane[] = [
    { name: 'cannot', carrier: cannot },
    { name: 'can', carrier: can },
  ]
  work(...(first ? lanes : lanes.reverse()))
  const ids = await Promise.all(Array.from({ length: 60 }, accept))
  for (const id of ids) await described(id).toBe('Enviado')
  expect(cannot.got).toEqual([])
  expect(can.got.map(({ notification, attempt }) => `${notification} ${attempt}`).sort()).toEqual(ids.map(id => `${id} 1`).sort())
  expect(await stored(ids[0]!)).toMatchObject({ state: 'done', carrier: 'can', attempt: 1 })
  const { rows } = await database.pool.query("select data from event where notification_id = $1 and type = 'sent'", [ids[0]])
  expect(rows).toMatchObject([{ data: { carrier: 'can', reference: `${ids[0]}.email.1` } }])
})

test('what one carrier passes on to another counts against the rate of that one, and not against its own', async () => {
  const [cannot, can] = [unable(), new ScriptedCarrier()]
  let allows = false
  let given = 0
  const own = {
    perSecond: 100,
    take: async (want: number) => ({ granted: want, waitMs: 0 }),
    giveBack: async (count: number) => {
      given += count
    },
  }
  work(
    { name: 'cannot', carrier: cannot, options: { rate: own } },
    {
      name: 'can',
      carrier: can,
      options: {
        rate: { perSecond: 1, take: async want => ({ granted: allows ? want : 0, waitMs: 20 }), giveBack: async () => {} },
      },
    },
  )
  const id = await accept()
  // The grants of a claim are 20: one message is claimed, 19 are given back at once, and this one's afterwards.
  await expect.poll(() => given % 20 === 0 && given > 0).toBe(true)
  await expect.poll(() => stored(id)).toMatchObject({ state: 'queued', attempt: 0 })
  expect(can.got).toEqual([])
  allows = true
  await described(id).toBe('Enviado')
  expect(can.got).toMatchObject([{ notification: id, attempt: 1 }])
})

test('what only an absent carrier can carry waits for it without spending attempts, and its age counts on', async () => {
  const can = new ScriptedCarrier()
  Object.assign(can, { ready: false })
  work({ name: 'can', carrier: can }, { name: 'cannot', carrier: unable() })
  const id = await accept()
  await expect
    .poll(() => stored(id), { timeout: 120_000 })
    .toMatchObject({ state: 'queued', attempt: 0, owner: null, later: true })
  expect(await ageOf(id)).toBeGreaterThanOrEqual(600)
  Object.assign(can, { ready: true })
  await database.pool.query('update delivery set due_at = now() where notification_id = $1', [id])
  worker!.wakes.notify()
  await described(id).toBe('Enviado')
  const { rows } = await database.pool.query('select type from event where notification_id = $1 order by seq', [id])
  expect(rows.map(({ type }) => type)).toEqual(['accepted', 'sent'])
})

test.each([
  ['a destination that pauses', new SendError('temporary', 'O destino está em pausa.', { untried: true, retryAfterMs: 60_000 })],
  ['files that are away', new FilesUnavailable('O lugar dos arquivos não responde.')],
])('%s puts a message back, which does not reset its age; one that goes has none', async (_, away) => {
  let isAway = true
  const carrier = new ScriptedCarrier()
  const prepare = async ({ notification, reference, attempt }: Claim) => {
    if (isAway) throw away
    return { notification, reference, attempt }
  }
  // What is put back for longer than the whole plan uses up attempts: on a busy machine a short plan is over at once.
  work({ carrier, options: { prepare, retryDelaysMs: Array<number>(3).fill(3_600_000) } })
  const id = await accept()
  await expect.poll(() => stored(id)).toMatchObject({ state: 'queued', attempt: 0, owner: null, later: true })
  expect(await ageOf(id)).toBeGreaterThanOrEqual(600)
  isAway = false
  await database.pool.query('update delivery set due_at = now() where notification_id = $1', [id])
  worker!.wakes.notify()
  await described(id).toBe('Enviado')
  expect(carrier.got).toMatchObject([{ attempt: 1 }])
  expect(await ageOf(id)).toBeUndefined()
})

test('what no carrier can carry is refused by the one that it came to', async () => {
  const alone = unable()
  work({ name: 'cannot', carrier: alone }, { name: 'cannot either', carrier: unable() })
  const id = await accept()
  await described(id).toBe('Falha no envio')
  expect(alone.got).toHaveLength(1)
})

test('a carrier that asks for a moment keeps its messages; one that asks for long, or again and again, does not', async () => {
  const [first, second] = [
    new ScriptedCarrier(({ attempt }) => (attempt === 1 ? Promise.reject(refused('throttled', 1_000)) : {})),
    new ScriptedCarrier(),
  ]
  work({ name: 'first', carrier: first }, { name: 'second', carrier: second })
  const brief = await accept()
  await expect.poll(() => first.got.length).toBe(1)
  const next = await accept()
  for (const id of [brief, next]) await described(id).toBe('Enviado')
  expect(second.got).toEqual([])
  await worker!.stop()
  const slow = new ScriptedCarrier(() => Promise.reject(refused('throttled', 3_600_000)))
  work({ name: 'first', carrier: slow }, { name: 'second', carrier: second })
  const long = await accept()
  await expect.poll(() => worker!.lanes[0]!.open).toBe(false)
  for (const id of [long, await accept()]) await described(id).toBe('Enviado')
  expect(second.got).toHaveLength(2)
  await worker!.stop()
  const endless = new ScriptedCarrier(() => Promise.reject(refused('throttled', 1)))
  work({ name: 'first', carrier: endless, options: { retryDelaysMs: Array(200).fill(20) } }, { name: 'second', carrier: second })
  const many = await Promise.all(Array.from({ length: 10 }, accept))
  for (const id of many) await described(id).toBe('Enviado')
  expect(second.got).toHaveLength(12)
})
