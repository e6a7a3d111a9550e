import { describe, expect, test } from 'vitest'
import type { CallbackRequest } from '../../../src/channels/provider.js'
import { callbackUrl, twilioCallback, twilioSignature } from '../../../src/channels/voice/twilio-callback.js'
import type { VoiceScript } from '../../../src/channels/voice/voice-message.js'
import { call } from './calls.js'

const TOKEN = 'segredo'
const BASE = 'https://notifica.example.com/callbacks/twilio'
const { reference, script } = call()
const LOST = `${reference}0`
const ended: string[] = []
const reader = (given: Partial<VoiceScript> = {}, voice: string | null = null) =>
  twilioCallback({
    name: 'twilio',
    accounts: [
      { identity: 'twilio:a/1', token: 'outro', voice: null },
      { identity: 'twilio:b/2', token: TOKEN, voice },
    ],
    findScript: async name => (name === reference ? { ...script, ...given } : name === LOST ? 'lost' : null),
    onAnsweredEnd: async (...call) => void ended.push(call.join(' ')),
  })

type About = Parameters<typeof callbackUrl>[1]['about']

function asked(about: About, fields: Record<string, string>, more: { againMs?: number; url?: string } = {}): CallbackRequest {
  const { againMs = null } = more
  const url = more.url ?? callbackUrl(BASE, { about, reference, againMs })
  const form = new URLSearchParams({ CallSid: 'CA1', ...fields })
  const headers = { 'x-twilio-signature': twilioSignature(url, form, TOKEN) }
  return { method: 'POST', url, headers, body: Buffer.from(form.toString()) }
}

const eventsOf = async (request: CallbackRequest): Promise<unknown[]> => (await reader().read(request))!.events

describe('the signature', () => {
  test('is the one of the published example', () => {
    const form = new URLSearchParams({
      CallSid: 'CA1234567890ABCDE',
      Caller: '+14158675309',
      Digits: '1234',
      From: '+14158675309',
      To: '+18005551212',
    })
    const url = 'https://mycompany.com/myapp.php?foo=1&bar=2'
    expect(twilioSignature(url, form, '12345')).toBe('RSOYDt4T1cUTdK1PDd93/VVr8B8=')
  })

  test.each<[string, (request: CallbackRequest) => CallbackRequest]>([
    ['is missing', request => ({ ...request, headers: {} })],
    ['is wrong', request => ({ ...request, headers: { 'x-twilio-signature': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' } })],
    ['comes twice', request => ({ ...request, headers: { 'x-twilio-signature': ['a', 'b'] } })],
    ['is of another body', request => ({ ...request, body: Buffer.from('CallSid=CA1&CallStatus=completed') })],
    ['is of another address', request => ({ ...request, url: request.url.replace('.voice.1', '.voice.2') })],
    ['is of another method', request => ({ ...request, method: 'GET' })],
  ])('that %s makes it nobody’s', async (_, forge) => {
    const request = asked('status', { CallStatus: 'busy' })
    expect(await reader().read(request)).not.toBeNull()
    expect(await reader().read(forge(request))).toBeNull()
  })

  test.each([
    ['https://notifica.example.com', 'https://notifica.example.com:443'],
    ['http://notifica.example.com', 'http://notifica.example.com:80'],
    ['https://notifica.example.com:443', 'https://notifica.example.com'],
    ['https://notifica.example.com:8443', 'https://notifica.example.com'],
    ['http://[2001:db8::1]:8080', 'http://[2001:db8::1]'],
  ])('over the address %s may be over %s', async (ours, theirs) => {
    const urlAt = (origin: string) => callbackUrl(`${origin}/callbacks/twilio`, { about: 'status', reference, againMs: null })
    for (const origin of [ours, theirs]) {
      const signed = asked('status', { CallStatus: 'busy' }, { url: urlAt(origin) })
      expect(await reader().read({ ...signed, url: urlAt(ours) })).not.toBeNull()
    }
    const foreign = asked('status', { CallStatus: 'busy' }, { url: urlAt('https://outra.example.com:8443') })
    expect(await reader().read({ ...foreign, url: urlAt(ours) })).toBeNull()
  })
})

describe('a status', () => {
  test.each([
    ['initiated', { type: 'sent' }],
    ['ringing', { type: 'sent' }],
    ['in-progress', { type: 'sent' }],
    ['busy', { type: 'failed', failure: 'busy', reason: 'O número estava ocupado.' }],
    ['no-answer', { type: 'failed', failure: 'no-answer' }],
    ['completed', { type: 'sent' }],
    ['failed', { type: 'failed', failure: 'rejected' }],
    ['canceled', { type: 'failed', failure: 'rejected', reason: 'A operadora cancelou a ligação.' }],
  ])('%s is a report about our reference: %j', async (status, report) => {
    const [events] = await eventsOf(
      asked('status', { CallStatus: status, Timestamp: 'Fri, 18 Jul 2026 04:01:32 +0000', CallDuration: '7' }),
    )
    expect(events).toMatchObject({
      kind: 'report',
      of: { ours: reference, carrier: ['CA1'] },
      at: new Date('2026-07-18T04:01:32Z'),
      ...report,
    })
    expect(events).toMatchObject({ answer: `CA1 CallStatus=${status} CallDuration=7` })
  })

  test('that is unknown is nothing', async () => {
    expect(await eventsOf(asked('status', { CallStatus: 'dreaming' }))).toEqual([])
    expect(await eventsOf(asked('status', { CallStatus: 'busy' }, { url: `${BASE}?about=weather&ref=x` }))).toEqual([])
  })

  test('that ends an answered call does not say why: the carrier is asked', async () => {
    for (const more of [{}, { AnsweredBy: 'human' }, { AnsweredBy: 'unknown' }]) {
      ended.length = 0
      const events = await eventsOf(asked('status', { CallStatus: 'completed', ...more }, { againMs: 1 }))
      expect(events).toMatchObject([{ type: 'sent' }])
      expect(ended).toEqual([`CA1 ${reference} twilio:b/2`])
    }
    ended.length = 0
    await eventsOf(asked('status', { CallStatus: 'completed', AnsweredBy: 'machine_start' }))
    await eventsOf(asked('status', { CallStatus: 'busy' }))
    expect(ended).toEqual([])
  })

  test('busy and no answer are called again while the plan lasts', async () => {
    for (const CallStatus of ['busy', 'no-answer']) {
      expect(await eventsOf(asked('status', { CallStatus }, { againMs: 60_000 }))).toMatchObject([
        { type: 'again', delayMs: 60_000 },
      ])
    }
  })

  test('failed for a passing cause is called again while the plan lasts, then a person may order another call', async () => {
    const reason = 'A operadora não conseguiu completar a ligação.'
    for (const more of [{ SipResponseCode: '503' }, {}]) {
      const form = { CallStatus: 'failed', ...more }
      expect(await eventsOf(asked('status', form, { againMs: 60_000 }))).toMatchObject([
        { type: 'again', delayMs: 60_000, reason },
      ])
      expect(await eventsOf(asked('status', form))).toMatchObject([
        { type: 'failed', failure: 'rejected', reason, facts: { dead: true } },
      ])
    }
  })

  test('failed because the number does not exist is final, as are busy and no answer after the last call', async () => {
    for (const SipResponseCode of ['404', '410', '484', '604']) {
      const [event] = await eventsOf(asked('status', { CallStatus: 'failed', SipResponseCode }, { againMs: 60_000 }))
      expect(event).toMatchObject({ type: 'failed', failure: 'rejected', reason: 'O número não existe.' })
      expect(event).not.toHaveProperty('facts')
    }
    for (const CallStatus of ['busy', 'no-answer']) {
      expect((await eventsOf(asked('status', { CallStatus })))[0]).not.toHaveProperty('facts')
    }
  })

  test('a machine, a fax, and a number that does not exist are told as what they are', async () => {
    const ended = (more: Record<string, string>) =>
      eventsOf(asked('status', { CallStatus: 'completed', ...more }, { againMs: 1 }))
    expect(await ended({ AnsweredBy: 'machine_end_beep' })).toMatchObject([{ type: 'failed', failure: 'machine' }])
    expect(await ended({ AnsweredBy: 'fax' })).toMatchObject([{ type: 'failed', failure: 'rejected' }])
    expect(await eventsOf(asked('status', { CallStatus: 'failed', SipResponseCode: '404' }))).toMatchObject([
      { reason: 'O número não existe.' },
    ])
  })
})

describe('the question what to say', () => {
  const said = async (request: CallbackRequest, key = false) => {
    const content = (await reader({ key }).read(request))!
    return { events: content.events, type: content.answer?.type, body: content.answer?.body ?? '' }
  }

  test.each(['human', ''])(
    'is answered for "%s" with the greeting, which leads to the message, and only asking for that is the call’s success',
    async AnsweredBy => {
      const greeting = await said(asked('script', { AnsweredBy }, { againMs: 5 }))
      expect([greeting.events, greeting.type]).toEqual([[], 'text/xml; charset=utf-8'])
      expect(greeting.body).toContain('Olá. Esta é uma ligação do Banco Exemplo.')
      expect(greeting.body).not.toContain('contrato')
      const [, next] = /<Redirect method="POST">([^<]+)<\/Redirect><\/Response>$/.exec(greeting.body)!
      expect(next!.replaceAll('&amp;', '&')).toBe(callbackUrl(BASE, { about: 'message', reference, againMs: 5 }))
      const message = await said(asked('message', { AnsweredBy }))
      expect(message.events).toMatchObject([
        { type: 'delivered', of: { ours: reference }, facts: { said: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } } },
      ])
      expect(message.body).toContain('Seu contrato vence amanhã.')
      expect(message.body).not.toContain('Olá.')
    },
  )

  test('is answered in XML, whatever the words are, and with the account’s voice', async () => {
    const text = 'Débito de R$ 5 <hoje> & "sempre".\n\nFim\u0007.'
    const { answer } = (await reader({ text }, 'Polly.Camila').read(asked('message', { AnsweredBy: 'human' })))!
    const say = (words: string) => `<Say language="pt-BR" voice="Polly.Camila">${words}</Say>`
    expect(answer!.body).toBe(
      `<?xml version="1.0" encoding="UTF-8"?><Response>${say('Débito de R$ 5 &lt;hoje&gt; &amp; &quot;sempre&quot;.')}` +
        `<Pause length="1"/>${say('Fim .')}<Hangup/></Response>`,
    )
  })

  test.each(['machine_start', 'machine_end_beep', 'machine_end_silence', 'machine_end_other'])(
    '%s hears nothing of the message',
    async AnsweredBy => {
      for (const [about, key] of [
        ['script', false],
        ['script', true],
        ['message', false],
      ] as const) {
        const { events, body } = await said(asked(about, { AnsweredBy }), key)
        expect(events).toMatchObject([{ type: 'failed', failure: 'machine' }])
        expect(body).toContain('Fale conosco.')
        expect(body).not.toContain('contrato')
      }
    },
  )

  test('whom the carrier cannot tell from a machine hears nothing of the message either, but may press the key', async () => {
    const neutral = await said(asked('script', { AnsweredBy: 'unknown' }))
    expect(neutral.events).toMatchObject([{ type: 'failed', failure: 'machine', reason: expect.stringContaining('não soube') }])
    expect(neutral.body).toContain('Fale conosco.')
    expect(neutral.body).not.toContain('contrato')
    const first = await said(asked('script', { AnsweredBy: 'unknown' }), true)
    expect([first.events, first.body.includes('<Gather'), first.body.includes('contrato')]).toEqual([[], true, false])
    expect((await said(asked('key', { AnsweredBy: 'unknown', Digits: '1' }), true)).events).toMatchObject([{ type: 'delivered' }])
  })

  test('asks for the key first, and says the message to whoever presses it', async () => {
    const first = await said(asked('script', { AnsweredBy: 'human' }, { againMs: 5 }), true)
    expect(first.events).toEqual([])
    expect(first.body).not.toContain('contrato')
    const [, action] = /action="([^"]+)"/.exec(first.body)!
    expect(action!.replaceAll('&amp;', '&')).toBe(callbackUrl(BASE, { about: 'key', reference, againMs: 5 }))
    for (const request of [asked('key', { Digits: '7' }), asked('message', { AnsweredBy: 'human' })]) {
      const wrong = await said(request, true)
      expect([wrong.events, wrong.body.includes('Gather'), wrong.body.includes('contrato')]).toEqual([[], true, false])
    }
    const right = await said(asked('key', { Digits: '1' }), true)
    expect(right.events).toMatchObject([{ type: 'delivered' }])
    expect(right.body).toContain('contrato')
  })

  test('about a call that we do not know ends it', async () => {
    const { events, body } = await said(asked('script', {}, { url: `${BASE}?about=script&ref=x` }))
    expect([events, body]).toEqual([[], expect.stringContaining('<Response><Hangup/></Response>')])
  })

  test('about a call whose words cannot be written again ends it, by our failure', async () => {
    const { events, body } = await said(asked('script', {}, { url: `${BASE}?about=script&ref=${LOST}` }))
    expect(events).toMatchObject([{ type: 'failed', failure: 'rejected', reason: expect.stringMatching(/^Falha do gateway: /) }])
    expect(body).toContain('<Response><Hangup/></Response>')
  })
})

test('a recording is told by its name once it is complete', async () => {
  const told = (more: Record<string, string>) =>
    eventsOf(
      asked('recording', { RecordingSid: 'RE1', RecordingUrl: 'http://169.254.169.254/', RecordingDuration: '12', ...more }),
    )
  expect(await told({ RecordingStatus: 'completed' })).toEqual([
    { kind: 'file', of: { ours: reference }, id: 'RE1', seconds: 12 },
  ])
  expect(await told({ RecordingStatus: 'absent' })).toEqual([])
  expect(await told({ RecordingStatus: 'completed', RecordingSid: '../RE1' })).toEqual([])
})
