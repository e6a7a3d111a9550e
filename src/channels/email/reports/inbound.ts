import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerError } from 'smtp-server'
import { readVerp, type Verp } from '../verp.js'
import { REPORT_BYTES } from './reports.js'

/** The mail server of the bounce domain: takes what comes back, and nothing else. */
export interface InboundSettings {
  host: string
  /** 0: a free one. */
  port: number
  /** A report may return the whole message that it is about: not less than what we send. */
  maxBytes: number
  verp: Verp
  /** For STARTTLS; without it the listener speaks in clear, as reports travel anyway. */
  tls?: { key: string; cert: string }
  /**
   * Resolves once the message is safe: only then the other side is told so. What throws is tried again by them. Of a large
   * message only the beginning is kept, as much as reports are read from: memory is bounded by the number of clients.
   */
  onMessage(recipients: InboundRecipient[], raw: Buffer): Promise<void>
}

export interface InboundRecipient {
  address: string
  /** Whose envelope sender it is. */
  notification: string
}

export interface Inbound {
  port: number
  close(): Promise<void>
}

const MAX_CLIENTS = 50
const MAX_RECIPIENTS = 20

export async function openInbound({ host, port, maxBytes, verp, tls, onMessage }: InboundSettings): Promise<Inbound> {
  const server = new SMTPServer({
    name: verp.domain,
    banner: 'Carteiro',
    disabledCommands: tls === undefined ? ['AUTH', 'STARTTLS'] : ['AUTH'],
    ...tls,
    size: maxBytes,
    rejectOversized: true,
    disableReverseLookup: true,
    maxClients: MAX_CLIENTS,
    maxRecipients: MAX_RECIPIENTS,
    // One connection may bring many reports.
    maxAllowedUnauthenticatedCommands: 10_000,
    closeTimeout: 2_000,
    logger: false,
    onRcptTo({ address }, _session, done) {
      done(readVerp(address, verp) === null ? smtpError(550, '5.1.1 No such address here') : null)
    },
    onData(stream, session, done) {
      const recipients = session.envelope.rcptTo.flatMap(({ address }) => {
        const notification = readVerp(address, verp)
        return notification === null ? [] : [{ address, notification }]
      })
      gather(stream, maxBytes)
        .then(async raw => {
          // Too large: the server says so by itself.
          if (raw !== null) await onMessage(recipients, raw)
        })
        .then(
          () => done(null, 'Taken'),
          () => done(smtpError(451, '4.3.0 Try again later')),
        )
    },
  })
  // A client that breaks off is not our trouble.
  server.on('error', () => {})
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject)
    server.listen(port, host, () => {
      server.server.off('error', reject)
      resolve()
    })
  })
  return {
    port: (server.server.address() as AddressInfo).port,
    close: () => new Promise(resolve => server.close(resolve)),
  }
}

/** The beginning of the message, or null when all of it is larger than allowed; the rest is read and dropped. */
async function gather(stream: SMTPServerDataStream, maxBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (length < REPORT_BYTES) chunks.push(chunk)
    length += chunk.length
  }
  return length <= maxBytes ? Buffer.concat(chunks).subarray(0, REPORT_BYTES) : null
}

const smtpError = (responseCode: number, text: string): SMTPServerError => Object.assign(new Error(text), { responseCode })
