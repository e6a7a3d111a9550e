import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type CarrierEvent, type CarrierFile, type Receipt, SendError } from '../../src/channels/provider.js'
import { Baresip } from '../../src/channels/voice/baresip.js'
import { sipProvider } from '../../src/channels/voice/sip.js'
import { readWav } from '../../src/domain/text/wav.js'
import { call } from '../channels/voice/calls.js'
import { openExchange } from '../channels/voice/exchange.js'
import { findProgram } from '../support/programs/other-programs.js'
import { loudness } from '../support/programs/sound.js'
import { temporaryFolder } from '../support/temporary-folder.js'

const programs = ['sipp', 'baresip', 'espeak-ng'].map(findProgram)
const never = new AbortController().signal

const answer = (line: string, body = ''): string => `<send><![CDATA[
SIP/2.0 ${line}
[last_Via:]
[last_From:]
[last_To:];tag=[pid]peer[call_number]
[last_Call-ID:]
[last_CSeq:]
Contact: <sip:[local_ip]:[local_port];transport=[transport]>
${body === '' ? 'Content-Length: 0' : `Content-Type: application/sdp\nContent-Length: [len]\n\n${body}`}

]]></send>`

const SDP = `v=0
o=peer 1 1 IN IP4 [local_ip]
s=-
c=IN IP4 [media_ip]
t=0 0
m=audio [media_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000`

const INVITE = '<recv request="INVITE" crlf="true"/>'
const ACK = '<recv request="ACK" optional="false"/>'
/** The trunk plays the ringing itself, longer than a short message lasts. */
const EARLY_MEDIA = [answer('183 Session Progress', SDP), '<pause milliseconds="4000"/>']
const TALK = [answer('200 OK', SDP), ACK, '<recv request="BYE"/>', answer('200 OK')]
const scenarios = {
  answers: [INVITE, answer('180 Ringing'), ...TALK],
  'answers after early media': [INVITE, ...EARLY_MEDIA, ...TALK],
  'answers after early media and ringing': [INVITE, ...EARLY_MEDIA, answer('180 Ringing'), ...TALK],
  'rings with early media': [INVITE, ...EARLY_MEDIA, '<recv request="CANCEL"/>', answer('200 OK')],
  rings: [INVITE, answer('180 Ringing'), '<recv request="CANCEL"/>', answer('200 OK')],
  busy: [INVITE, answer('486 Busy Here'), ACK],
  missing: [INVITE, answer('404 Not Found'), ACK],
  trouble: [INVITE, answer('503 Service Unavailable'), ACK],
}

/** A telephone exchange that plays one scenario; its port. */
async function exchange(name: keyof typeof scenarios): Promise<number> {
  const file = join(temporaryFolder(), 'scenario.xml')
  writeFileSync(
    file,
    `<?xml version="1.0" encoding="UTF-8"?>\n<scenario name="${name}">${scenarios[name].join('\n')}</scenario>\n`,
  )
  const [port, media] = [await freeUdpPort(), await freeUdpPort()]
  const options = ['-sf', file, '-i', '127.0.0.1', '-p', String(port), '-mi', '127.0.0.1', '-rtp_echo', '-nostdin', '-m', '1']
  const child = spawn(programs[0]!, [...options, '-mp', String(media)], { stdio: 'ignore' })
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null
  onTestFinished(async () => {
    if (isGone()) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  await expect.poll(async () => isGone() || ((await isTaken(port)) && (await isTaken(media)))).toBe(true)
  // It ends where one of its ports is taken, be it for the moment in which we look.
  return isGone() ? exchange(name) : port
}

/** Below the ports that the system gives to others: a call of another test may take one of those before sipp does. */
async function freeUdpPort(): Promise<number> {
  const port = 21_000 + 2 * randomInt(4_500)
  return (await isTaken(port)) ? freeUdpPort() : port
}

/** Whether somebody listens there over UDP. */
async function isTaken(port: number): Promise<boolean> {
  const socket = createSocket('udp4')
  const taken = await new Promise<boolean>(resolve => {
    socket.on('error', () => resolve(true))
    socket.bind(port, '127.0.0.1', () => resolve(false))
  })
  socket.close()
  return taken
}

interface Outcome {
  receipt: Receipt | SendError
  events: CarrierEvent[]
}

async function ringUp(port: number, message = call(), ring = 30, host = '127.0.0.1'): Promise<Outcome> {
  const events: CarrierEvent[] = []
  const provider = sipProvider({ onEvents: async items => void events.push(...items), heldFolder: temporaryFolder() })
  const carrier = await provider.open(new URL(`sip://carteiro:segredo@${host}:${port}?local=127.0.0.1&ring=${ring}`))
  const receipt = await carrier.send(message, never).catch((error: SendError) => error)
  await carrier.close()
  return { receipt, events }
}

/** How long our side of a recording is from its first to its last word. */
function spokenSamples({ bytes }: CarrierFile): number {
  const { samples, channels } = readWav(bytes!)!
  const ours = samples.filter((_, n) => n % channels === 0)
  const isLoud = (sample: number): boolean => Math.abs(sample) > 500
  return ours.findLastIndex(isLoud) - ours.findIndex(isLoud)
}

const leftovers = (): string[] => readdirSync(tmpdir()).filter(name => name.startsWith('carteiro-call-'))

describe.skipIf(programs.includes(null))('calls over a SIP trunk, against sipp', () => {
  test('one that is answered says the message, and its recording holds both sides', async () => {
    const { receipt, events } = await ringUp(await exchange('answers'), call({ text: 'Bom dia.', greeting: 'Olá.' }))
    expect(receipt).not.toBeInstanceOf(SendError)
    const [report, recording] = events as [CarrierEvent, CarrierFile]
    expect(report).toMatchObject({ kind: 'report', type: 'delivered', of: { ours: call().reference } })
    expect(recording).toMatchObject({ kind: 'file', seconds: expect.any(Number) })
    const sound = readWav(recording.bytes!)!
    expect(sound).toMatchObject({ rate: 8_000, channels: 2 })
    // The exchange says back what it hears.
    expect(loudness(sound, 0)).toBeGreaterThan(200)
    expect(loudness(sound, 1)).toBeGreaterThan(200)
    expect(leftovers()).toEqual([])
  })

  test.each(['answers after early media', 'answers after early media and ringing'] as const)(
    'one that %s says the whole message, and only to whoever answered',
    async name => {
      const message = call({ text: 'Bom dia.', greeting: 'Olá.' })
      const [{ events: plain }, { receipt, events }] = await Promise.all([
        ringUp(await exchange('answers'), message),
        ringUp(await exchange(name), message),
      ])
      expect(receipt).not.toBeInstanceOf(SendError)
      expect(events).toMatchObject([{ kind: 'report', type: 'delivered', answer: 'end of file' }, { kind: 'file' }])
      const [whole, spoken] = [plain, events].map(told => spokenSamples(told[1] as CarrierFile))
      expect(spoken).toBeGreaterThan(whole! * 0.95)
    },
  )

  test('one that is busy is made again by the account’s plan, and is busy when the plan is over', async () => {
    const again = await ringUp(await exchange('busy'), call({}, { againMs: 900_000 }))
    expect(again.receipt).not.toBeInstanceOf(SendError)
    expect(again.events).toMatchObject([{ type: 'again', delayMs: 900_000, reason: 'O número estava ocupado.' }])
    const last = await ringUp(await exchange('busy'))
    expect(last.events).toMatchObject([{ type: 'failed', failure: 'busy', answer: expect.stringContaining('486') }])
  })

  test.each(['rings', 'rings with early media'] as const)(
    'one that %s unanswered ends when it has rung long enough',
    async name => {
      const short = { text: 'Bom dia.', greeting: 'Olá.' }
      const [again, last] = await Promise.all([
        ringUp(await exchange(name), call(short, { againMs: 900_000 }), 5),
        ringUp(await exchange(name), call(short), 5),
      ])
      expect(again.events).toMatchObject([{ type: 'again', delayMs: 900_000, reason: 'Ninguém atendeu.' }])
      expect(last.events).toMatchObject([{ type: 'failed', failure: 'no-answer' }])
      expect(leftovers()).toEqual([])
    },
  )

  test('a trunk without an address is trouble of the trunk: nobody was called, and nobody failed to answer', async () => {
    const { receipt, events } = await ringUp(await freeUdpPort(), call({}, { againMs: 900_000 }), 5, 'tronco.invalid')
    expect(receipt).toMatchObject({ kind: 'temporary', scope: 'carrier' })
    expect(events).toEqual([])
    expect(leftovers()).toEqual([])
  })

  test.each([
    ['missing', 'permanent'],
    ['trouble', 'temporary'],
  ] as const)('an answer that says %s is %s', async (name, kind) => {
    const { receipt, events } = await ringUp(await exchange(name))
    expect(receipt).toMatchObject({ kind })
    expect(events).toEqual([])
  })
})

describe.skipIf(programs.slice(1).includes(null))('calls over a SIP trunk, by baresip and espeak-ng', () => {
  const provider = sipProvider({ onEvents: async () => {}, heldFolder: '/nowhere' })
  test('a key cannot be waited for: such calls are left to another carrier, and refused where there is none', async () => {
    const { url, taken } = await openExchange()
    const trunk = await provider.open(url)
    expect([trunk.lacks!(call({ key: true })), trunk.lacks!(call())]).toEqual([true, false])
    await expect(trunk.send(call({ key: true }), never)).rejects.toMatchObject({ kind: 'permanent' })
    expect(taken()).toEqual([])
  })

  test('a control port that another program took is not spoken to: it may be the control of another call', async () => {
    const folder = temporaryFolder()
    const [config, taken] = [join(folder, 'config'), join(folder, 'taken')]
    // A baresip that starts once its port is taken.
    const script = `cp "$2/config" '${config}.new' && mv '${config}.new' '${config}'; until [ -e '${taken}' ]; do sleep 0.05; done`
    writeFileSync(join(folder, 'baresip'), `#!/bin/sh\n${script}\nexec '${programs[1]}' "$@"\n`, { mode: 0o755 })
    vi.stubEnv('PATH', `${folder}:${process.env.PATH}`)
    onTestFinished(() => void vi.unstubAllEnvs())
    const speech = { rate: 8_000, channels: 1, samples: new Int16Array(8_000) }
    const starting = Baresip.start({ account: '<sip:a@127.0.0.1>;regint=0', local: '127.0.0.1', speech, ringSeconds: 1 })
    const outcome = starting.then(
      phone => phone.remove().then(() => 'started'),
      (error: Error) => error.message,
    )
    await expect.poll(() => existsSync(config)).toBe(true)
    let connections = 0
    const other = createServer(socket => {
      connections++
      socket.on('error', () => {})
    })
    onTestFinished(() => void other.close())
    other.listen(Number(/^ctrl_tcp_listen .*:(\d+)$/m.exec(readFileSync(config, 'utf8'))![1]), '127.0.0.1')
    await once(other, 'listening')
    writeFileSync(taken, '')
    expect(await outcome).toContain('ctrl_tcp')
    expect(connections).toBe(0)
    expect(leftovers()).toEqual([])
  })
})
