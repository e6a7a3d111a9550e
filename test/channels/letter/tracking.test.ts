import { expect, test } from 'vitest'
import { claimTracked, type TrackedLetters } from '../../../src/channels/letter/letter-store.js'
import type { PostEvent, Rastro } from '../../../src/channels/letter/rastro.js'
import { trackLetters } from '../../../src/channels/letter/tracking.js'
import { createRecorder } from '../../../src/engine/record/recorder.js'
import { Wake } from '../../../src/runtime/wake.js'
import { gatewayForFile } from '../../support/gateway/gateway.js'
import { request, send, validSend } from '../../support/gateway/requests.js'

/** Asking the post about letters on their way. */

const { database, gateway, account } = await gatewayForFile()

async function posted(code: string, carrier = 'print-shop:a.example/1'): Promise<string> {
  const { to: _, ...rest } = validSend
  const { body } = await send(gateway.url, account.token, { ...rest, carta: { name: 'Maria' } })
  const id = (body as { idEmail: string }).idEmail
  await database.pool.query(
    "update delivery set state = 'done', processed_at = now(), prepared_at = now(), sent_at = now(), tracking_code = $2, carrier = $3 where notification_id = $1",
    [id, code, carrier],
  )
  return id
}

const statusOf = async (id: string) => (await request(`${gateway.url}/gw/carta/${id}`, { token: account.token })).body
const forget = () => database.pool.query('delete from letter_tracking')
const REAL: TrackedLetters = { simulated: false, modes: ['live'] }
const note = (text: string): PostEvent => ({ at: new Date(), type: 'note', text })

const { record: recordChange } = createRecorder(database.pool, Date.now, new Wake())

function track(rastro: Rastro, everyMs = 60_000, tracked: TrackedLetters = REAL, record = recordChange): Promise<void> {
  return trackLetters({
    pool: database.pool,
    record,
    rastro,
    tracked,
    everyMs,
  })
}

test('each letter is asked about in its turn, fifty at a time, and no longer once it has arrived', async () => {
  const ids = await Promise.all(Array.from({ length: 60 }, (_, n) => posted(`C${n}`)))
  const asked: number[] = []
  const rastro: Rastro = {
    async track(codes) {
      asked.push(codes.length)
      return new Map(codes.map(code => [code, [{ at: new Date(), type: 'delivered', text: 'Entregue' }]]))
    },
  }
  await track(rastro)
  expect(asked).toEqual([50, 10])
  expect(await statusOf(ids[0]!)).toMatchObject({ description: 'Entregue' })
  await forget()
  await track(rastro)
  expect(asked).toEqual([50, 10])
})

test('a letter that was asked about rests until its time', async () => {
  await posted('R1')
  let asked = 0
  const rastro: Rastro = { track: async () => new Map(void asked++ as unknown as []) }
  await track(rastro)
  await track(rastro)
  expect(asked).toBe(1)
  await makeDue()
  await track(rastro)
  expect(asked).toBe(2)
  await database.pool.query("update delivery set failure = 'rejected' where tracking_code = 'R1'")
})

const makeDue = () => database.pool.query("update letter_tracking set due_at = now() - interval '1 second'")
const notesOf = async (id: string): Promise<string[]> => {
  const { rows } = await database.pool.query(
    "select data->>'answer' as text from event where notification_id = $1 and type = 'note' order by seq",
    [id],
  )
  return rows.map(({ text }) => text)
}
const giveUp = (code: string) => database.pool.query("update delivery set failure = 'rejected' where tracking_code = $1", [code])

test('an older entry of the history that comes late is noted, and no other one again; the same words at another time are another entry', async () => {
  const id = await posted('L2')
  const at = (minute: number, text: string): PostEvent => ({ ...note(text), at: new Date(Date.UTC(2026, 0, 1, 12, minute)) })
  let events = [at(2, 'Em trânsito'), at(4, 'Em trânsito')]
  const rastro: Rastro = { track: async () => new Map([['L2', events]]) }
  await track(rastro)
  expect(await notesOf(id)).toEqual(['Em trânsito', 'Em trânsito'])
  events = [at(1, 'Recebido na unidade'), ...events]
  await makeDue()
  await track(rastro)
  events = [...events.slice(0, 2), at(3, 'Encaminhado'), events[2]!, at(5, 'Saiu para entrega')]
  await makeDue()
  await track(rastro)
  expect(await notesOf(id)).toEqual(['Em trânsito', 'Em trânsito', 'Recebido na unidade', 'Encaminhado', 'Saiu para entrega'])
  await giveUp('L2')
})

test('a history that was recorded in part is recorded whole the next time, and each entry once', async () => {
  const id = await posted('L3')
  const history = new Map([['L3', [note('Em trânsito'), note('Saiu para entrega')]]])
  const rastro: Rastro = { track: async () => history }
  let recorded = 0
  const failing: typeof recordChange = change =>
    recorded++ === 0 ? recordChange(change) : Promise.reject(new Error('sem banco'))
  await expect(track(rastro, 60_000, REAL, failing)).rejects.toThrow('sem banco')
  await makeDue()
  await track(rastro)
  expect(await notesOf(id)).toEqual(['Em trânsito', 'Saiu para entrega'])
  await giveUp('L3')
})

test('a letter that two nodes claim at once is asked about by one of them', async () => {
  const id = await posted('L4')
  await track({ track: async () => new Map() })
  await makeDue()
  const [first, second] = [await database.pool.connect(), await database.pool.connect()]
  try {
    const claim = (db: typeof first) => claimTracked(db, REAL, 60_000, 50)
    for (const client of [first, second]) await client.query('begin')
    expect((await claim(first)).map(({ notification }) => notification)).toContain(id)
    const { pid } = (await second.query('select pg_backend_pid() as pid')).rows[0]
    const rival = claim(second)
    const blocked = async () => (await database.pool.query('select pg_blocking_pids($1) as by', [pid])).rows[0].by.length
    await expect.poll(blocked).toBe(1)
    await first.query('commit')
    expect(await rival).toEqual([])
    await second.query('commit')
  } finally {
    for (const client of [first, second]) client.release()
  }
  await giveUp('L4')
})

test('the post’s words are kept once, and one that it slips in late is not missed', async () => {
  const id = await posted('L1')
  let events: PostEvent[] = [note('Em trânsito'), note('Saiu para entrega')]
  const rastro: Rastro = { track: async () => new Map([['L1', events]]) }
  const again = async () => {
    await makeDue()
    await track(rastro)
  }
  await track(rastro)
  await again()
  // Dated before what is known already.
  events = [{ at: new Date(0), type: 'failed', text: 'Não entregue', failure: 'returned', reason: 'Mudou-se' }, ...events]
  await again()
  expect(await statusOf(id)).toMatchObject({ description: 'Devolvida: Mudou-se', error: true })
  expect(await notesOf(id)).toEqual(['Em trânsito', 'Saiu para entrega'])
})

test('a post that does not answer changes nothing', async () => {
  const id = await posted('N1')
  const before = await statusOf(id)
  await expect(track({ track: () => Promise.reject(new Error('fora do ar')) })).rejects.toThrow('fora do ar')
  expect(await statusOf(id)).toEqual(before)
})

test('the real post is not asked about the codes that a simulated carrier made up, nor the simulated one about real letters', async () => {
  await database.pool.query("update delivery set failure = 'rejected' where tracking_code is not null")
  await posted('AA473124829BR', 'simulator/print-shop')
  await posted('AA473124830BR')
  const asked: string[] = []
  const rastro: Rastro = {
    async track(codes) {
      asked.push(...codes)
      return new Map()
    },
  }
  await track(rastro)
  expect(asked.splice(0)).toEqual(['AA473124830BR'])
  await track(rastro, 0, { simulated: true, modes: ['test'] })
  expect(asked.splice(0)).toEqual([])
  await track(rastro, 60_000, { simulated: true, modes: ['live', 'test'] })
  expect(asked).toEqual(['AA473124829BR'])
})
