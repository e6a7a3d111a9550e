import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Carrier, CarrierEvent, SendError } from '../../../src/channels/provider.js'
import { fetchTwilioRecording, recordingHttp, twilioProvider } from '../../../src/channels/voice/twilio.js'
import { askCall, lookupHttp } from '../../../src/channels/voice/twilio-lookup.js'
import type { VoiceMessage } from '../../../src/channels/voice/voice-message.js'
import { call } from './calls.js'

const NOBODY = {
  callbackBase: 'http://127.0.0.1:9/callbacks/simulator/twilio',
  findKnown: async () => new Set<string>(),
  findRivals: async () => [],
  readPlan: async () => ({ againMs: 60_000, heard: false }),
  onEvents: async () => {},
}
const provider = (known: readonly string[] = []) => twilioProvider({ ...NOBODY, findKnown: async () => new Set(known) })
const never = new AbortController().signal

interface Request {
  method: string
  url: string
  authorization: string | undefined
  form: URLSearchParams
}

/** A carrier that gives the answers of the test and shows the requests that it got. */
async function scripted(
  answer: (request: Request) => { status: number; body: string | Buffer; headers?: Record<string, string> },
): Promise<{
  requests: Request[]
  url: (options?: string) => URL
  open(options?: string, known?: string[]): Promise<Carrier<VoiceMessage>>
}> {
  const requests: Request[] = []
  const read = async (request: IncomingMessage): Promise<string> => {
    let body = ''
    for await (const chunk of request) body += chunk
    return body
  }
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    const asked = { method, url, authorization: headers.authorization, form: new URLSearchParams(await read(request)) }
    requests.push(asked)
    const { status, body, headers: more = {} } = answer(asked)
    response.writeHead(status, more).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise(resolve => server.close(() => resolve())))
  const { port } = server.address() as AddressInfo
  const url = (options = '') => new URL(`twilio://conta:se%2Fgredo@127.0.0.1:${port}?from=+551140041234&tls=off${options}`)
  return {
    requests,
    url,
    async open(options = '', known = []) {
      const opened = await provider(known).open(url(options))
      onTestFinished(() => opened.close())
      return opened
    },
  }
}

const taken = () => ({ status: 201, body: JSON.stringify({ sid: 'CA1', status: 'queued' }) })

describe('a call', () => {
  test('asks the carrier to tell people from machines, to record, and to tell us of it under our reference', async () => {
    const carrier = await scripted(taken)
    const receipt = await (await carrier.open()).send(call({}, { againMs: 900_000 }), never)
    expect(receipt).toEqual({ references: ['CA1'], answer: '201 {"sid":"CA1","status":"queued"}', delivered: false })
    const [{ method, url, authorization, form }] = carrier.requests as [Request]
    expect([method, url]).toEqual(['POST', '/2010-04-01/Accounts/conta/Calls.json'])
    expect(authorization).toBe(`Basic ${Buffer.from('conta:se/gredo').toString('base64')}`)
    const about = (topic: string) => `${NOBODY.callbackBase}?about=${topic}&ref=${call().reference}&again=900000`
    expect([...form]).toEqual([
      ['To', '+5511987654321'],
      ['From', '+551140041234'],
      ['Timeout', '30'],
      ['Url', about('script')],
      ['FallbackUrl', about('script')],
      ['StatusCallback', about('status')],
      ...['initiated', 'ringing', 'answered', 'completed'].map(event => ['StatusCallbackEvent', event]),
      ['MachineDetection', 'DetectMessageEnd'],
      ['Record', 'true'],
      ['RecordingChannels', 'dual'],
      ['RecordingStatusCallback', about('recording')],
    ])
  })

  test('rings as long as told, and is neither recorded nor listened to where that is off; its words are asked for all the same', async () => {
    const carrier = await scripted(taken)
    await (await carrier.open('&machine=off&record=off&ring=20')).send(call(), never)
    const { form } = carrier.requests[0]!
    expect([...form.keys()]).toEqual([
      ...['To', 'From', 'Timeout', 'Url', 'FallbackUrl', 'StatusCallback'],
      ...Array.from({ length: 4 }, () => 'StatusCallbackEvent'),
    ])
    expect(form.get('Timeout')).toBe('20')
  })

  test.each([
    [400, { code: 21211 }, 'permanent'],
    [400, { code: 21217 }, 'permanent'],
    [400, { code: 21205 }, 'temporary'],
    [400, { code: 21210 }, 'temporary'],
    [400, { code: 21215 }, 'temporary'],
    [400, { code: 1 }, 'temporary'],
    [400, {}, 'temporary'],
    [401, {}, 'temporary'],
    [404, {}, 'temporary'],
    [503, {}, 'uncertain'],
    [503, { code: 20503 }, 'temporary'],
    [408, {}, 'uncertain'],
    [429, {}, 'throttled'],
    [500, {}, 'uncertain'],
    [502, {}, 'uncertain'],
    [200, {}, 'uncertain'],
    [302, {}, 'uncertain'],
  ])('an answer %i %j is %s', async (status, body, kind) => {
    const carrier = await scripted(() => ({ status, body: JSON.stringify(body), headers: { 'retry-after': '7' } }))
    const error = await (await carrier.open()).send(call(), never).catch((thrown: SendError) => thrown)
    expect(error).toMatchObject({ name: 'SendError', kind, retryAfterMs: status === 429 ? 7_000 : null })
  })

  test.each([
    [21210, 'carrier', /VOICE_URL/],
    [21205, 'carrier', /PUBLIC_URL/],
    [21215, 'message', /região/],
  ])('the fault %i of the configuration is of the %s, and its reason says where to mend it', async (code, scope, reason) => {
    const carrier = await scripted(() => ({ status: 400, body: JSON.stringify({ code }) }))
    const sending = (await carrier.open()).send(call(), never)
    await expect(sending).rejects.toMatchObject({ kind: 'temporary', scope, reason: expect.stringMatching(reason) })
  })
})

describe('a call whose answer was lost', () => {
  const made = (sid: string, at: string) => ({ sid, status: 'completed', date_created: at })
  const today = 'Fri, 11 Jul 2025 12:00:00 +0000'
  const before = 'Mon, 01 Jan 2024 12:00:00 +0000'
  // The reference of the sample was made on 11 July 2024.
  const find = async (calls: object[], known: string[] = [], status = 200) => {
    const carrier = await scripted(() => ({ status, body: JSON.stringify({ calls }) }))
    const found = (await carrier.open('', known)).find!(call().reference, '+5511987654321', never)
    await found.catch(() => {})
    expect(carrier.requests[0]!.url).toBe(
      '/2010-04-01/Accounts/conta/Calls.json?To=%2B5511987654321&From=%2B551140041234&PageSize=100',
    )
    return found
  }

  test('was never taken when the carrier has no call to that number since', async () => {
    expect(await find([])).toBe('unknown')
    expect(await find([made('CA0', before)])).toBe('unknown')
  })

  test('is the one that belongs to no other delivery', async () => {
    expect(await find([made('CA2', today), made('CA1', today), made('CA0', before)], ['CA1'])).toEqual({
      references: ['CA2'],
      answer: 'CA2 completed',
    })
    expect(await find([made('CA1', today)], ['CA1'])).toBe('unknown')
  })

  test('is found among any number of calls that are older than its notification', async () => {
    const history = Array.from({ length: 99 }, (_, n) => made(`CB${n}`, before))
    expect(await find([made('CA1', today), ...history])).toMatchObject({ references: ['CA1'] })
    expect(await find([made('CB99', before), ...history])).toBe('unknown')
    // A carrier that lists the oldest first may have left out the one.
    const oldest = made('CB99', 'Sun, 01 Jan 2023 12:00:00 +0000')
    await expect(find([oldest, ...history])).rejects.toThrow('ligações demais')
    await expect(find([...history, made('CA1', today)])).rejects.toThrow('ligações demais')
  })

  test.each([
    ['busy', [{ type: 'again', delayMs: 60_000, reason: 'O número estava ocupado.' }]],
    ['failed', [{ type: 'again', delayMs: 60_000, reason: 'A operadora não conseguiu completar a ligação.' }]],
    ['ringing', []],
  ])('is told of as it ended: %s', async (status, told) => {
    const calls = [{ ...made('CA1', today), status, end_time: today }]
    const carrier = await scripted(() => ({ status: 200, body: JSON.stringify({ calls }) }))
    const events: CarrierEvent[] = []
    const onEvents = async (items: readonly CarrierEvent[]) => void events.push(...items)
    const opened = await twilioProvider({ ...NOBODY, onEvents }).open(carrier.url())
    expect(await opened.find!(call().reference, '+5511987654321', never)).toMatchObject({ references: ['CA1'] })
    const of = { ours: call().reference, carrier: ['CA1'] }
    expect(events).toMatchObject(told.map(report => ({ kind: 'report', of, at: new Date(today), ...report })))
  })

  test('stays unknown to us while it may be the one of another notification, unless that was accepted after it', async () => {
    // Accepted with the sample, and a year after it.
    const [now, later] = ['0190a3c2-7b1e-7000-8000-000000000002', '0197f7a1-0000-7000-8000-000000000003']
    const look = async (calls: object[], rivals: string[], known: string[] = []) => {
      const order: string[] = []
      const carrier = await scripted(({ url }) => {
        if (!url.includes('/Notifications.json')) order.push('list')
        return { status: 200, body: JSON.stringify({ calls }) }
      })
      const told: CarrierEvent[] = []
      const opened = await twilioProvider({
        ...NOBODY,
        findRivals: async (reference, to) => {
          order.push('rivals')
          expect([reference, to]).toEqual([call().reference, '+5511987654321'])
          return rivals
        },
        findKnown: async () => {
          order.push('names')
          return new Set(known)
        },
        onEvents: async items => void told.push(...items),
      }).open(carrier.url())
      const found = await opened.find!(call().reference, '+5511987654321', never).catch((error: SendError) => error.kind)
      // In any other order a call that ends meanwhile would be nobody's for a moment.
      expect(order).toEqual(['list', 'rivals', 'names'])
      return { found, told: told.length }
    }
    const soon = 'Fri, 12 Jul 2024 12:00:00 +0000'
    expect(await look([made('CA1', soon)], [now])).toEqual({ found: 'temporary', told: 0 })
    expect(await look([made('CA1', soon)], [later])).toMatchObject({ found: { references: ['CA1'] }, told: 1 })
    // Where there is no call, it is nobody's.
    expect(await look([], [now])).toMatchObject({ found: 'unknown' })
    expect(await look([made('CA1', soon)], [now], ['CA1'])).toMatchObject({ found: 'unknown' })
  })

  test('stays unknown to us while two could be it, or the carrier cannot be asked', async () => {
    await expect(find([made('CA2', today), made('CA1', today)])).rejects.toThrow()
    await expect(find([], [], 503)).rejects.toThrow()
    await expect(find(Array.from({ length: 100 }, (_, n) => made(`CA${n}`, today)))).rejects.toThrow()
  })
})

describe('a call whose end nobody told', () => {
  const ask = async (call: object | null, recordings: object[] = [], options = '', errors: object[] | null = [], plan = {}) => {
    const carrier = await scripted(({ url }) => {
      if (call === null || (errors === null && url.includes('/Notifications.json'))) return { status: 404, body: '{}' }
      if (url.includes('/Notifications.json')) return { status: 200, body: JSON.stringify({ notifications: errors }) }
      return { status: 200, body: JSON.stringify(url.endsWith('/Recordings.json') ? { recordings } : call) }
    })
    const readPlan = async () => ({ ...(await NOBODY.readPlan()), ...plan })
    const asked = await askCall(lookupHttp(), carrier.url(options), 'CA1', reference, readPlan, never)
    return { ...asked, urls: carrier.requests.map(({ url }) => url.replace('/2010-04-01/Accounts/conta/', '')) }
  }
  const { reference } = call()

  test('is told of as the carrier would have', async () => {
    expect(await ask({ sid: 'CA1', status: 'no-answer', end_time: 'Fri, 11 Jul 2025 12:00:00 +0000' })).toMatchObject({
      events: [
        { kind: 'report', of: { ours: reference, carrier: ['CA1'] }, type: 'again', at: new Date('2025-07-11T12:00:00Z') },
      ],
      over: true,
      urls: ['Calls/CA1.json'],
    })
    expect(await ask({ sid: 'CA1', status: 'completed', answered_by: 'machine_end_beep' })).toMatchObject({
      events: [{ type: 'failed', failure: 'machine' }],
    })
  })

  test('was not heard, when nobody asked for its words: whoever did was told of then', async () => {
    const completed = { sid: 'CA1', status: 'completed' }
    for (const options of ['&record=off', '&machine=off&record=off'])
      expect(await ask(completed, [], options)).toMatchObject({
        events: [{ type: 'again', reason: 'A ligação foi atendida e encerrada antes da mensagem.' }],
        over: true,
      })
  })

  test.each(['script', 'key', 'message'])(
    'was our failure, when the carrier could not fetch the document %s from us',
    async about => {
      const error = { error_code: '11200', request_url: `${NOBODY.callbackBase}?about=${about}&ref=${reference}` }
      const reason = expect.stringMatching(/^Falha do gateway: .*\(11200\)\.$/)
      const completed = { sid: 'CA1', status: 'completed', answered_by: 'human' }
      const unfetched = (plan: object) => ask(completed, [], '&record=off', [error], plan)
      expect(await unfetched({})).toMatchObject({ events: [{ type: 'again', delayMs: 60_000, reason }], over: true })
      expect(await unfetched({ againMs: null })).toMatchObject({ events: [{ type: 'failed', failure: 'rejected', reason }] })
      // A later request for the message was answered.
      expect(await unfetched({ heard: true })).toMatchObject({ events: [{ type: 'sent' }], urls: ['Calls/CA1.json'] })
    },
  )

  test('blames nobody, when the carrier has no log of its errors, or other errors in it', async () => {
    const reason = 'A ligação foi atendida e encerrada antes da mensagem.'
    const completed = { sid: 'CA1', status: 'completed' }
    const lost = { error_code: '11200', request_url: `${NOBODY.callbackBase}?about=status&ref=${reference}` }
    const other = { error_code: '13520', request_url: `${NOBODY.callbackBase}?about=script&ref=${reference}` }
    for (const errors of [null, [], [lost, other]])
      expect(await ask(completed, [], '&record=off', errors)).toMatchObject({ events: [{ type: 'again', reason }] })
  })

  test('has its recordings told too, and is not over before they are made', async () => {
    const completed = { sid: 'CA1', status: 'completed' }
    const made = { sid: 'RE1', status: 'completed', duration: '12' }
    const told = { kind: 'file', of: { ours: reference }, id: 'RE1', seconds: 12 }
    const { events, over, urls } = await ask(completed, [made])
    expect([events[1], over, urls[2]]).toEqual([told, true, 'Calls/CA1/Recordings.json'])
    expect(await ask(completed, [{ ...made, status: 'processing' }])).toMatchObject({ events: [{ kind: 'report' }], over: false })
    expect(await ask(completed, [])).toMatchObject({ over: false })
    expect(await ask(completed, [{ sid: 'RE1', status: 'absent' }])).toMatchObject({ events: [{ kind: 'report' }], over: true })
  })

  test('is asked for again while it lasts, and while the account does not know it', async () => {
    expect(await ask({ sid: 'CA1', status: 'in-progress' })).toMatchObject({ events: [{ type: 'sent' }], over: false })
    expect(await ask(null)).toMatchObject({ events: [], over: false })
    await expect(ask('oops' as never)).resolves.toMatchObject({ events: [], over: false })
  })
})

test('a recording is asked for by its name, at the carrier alone; one that is not there yet is none', async () => {
  const carrier = await scripted(({ url }) =>
    url.includes('RE1') ? { status: 200, body: Buffer.from('RIFF') } : { status: 404, body: '' },
  )
  expect(await fetchTwilioRecording(recordingHttp(), carrier.url(), 'RE1', never)).toEqual(Buffer.from('RIFF'))
  expect(await fetchTwilioRecording(recordingHttp(), carrier.url(), 'RE2', never)).toBeNull()
  expect(carrier.requests[0]!.url).toBe('/2010-04-01/Accounts/conta/Recordings/RE1.wav')
})
