import type { RequestListener } from 'node:http'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Simulator } from '../../simulator/simulator.js'
import { readWav } from '../../src/domain/text/wav.js'
import { findFaults } from '../../src/evidence/notification-faults.js'
import { readEventLog } from '../../src/store/notification/event-log.js'
import type { TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, type TestAccount } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { loudness } from '../support/programs/sound.js'

/** From POST to the recording of the call over real sockets: the gateway, its worker and the simulated carrier. */
let database: TestDatabase
let simulator: Simulator
let gateway: Gateway
let stack: Stack
let account: TestAccount

beforeAll(async () => {
  stack = await startStack()
  database = stack.database
  simulator = stack.simulator
  gateway = stack.gateway
  account = await createAccount(database.pool, {
    name: 'Banco Exemplo',
    settings: { 'voice.retries': 1, 'voice.retry.minutes': 5 },
  })
  const template = { nome: 'lembrete', tipo: 'voz', conteudo: 'Olá, {{ nome }}. Seu contrato {{ contrato }} vence amanhã.' }
  const made = await request(`${gateway.url}/gw/templates`, { method: 'POST', token: account.token, body: template })
  expect(made.status, JSON.stringify(made.body)).toBeLessThan(300)
})

afterAll(() => stack.close())

const payload = { nome: 'Maria <3 & cia', contrato: 7731 }
const brt = /^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d$/
const number = (ending: string): string => `119000000${ending}`

async function accept(voz: object): Promise<string> {
  const answer = await send(gateway.url, account.token, {
    ...validSend,
    to: undefined,
    voz: { template: 'lembrete', payload, ...voz },
  })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}

const statusOf = async (id: string): Promise<Record<string, unknown>> =>
  (await request(`${gateway.url}/gw/voz/${id}`, { token: account.token })).body as Record<string, unknown>

const settled = (id: string, description: string) =>
  expect.poll(() => statusOf(id), { interval: 100 }).toMatchObject({ description })

const linkOf = async (id: string): Promise<string> => {
  await expect.poll(async () => (await statusOf(id)).linkCall, { interval: 100 }).toMatch(/^http/)
  return (await statusOf(id)).linkCall as string
}

interface SimulatedCall {
  id: string
  reference: string
  said: { who: string; text: string }[]
}

/** The calls of a notification, the first one first. */
async function callsOf(id: string): Promise<SimulatedCall[]> {
  const listed = (await request(`${simulator.url}/simulator/messages?channel=voice`)).body as SimulatedCall[]
  const own = listed.filter(({ reference }) => reference.startsWith(id)).reverse()
  return Promise.all(
    own.map(async call => (await request(`${simulator.url}/simulator/messages/${call.id}`)).body as SimulatedCall),
  )
}

const spokenIn = ({ said }: SimulatedCall): string =>
  said
    .filter(({ who }) => who === 'carrier')
    .map(({ text }) => text)
    .join(' ')

describe('each fixed fate ends in its documented status', () => {
  const ids = new Map<string, string>()

  /** All at once: the calls of one do not wait for those of another. */
  beforeAll(async () => {
    const endings = ['01', '02', '03', '04', '05', '07', '08', '09', '10', '11', '13', '14']
    await Promise.all(endings.map(async ending => ids.set(ending, await accept({ number: number(ending) }))))
  })

  test('atende: the whole record, to the recording that can be heard', async () => {
    const id = ids.get('01')!
    await settled(id, 'Entregue')
    const link = await linkOf(id)
    expect(await statusOf(id)).toEqual({
      dateSent: expect.stringMatching(brt),
      dateSuccessCall: expect.stringMatching(brt),
      description: 'Entregue',
      linkCall: link,
    })
    const [call] = await callsOf(id)
    expect(spokenIn(call!)).toBe(
      'Olá. Esta é uma ligação de Banco Exemplo, com uma mensagem para você. Olá, Maria <3 & cia. Seu contrato 7731 vence amanhã.',
    )
    const sound = readWav(Buffer.from(await (await fetch(link)).arrayBuffer()))!
    expect(sound).toMatchObject({ rate: 8_000, channels: 2 })
    expect(loudness(sound, 0)).toBeGreaterThan(200)
    expect(loudness(sound, 1)).toBeGreaterThan(50)
  })

  test.each([
    ['02', 'Ocupado', 2],
    ['03', 'Não atendida', 2],
    ['05', 'Não atendida', 2],
    ['08', 'Falha na chamada', 1],
    ['10', 'Falha na chamada', 1],
  ])('…%s: %s after %i calls, each under its own reference', async (ending, description, calls) => {
    const id = ids.get(ending)!
    await settled(id, description)
    const status = await statusOf(id)
    expect(status).toMatchObject({ dateSent: expect.stringMatching(brt), dateFailureCall: expect.stringMatching(brt) })
    expect(status).not.toHaveProperty('dateSuccessCall')
    const references = (await callsOf(id)).map(({ reference }) => reference)
    expect(references).toEqual(Array.from({ length: calls }, (_, n) => `${id}.voice.${n + 1}`))
  })

  test('desliga: whoever hangs up during the greeting heard nothing of the message', async () => {
    const id = ids.get('05')!
    await settled(id, 'Não atendida')
    for (const call of await callsOf(id)) {
      expect(spokenIn(call)).toBe('Olá. Esta é uma ligação de Banco Exemplo, com uma mensagem para você.')
    }
  })

  test('ocupado-depois-atende: the second call is heard', async () => {
    const id = ids.get('07')!
    await settled(id, 'Entregue')
    expect(await callsOf(id)).toHaveLength(2)
    expect(await statusOf(id)).not.toHaveProperty('dateFailureCall')
  })

  test('mudo: what is told of a call counts, although its answer never comes', async () => {
    await settled(ids.get('13')!, 'Entregue')
    expect(await callsOf(ids.get('13')!)).toHaveLength(1)
  })

  test.each([
    ['caixa-postal', '04'],
    ['indistinto', '14'],
  ])('%s: the machine hears nothing of the message', async (_, ending) => {
    const id = ids.get(ending)!
    await settled(id, 'Caixa postal')
    const [call] = await callsOf(id)
    expect(spokenIn(call!)).toContain('Banco Exemplo')
    expect(spokenIn(call!)).not.toMatch(/Maria|7731|contrato/)
    const status = await statusOf(id)
    expect(status).toMatchObject({ dateFailureCall: expect.stringMatching(brt) })
    expect(status).not.toHaveProperty('dateSuccessCall')
  })

  test('recusado: the carrier’s refusal is the end, and nobody was called', async () => {
    const id = ids.get('09')!
    await settled(id, 'Falha na chamada')
    const status = await statusOf(id)
    for (const member of ['dateSent', 'linkCall']) expect(status).not.toHaveProperty(member)
    expect(await callsOf(id)).toEqual([])
  })

  test('espera: nothing is told until somebody acts by hand, and acting twice is refused', async () => {
    const id = ids.get('11')!
    await settled(id, 'Enviado')
    const [call] = await callsOf(id)
    const act = (action: string) =>
      request(`${simulator.url}/simulator/messages/${call!.id}/actions`, { method: 'POST', body: { action } })
    expect((await act('answer')).status).toBe(202)
    expect((await act('busy')).status).toBe(409)
    await settled(id, 'Entregue')
    expect((await act('repeat')).status).toBe(202)
    expect((await statusOf(id)).description).toBe('Entregue')
  })
})

describe('a call that asks for a key', () => {
  test('says the message only to whoever presses it', async () => {
    const id = await accept({ number: number('01'), payload: { ...payload, tecla: true } })
    await settled(id, 'Entregue')
    const [call] = await callsOf(id)
    expect(call!.said.map(({ who }) => who)).toEqual(['person', 'carrier', 'person', 'carrier'])
    expect(call!.said[1]!.text).toContain('tecle 1')
    expect(call!.said[1]!.text).not.toContain('Maria')
    expect(call!.said[3]!.text).toContain('Maria')
  })

  test('was not answered when nobody presses it, and says nothing', async () => {
    const id = await accept({ number: number('06'), payload: { ...payload, tecla: true } })
    await settled(id, 'Não atendida')
    for (const call of await callsOf(id)) expect(spokenIn(call)).not.toContain('Maria')
  })
})

describe('what cannot be said', () => {
  test.each([
    ['a missing variable', { payload: { nome: 'Maria' } }, /informe voz\.payload\.contrato/],
    ['an unknown template', { template: 'nenhum' }, /"nenhum" \(voz\.template\) não existe/],
    ['a text that no call can hold', { payload: { nome: 'a'.repeat(4_000), contrato: 1 } }, /máximo são 3000/],
  ])('%s fails the call with the reason', async (_, voz, reason) => {
    const id = await accept({ number: '11987650000', ...voz })
    await settled(id, 'Falha na chamada')
    const { rows } = await database.pool.query('select failure_detail from delivery where notification_id = $1', [id])
    expect(rows[0].failure_detail).toMatch(reason)
    expect(await callsOf(id)).toEqual([])
  })
})

test('a call whose answer was lost is settled without a second call', async () => {
  await request(`${simulator.url}/simulator/faults`, { method: 'PUT', body: { voice: { resetAfterAccept: true } } })
  const id = await accept({ number: '11987650001' })
  await expect.poll(() => callsOf(id)).toHaveLength(1)
  await request(`${simulator.url}/simulator/faults`, { method: 'PUT', body: { voice: {} } })
  await settled(id, 'Entregue')
  expect(await callsOf(id)).toHaveLength(1)
})

test('a call that is never told of is looked up at the carrier, and not made again', async () => {
  await request(`${simulator.url}/simulator/faults`, { method: 'PUT', body: { voice: { resetAfterAccept: true } } })
  const id = await accept({ number: number('11') })
  await settled(id, 'Em verificação')
  await request(`${simulator.url}/simulator/faults`, { method: 'PUT', body: { voice: {} } })
  // The time in which the carrier may still tell by itself is over.
  await database.pool.query('update delivery set due_at = now() where notification_id = $1', [id])
  await settled(id, 'Enviado')
  expect(await callsOf(id)).toHaveLength(1)
  const { rows } = await database.pool.query("select data from event where notification_id = $1 and type = 'sent'", [id])
  expect(rows).toMatchObject([{ data: { resolved: true } }])
})

test('a call that may be the one of another notification to the number is nobody’s until that is known', async () => {
  const other = await accept({ number: number('11') })
  await settled(other, 'Enviado')
  await request(`${simulator.url}/simulator/faults`, { method: 'PUT', body: { voice: { resetAfterAccept: true } } })
  const id = await accept({ number: number('11') })
  await settled(id, 'Em verificação')
  await request(`${simulator.url}/simulator/faults`, { method: 'PUT', body: { voice: {} } })
  const change = (notification: string, to: string) =>
    database.pool.query(`update delivery set ${to} where notification_id = $1`, [notification])
  await change(other, "state = 'sending', lease_owner = gen_random_uuid(), lease_until = now() + interval '1 hour'")
  await change(id, 'due_at = now()')
  // Held for two minutes while it is asked about; put off for less once the answer said nothing.
  const looked = async () =>
    (
      await database.pool.query(
        "select due_at > now() and due_at < now() + interval '1 minute' as later from delivery where notification_id = $1",
        [id],
      )
    ).rows[0].later
  await expect.poll(looked).toBe(true)
  expect(await statusOf(id)).toMatchObject({ description: 'Em verificação' })
  await change(other, "state = 'done', lease_owner = null, lease_until = null")
  await change(id, 'due_at = now()')
  await settled(id, 'Enviado')
  expect([await callsOf(id), await callsOf(other)].map(calls => calls.length)).toEqual([1, 1])
})

describe('a call whose words we could not give', () => {
  /** Answers the carrier's requests for a document with 502 until the returned function is called. */
  function refuseDocuments(): () => void {
    const { server } = gateway.app
    const [serve] = server.listeners('request') as [RequestListener]
    const refuse: RequestListener = (asked, response) => {
      if (/about=(script|key|message)/.test(asked.url ?? '')) response.writeHead(502).end()
      else serve(asked, response)
    }
    server.off('request', serve).on('request', refuse)
    const restore = () => void server.off('request', refuse).off('request', serve).on('request', serve)
    onTestFinished(restore)
    return restore
  }

  const reasons = async (id: string): Promise<string[]> => {
    const { rows } = await database.pool.query<{ reason: string }>(
      "select data ->> 'reason' as reason from event where notification_id = $1 and type = 'again'",
      [id],
    )
    return rows.map(({ reason }) => reason)
  }

  test('is our failure and is said to be, and the next call is heard', async () => {
    const restore = refuseDocuments()
    const id = await accept({ number: '11987650006' })
    await expect.poll(() => reasons(id)).toEqual([expect.stringMatching(/^Falha do gateway: /)])
    restore()
    await settled(id, 'Entregue')
    expect(await callsOf(id)).toHaveLength(2)
  })

  test('never counts as one that nobody answered, also after the last call', async () => {
    refuseDocuments()
    const id = await accept({ number: '11987650007' })
    await settled(id, 'Falha na chamada')
    expect(JSON.stringify(await statusOf(id))).toContain('Falha do gateway: ')
    expect(await callsOf(id)).toHaveLength(2)
  })
})

describe('what the carrier told to nobody', () => {
  const setFaults = (faults: object) => request(`${simulator.url}/simulator/faults`, { method: 'PUT', body: { voice: faults } })
  /** The hour of the lookup comes sooner than it would. */
  const hurry = (id: string) => database.pool.query('update call_lookup set due_at = now() where notification_id = $1', [id])
  const looked = (id: string, expected: object) =>
    expect
      .poll(
        async () => {
          await hurry(id)
          return statusOf(id)
        },
        { timeout: 120_000, interval: 300 },
      )
      .toMatchObject(expected)

  test('is asked for: how each call ended, and where its recording is', async () => {
    await setFaults({ lateReportsMs: 3_600_000 })
    onTestFinished(async () => void (await setFaults({})))
    const [busy, heard] = [await accept({ number: number('02') }), await accept({ number: '11987650005' })]
    await settled(heard, 'Entregue')
    await settled(busy, 'Enviado')
    await looked(busy, { description: 'Ocupado', dateFailureCall: expect.stringMatching(brt) })
    await looked(heard, { description: 'Entregue', linkCall: expect.stringMatching(/^http/) })
    expect(await callsOf(busy)).toHaveLength(2)
    expect(await callsOf(heard)).toHaveLength(1)
    const open = async () => {
      await Promise.all([busy, heard].map(hurry))
      return (await database.pool.query('select name from call_lookup where notification_id = any($1)', [[busy, heard]])).rows
    }
    await expect.poll(open).toEqual([])
  })
})

describe('reports', () => {
  test('that come twice and late change nothing', async () => {
    await request(`${simulator.url}/simulator/faults`, {
      method: 'PUT',
      body: { voice: { duplicateReports: true, lateReportsMs: 300 } },
    })
    const [heard, busy] = [await accept({ number: '11987650002' }), await accept({ number: number('02') })]
    await settled(heard, 'Entregue')
    await settled(busy, 'Ocupado')
    await request(`${simulator.url}/simulator/faults`, { method: 'PUT', body: { voice: {} } })
    expect(await callsOf(busy)).toHaveLength(2)
  })
})

describe('the recording', () => {
  test('is served in ranges, never kept by browsers, and its address cannot be guessed', async () => {
    const link = await linkOf(await accept({ number: '11987650003' }))
    const whole = await fetch(link)
    const bytes = Buffer.from(await whole.arrayBuffer())
    expect(whole.headers.get('x-content-type-options')).toBe('nosniff')
    expect(whole.headers.get('cache-control')).toContain('no-store')
    expect(whole.headers.get('content-type')).toBe('audio/wav')
    const part = await fetch(link, { headers: { range: 'bytes=4-11' } })
    expect(part.status).toBe(206)
    expect(part.headers.get('content-range')).toBe(`bytes 4-11/${bytes.length}`)
    expect(Buffer.from(await part.arrayBuffer())).toEqual(bytes.subarray(4, 12))
    const tail = await fetch(link, { headers: { range: 'bytes=-4' } })
    expect(Buffer.from(await tail.arrayBuffer())).toEqual(bytes.subarray(-4))
    expect((await fetch(link, { headers: { range: `bytes=${bytes.length}-` } })).status).toBe(416)
    const code = new URL(link).pathname.split('/').at(-1)!.replace('.wav', '')
    const guess = `${code.slice(0, -1)}${code.endsWith('A') ? 'B' : 'A'}`
    expect((await request(link.replace(code, guess))).status).toBe(404)
    expect((await request(link.replace(code, 'x'))).status).toBe(404)
    expect(code).toHaveLength(44)
  })

  test('is fetched for whatever row still lacks it, whoever left it behind', async () => {
    const id = await accept({ number: '11987650004' })
    const link = await linkOf(id)
    await database.pool.query("update recording set state = 'wanted', sha256 = null, due_at = now() where notification_id = $1", [
      id,
    ])
    await database.pool.query('update delivery set recording = null where notification_id = $1', [id])
    await expect.poll(async () => (await statusOf(id)).linkCall).toBe(link)
    // What was put back by hand is not what the events say.
    const { rows } = await database.pool.query(
      "select count(*)::int as n from event where notification_id = $1 and type = 'recorded'",
      [id],
    )
    expect(rows).toEqual([{ n: 2 }])
  })
})

test('the statuses are what the events add up to, and every chain is whole', async () => {
  const faults: string[] = []
  for await (const page of readEventLog(database.pool)) faults.push(...page.flatMap(findFaults))
  expect(faults).toEqual([])
})
