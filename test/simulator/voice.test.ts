import { expect, test } from 'vitest'
import { FATES, fateNumber } from '../../simulator/voice/fates.js'
import { melody } from '../../simulator/voice/sound.js'
import { readTwiml } from '../../simulator/voice/twiml.js'
import { readWav } from '../../src/domain/text/wav.js'
import { loudness } from '../support/programs/sound.js'
import { readSource } from '../support/sources.js'
import { simulatorForTest, type TestSimulator } from './carriers.js'

const order = (
  simulator: TestSimulator,
  fields: Record<string, string>,
  authorization = `Basic ${Buffer.from(`simulador:${simulator.key}`).toString('base64')}`,
): Promise<Response> =>
  fetch(`${simulator.url}/2010-04-01/Accounts/simulador/Calls.json`, {
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams({ From: '+551130000000', To: '+5511987654321', ...fields }),
  })

const say = (text: string): string => `<Response><Say language="pt-BR">${text}</Say><Hangup/></Response>`

interface ShownCall {
  id: string
  status: string
  said: { who: string; text: string }[]
}

async function ended(simulator: TestSimulator): Promise<ShownCall> {
  const newest = async (): Promise<ShownCall> =>
    ((await simulator.ask('/simulator/messages?channel=voice')).body as ShownCall[])[0]!
  await expect.poll(async () => (await newest()).status).toBe('completed')
  return (await simulator.ask(`/simulator/messages/${(await newest()).id}`)).body as ShownCall
}

test('a call says the text of its document, can be heard, and its page shows the conversation', async () => {
  const simulator = await simulatorForTest()
  const answer = await order(simulator, { Twiml: say('Bom dia, &lt;b&gt;Jos&amp;#233;&lt;/b&gt;.') })
  expect(answer.status).toBe(201)
  expect(await answer.json()).toMatchObject({ sid: expect.stringMatching(/^CA[0-9a-f]{32}$/), status: 'queued' })
  const call = await ended(simulator)
  expect(call.said).toEqual([
    { who: 'person', text: 'Alô?' },
    { who: 'carrier', text: 'Bom dia, <b>Jos&#233;</b>.' },
  ])
  const audio = await fetch(`${simulator.url}/simulator/messages/${call.id}/audio.wav`)
  const sound = readWav(Buffer.from(await audio.arrayBuffer()))!
  expect([loudness(sound, 0) > 100, loudness(sound, 1) > 50]).toEqual([true, true])
  const page = await (await fetch(`${simulator.url}/mensagens/${call.id}`)).text()
  expect(page).toContain('<span>Bom dia, &lt;b&gt;Jos&amp;#233;&lt;/b&gt;.</span>')
  expect(page).toContain(`<audio controls preload="none" src="/simulator/messages/${call.id}/audio.wav">`)
})

test('a wrong order is refused with the carrier’s own error', async () => {
  const simulator = await simulatorForTest()
  const cases: [Record<string, string>, number, number][] = [
    [{ To: '123', Twiml: say('Oi') }, 400, 21211],
    [{ From: 'eu', Twiml: say('Oi') }, 400, 21212],
    [{}, 400, 21205],
    [{ Twiml: 'x'.repeat(4_001) }, 400, 21218],
  ]
  for (const [fields, status, code] of cases) {
    const answer = await order(simulator, fields)
    expect([answer.status, ((await answer.json()) as { code: number }).code]).toEqual([status, code])
  }
  expect((await order(simulator, { Twiml: say('Oi') }, 'Basic eDp5')).status).toBe(401)
  expect((await simulator.ask('/simulator/log')).body).toEqual([])
})

test('callbacks go only to a gateway that registered', async () => {
  const simulator = await simulatorForTest()
  await order(simulator, { Url: 'http://127.0.0.1:9/x', StatusCallback: 'http://127.0.0.1:9/y' })
  const call = (await ended(simulator)) as ShownCall & { reports: { type: string; state: string }[] }
  expect(call.said.filter(({ who }) => who === 'carrier')).toEqual([])
  expect(call.reports.find(({ type }) => type === 'script')).toMatchObject({ state: 'refused' })
})

test('a call is audible without espeak-ng', () => {
  const samples = melody('Olá, mundo')
  expect(loudness({ rate: 8_000, channels: 1, samples }, 0)).toBeGreaterThan(1_000)
})

test('the verbs of a document are read in order', () => {
  expect(
    readTwiml(
      '<?xml version="1.0"?><Response><Pause/><Say>a</Say><Gather action="/k?a=1&amp;b=2"><Say>b</Say></Gather><Hangup/></Response>',
    ),
  ).toEqual([{ verb: 'say', text: 'a' }, { verb: 'gather', action: '/k?a=1&b=2', says: ['b'] }, { verb: 'hangup' }])
  expect(readTwiml('<Response><Say>a</Say><Redirect method="POST">/m?a=1&amp;b=2</Redirect></Response>')).toEqual([
    { verb: 'say', text: 'a' },
    { verb: 'redirect', url: '/m?a=1&b=2' },
  ])
  expect(readTwiml('{"not":"xml"}')).toBeNull()
})

test('the guide lists every number with a fixed fate', () => {
  const guide = readSource('docs/voz.md')
  for (const fate of FATES) expect(guide).toContain(`\`${fateNumber(fate)}\``)
})
