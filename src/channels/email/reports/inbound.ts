import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerDataStream, type SMTPServerError } from 'smtp-server'
import { type ReturnAddress, readVerp, type Verp } from '../verp.js'
import { REPORT_BYTES } from './reports.js'

export interface InboundSettings {
  host: string
  /** 0: any free port. */
  port: number
  /** At least the largest message that we send, because a report may return the whole message. */
  maxBytes: number
  verp: Verp
  /** For STARTTLS. Without it the connection is not encrypted, as is usual between mail servers for reports. */
  tls?: { key: string; cert: string }
  /**
   * Resolves once the message is committed, and only then is it acknowledged; after an error the other server retries. Only the
   * first REPORT_BYTES of a message are passed, so the number of clients bounds the memory.
   */
  onMessage(recipients: ReturnAddress[], raw: Buffer): Promise<void>
}

/** Opens the mail server of the bounce domain, which accepts only addresses of our own envelope senders. */
export async function openInbound({ host, port, maxBytes, verp, tls, onMessage }: InboundSettings) {
  const server = new SMTPServer({
    name: verp.domain,
    banner: 'Carteiro',
    disabledCommands: tls === undefined ? ['AUTH', 'STARTTLS'] : ['AUTH'],
    ...tls,
    size: maxBytes,
    rejectOversized: true,
    disableReverseLookup: true,
    maxClients: 50,
    maxRecipients: 20,
    // One connection may deliver many reports.
    maxAllowedUnauthenticatedCommands: 10_000,
    closeTimeout: 2_000,
    logger: false,
    onRcptTo({ address }, _session, done) {
      done(readVerp(address, verp) === null ? smtpError(550, '5.1.1 No such address here') : null)
    },
    onData(stream, session, done) {
      const recipients = session.envelope.rcptTo.flatMap(({ address }) => {
        const read = readVerp(address, verp)
        return read === null ? [] : [read]
      })
      gather(stream, maxBytes)
        // null: the message is too large, which smtp-server answers by itself.
        .then(raw => (raw === null ? undefined : onMessage(recipients, raw)))
        .then(
          () => done(null, 'Taken'),
          () => done(smtpError(451, '4.3.0 Try again later')),
        )
    },
  })
  // A client that breaks the connection must not end the process.
  server.on('error', () => {})
  server.listen(port, host)
  await once(server.server, 'listening')
  return {
    port: (server.server.address() as AddressInfo).port,
    close: () => new Promise<void>(resolve => server.close(resolve)),
  }
}

/** The first REPORT_BYTES of the message, or null when the whole message is larger than allowed. */
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
