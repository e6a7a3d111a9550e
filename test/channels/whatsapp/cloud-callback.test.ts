import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { CallbackContent, CarrierEvent, CarrierReport } from '../../../src/channels/provider.js'
import { cloudCallback } from '../../../src/channels/whatsapp/cloud-callback.js'

const SECRET = 'app-secret-of-the-test'
const REFERENCE = '0198c9a2-0000-7000-8000-000000000001.whatsapp.1'
const OURS = '106540352242922'
const identityOf = (number: string): string | null => (number === OURS ? 'whatsapp-cloud:graph/1' : null)
const callback = cloudCallback({ appSecret: SECRET, verifyToken: 'verify-me-please', identityOf })

const sign = (body: string | Buffer, secret = SECRET): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

const post = (body: string, signature: string | undefined = sign(body)): Promise<CallbackContent | null> =>
  callback.read({
    method: 'POST',
    url: 'https://x.example/callbacks/whatsapp-cloud',
    headers: { 'x-hub-signature-256': signature },
    body: Buffer.from(body),
  })

const value = (members: object, phone = OURS) => ({
  field: 'messages',
  value: { metadata: { phone_number_id: phone }, ...members },
})

const wrap = (...changes: object[]): string =>
  JSON.stringify({ object: 'whatsapp_business_account', entry: changes.map(change => ({ id: '1', changes: [change] })) })

const eventsOf = async (...changes: object[]): Promise<CarrierEvent[]> => (await post(wrap(...changes)))!.events

const status = (status: string, more: object = {}) => ({
  id: 'wamid.A',
  status,
  timestamp: '1790000000',
  recipient_id: '55',
  ...more,
})

const failure = (code: number, ordinal = 1) =>
  status('failed', {
    biz_opaque_callback_data: REFERENCE.replace(/1$/, String(ordinal)),
    errors: [{ code, title: 'Title', error_data: { details: 'Details' } }],
  })

describe('the handshake', () => {
  const shake = (query: string): Promise<CallbackContent | null> =>
    callback.read({
      method: 'GET',
      url: `https://x.example/callbacks/whatsapp-cloud?${query}`,
      headers: {},
      body: Buffer.alloc(0),
    })

  test('gives the challenge back to whoever knows the token', async () => {
    expect(await shake('hub.mode=subscribe&hub.verify_token=verify-me-please&hub.challenge=1158201444')).toEqual({
      carriers: [],
      events: [],
      answer: { type: 'text/plain; charset=utf-8', body: '1158201444' },
    })
  })

  test.each([
    'hub.mode=subscribe&hub.verify_token=other&hub.challenge=1',
    'hub.mode=subscribe&hub.challenge=1',
    'hub.mode=unsubscribe&hub.verify_token=verify-me-please&hub.challenge=1',
    'hub.mode=subscribe&hub.verify_token=verify-me-please&hub.challenge=%3Cscript%3E',
    'hub.mode=subscribe&hub.verify_token=verify-me-please',
  ])('refuses %s', async query => {
    expect(await shake(query)).toBeNull()
  })
})

describe('the signature', () => {
  const body = wrap(value({ statuses: [status('read')] }))

  test('is over the bytes as they came', async () => {
    expect((await post(body))?.events).toHaveLength(1)
    expect(await post(`${body} `, sign(body))).toBeNull()
  })

  test.each([
    ['missing', undefined],
    ['of another secret', sign(body, 'another')],
    ['without its algorithm', sign(body).slice(7)],
    ['of SHA-1', `sha1=${createHmac('sha1', SECRET).update(body).digest('hex')}`],
    ['empty', ''],
  ])('%s: refused', async (_, signature) => {
    const headers = { 'x-hub-signature-256': signature }
    expect(await callback.read({ method: 'POST', url: 'https://x/', headers, body: Buffer.from(body) })).toBeNull()
  })
})

describe('statuses', () => {
  test('name our message and the carrier’s, with its time', async () => {
    const given = status('delivered', { biz_opaque_callback_data: REFERENCE })
    expect(await eventsOf(value({ statuses: [given] }))).toEqual([
      {
        kind: 'report',
        type: 'delivered',
        of: { ours: REFERENCE, carrier: ['wamid.A'] },
        at: new Date(1_790_000_000_000),
        answer: 'delivered wamid.A',
      },
    ])
  })

  test('without our reference go by the carrier’s; several entries in one body are all read', async () => {
    const events = await eventsOf(value({ statuses: [status('sent')] }), value({ statuses: [status('read', { id: 'wamid.B' })] }))
    expect(events).toMatchObject([
      { type: 'sent', of: { carrier: ['wamid.A'] } },
      { type: 'read', of: { carrier: ['wamid.B'] } },
    ])
  })

  test('of somebody else’s number, of other fields and of kinds that say nothing are passed over', async () => {
    const other = { field: 'message_template_status_update', value: { event: 'APPROVED' } }
    const strange = status('warning')
    expect(await eventsOf(value({ statuses: [status('read')] }, '999'), other, value({ statuses: [strange] }))).toEqual([])
  })

  test.each([131026, 131047, 131049, 131050, 130472, 999_999])('a failure with code %d is final, with its reason', async code => {
    const [event] = await eventsOf(value({ statuses: [failure(code)] }))
    const answer = `failed wamid.A ${code} Details`
    expect(event).toMatchObject({ type: 'failed', failure: 'undelivered', reason: expect.stringMatching(/\.$/), answer })
    expect(event).not.toHaveProperty('facts')
  })

  test('trouble that passes is tried with another message, ever later, and not for ever', async () => {
    const told = await Promise.all([1, 2, 3, 4].map(ordinal => eventsOf(value({ statuses: [failure(131056, ordinal)] }))))
    expect(told.flat()).toMatchObject([
      { type: 'again', delayMs: 30_000 },
      { type: 'again', delayMs: 90_000 },
      { type: 'again', delayMs: 270_000 },
      { type: 'failed', failure: 'undelivered', facts: { dead: true } },
    ])
  })

  test.each([131042, 131031, 368, 131048, 190, 131000])(
    'trouble of the account or the carrier, code %d, is tried for a day, then a person may order another message',
    async code => {
      const waits: number[] = []
      for (let ordinal = 1; ; ordinal++) {
        const [event] = await eventsOf(value({ statuses: [failure(code, ordinal)] }))
        const { type, delayMs, facts } = event as CarrierReport
        if (type !== 'again') {
          expect([type, facts]).toEqual(['failed', { dead: true }])
          break
        }
        waits.push(delayMs!)
      }
      const hours = waits.reduce((sum, wait) => sum + wait, 0) / 3_600_000
      expect(hours).toBeGreaterThan(23)
      expect(hours).toBeLessThan(25)
      expect(waits).toEqual(waits.toSorted((a, b) => a - b))
      expect(waits[0]).toBe(code === 131048 ? 60_000 : 30_000)
    },
  )

  test('trouble of the account without our reference ends as one that a person may order again', async () => {
    const given = { ...failure(131042), biz_opaque_callback_data: undefined }
    expect(await eventsOf(value({ statuses: [given] }))).toMatchObject([{ type: 'failed', facts: { dead: true } }])
  })

  test.each(['', 'null', '[]', '7', '{"entry":7}', '{"entry":[null,{"changes":[null,{"field":"messages","value":null}]}]}'])(
    'a signed body that says nothing, %s, is taken and forgotten',
    async body => {
      expect(await post(body)).toMatchObject({ events: [] })
    },
  )
})

describe('what people write', () => {
  const message = (more: object) => ({ from: '558187654321', id: 'wamid.R', timestamp: '1790000000', ...more })

  test.each<[string, object, string]>([
    ['a text', { type: 'text', text: { body: 'Olá\0' } }, 'Olá'],
    ['a template’s button', { type: 'button', button: { payload: 'p', text: 'Confirmo' } }, 'Confirmo'],
    ['a reply button', { type: 'interactive', interactive: { button_reply: { id: '1', title: 'Sim' } } }, 'Sim'],
    ['a line of a list', { type: 'interactive', interactive: { list_reply: { id: '1', title: 'Terça' } } }, 'Terça'],
    ['a picture', { type: 'image', image: { id: '1', caption: 'comprovante' } }, '[imagem] comprovante'],
    ['a voice message', { type: 'audio', audio: { id: '1' } }, '[áudio]'],
  ])('%s', async (_, given, text) => {
    expect(await eventsOf(value({ messages: [message({ ...given, context: { id: 'wamid.A' } })] }))).toEqual([
      {
        kind: 'reply',
        from: ['+5581987654321', '+558187654321'],
        text,
        id: 'wamid.R',
        inReplyTo: 'wamid.A',
        at: new Date(1_790_000_000_000),
      },
    ])
  })

  test('a reaction names its message, without a context, and can be an answer to no other one', async () => {
    const reaction = message({ type: 'reaction', reaction: { message_id: 'wamid.A', emoji: '👍' } })
    expect(await eventsOf(value({ messages: [reaction] }))).toEqual([
      { kind: 'reply', from: [], text: '👍', id: 'wamid.R', inReplyTo: 'wamid.A', at: new Date(1_790_000_000_000) },
    ])
    expect(await eventsOf(value({ messages: [{ ...reaction, reaction: { emoji: '👍' } }] }))).toEqual([])
  })

  test('with a quotation of the person’s own words names no message of ours', async () => {
    const said = (context: object) => message({ type: 'text', text: { body: 'Ok' }, context })
    expect(await eventsOf(value({ messages: [said({ from: '558187654321', id: 'wamid.Q' })] }))).toMatchObject([
      { kind: 'reply', from: ['+5581987654321', '+558187654321'], inReplyTo: null },
    ])
    expect(await eventsOf(value({ messages: [said({ from: '551130000000', id: 'wamid.A' })] }))).toMatchObject([
      { inReplyTo: 'wamid.A' },
    ])
  })

  test('without a number belongs to the message that it quotes; without either to nobody', async () => {
    const text = { type: 'text', text: { body: 'Ok' }, from: undefined }
    expect(await eventsOf(value({ messages: [message({ ...text, context: { id: 'wamid.A' } })] }))).toMatchObject([
      { kind: 'reply', from: [], text: 'Ok', inReplyTo: 'wamid.A' },
    ])
    expect(await eventsOf(value({ messages: [message(text)] }))).toEqual([])
  })

  test.each([
    { type: 'system', system: { body: 'changed number' } },
    { type: 'unsupported' },
    { type: 'reaction', reaction: { message_id: 'wamid.A' } },
    { type: 'constructor' },
  ])('$type that says nothing is no answer', async given => {
    expect(await eventsOf(value({ messages: [message(given)] }))).toEqual([])
  })
})
