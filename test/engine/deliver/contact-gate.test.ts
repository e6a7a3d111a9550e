import { afterEach, expect, test } from 'vitest'
import { moduleOf } from '../../../src/channels/registry.js'
import { FilesUnavailable, StoreBusy } from '../../../src/domain/errors.js'
import { createContactGate } from '../../../src/engine/deliver/contact-gate.js'
import type { LaneOptions } from '../../../src/engine/deliver/lane-options.js'
import { deleteOldContacts } from '../../../src/store/delivery/contacts.js'
import { findComing } from '../../../src/store/delivery/deliveries.js'
import { readOldestLate } from '../../../src/store/delivery/queue-depth.js'
import { createAccount, gatewayForFile, type TestAccount } from '../../support/gateway/gateway.js'
import {
  endWork,
  type Parcel,
  refused,
  type Script,
  ScriptedCarrier,
  startTestWorker,
  type TestWorker,
} from '../../support/gateway/lanes.js'
import { request, send, validSend } from '../../support/gateway/requests.js'

/** A Tuesday at noon in Brasília. */
const OPEN = new Date('2027-07-06T15:00:00Z')
const NIGHT = new Date('2027-07-07T02:00:00Z')
const SMS = "d.channel = 'sms'"

const { database, gateway, account } = await gatewayForFile()
let workers: TestWorker[] = []
let now = OPEN

afterEach(async () => {
  await endWork(database.pool, ...workers)
  await database.pool.query('delete from contact_day; delete from contact_content')
  workers = []
  now = OPEN
})

/** A worker whose carrier is real, at the hour of `now`. */
function work(script?: Script, options: Partial<LaneOptions<Parcel>> = {}, channel = 'sms'): ScriptedCarrier {
  const carrier = new ScriptedCarrier(script)
  const clock = () => now.getTime()
  const contact = createContactGate(moduleOf(channel), database.pool, clock)!
  workers.push(startTestWorker(database.pool, [{ carrier, channel, options: { clock, contact, ...options } }]))
  return carrier
}

let texts = 0
const number = '11987654321'

/** An SMS that goes at once, with a text of its own. */
async function accept(sms: object = {}, more: object = {}, { token }: TestAccount = account): Promise<string> {
  const part = { number, typeSend: '2', customMessage: `Aviso ${++texts}`, ...sms }
  return ((await send(gateway.url, token, { ...validSend, to: undefined, sms: part, ...more })).body as { idEmail: string })
    .idEmail
}

const described = (id: string, { token }: TestAccount = account) =>
  expect.poll(async () => ((await request(`${gateway.url}/gw/sms/${id}`, { token })).body as { description: string }).description)

const eventsOf = async (id: string): Promise<{ type: string; data: Record<string, unknown> }[]> =>
  (await database.pool.query('select type, data from event where notification_id = $1 order by seq', [id])).rows
const typesOf = async (id: string): Promise<string[]> => (await eventsOf(id)).map(({ type }) => type)

const rowOf = async (id: string) =>
  (
    await database.pool.query(
      `select d.state, d.attempt, d.lease_owner, round(extract(epoch from d.due_at - now()))::int as seconds from delivery d where d.notification_id = $1 and ${SMS}`,
      [id],
    )
  ).rows[0] as { state: string; attempt: number; lease_owner: string | null; seconds: number }

const countedOf = async (): Promise<number> =>
  (await database.pool.query('select coalesce(sum(cardinality(messages)), 0)::int as count from contact_day')).rows[0].count

/** As if the wait of every delivery were over. */
const passTime = () => database.pool.query("update delivery set due_at = now() where state = 'queued'")

test('outside the hours a message waits until they begin, says why, and spends no attempt', async () => {
  now = NIGHT
  const carrier = work()
  const id = await accept()
  await expect.poll(() => typesOf(id)).toEqual(['accepted', 'postponed'])
  const [, postponed] = await eventsOf(id)
  const reason =
    'SMS espera até 07/07/2027 08:00:00: o horário de contato é seg-sex 08:00-20:00; sab 08:00-14:00, hora de Brasília.'
  expect(postponed).toMatchObject({ data: { channel: 'sms', rule: 'hours', until: '2027-07-07T11:00:00.000Z', reason } })
  const row = await rowOf(id)
  expect(row).toMatchObject({ state: 'queued', attempt: 0, lease_owner: null })
  expect(row.seconds).toBeGreaterThan(9 * 3600 - 60)
  expect(row.seconds).toBeLessThanOrEqual(9 * 3600)
  const [coming] = (await findComing(database.pool, { account: account.id, mode: 'live' }, id))!
  expect(coming).toMatchObject({ state: 'queued', reason })
  const { body } = await request(`${gateway.url}/gw/sequence/${id}`, { token: account.token })
  expect(body).toMatchObject({ data: [{ canal: 'sms', motivo: reason, descricao: reason }] })
  await described(id).toBe('Processado')
  expect(carrier.got).toEqual([])

  now = new Date('2027-07-07T11:00:01Z')
  await passTime()
  await described(id).toBe('Enviado')
  expect(carrier.got).toMatchObject([{ attempt: 1, reference: `${id}.sms.1` }])
})

test('the hours are those of the recipient’s area code', async () => {
  now = new Date('2027-07-06T23:30:00Z')
  const carrier = work()
  const late = await accept()
  const manaus = await accept({ number: '92987654321' })
  await described(manaus).toBe('Enviado')
  await expect.poll(() => typesOf(late)).toEqual(['accepted', 'postponed'])
  expect(carrier.got.map(({ notification }) => notification)).toEqual([manaus])
})

test('what waits for the hours is not late, even if it was put back before; once it is tried and fails, it is', async () => {
  const isLate = async (): Promise<boolean> => (await readOldestLate(database.pool, ['sms'])).some(({ mode }) => mode === 'live')
  now = NIGHT
  let isAway = true
  const carrier = work(() => Promise.reject(refused('temporary')), {
    prepare: async ({ notification, reference, attempt }) => {
      if (isAway) throw new FilesUnavailable('O lugar dos arquivos não responde.')
      return { notification, reference, attempt }
    },
    // Longer than this clock is ahead: what is put back for longer than the whole plan uses up attempts.
    retryDelaysMs: Array<number>(20).fill(365 * 86_400_000),
  })
  const id = await accept()
  await expect.poll(() => rowOf(id)).toMatchObject({ state: 'queued', attempt: 0, lease_owner: null })
  await expect.poll(isLate).toBe(true)
  isAway = false
  await passTime()
  await expect.poll(() => typesOf(id)).toEqual(['accepted', 'postponed'])
  expect(await isLate()).toBe(false)
  now = new Date('2027-07-07T11:00:01Z')
  await passTime()
  await expect.poll(() => typesOf(id)).toEqual(['accepted', 'postponed', 'retried'])
  expect(await isLate()).toBe(true)
  now = new Date('2027-07-08T02:00:00Z')
  await passTime()
  await expect.poll(() => typesOf(id)).toEqual(['accepted', 'postponed', 'retried', 'postponed'])
  expect(await isLate()).toBe(false)
  expect(carrier.got).toHaveLength(1)
})

test('a wait that ends in a moment is no event, and does not make a message late', async () => {
  now = new Date('2027-07-07T10:59:59Z')
  let asked = 0
  const contact = createContactGate(moduleOf('sms'), database.pool, () => now.getTime())!
  work(undefined, {
    contact: claim => {
      asked++
      return contact(claim)
    },
  })
  const id = await accept()
  await expect.poll(() => asked).toBeGreaterThan(0)
  await expect.poll(async () => (await rowOf(id)).state).toBe('queued')
  const { rows } = await database.pool.query('select delayed from delivery where notification_id = $1', [id])
  expect(rows).toEqual([{ delayed: null }])
  now = new Date('2027-07-07T11:00:01Z')
  await described(id).toBe('Enviado')
  expect(await typesOf(id)).toEqual(['accepted', 'sent'])
})

test('a person gets as many messages in a day as the account allows, however many are sent at once by several workers', async () => {
  const [first, second] = [work(), work()]
  const ids = await Promise.all(Array.from({ length: 12 }, () => accept()))
  await expect.poll(async () => (await Promise.all(ids.map(typesOf))).filter(types => types.length === 1).length).toBe(0)
  expect(first.got.length + second.got.length).toBe(3)
  expect(await countedOf()).toBe(3)
  const types = (await Promise.all(ids.map(typesOf))).map(([, last]) => last)
  expect(types.filter(type => type === 'sent')).toHaveLength(3)
  const waiting = (await Promise.all(ids.map(eventsOf))).map(([, last]) => last!).filter(({ type }) => type === 'postponed')
  expect(waiting).toHaveLength(9)
  for (const { data } of waiting) expect(data).toMatchObject({ rule: 'perDay', until: '2027-07-07T11:00:00.000Z' })
  // Somebody else is not concerned, and the next day has places again.
  await described(await accept({ number: '11976543210' })).toBe('Enviado')
  now = new Date('2027-07-07T12:00:00Z')
  await passTime()
  await expect.poll(() => first.got.length + second.got.length).toBe(7)
})

test('attempts of which nothing left are no contacts, and the same message counts once', async () => {
  const carrier = work(({ attempt }) => {
    if (attempt < 3) throw refused('temporary')
    return {}
  })
  const id = await accept()
  await described(id).toBe('Enviado')
  expect(carrier.got).toHaveLength(3)
  expect(await countedOf()).toBe(1)
})

test('a message that the carrier refuses for good is no contact; one that may have left is', async () => {
  work(() => Promise.reject(refused('permanent')))
  const id = await accept()
  await described(id).toBe('Falha no envio')
  expect(await countedOf()).toBe(0)
  await endWork(database.pool, ...workers)
  workers = []
  const carrier = new ScriptedCarrier(() => Promise.reject(refused('uncertain')))
  const clock = () => now.getTime()
  const contact = createContactGate(moduleOf('sms'), database.pool, clock)!
  workers.push(startTestWorker(database.pool, [{ carrier, channel: 'sms', whenUnknown: 'never', options: { clock, contact } }]))
  const lost = await accept()
  await described(lost).toBe('Em verificação')
  expect(await countedOf()).toBe(1)
})

test('a second call of the same notification is a contact of its own', async () => {
  const carrier = work(undefined, {}, 'voice')
  const settings = { 'voice.perDay': 1 }
  const own = await createAccount(database.pool, { settings })
  const body = { ...validSend, to: undefined, voz: { number } }
  const id = ((await send(gateway.url, own.token, body)).body as { idEmail: string }).idEmail
  await expect.poll(() => carrier.got.length).toBe(1)
  await expect.poll(() => typesOf(id)).toContain('sent')
  const { recorder } = workers[0]!
  const fact = { channel: 'voice', type: 'again', at: new Date(), source: 'report:scripted', data: { ordinal: 1 } } as const
  await recorder.record({ kind: 'fact', notification: id, fact })
  await passTime()
  await expect.poll(() => typesOf(id)).toEqual(['accepted', 'sent', 'again', 'postponed'])
  expect(carrier.got).toHaveLength(1)
  expect((await eventsOf(id)).at(-1)).toMatchObject({ data: { rule: 'perDay', until: '2027-07-07T12:00:00.000Z' } })
})

test('the same message is not sent to the same person again, and the timeline names the first one', async () => {
  const carrier = work()
  const first = await accept({ customMessage: 'O mesmo aviso' })
  await described(first).toBe('Enviado')
  const again = await accept({ customMessage: 'O mesmo aviso' })
  await described(again).toBe('Não enviado: mensagem repetida')
  expect((await eventsOf(again)).at(-1)).toMatchObject({
    type: 'cancelled',
    data: {
      cancelReason: 'repeated',
      earlier: first,
      reason: `SMS não enviado: a pessoa recebeu a mesma mensagem há menos de 24 h (idEmail ${first}).`,
    },
  })
  expect(await rowOf(again)).toMatchObject({ state: 'cancelled', attempt: 0 })
  for (const [sms, more] of [
    [{ customMessage: 'Outro aviso' }, {}],
    [{ customMessage: 'O mesmo aviso' }, { allowDuplicate: true }],
    [{ customMessage: 'O mesmo aviso', number: '11976543210' }, {}],
    [{ customMessage: 'O mesmo aviso', number: '11965432109' }, { content: '<p>Outro conteúdo</p>' }],
  ])
    await described(await accept(sms, more)).toBe('Enviado')
  expect(carrier.got).toHaveLength(5)
  await database.pool.query("update contact_content set at = now() - interval '25 hours'")
  await database.pool.query('delete from contact_day')
  await described(await accept({ customMessage: 'O mesmo aviso' })).toBe('Enviado')
})

test('of two equal messages at once one is sent; if it fails, the other one is not lost', async () => {
  let failing = ''
  const carrier = work(({ notification }) => {
    failing ||= notification
    if (notification === failing) throw refused('permanent')
    return {}
  })
  const ids = await Promise.all([accept({ customMessage: 'Igual' }), accept({ customMessage: 'Igual' })])
  await expect.poll(async () => (await Promise.all(ids.map(typesOf))).flat().includes('failed')).toBe(true)
  const other = ids.find(id => id !== failing)!
  await expect
    .poll(async () => {
      await passTime()
      return (await typesOf(other)).at(-1)
    })
    .toBe('sent')
  expect(carrier.got).toHaveLength(2)
})

test('one that is still under way is waited for', async () => {
  now = NIGHT
  work()
  const first = await accept({ customMessage: 'Ainda vai' })
  await expect.poll(() => typesOf(first)).toEqual(['accepted', 'postponed'])
  now = OPEN
  // The first one took the content, and its carrier is slow to take the message.
  await database.pool.query(
    `insert into contact_content select account_id, mode, channel, recipient,
       (select sha256('x') ), notification_id, now() from delivery d where notification_id = $1 and ${SMS}`,
    [first],
  )
  const waits = async (): Promise<unknown> => {
    const second = await accept({ customMessage: 'Ainda vai' })
    await expect.poll(async () => (await typesOf(second)).length).toBeGreaterThan(1)
    await database.pool.query(`update contact_content set notification_id = $1 where fingerprint <> sha256('x')`, [first])
    return (await eventsOf(second)).at(-1)
  }
  expect(await waits()).toMatchObject({ type: 'sent' })
  expect(await waits()).toMatchObject({
    type: 'postponed',
    data: { rule: 'repeat', reason: expect.stringContaining(`(idEmail ${first})`) },
  })
})

test('an account turns single rules, or all of them, off', async () => {
  now = new Date('2027-03-26T15:00:00Z')
  const carrier = work()
  const good = await createAccount(database.pool)
  const worldly = await createAccount(database.pool, { settings: { 'contact.holidays': 'none' } })
  const free = await createAccount(database.pool, { settings: { 'contact.rules': false } })
  const open = await createAccount(database.pool, {
    settings: { 'sms.hours': 'sempre', 'sms.perDay': 0, 'contact.repeat.hours': 0 },
  })
  const kept = await accept({}, {}, good)
  await expect.poll(() => typesOf(kept)).toEqual(['accepted', 'postponed'])
  expect((await eventsOf(kept)).at(-1)?.data.reason).toBe('SMS espera até 27/03/2027 08:00:00: é feriado (Sexta-feira Santa).')
  await described(await accept({}, {}, worldly), worldly).toBe('Enviado')
  now = NIGHT
  for (const owner of [free, open])
    for (let sent = 0; sent < 5; sent++)
      await described(await accept({ customMessage: 'Igual' }, {}, owner), owner).toBe('Enviado')
  expect(carrier.got).toHaveLength(11)
})

test('while the rules cannot be asked nothing leaves, and no attempt is spent', async () => {
  let asked = 0
  const contact = createContactGate(moduleOf('sms'), database.pool, () => now.getTime())!
  const carrier = work(undefined, {
    contact: claim => (++asked < 3 ? Promise.reject(new StoreBusy(null)) : contact(claim)),
    retryDelaysMs: [60_000, 60_000],
  })
  const id = await accept()
  await described(id).toBe('Enviado')
  expect(carrier.got).toMatchObject([{ attempt: 1 }])
  expect(await typesOf(id)).toEqual(['accepted', 'sent'])
})

test('old counts are deleted, those of today stay', async () => {
  work()
  await described(await accept()).toBe('Enviado')
  await database.pool.query('update contact_day set day = current_date; update contact_content set at = now()')
  await deleteOldContacts(database.pool)
  expect(await countedOf()).toBe(1)
  await database.pool.query(
    "update contact_day set day = current_date - 5; update contact_content set at = now() - interval '40 days'",
  )
  await deleteOldContacts(database.pool)
  expect(await countedOf()).toBe(0)
  expect((await database.pool.query('select from contact_content')).rowCount).toBe(0)
})

/** As a process that is killed: what it holds stays claimed, and its lease runs out. */
const expireLeases = () =>
  database.pool.query("update delivery set lease_until = now() - interval '1 second' where state = 'sending'")

test('a worker that dies after the message was counted neither loses the count nor doubles it', async () => {
  const gate = createContactGate(moduleOf('sms'), database.pool, () => now.getTime())!
  let deaths = 0
  const carrier = work(undefined, {
    contact: async claim => {
      const verdict = await gate(claim)
      if (++deaths > 1) return verdict
      expect(verdict).toEqual({ kind: 'go' })
      // Dies here: its lease runs out, and what it still does is refused.
      await expireLeases()
      await expect.poll(async () => (await typesOf(claim.notification)).length).toBeGreaterThan(1)
      throw new StoreBusy(null)
    },
  })
  const id = await accept()
  await described(id).toBe('Enviado')
  expect(carrier.got).toMatchObject([{ reference: `${id}.sms.1` }])
  expect(await countedOf()).toBe(1)
  expect(await typesOf(id)).toEqual(['accepted', 'retried', 'sent'])
})

test('a worker that dies before the wait is recorded leaves a message that the next one postpones', async () => {
  now = NIGHT
  let deaths = 0
  const gate = createContactGate(moduleOf('sms'), database.pool, () => now.getTime())!
  const carrier = work(undefined, {
    contact: async claim => {
      if (++deaths === 1) {
        await expireLeases()
        await expect.poll(async () => (await typesOf(claim.notification)).length).toBeGreaterThan(1)
      }
      // The first one wakes up late: its outcome is fenced.
      return gate(claim)
    },
  })
  const id = await accept()
  await expect.poll(() => typesOf(id)).toEqual(['accepted', 'retried', 'postponed'])
  expect(deaths).toBe(2)
  expect(carrier.got).toEqual([])
  expect(await rowOf(id)).toMatchObject({ state: 'queued', attempt: 1, lease_owner: null })
})
