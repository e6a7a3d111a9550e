import { execFileSync } from 'node:child_process'
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { sipProvider } from '../../../src/channels/voice/sip.js'
import type { VoiceMessage } from '../../../src/channels/voice/voice-message.js'
import { type Behaviour, Plan, RECIPIENT, type ScriptedSide } from '../subject.js'

/** A telephone exchange over UDP that answers calls, or does with them what a test wants. */
export async function openExchange(): Promise<ScriptedSide<VoiceMessage>> {
  const folder = ownTemporaryFolder()
  const rung = new Set<string>()
  const plan = new Plan()
  /** By call: an INVITE comes again until it is answered. */
  const decided = new Map<string, Behaviour>()
  let socket = await listen(0)
  const { port } = socket.address()

  const ring = (invite: string, to: RemoteInfo) => {
    const tell = (line: string, body = ''): void => socket.send(answerTo(invite, line, port, body), to.port, to.address)
    const call = header(invite, 'Call-ID')
    const behaviour = decided.get(call) ?? plan.take()
    decided.set(call, behaviour)
    if (!invite.startsWith(`INVITE sip:${RECIPIENT.number}@`)) return tell('404 Not Found')
    if (behaviour === 'refuse for good') return tell('404 Not Found')
    if (behaviour === 'refuse for a while') return tell('503 Service Unavailable')
    if (behaviour !== 'drop') rung.add(call)
    if (behaviour === 'answer garbage') return socket.send('lixo', to.port, to.address)
    tell('180 Ringing')
    if (behaviour === 'accept') tell('200 OK', descriptionAt(port))
    // UDP has no connection to break: the process that makes the call dies instead.
    if (behaviour === 'reset' || behaviour === 'drop') killCalls(folder)
  }

  async function listen(at: number): Promise<Socket> {
    const opened = createSocket('udp4')
    opened.on('message', (bytes, from) => {
      const text = bytes.toString('latin1')
      if (text.startsWith('INVITE ')) ring(text, from)
      if (/^(BYE|CANCEL) /.test(text)) opened.send(answerTo(text, '200 OK', at === 0 ? port : at), from.port, from.address)
    })
    opened.bind(at, '127.0.0.1')
    await once(opened, 'listening')
    return opened
  }

  let listening = true
  const leave = async (): Promise<void> => {
    if (!listening) return
    listening = false
    const closed = once(socket, 'close')
    socket.close()
    await closed
  }
  onTestFinished(leave)
  return {
    url: new URL(`sip://carteiro:${TRUNK_PASSWORD}@127.0.0.1:${port}?local=127.0.0.1`),
    provider: ({ onEvents }) =>
      sipProvider({
        onEvents,
        heldFolder: join(folder, 'recordings'),
        ...(listening && RINGS.has(plan.now) ? {} : { ringMs: 1_000 }),
      }),
    behave: plan.behave,
    taken: () => [...rung].map(() => ''),
    leave,
    async comeBack() {
      socket = await listen(port)
      listening = true
    },
    open: () => callFolders(folder).length,
  }
}

/** Of the others only the end of the ringing tells: UDP does not say that nobody listens. */
const RINGS: ReadonlySet<Behaviour> = new Set(['accept', 'stay silent', 'reset', 'drop'])

export const TRUNK_PASSWORD = 'senha-do-tronco'

/** Calls keep their files in the machine's temporary folder: one of this test's own shows its calls and no others. */
function ownTemporaryFolder(): string {
  const before = process.env.TMPDIR
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-exchange-'))
  process.env.TMPDIR = folder
  onTestFinished(() => {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

const callFolders = (folder: string): string[] => readdirSync(folder).filter(name => name.startsWith('carteiro-call-'))

function killCalls(folder: string): void {
  for (const line of execFileSync('ps', ['-eo', 'pid=,args=']).toString().split('\n')) {
    const [pid = '', program = ''] = line.trim().split(/\s+/)
    if (program === 'baresip' && line.includes(folder)) process.kill(Number(pid), 'SIGKILL')
  }
}

const lines = (text: string, name: string): string[] =>
  text.split('\r\n').filter(line => line.toLowerCase().startsWith(`${name.toLowerCase()}:`))

const header = (text: string, name: string): string => lines(text, name)[0] ?? ''

const answerTo = (request: string, line: string, port: number, body = ''): string =>
  [
    `SIP/2.0 ${line}`,
    ...lines(request, 'Via'),
    header(request, 'From'),
    header(request, 'To').includes('tag=') ? header(request, 'To') : `${header(request, 'To')};tag=exchange`,
    header(request, 'Call-ID'),
    header(request, 'CSeq'),
    `Contact: <sip:exchange@127.0.0.1:${port}>`,
    ...(body === '' ? [] : ['Content-Type: application/sdp']),
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n')

/** Sound comes to the port of the words: whatever is no request is not looked at. */
const descriptionAt = (port: number): string =>
  [
    'v=0',
    'o=exchange 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    `m=audio ${port} RTP/AVP 0`,
    'a=rtpmap:0 PCMU/8000',
    '',
  ].join('\r\n')
