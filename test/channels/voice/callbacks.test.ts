import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { callbackUrl, twilioSignature } from '../../../src/channels/voice/twilio-callback.js'
import { simulatorSecret } from '../../../src/domain/access/keys.js'
import { findFaults } from '../../../src/evidence/notification-faults.js'
import { readEventLog } from '../../../src/store/notification/event-log.js'
import { createDatabase, type TestDatabase } from '../../support/database/database.js'
import { attemptBy } from '../../support/gateway/attempts.js'
import { createAccount, type Gateway, startGateway, type TestAccount, testKeys } from '../../support/gateway/gateway.js'
import { request, send, validSend } from '../../support/gateway/requests.js'

/** What a carrier of calls tells over HTTP, in every order, again and again, and by those who are not the carrier. */
let database: TestDatabase
let gateway: Gateway
let account: TestAccount
const secret = simulatorSecret(testKeys.simulator, 'twilio')

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool, { SIMULATOR: 'on', SIMULATOR_URL: 'http://127.0.0.1:9' })
  account = await createAccount(database.pool)
  const body = { nome: 'aviso', tipo: 'voz', conteudo: 'Seu contrato vence amanhã.' }
  await request(`${gateway.url}/gw/templates`, { method: 'POST', token: account.token, body })
})

afterAll(async () => {
  const faults: string[] = []
  for await (const page of readEventLog(database.pool)) faults.push(...page.flatMap(findFaults))
  await gateway.close()
  await database.drop()
  expect(faults).toEqual([])
})

async function accept(): Promise<string> {
  const voz = { number: '11987654321', template: 'aviso' }
  const { body } = await send(gateway.url, account.token, { ...validSend, to: undefined, voz })
  const { idEmail } = body as { idEmail: string }
  await attemptBy(database.pool, idEmail, 'voice', 'simulator/twilio')
  return idEmail
}

interface Told {
  about?: 'status' | 'script' | 'message' | 'recording'
  againMs?: number
  fields: Record<string, string>
}

const tell = (id: string, { about = 'status', againMs, fields }: Told, token = secret): Promise<Response> => {
  const query = { about, reference: `${id}.voice.1`, againMs: againMs ?? null }
  const url = callbackUrl(`${gateway.url}/callbacks/simulator/twilio`, query)
  const form = new URLSearchParams({ CallSid: `CA${id}`, ...fields })
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    ...(token === '' ? {} : { 'x-twilio-signature': twilioSignature(url, form, token) }),
  }
  return fetch(url, { method: 'POST', headers, body: form.toString() })
}

const status = (CallStatus: string, more: Record<string, string> = {}): Told => ({ fields: { CallStatus, ...more } })

const permutations = <T>(items: readonly T[]): T[][] =>
  items.length <= 1
    ? [[...items]]
    : items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map(rest => [item, ...rest]))

const described = async (id: string): Promise<unknown> =>
  ((await request(`${gateway.url}/gw/voz/${id}`, { token: account.token })).body as { description: string }).description

const stored = async (id: string): Promise<unknown> =>
  (await database.pool.query('select state, ordinal, failure from delivery where notification_id = $1', [id])).rows[0]

const beginning = [status('initiated'), status('ringing')]

describe('whatever their order, reports end in the same status', () => {
  test('of a call that was heard', async () => {
    const message: Told = { about: 'message', fields: { CallStatus: 'in-progress', AnsweredBy: 'human' } }
    for (const order of permutations([...beginning, status('in-progress'), status('completed', { AnsweredBy: 'human' })])) {
      const id = await accept()
      const answer = await tell(id, message)
      expect(answer.headers.get('content-type')).toBe('text/xml; charset=utf-8')
      expect(await answer.text()).toContain('Seu contrato vence amanhã.')
      for (const told of order) expect((await tell(id, told)).status).toBe(200)
      expect(await described(id)).toBe('Entregue')
    }
  })

  test('of a call that ended during the greeting: the carrier is to be asked why, at once', async () => {
    const greeting: Told = { about: 'script', fields: { CallStatus: 'in-progress', AnsweredBy: 'human' } }
    for (const order of permutations([greeting, status('in-progress'), status('completed', { AnsweredBy: 'human' })])) {
      const id = await accept()
      for (const told of order) expect((await tell(id, told)).status).toBe(200)
      expect(await described(id)).toBe('Enviado')
      const { rows } = await database.pool.query(
        'select carrier, name, ordinal, due_at <= now() as due from call_lookup where notification_id = $1',
        [id],
      )
      expect(rows).toEqual([{ carrier: 'simulator/twilio', name: `CA${id}`, ordinal: 1, due: true }])
    }
  })

  test.each([
    ['of a busy line', [...beginning, status('busy')], 'Ocupado'],
    ['of one that nobody answered', [...beginning, status('no-answer')], 'Não atendida'],
    ['of a machine', [...beginning, status('in-progress'), status('completed', { AnsweredBy: 'machine_start' })], 'Caixa postal'],
    ['of one that failed', [...beginning, status('failed')], 'Falha na chamada'],
  ] as const)('%s', async (_, reports, description) => {
    for (const order of permutations(reports)) {
      const id = await accept()
      for (const told of order) await tell(id, told)
      expect(await described(id), order.map(({ fields }) => fields.CallStatus).join()).toBe(description)
    }
  })

  test('of a busy line that is called again: the next call stays planned, whatever comes late', async () => {
    for (const order of permutations([...beginning, { ...status('busy'), againMs: 600_000 }])) {
      const id = await accept()
      for (const told of order) await tell(id, told)
      expect(await stored(id)).toEqual({ state: 'queued', ordinal: 2, failure: null })
    }
  })
})

test('told a hundred times in parallel, each counts once', async () => {
  const [busy, again, heard] = [await accept(), await accept(), await accept()]
  const message: Told = { about: 'message', fields: { AnsweredBy: 'human' } }
  await tell(heard, message)
  await Promise.all(
    Array.from({ length: 100 }, () => [
      tell(busy, status('busy')),
      tell(again, { ...status('no-answer'), againMs: 600_000 }),
      tell(heard, message),
      tell(heard, status('completed')),
    ]).flat(),
  )
  expect(await stored(busy)).toEqual({ state: 'done', ordinal: 1, failure: 'busy' })
  expect(await stored(again)).toEqual({ state: 'queued', ordinal: 2, failure: null })
  expect(await described(heard)).toBe('Entregue')
  const { rows } = await database.pool.query(
    'select notification_id as id, count(*)::int from event where notification_id = any($1) group by 1',
    [[busy, again, heard]],
  )
  expect(rows.map(row => row.count)).toEqual([2, 2, 2])
})

describe('a collision in the database', () => {
  /** Fails so many of the next writes of a failure as another transaction would make them fail. */
  async function collide(code: string, times: number): Promise<void> {
    await database.asOwner(`
      create sequence collision;
      create function collide() returns trigger language plpgsql as $$
      begin
        if nextval('collision') <= ${times} then raise exception 'collision' using errcode = '${code}'; end if;
        return new;
      end $$;
      grant usage on sequence collision to public;
      create trigger collide before insert on event for each row when (new.type = 'failed') execute function collide()`)
    onTestFinished(
      async () =>
        void (await database.asOwner('drop trigger collide on event; drop function collide(); drop sequence collision')),
    )
  }

  test.each(['40001', '40P01', '55P03', '23505'])('%s is tried again, and the carrier sees nothing of it', async code => {
    const id = await accept()
    await collide(code, 2)
    expect((await tell(id, status('busy'))).status).toBe(200)
    expect(await described(id)).toBe('Ocupado')
  })

  test('that stays is 503, which carriers repeat, and never 500', async () => {
    const id = await accept()
    await collide('23505', 1_000)
    const answer = await tell(id, status('busy'))
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
    expect(await described(id)).toBe('Processado')
  })
})

test.each([
  ['no signature', ''],
  ['another secret', 'ff'.repeat(32)],
  ['the key that gateway and simulator share', testKeys.simulator.toString('hex')],
])('with %s they are refused, and nothing changes', async (_, token) => {
  const id = await accept()
  const message: Told = { about: 'message', fields: { AnsweredBy: 'human' } }
  for (const told of [status('busy'), status('completed'), message]) {
    const answer = await tell(id, told, token)
    expect(answer.status).toBe(401)
    expect(await answer.text()).not.toContain('contrato')
  }
  const recording = { about: 'recording', fields: { RecordingSid: 'RE1', RecordingStatus: 'completed' } } as const
  expect((await tell(id, recording, token)).status).toBe(401)
  expect(await described(id)).toBe('Processado')
  expect((await database.pool.query('select from recording where notification_id = $1', [id])).rowCount).toBe(0)
})

test('a recording that is told many times is wanted once', async () => {
  const id = await accept()
  const recording: Told = { about: 'recording', fields: { RecordingSid: `RE${id.slice(0, 8)}`, RecordingStatus: 'completed' } }
  await Promise.all(Array.from({ length: 20 }, () => tell(id, recording)))
  const { rows } = await database.pool.query('select carrier, state, attempt from recording where notification_id = $1', [id])
  expect(rows).toEqual([{ carrier: 'simulator/twilio', state: 'wanted', attempt: 0 }])
})
