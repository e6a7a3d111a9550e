import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { SendError } from '../../../src/channels/provider.js'
import { StoreBusy } from '../../../src/domain/errors.js'
import { recordChanges } from '../../../src/engine/record/record.js'
import { engineTiming } from '../../../src/engine/timing.js'
import { findReference } from '../../../src/store/carrier/references.js'
import { type Claim, claimDeliveries, findExpiredLeases } from '../../../src/store/delivery/claims.js'
import { createAccount, gatewayForFile } from '../../support/gateway/gateway.js'
import {
  type Parcel,
  refused,
  ScriptedCarrier,
  startTestWorker,
  type TestWorker,
  workersForTests,
} from '../../support/gateway/lanes.js'
import { request, send, validSend } from '../../support/gateway/requests.js'

const { database, gateway, account } = await gatewayForFile()

const { workers, work } = workersForTests(database.pool)

const accept = async (body: object = {}, token = account.token): Promise<string> =>
  ((await send(gateway.url, token, { ...validSend, ...body })).body as { idEmail: string }).idEmail

const status = async (channel: string, id: string): Promise<Record<string, unknown>> =>
  (await request(`${gateway.url}/gw/${channel}/${id}`, { token: account.token })).body as Record<string, unknown>

const described = (channel: string, id: string) => expect.poll(async () => (await status(channel, id)).description)

const eventsOf = async (id: string): Promise<{ type: string; data: Record<string, unknown> }[]> =>
  (await database.pool.query('select type, data from event where notification_id = $1 order by seq', [id])).rows

test('what was accepted is sent once, and the status and the chain say so', async () => {
  const carrier = new ScriptedCarrier()
  work({ carrier })
  const ids = await Promise.all(Array.from({ length: 100 }, () => accept()))
  for (const id of ids) await described('email', id).toBe('Enviado')
  expect(carrier.got.map(parcel => parcel.notification).sort()).toEqual([...ids].sort())
  expect(await eventsOf(ids[0]!)).toMatchObject([
    { type: 'accepted' },
    {
      type: 'sent',
      data: { channel: 'email', carrier: 'scripted', reference: `${ids[0]}.email.1`, attempt: 1, answer: '250 OK' },
    },
  ])
})

test("the recipient's own exchanger confirms delivery, and the SMS of typeSend '1' is not needed", async () => {
  work({ carrier: new ScriptedCarrier(() => ({ delivered: true })) })
  const id = await accept({ sms: { number: '11987654321' } })
  await described('email', id).toBe('Entregue')
  expect((await status('sms', id)).description).toBe('Não enviado: e-mail entregue')
})

test('that the exchanger took it is known with the send or not at all: no crash comes between', async () => {
  let recorder: TestWorker['recorder'] | undefined
  let calls = 0
  // Dies with its first answer: nothing that it would write afterwards is written.
  const record: TestWorker['recorder']['record'] = change =>
    ++calls === 1 ? recorder!.record(change) : Promise.reject(new Error('the process is gone'))
  ;({ recorder } = work({ carrier: new ScriptedCarrier(() => ({ delivered: true })), options: { record } }))
  const id = await accept()
  await described('email', id).toBe('Entregue')
  expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'sent', 'delivered'])
})

test('a delivery that a worker learns of too late is told all the same', async () => {
  const lose = (notification: string) =>
    database.pool.query('update delivery set lease_owner = $2 where notification_id = $1', [notification, randomUUID()])
  const carrier = new ScriptedCarrier(async ({ notification }) => {
    await lose(notification)
    return { delivered: true }
  })
  work({ carrier })
  const id = await accept()
  await described('email', id).toBe('Entregue')
  expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'delivered'])
})

test('a temporary refusal is tried again under the same reference', async () => {
  const carrier = new ScriptedCarrier(({ attempt }) => {
    if (attempt < 3) throw refused('temporary')
    return {}
  })
  work({ carrier })
  const id = await accept()
  await described('email', id).toBe('Enviado')
  expect(carrier.got.map(parcel => parcel.reference)).toEqual(Array(3).fill(`${id}.email.1`))
  expect((await eventsOf(id)).map(event => event.type)).toEqual(['accepted', 'retried', 'retried', 'sent'])
})

test("a permanent refusal fails the e-mail and releases the SMS of typeSend '1'", async () => {
  work({ carrier: new ScriptedCarrier(() => Promise.reject(refused('permanent'))) })
  const id = await accept({ sms: { number: '11987654321' } })
  await described('email', id).toBe('Falha no envio')
  expect(await status('email', id)).toMatchObject({ error: true, dateSend: '', failureReason: null })
  expect((await status('sms', id)).description).toBe('Processado')
  const { rows } = await database.pool.query(
    "select state, due_at <= now() as due from delivery where notification_id = $1 and channel = 'sms'",
    [id],
  )
  expect(rows).toEqual([{ state: 'queued', due: true }])
  expect((await eventsOf(id)).at(-1)).toMatchObject({ type: 'released', data: { reason: 'SMS liberado: e-mail falhou' } })
})

test('a delivery that never succeeds ends as a dead letter with its last error', async () => {
  const carrier = new ScriptedCarrier(() => Promise.reject(refused('temporary')))
  work({ carrier })
  const id = await accept()
  await described('email', id).toBe('Falha no envio')
  expect(carrier.got).toHaveLength(4)
  const { rows } = await database.pool.query(
    "select state, failure_detail from delivery where notification_id = $1 and channel = 'email'",
    [id],
  )
  expect(rows).toEqual([{ state: 'dead', failure_detail: 'Motivo: temporary' }])
})

test('an uncertain outcome of a safe provider is sent again under the same reference, of any other it is left to be checked', async () => {
  const safe = new ScriptedCarrier(({ attempt }) => (attempt === 1 ? Promise.reject(refused('uncertain')) : {}))
  const first = work({ carrier: safe })
  const sentAgain = await accept()
  await described('email', sentAgain).toBe('Enviado')
  expect(new Set(safe.got.map(parcel => parcel.reference)).size).toBe(1)
  await first.stop()
  workers.length = 0
  const never = new ScriptedCarrier(() => Promise.reject(refused('uncertain')))
  work({ carrier: never, whenUnknown: 'never' })
  const checked = await accept()
  await described('email', checked).toBe('Em verificação')
  expect(never.got).toHaveLength(1)
})

const stateOf = (id: string) =>
  expect.poll(
    async () =>
      (await database.pool.query("select state from delivery where notification_id = $1 and channel = 'email'", [id])).rows[0]
        .state,
  )

test('what a safe carrier never confirms is repeated twice under one reference, then left to a person: it did not fail', async () => {
  const carrier = new ScriptedCarrier(() => Promise.reject(refused('uncertain')))
  work({ carrier, options: { retryDelaysMs: Array(20).fill(20) } })
  const id = await accept({ sms: { number: '11987654321' } })
  await stateOf(id).toBe('unresolved')
  expect(carrier.got.map(parcel => parcel.reference)).toEqual(Array(3).fill(`${id}.email.1`))
  expect(await status('email', id)).toMatchObject({ description: 'Em verificação', error: false })
  expect((await status('sms', id)).description).toBe('Aguardando o e-mail')
  expect((await eventsOf(id)).filter(({ type }) => type === 'failed')).toEqual([])
})

test('refusals after an unknown outcome do not make it a failure: the first try may have arrived', async () => {
  const carrier = new ScriptedCarrier(({ attempt }) => Promise.reject(refused(attempt === 1 ? 'uncertain' : 'temporary')))
  work({ carrier, options: { retryDelaysMs: [20, 20] } })
  const id = await accept()
  await stateOf(id).toBe('unresolved')
  expect((await status('email', id)).description).toBe('Em verificação')
})

test.each(['safe', 'report'] as const)(
  'after an unknown outcome of a carrier of the class %s, a final refusal waits for a person and is no failure',
  async whenUnknown => {
    const carrier = new ScriptedCarrier(({ attempt }) => Promise.reject(refused(attempt === 1 ? 'uncertain' : 'permanent')))
    carrier.repeatAfterMs = 0
    const { recorder } = work({ carrier, whenUnknown })
    const id = await accept({ sms: { number: '11987654321' } })
    await stateOf(id).toBe('unresolved')
    expect(carrier.got).toHaveLength(2)
    expect(await status('email', id)).toMatchObject({ description: 'Em verificação', error: false })
    expect((await status('sms', id)).description).toBe('Aguardando o e-mail')
    expect((await eventsOf(id)).slice(-2)).toMatchObject([
      { type: 'uncertain', data: { reason: 'Motivo: permanent' } },
      { type: 'unresolved', data: { reason: expect.stringContaining('tentativa anterior pode ter chegado') } },
    ])
    await recorder.record({
      kind: 'fact',
      notification: id,
      fact: { channel: 'email', type: 'delivered', at: new Date(), source: 'dsn', data: { ordinal: 1 } },
    })
    expect((await status('sms', id)).description).toBe('Não enviado: e-mail entregue')
  },
)

test('what can no longer be made after an unknown outcome did not fail either', async () => {
  const carrier = new ScriptedCarrier(() => Promise.reject(refused('uncertain')))
  const prepare = async ({ notification, reference, attempt }: Claim) =>
    attempt === 1
      ? { notification, reference, attempt }
      : { refused: { failure: 'validation' as const, failureDetail: 'suppressed' } }
  work({ carrier, options: { prepare: prepare as never } })
  const id = await accept()
  await stateOf(id).toBe('unresolved')
  expect((await status('email', id)).description).toBe('Em verificação')
})

test('a refusal after the carrier said that it had not taken the try before is one', async () => {
  const carrier = new ScriptedCarrier(({ attempt }) => Promise.reject(refused(attempt === 1 ? 'uncertain' : 'permanent')))
  carrier.find = async () => 'unknown'
  work({ carrier, whenUnknown: 'lookup' })
  const id = await accept()
  await described('email', id).toBe('Falha no envio')
  expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'uncertain', 'retried', 'failed'])
})

test('a refusal that a delivery of the same message disproves is taken back', async () => {
  const { recorder } = work({ carrier: new ScriptedCarrier(() => Promise.reject(refused('permanent'))) })
  const id = await accept()
  await described('email', id).toBe('Falha no envio')
  const fact = { channel: 'email', type: 'delivered', at: new Date(), source: 'dsn', data: { ordinal: 1 } } as const
  expect(await recorder.record({ kind: 'fact', notification: id, fact })).toBe('recorded')
  expect(await status('email', id)).toMatchObject({ description: 'Entregue', error: false })
})

test('a message that could not be prepared has not left: it is tried again, whatever the carrier’s class', async () => {
  const carrier = new ScriptedCarrier()
  let tries = 0
  const prepare = async ({ notification, reference, attempt }: Claim): Promise<Parcel> => {
    if (++tries < 3) throw new Error('the store is away')
    return { notification, reference, attempt }
  }
  work({ carrier, whenUnknown: 'never', options: { prepare } })
  const id = await accept()
  await described('email', id).toBe('Enviado')
  expect(carrier.got).toHaveLength(1)
  expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'retried', 'retried', 'sent'])
})

test('a message for whose preparation no database connection was free goes back to the queue and spends no attempt', async () => {
  const carrier = new ScriptedCarrier()
  let tries = 0
  const prepare = async ({ notification, reference, attempt }: Claim): Promise<Parcel> => {
    if (++tries < 6) throw new StoreBusy(new Error('timeout exceeded when trying to connect'))
    return { notification, reference, attempt }
  }
  // More failures than the plan has attempts.
  work({ carrier, whenUnknown: 'never', options: { prepare, retryDelaysMs: [60_000, 60_000] } })
  const id = await accept()
  await described('email', id).toBe('Enviado')
  expect(carrier.got).toMatchObject([{ notification: id, attempt: 1 }])
  expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'sent'])
})

test('a preparation that asks for another time puts the message back as it came: no attempt, no event', async () => {
  const carrier = new ScriptedCarrier()
  let tries = 0
  const prepare = async ({ notification, reference, attempt }: Claim): Promise<Parcel> => {
    if (++tries < 3) throw new SendError('temporary', 'Mais tarde.', { retryAfterMs: 10, scope: 'message', untried: true })
    return { notification, reference, attempt }
  }
  // The plan must be longer than the test: what is older than it uses up attempts.
  work({ carrier, options: { prepare, retryDelaysMs: [3_600_000] } })
  const id = await accept()
  await described('email', id).toBe('Enviado')
  expect(carrier.got).toMatchObject([{ attempt: 1 }])
  expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'sent'])
})

/** Another worker's claim, of which nothing more is heard. */
const claimAs = async (owner: string, limit = 1): Promise<Claim[]> => {
  const question = { channel: 'email', mode: 'live', carrier: 'scripted', rank: 0, owner, limit } as const
  return await claimDeliveries(database.pool, { ...question, leaseMs: engineTiming.leaseMs })
}

test('work of a worker that died is taken up by another, and its late report is refused', async () => {
  const id = await accept()
  const dead = '00000000-0000-4000-8000-000000000001'
  const [claim] = await claimAs(dead)
  expect(claim?.notification).toBe(id)
  await database.pool.query("update delivery set lease_until = now() - interval '1 second' where notification_id = $1", [id])
  expect(await findExpiredLeases(database.pool, 10)).toMatchObject([{ notification: id, owner: dead, attempt: 1 }])
  const carrier = new ScriptedCarrier()
  const worker = work({ carrier })
  await described('email', id).toBe('Enviado')
  expect(carrier.got).toMatchObject([{ attempt: 2, reference: claim!.reference }])
  const late = await worker.recorder.record({
    kind: 'attempt',
    notification: id,
    fact: { channel: 'email', type: 'failed', at: new Date(), source: 'late', data: { failure: 'rejected' } },
    fence: { owner: dead, attempt: 1, ordinal: 1 },
  })
  expect(late).toBe('fenced')
  expect((await status('email', id)).description).toBe('Enviado')
})

test('an answer that comes after its lease resolves the unknown outcome, and its references are kept though another attempt is under way', async () => {
  const id = await accept()
  const fact = { channel: 'email', type: 'sent', at: new Date(), source: 'late', data: {} } as const
  const claim = async (owner: string): Promise<void> => {
    expect(await claimAs(owner)).toMatchObject([{ notification: id }])
  }
  const late = (owner: string, attempt: number, name: string) =>
    recordChanges(database.pool, Date.now, [
      {
        kind: 'attempt',
        notification: id,
        fact,
        fence: { owner, attempt, ordinal: 1 },
        references: { carrier: 'late', names: [name] },
      },
    ])
  const recordUnknown = (owner: string, attempt: number, type: 'uncertain' | 'retried') =>
    recordChanges(database.pool, Date.now, [
      {
        kind: 'attempt',
        notification: id,
        fact: { ...fact, type },
        fence: { owner, attempt, ordinal: 1 },
        delayMs: type === 'retried' ? 0 : 60_000,
      },
    ])
  const [first, second] = [randomUUID(), randomUUID()]
  await claim(first)
  await recordUnknown(first, 1, 'retried')
  await claim(second)
  expect((await late(first, 1, 'a')).outcomes).toEqual(['fenced'])
  expect(await findReference(database.pool, ['late'], ['a'])).toMatchObject({ notification: id, ordinal: 1 })
  expect((await status('email', id)).description).toBe('Processado')
  await recordUnknown(second, 2, 'uncertain')
  expect((await late(first, 1, 'b')).outcomes).toEqual(['fenced'])
  expect((await late(second, 2, 'c')).outcomes).toEqual(['recorded'])
  expect((await status('email', id)).description).toBe('Enviado')
  expect(await findReference(database.pool, ['late'], ['c'])).toMatchObject({ notification: id })
})

test('an answer whose lease ran out settles even what was left to a person', async () => {
  const id = await accept()
  const owner = randomUUID()
  await claimAs(owner)
  const fence = { owner, attempt: 1, ordinal: 1 }
  const fact = { channel: 'email', at: new Date(), source: 'test', data: {} } as const
  const unresolved = { ...fact, type: 'unresolved' } as const
  const { outcomes } = await recordChanges(database.pool, Date.now, [
    { kind: 'attempt', notification: id, fact: { ...fact, type: 'uncertain' }, fence, unresolved },
    { kind: 'attempt', notification: id, fact: { ...fact, type: 'retried' }, fence: { ...fence, owner: randomUUID() } },
    { kind: 'resolution', notification: id, fact: { ...fact, type: 'retried' }, state: 'uncertain', attempt: 1, ordinal: 1 },
  ])
  expect(outcomes).toEqual(['recorded', 'fenced', 'fenced'])
  await stateOf(id).toBe('unresolved')
  const late = await recordChanges(database.pool, Date.now, [
    { kind: 'attempt', notification: id, fact: { ...fact, type: 'sent' }, fence },
  ])
  expect(late.outcomes).toEqual(['recorded'])
  expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'uncertain', 'unresolved', 'sent'])
})

test('what takes its worker down is repeated at once, then as planned, and is left to a person when the plan ends: it may have arrived', async () => {
  const id = await accept({ sms: { number: '11987654321' } })
  const die = async () => {
    await database.pool.query("update delivery set due_at = now() where notification_id = $1 and state = 'queued'", [id])
    const owner = randomUUID()
    expect(await claimAs(owner)).toMatchObject([{ notification: id }])
    await database.pool.query('update delivery set lease_until = now() where notification_id = $1 and lease_owner = $2', [
      id,
      owner,
    ])
    const successor = work({
      carrier: new ScriptedCarrier(),
      options: { claim: async () => [], retryDelaysMs: [60_000, 60_000] },
    })
    const find = async () =>
      (
        await database.pool.query(
          "select state, due_at > now() + interval '30 seconds' as waits from delivery where notification_id = $1 and channel = 'email'",
          [id],
        )
      ).rows[0]
    await expect.poll(async () => (await find()).state).not.toBe('sending')
    await successor.stop()
    return find()
  }
  expect(await die()).toEqual({ state: 'queued', waits: false })
  expect(await die()).toEqual({ state: 'queued', waits: true })
  // The successor itself may have found by then that only a person can know.
  expect(['uncertain', 'unresolved']).toContain((await die()).state)
  work({ carrier: new ScriptedCarrier(), options: { retryDelaysMs: [60_000, 60_000] } })
  await stateOf(id).toBe('unresolved')
  expect(await status('email', id)).toMatchObject({ description: 'Em verificação', error: false })
  expect((await status('sms', id)).description).toBe('Aguardando o e-mail')
  expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'retried', 'retried', 'uncertain', 'unresolved'])
})

test('a lease that is over before the carrier is called is not used', async () => {
  const carrier = new ScriptedCarrier()
  // Whoever collects expired leases cannot know that nothing had left, and must not be faster here.
  workers.push(
    startTestWorker(database.pool, [{ carrier, whenUnknown: 'never', options: { leaseMs: 0 } }], 30_000, { reapMs: 600_000 }),
  )
  const id = await accept()
  await expect
    .poll(
      async () => (await database.pool.query('select attempt from delivery where notification_id = $1', [id])).rows[0].attempt,
      { timeout: 120_000 },
    )
    .toBeGreaterThan(1)
  expect(carrier.got).toEqual([])
  // Nothing had left, so the outcome is known.
  expect((await eventsOf(id))[1]).toMatchObject({ type: 'retried' })
})

test('while the preferred carrier fails, the next one takes over', async () => {
  const broken = new ScriptedCarrier(() => Promise.reject(refused('temporary')))
  const standby = new ScriptedCarrier()
  work({ name: 'first', carrier: broken, options: { retryDelaysMs: Array(50).fill(20) } }, { name: 'second', carrier: standby })
  const ids = await Promise.all(Array.from({ length: 30 }, () => accept()))
  for (const id of ids) await described('email', id).toBe('Enviado')
  expect(standby.got).toHaveLength(30)
})

test('a carrier that asks to slow down is left alone for that long', async () => {
  const carrier = new ScriptedCarrier(({ attempt }) => (attempt === 1 ? Promise.reject(refused('throttled', 3_000)) : {}))
  const worker = work({ carrier })
  const id = await accept()
  await expect.poll(() => worker.lanes[0]!.counts.retried).toBe(1)
  expect(worker.lanes[0]!.open).toBe(false)
  await described('email', id).toBe('Enviado')
})

test('what one recipient’s server says keeps nobody else back, however often and for however long', async () => {
  const slow = new Set<string>()
  const carrier = new ScriptedCarrier(({ notification }) =>
    slow.has(notification)
      ? Promise.reject(new SendError('throttled', 'Devagar.', { retryAfterMs: 3_600_000, scope: 'message' }))
      : {},
  )
  const angry = await Promise.all(Array.from({ length: 15 }, () => accept()))
  for (const id of angry) slow.add(id)
  const worker = work({ carrier })
  await expect.poll(() => worker.lanes[0]!.counts.retried).toBe(15)
  expect(worker.lanes[0]!.open).toBe(true)
  await described('email', await accept()).toBe('Enviado')
})

test('what its carrier did not try goes back as it came, for as long as it says; in the end it uses up tries all the same', async () => {
  const untried = new SendError('temporary', 'Não é a vez.', { retryAfterMs: 300.5, scope: 'message', untried: true })
  let turns = 0
  const carrier = new ScriptedCarrier(() => (++turns < 3 ? Promise.reject(untried) : {}))
  const worker = work({ carrier, options: { retryDelaysMs: [60_000] } })
  const id = await accept()
  await described('email', id).toBe('Enviado')
  expect(carrier.got.map(({ attempt }) => attempt)).toEqual([1, 1, 1])
  expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'sent'])
  expect(worker.lanes[0]!.open).toBe(true)
  await worker.stop()
  workers.length = 0
  work({ carrier: new ScriptedCarrier(() => Promise.reject(untried)), options: { retryDelaysMs: [50, 50] } })
  await described('email', await accept()).toBe('Falha no envio')
})

test('a send that takes longer than its carrier may is called off and tried again', async () => {
  const carrier = new ScriptedCarrier(({ attempt }, signal) =>
    attempt > 1
      ? {}
      : new Promise((_, reject) => signal.addEventListener('abort', () => reject(refused('temporary')), { once: true })),
  )
  work({ carrier })
  await described('email', await accept()).toBe('Enviado')
  expect(carrier.got.map(({ attempt }) => attempt)).toEqual([1, 2])
})

test('a send may take longer than a lease: it is renewed while the worker lives, and nobody else takes it up', async () => {
  const leaseMs = 1_200
  const carrier = new ScriptedCarrier(
    (_, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(refused('temporary')), { once: true })
        setTimeout(() => resolve({}), 3 * leaseMs)
      }),
  )
  for (let worker = 0; worker < 2; worker++) {
    workers.push(startTestWorker(database.pool, [{ carrier, timeoutMs: 60_000 }], leaseMs))
  }
  const id = await accept()
  await described('email', id).toBe('Enviado')
  expect(carrier.got).toHaveLength(1)
})

test('a send whose lease was lost is called off: another worker sends it', async () => {
  let calledOff = false
  const carrier = new ScriptedCarrier(
    ({ attempt }, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => {
          calledOff = true
          reject(refused('temporary'))
        })
        if (attempt > 1) resolve({})
      }),
  )
  workers.push(startTestWorker(database.pool, [{ carrier, timeoutMs: 60_000 }], 1_200))
  const id = await accept()
  await expect.poll(() => carrier.got.length).toBe(1)
  await database.pool.query("update delivery set lease_until = now() - interval '1 second' where notification_id = $1", [id])
  await expect.poll(() => calledOff).toBe(true)
  await described('email', id).toBe('Enviado')
  expect(carrier.got.map(({ attempt }) => attempt)).toEqual([1, 2])
})

test('a worker that stops waits a while for what is under way, and then calls it off', async () => {
  const carrier = new ScriptedCarrier(
    (_, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(refused('temporary')), { once: true })
      }),
  )
  const worker = work({ carrier, timeoutMs: 60_000, options: { timing: { stopMs: 200 } } })
  const id = await accept()
  await expect.poll(() => carrier.got.length).toBe(1)
  await worker.stop()
  expect((await eventsOf(id)).map(({ type }) => type)).toEqual(['accepted', 'retried'])
})

test('a carrier that keeps all that it was given leaves room to the next one', async () => {
  let stuck = false
  const silent = new ScriptedCarrier(
    (_, signal) =>
      new Promise((_resolve, reject) => {
        stuck = true
        signal.addEventListener('abort', () => reject(refused('temporary')), { once: true })
      }),
  )
  Object.defineProperty(silent, 'ready', { get: () => !stuck })
  const standby = new ScriptedCarrier()
  work(
    { name: 'first', carrier: silent, timeoutMs: 60_000, options: { concurrency: 1, timing: { stopMs: 200 } } },
    { name: 'second', carrier: standby },
  )
  await accept()
  await expect.poll(() => stuck).toBe(true)
  await described('email', await accept()).toBe('Enviado')
  expect(standby.got).toHaveLength(1)
})

test('an account that floods does not keep another one waiting', async () => {
  const other = await createAccount(database.pool)
  await Promise.all(Array.from({ length: 300 }, () => accept()))
  const mine = await accept({}, other.token)
  const claims = await claimAs(randomUUID(), 10)
  expect(claims).toHaveLength(10)
  expect(claims.map(claim => claim.notification)).toContain(mine)
})

test('a batch at a slow carrier leaves places for single sends, and takes its own again as they become free', async () => {
  const batch = await Promise.all(Array.from({ length: 12 }, () => accept()))
  await database.pool.query('update delivery set bulk = true where notification_id = any($1)', [batch])
  const answers: (() => void)[] = []
  const carrier = new ScriptedCarrier(({ notification }) =>
    batch.includes(notification) ? new Promise(resolve => answers.push(() => resolve({}))) : {},
  )
  // It does not look at the queue by itself again: only a free place, or the signal, leads to the next claim.
  const worker = startTestWorker(database.pool, [{ carrier, timeoutMs: 600_000, options: { concurrency: 8 } }], 30_000, {
    pollMs: 3_600_000,
  })
  workers.push(worker)
  await expect.poll(() => answers.length).toBe(6)
  for (let sends = 0; sends < 3; sends++) {
    const id = await accept()
    worker.wakes.notify()
    await described('email', id).toBe('Enviado')
  }
  expect(carrier.got).toHaveLength(9)
  for (let answered = 0; answered < 12; answered++) {
    await expect.poll(() => answers.length).toBeGreaterThan(0)
    answers.shift()!()
  }
  for (const id of batch) await described('email', id).toBe('Enviado')
  expect(carrier.got).toHaveLength(15)
})

test('two workers share the work: nothing is sent twice', async () => {
  const [one, two] = [new ScriptedCarrier(), new ScriptedCarrier()]
  work({ carrier: one })
  work({ carrier: two })
  const ids = await Promise.all(Array.from({ length: 200 }, () => accept()))
  for (const id of ids) await described('email', id).toBe('Enviado')
  expect([...one.got, ...two.got].map(parcel => parcel.notification).sort()).toEqual([...ids].sort())
})

test('a report that overtakes our own outcome, and one repeated 100 times in parallel, give one status', async () => {
  let worker: TestWorker | undefined
  const delivered = (notification: string) =>
    worker!.recorder.record({
      kind: 'fact',
      notification,
      fact: { channel: 'email', type: 'delivered', at: new Date(), source: 'dsn', data: {} },
    })
  worker = work({
    carrier: new ScriptedCarrier(async ({ notification }) => {
      await delivered(notification)
      return {}
    }),
  })
  const id = await accept()
  await described('email', id).toBe('Entregue')
  const outcomes = await Promise.all(Array.from({ length: 100 }, () => delivered(id)))
  expect(new Set(outcomes)).toEqual(new Set(['nothing new']))
  expect((await eventsOf(id)).map(event => event.type)).toEqual(['accepted', 'delivered'])
})
