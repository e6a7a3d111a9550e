import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { createTransport } from 'nodemailer'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { expect, onTestFinished, vi } from 'vitest'
import { createSimulator, type Simulator, type SimulatorOptions } from '../../simulator/simulator.js'
import { type Answer, request } from '../support/gateway/requests.js'

/** The simulator and the programs that it talks to. Each has its own sockets and is closed with the test. */
export interface TestSimulator extends Simulator {
  smtpUrl: string
  smppUrl: string
  ask(path: string, options?: { method?: string; body?: unknown; headers?: Record<string, string> }): Promise<Answer>
  /** The newest message to an address, with its details. */
  message(to: string): Promise<Message>
}

export interface Message {
  id: string
  from: string
  fromName: string
  to: string
  subject: string
  messageId: string | null
  receivedAt: string
  answer: string | null
  envelope: Record<string, unknown>
  headers: { name: string; value: string }[]
  text: string | null
  html: string | null
  links: string[]
  attachments: { name: string; type: string; size: number; sha256: string }[]
  reports: { type: string; status: string | null; state: string; detail: string | null; doneAt: string | null }[]
}

const WAIT = { timeout: 120_000, interval: 20 }

export async function simulatorForTest(options: SimulatorOptions = {}): Promise<TestSimulator> {
  const simulator = await createSimulator(options)
  onTestFinished(() => simulator.close())
  const authorization = `Bearer ${simulator.key}`
  const ask: TestSimulator['ask'] = (path, options) =>
    request(`${simulator.url}${path}`, { ...options, headers: { authorization, ...options?.headers } })
  return {
    ...simulator,
    smtpUrl: simulator.carrierUrls.smtp!,
    smppUrl: simulator.carrierUrls.smpp!,
    ask,
    async message(to) {
      const { body } = await ask(`/simulator/messages?to=${encodeURIComponent(to)}&wait=10s`)
      const [newest] = body as Message[]
      expect(newest, `a message to ${to}`).toBeDefined()
      return (await ask(`/simulator/messages/${newest!.id}`)).body as Message
    },
  }
}

export interface Received {
  from: string
  to: string
  raw: string
  email: Email
}

export interface Listener {
  url: string
  received: Received[]
  /** Waits for at least that many mails (to an address, if given) and returns all of them. */
  wait(count: number, to?: string): Promise<Received[]>
  close(): Promise<void>
}

/** An SMTP server that receives reports as the gateway does. It may refuse a recipient. */
export async function listenerForTest(refusal: (to: string) => number | null = () => null): Promise<Listener> {
  const received: Received[] = []
  const server = new SMTPServer({
    disableReverseLookup: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    hideSTARTTLS: true,
    logger: false,
    closeTimeout: 1,
    onRcptTo({ address }, _session, done) {
      const code = refusal(address)
      done(code === null ? null : Object.assign(new Error('not here'), { responseCode: code }))
    },
    onData(stream, { envelope }, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        const raw = Buffer.concat(chunks)
        const email = await PostalMime.parse(raw, { forceRfc822Attachments: true })
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        received.push({ from, to: envelope.rcptTo[0]!.address, raw: raw.toString('utf8'), email })
        done()
      })
    },
  })
  server.on('error', () => {})
  const listening = server.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  let closed = false
  const close = async (): Promise<void> => {
    if (closed) return
    closed = true
    await new Promise<void>(resolve => server.close(resolve))
  }
  onTestFinished(close)
  return {
    url: `smtp://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    received,
    async wait(count, to) {
      const found = (): Received[] => received.filter(mail => to === undefined || mail.to === to)
      await vi.waitFor(() => expect(found().length).toBeGreaterThanOrEqual(count), WAIT)
      return found()
    },
    close,
  }
}

/** A simulator that sends its reports to a listener. */
export async function carriersForTest(options: SimulatorOptions = {}): Promise<{ simulator: TestSimulator; listener: Listener }> {
  const simulator = await simulatorForTest(options)
  const listener = await listenerForTest()
  await register(simulator, listener.url)
  return { simulator, listener }
}

export async function register(simulator: TestSimulator, bounces: string): Promise<void> {
  expect(await simulator.ask('/simulator/routes', { method: 'PUT', body: { bounces } })).toMatchObject({ status: 200 })
}

/** What a gateway registers as its PUBLIC_URL. */
export async function allowSite(simulator: TestSimulator, site: string): Promise<void> {
  expect(await simulator.ask('/simulator/routes', { method: 'PUT', body: { site } })).toMatchObject({ status: 200 })
}

export const BOUNCES = 'b+7f3.abc@bounce.test'

export interface Sending {
  to: string
  from?: string
  subject?: string
  html?: string
  text?: string
  headers?: Record<string, string>
  messageId?: string
  attachments?: { filename: string; content: Buffer }[]
  envelopeFrom?: string
  /** null sends no DSN parameters at all. */
  dsn?: { id?: string; return?: 'headers' | 'full'; notify?: string[]; recipient?: string } | null
  auth?: { user: string; pass: string }
}

/** Sends as the gateway does and returns the answer to the content. */
export async function send(simulator: TestSimulator, sending: Sending): Promise<string> {
  const { to, envelopeFrom = BOUNCES, dsn, auth, ...message } = sending
  const { hostname, port } = new URL(simulator.smtpUrl)
  const transport = createTransport({
    host: hostname,
    port: Number(port),
    ignoreTLS: true,
    name: 'gateway.test',
    ...(auth === undefined ? {} : { auth }),
  })
  const { response } = await transport.sendMail({
    from: 'Banco Exemplo <avisos@exemplo.test>',
    to,
    subject: 'Aviso',
    text: 'Seu contrato vence em 30 dias.',
    ...message,
    envelope: { from: envelopeFrom, to: [to] },
    ...(dsn === null
      ? {}
      : { dsn: { id: 'ref-1', return: 'headers', notify: ['success', 'failure', 'delay'], recipient: to, ...dsn } }),
  })
  return response ?? ''
}

/** Returns the answer, also when it is a refusal. */
export const tryToSend = (simulator: TestSimulator, sending: Sending): Promise<string> =>
  send(simulator, sending).catch(({ response, code }: { response?: string; code?: string }) => response ?? `no answer: ${code}`)

/** An SMTP client that sends line by line. */
export class Dialogue {
  readonly socket: Socket
  #text = ''
  closed = false

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('utf8')
    socket.on('data', chunk => {
      this.#text += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.closed = true
    })
    onTestFinished(() => {
      socket.destroy()
    })
  }

  static async open(url: string): Promise<Dialogue> {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    const dialogue = new Dialogue(socket)
    await once(socket, 'connect')
    return dialogue
  }

  /** What the server has sent and the test has not read. */
  get pending(): string {
    return this.#text
  }

  async read(count = 1): Promise<string[]> {
    const signal = AbortSignal.timeout(WAIT.timeout)
    const replies: string[] = []
    while (replies.length < count) {
      const reply = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(this.#text)?.[0]
      if (reply !== undefined) {
        replies.push(reply.trimEnd())
        this.#text = this.#text.slice(reply.length)
      } else {
        if (this.closed) throw new Error(`closed after ${replies.join(', ')}`)
        const heard = new AbortController()
        const either = { signal: AbortSignal.any([signal, heard.signal]) }
        await Promise.race([once(this.socket, 'data', either), once(this.socket, 'close', either)]).finally(() => heard.abort())
      }
    }
    return replies
  }

  async say(...lines: string[]): Promise<string> {
    this.socket.write(`${lines.join('\r\n')}\r\n`)
    return (await this.read())[0]!
  }

  write(text: string): void {
    this.socket.write(text)
  }

  /** Sends the commands up to DATA; the caller sends the content. */
  async begin(to: string, mailParameters = '', recipientParameters = ''): Promise<void> {
    expect(await this.say('EHLO gateway.test')).toMatch(/^250/)
    expect(await this.say(`MAIL FROM:<${BOUNCES}>${mailParameters}`)).toMatch(/^250/)
    expect(await this.say(`RCPT TO:<${to}>${recipientParameters}`)).toMatch(/^250/)
    expect(await this.say('DATA')).toMatch(/^354/)
  }

  async untilClosed(): Promise<void> {
    await vi.waitFor(() => expect(this.closed).toBe(true), WAIT)
  }
}

export interface Visit {
  method: string
  path: string
  headers: IncomingHttpHeaders
}

/** A web server that records the visits. */
export async function siteForTest(
  answer: (path: string) => { status: number; location?: string } = () => ({ status: 200 }),
): Promise<{
  url: string
  visits: Visit[]
  wait(count: number): Promise<Visit[]>
}> {
  const visits: Visit[] = []
  const server = createServer(({ method, url, headers }, response) => {
    visits.push({ method: method!, path: url!, headers })
    const { status, location } = answer(url!)
    response.writeHead(status, { 'content-type': 'image/gif', ...(location === undefined ? {} : { location }) }).end('GIF89a')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    visits,
    async wait(count) {
      await vi.waitFor(() => expect(visits.length).toBeGreaterThanOrEqual(count), WAIT)
      return visits
    },
  }
}

/** Waits until no report of the message is waiting. */
export async function settled(simulator: TestSimulator, to: string): Promise<Message> {
  let message: Message | undefined
  await vi.waitFor(async () => {
    message = await simulator.message(to)
    expect(message.reports.length).toBeGreaterThan(0)
    expect(message.reports.map(({ state }) => state)).not.toContain('waiting')
  }, WAIT)
  return message!
}

/** The fields of a report's machine-readable part, by group (RFC 3464: those of the mail, then those of the recipient). */
export function reportFields(report: Received, type: string): Record<string, string>[] {
  const [, boundary] = /boundary="([^"]+)"/.exec(report.raw)!
  const part = report.raw.split(`--${boundary}`).find(part => part.startsWith(`\r\nContent-Type: message/${type}\r\n`))!
  expect(part, `a part message/${type}`).toBeDefined()
  const [, ...groups] = part.trim().split('\r\n\r\n')
  return groups.map(group =>
    Object.fromEntries(
      group.split('\r\n').map(line => {
        const [, name, value] = /^([A-Za-z-]+): (.+)$/.exec(line)!
        return [name, value]
      }),
    ),
  )
}

/** The content types of the parts of a report, in order. */
export function partTypes(report: Received): string[] {
  const [, boundary] = /boundary="([^"]+)"/.exec(report.raw)!
  const parts = report.raw.split(`--${boundary}`)
  expect(parts.at(-1)).toBe('--\r\n')
  return parts.slice(1, -1).map(part => /^\r\nContent-Type: ([^;\r]+)/.exec(part)![1]!)
}
