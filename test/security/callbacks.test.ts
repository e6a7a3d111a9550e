import { createHmac } from 'node:crypto'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { identifyCarrier, simulatedName } from '../../src/channels/carrier-name.js'
import { channelModules } from '../../src/channels/registry.js'
import { callbackUrl, twilioSignature } from '../../src/channels/voice/twilio-callback.js'
import { simulatorSecret } from '../../src/domain/access/keys.js'
import type { Channel } from '../../src/domain/channel.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { brokenChains } from '../support/evidence/chain.js'
import { attemptBy } from '../support/gateway/attempts.js'
import { createAccount, type Gateway, startGateway, type TestAccount, testKeys } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'

/** Callbacks with a valid signature, of real carriers and of the simulator beside them, about messages of others. */
let database: TestDatabase
let gateway: Gateway
let live: TestAccount
let tester: TestAccount
const logged: string[] = []

const APP_SECRET = 'segredo-do-app-da-meta'
const ZENVIA_SECRET = 'segredo-da-assinatura'
const env = {
  LETTER_URL: 'print+http://token:segredo-da-grafica@127.0.0.1:9/v1',
  SMS_URL: `zenvia://token@127.0.0.1:9?from=acme&secret=${ZENVIA_SECRET}&tls=off`,
  WHATSAPP_URL: 'whatsapp://EAAtoken@127.0.0.1:9/v23.0/106540352242922?tls=off',
  WHATSAPP_APP_SECRET: APP_SECRET,
  WHATSAPP_VERIFY_TOKEN: 'token-de-verificacao',
  VOICE_URL: 'twilio://AC1:segredo-da-voz@127.0.0.1:9?from=%2B551140041234&tls=off',
  EMAIL_URL: 'smtp://ana:senha@127.0.0.1:9',
  SIMULATOR: 'on',
  SIMULATOR_URL: 'http://127.0.0.1:9',
}

const NUMBER = '11987654321'
const TEXT = 'Seu contrato vence amanhã.'

beforeAll(async () => {
  database = await createDatabase()
  const stream = new Writable({
    write(chunk, _encoding, done) {
      logged.push(String(chunk))
      done()
    },
  })
  gateway = await startGateway(database.pool, env, { log: pino({ level: 'info' }, stream) })
  live = await createAccount(database.pool)
  tester = await createAccount(database.pool, { mode: 'test' })
  for (const { token } of [live, tester]) {
    const body = { nome: 'aviso', tipo: 'voz', conteudo: TEXT }
    await request(`${gateway.url}/gw/templates`, { method: 'POST', token, body })
  }
})

afterAll(async () => {
  expect(await brokenChains(database.pool)).toEqual([])
  await gateway.close()
  await database.drop()
})

const members: Record<Channel, object> = {
  email: { to: 'maria@example.net' },
  sms: { sms: { number: NUMBER, typeSend: '2' } },
  whatsapp: { whatsapp: { number: NUMBER } },
  voice: { voz: { number: NUMBER, template: 'aviso' } },
  letter: { carta: { name: 'Maria' } },
}

interface Given {
  id: string
  reference: string
  /** The carrier's own name for it. */
  name: string
}

async function give(channel: Channel, carrier: string, { token }: TestAccount = live): Promise<Given> {
  const { body } = await send(gateway.url, token, { ...validSend, to: undefined, ...members[channel] })
  const { idEmail: id } = body as { idEmail: string }
  await attemptBy(database.pool, id, channel, carrier)
  const name = `name-${id}`
  await database.pool.query(
    `insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts) values ($1, $2, $3, $4, 1, 1, 1)`,
    [carrier, name, id, channel],
  )
  return { id, reference: `${id}.${channel}.1`, name }
}

/** A carrier's signed words that a message was delivered. */
interface Sender {
  channel: Channel
  secret: string
  /** What the carrier can name a message by. */
  names: 'our reference' | 'its own name'
  tell(path: string, secret: string, of: Given): Promise<Response>
}

const post = (path: string, headers: Record<string, string>, body: string): Promise<Response> =>
  fetch(`${gateway.url}${path}`, { method: 'POST', headers, body })

const senders: Record<string, Sender> = {
  'print-shop': {
    channel: 'letter',
    secret: 'segredo-da-grafica',
    names: 'our reference',
    tell(path, secret, { reference }) {
      const body = JSON.stringify({ referencia: reference, situacao: 'entregue' })
      const timestamp = String(Math.floor(Date.now() / 1_000))
      const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
      return post(path, { 'carteiro-timestamp': timestamp, 'carteiro-signature': `v1=${signature}` }, body)
    },
  },
  zenvia: {
    channel: 'sms',
    secret: ZENVIA_SECRET,
    names: 'its own name',
    tell: (path, secret, { name }) =>
      post(
        path,
        { 'x-carteiro-secret': secret },
        JSON.stringify({ type: 'MESSAGE_STATUS', messageId: name, messageStatus: { code: 'DELIVERED' } }),
      ),
  },
  'whatsapp-cloud': {
    channel: 'whatsapp',
    secret: APP_SECRET,
    names: 'our reference',
    tell(path, secret, { reference }) {
      const status = { id: 'wamid.1', status: 'delivered', timestamp: '1790000000', biz_opaque_callback_data: reference }
      const value = { metadata: { phone_number_id: '106540352242922' }, statuses: [status] }
      const body = JSON.stringify({ entry: [{ changes: [{ field: 'messages', value }] }] })
      return post(path, { 'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` }, body)
    },
  },
  twilio: {
    channel: 'voice',
    secret: 'segredo-da-voz',
    names: 'our reference',
    tell: (path, secret, { reference }) => tellTwilio(path, secret, reference, 'status', { CallStatus: 'busy' }),
  },
}

function tellTwilio(path: string, secret: string, reference: string, about: 'status' | 'message' | 'recording', fields: object) {
  const query = callbackUrl(path, { about, reference, againMs: null })
  const form = new URLSearchParams({ CallSid: 'CA1', ...fields })
  const headers = { 'x-twilio-signature': twilioSignature(`${gateway.url}${query}`, form, secret) }
  return post(query, headers, form.toString())
}

const stateOf = async ({ id }: Given): Promise<unknown> => {
  const { rows } = await database.pool.query(
    `select d.state, d.delivered_at, d.failure, (select count(*)::int from event e where e.notification_id = d.notification_id) as events,
       (select count(*)::int from recording r where r.notification_id = d.notification_id) as recordings,
       (select count(*)::int from carrier_reference r where r.notification_id = d.notification_id) as names
     from delivery d where d.notification_id = $1`,
    [id],
  )
  return rows[0]
}

const callbacks = await Promise.all(
  channelModules.flatMap(({ channel, providers }) =>
    Object.entries(providers).map(async ([name, { protocols, load }]) => ({ channel, name, protocols, ...(await load()) })),
  ),
)

test('every provider with callbacks has a sender here', () => {
  const withCallbacks = callbacks.filter(({ callback }) => callback !== undefined).map(({ name }) => name)
  expect(Object.keys(senders).sort()).toEqual(withCallbacks.sort())
})

const identityOf = (name: string): string => {
  const { identify } = callbacks.find(known => known.name === name)!
  const { channel } = senders[name]!
  return identifyCarrier({ name, ...(identify && { identify }) }, new URL(env[`${channel.toUpperCase()}_URL` as 'SMS_URL']))
}

describe.each(Object.entries(senders))('a callback that %s signed', (name, { channel, secret, names, tell }) => {
  const [real, simulated] = [`/callbacks/${name}`, `/callbacks/simulator/${name}`]
  const simulatedSecret = simulatorSecret(testKeys.simulator, name)
  const refused = names === 'our reference' ? 403 : 200

  test('counts for a message that this carrier was given', async () => {
    const [own, tests] = [await give(channel, identityOf(name)), await give(channel, simulatedName(name), tester)]
    expect((await tell(real, secret, own)).status).toBe(200)
    expect((await tell(simulated, simulatedSecret, tests)).status).toBe(200)
    for (const given of [own, tests]) expect(await stateOf(given)).toMatchObject({ state: 'done' })
  })

  test('changes nothing at an e-mail that its carrier refused, nor at any other channel’s message', async () => {
    for (const { channel: other, name: provider } of callbacks.filter(known => known.channel !== channel)) {
      const given = await give(other, `${provider}:127.0.0.1/00000001`)
      await database.pool.query("update delivery set state = 'done', failure = 'rejected' where notification_id = $1", [given.id])
      const before = await stateOf(given)
      expect((await tell(real, secret, given)).status).toBe(refused)
      expect(await stateOf(given)).toEqual(before)
    }
  })

  test('changes nothing at a message of another carrier, of the carrier before this one, or of the simulator', async () => {
    for (const carrier of [`${name}:old.example/00000001`, `${name}:127.0.0.1/00000002`, name, simulatedName(name)]) {
      const given = await give(channel, carrier)
      const before = await stateOf(given)
      expect((await tell(real, secret, given)).status).toBe(refused)
      expect(await stateOf(given)).toEqual(before)
    }
  })

  test('changes nothing at a message that nobody was given yet', async () => {
    const { body } = await send(gateway.url, live.token, { ...validSend, to: undefined, ...members[channel] })
    const { idEmail: id } = body as { idEmail: string }
    const given = { id, reference: `${id}.${channel}.1`, name: 'nobody' }
    const before = await stateOf(given)
    expect((await tell(real, secret, given)).status).toBe(refused)
    expect(await stateOf(given)).toEqual(before)
  })

  test('changes nothing at live messages where the simulator signs it, though a simulated carrier had them once', async () => {
    for (const carrier of [identityOf(name), simulatedName(name)]) {
      const given = await give(channel, carrier)
      const before = await stateOf(given)
      const status = carrier.startsWith('simulator/') ? 403 : refused
      expect((await tell(simulated, simulatedSecret, given)).status).toBe(status)
      expect(await stateOf(given)).toEqual(before)
    }
  })

  test('changes nothing at a test message where the real carrier signs it', async () => {
    const given = await give(channel, simulatedName(name), tester)
    const before = await stateOf(given)
    expect((await tell(real, secret, given)).status).toBe(refused)
    expect(await stateOf(given)).toEqual(before)
  })
})

test('the text of a call is told to the carrier that was asked for the call alone, and so are its recordings taken', async () => {
  const own = await give('voice', identityOf('twilio'))
  const simulated = simulatorSecret(testKeys.simulator, 'twilio')
  const heard = { CallStatus: 'in-progress', AnsweredBy: 'human' }
  const recording = { RecordingSid: 'RE1', RecordingStatus: 'completed' }
  const before = await stateOf(own)
  const forged = await tellTwilio('/callbacks/simulator/twilio', simulated, own.reference, 'message', heard)
  expect(await forged.text()).not.toContain(TEXT)
  expect((await tellTwilio('/callbacks/simulator/twilio', simulated, own.reference, 'recording', recording)).status).toBe(403)
  expect(await stateOf(own)).toEqual(before)
  const answer = await tellTwilio('/callbacks/twilio', 'segredo-da-voz', own.reference, 'message', heard)
  expect(await answer.text()).toContain(TEXT)
  expect((await tellTwilio('/callbacks/twilio', 'segredo-da-voz', own.reference, 'recording', recording)).status).toBe(200)
  expect(await stateOf(own)).toMatchObject({ state: 'done', recordings: 1 })
})

test('of a batch, what is the carrier’s own counts and the rest does not; the answer says that something was refused', async () => {
  const [own, other] = [await give('whatsapp', identityOf('whatsapp-cloud')), await give('email', 'smtp:127.0.0.1/00000001')]
  const before = await stateOf(other)
  const statuses = [own, other].map(({ reference }, n) => ({
    id: `wamid.${n}`,
    status: 'delivered',
    biz_opaque_callback_data: reference,
  }))
  const value = { metadata: { phone_number_id: '106540352242922' }, statuses }
  const body = JSON.stringify({ entry: [{ changes: [{ field: 'messages', value }] }] })
  const signature = createHmac('sha256', APP_SECRET).update(body).digest('hex')
  const answer = await post('/callbacks/whatsapp-cloud', { 'x-hub-signature-256': `sha256=${signature}` }, body)
  expect([answer.status, await answer.json()]).toEqual([
    403,
    {
      statusCode: 403,
      message: 'O aviso é sobre um envio que não foi entregue a esta operadora neste modo. Nada foi registrado.',
      error: 'Forbidden',
    },
  ])
  expect(await stateOf(other)).toEqual(before)
  expect(await stateOf(own)).toMatchObject({ state: 'done', delivered_at: expect.any(Date) })
})

test('the log tells of it without a number, an address, a text or a secret', () => {
  const lines = logged.filter(line => line.includes('never given'))
  expect(lines.length).toBeGreaterThan(20)
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ kind: expect.any(String), carriers: expect.any(Array) })
  for (const word of [NUMBER, 'maria@', TEXT, 'segredo', APP_SECRET]) expect(lines.join('')).not.toContain(word)
})
