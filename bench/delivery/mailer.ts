import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createTransport } from 'nodemailer'
import { createSigner } from '../../src/channels/email/dkim/signer.js'
import { readSigningKey } from '../../src/channels/email/dkim/signing-key.js'
import { smtpProvider } from '../../src/channels/email/smtp/smtp.js'
import { sampleMessage, WARM_UP } from './message.js'

/**
 * A mail client in a process of its own, without a database: ours, which is the limit of what the gateway could deliver, or
 * nodemailer's pool. It connects, warms up, then sends as many as a message orders.
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    client: { type: 'string', default: 'ours' },
    key: { type: 'string' },
    domain: { type: 'string', default: '' },
    selector: { type: 'string', default: '' },
  },
})
const CONNECTIONS = 20
/** Two for each connection: with more it is slower. */
const AT_ONCE = 40

const message = await sampleMessage()
const dkim =
  values.key === undefined
    ? null
    : { domain: values.domain, selector: values.selector, privateKeyPem: readFileSync(values.key, 'utf8') }
const send = values.client === 'ours' ? await openOurs() : openNodemailer()

async function openOurs(): Promise<() => Promise<unknown>> {
  const key = dkim === null ? null : readSigningKey(dkim)
  const signer = createSigner({ find: () => key })
  const carrier = await smtpProvider({ signer }).open(new URL(`smtp://127.0.0.1:${values.port}?tls=off&pool=${CONNECTIONS}`))
  const { signal } = new AbortController()
  return () => carrier.send(message, signal)
}

function openNodemailer(): () => Promise<unknown> {
  const transport = createTransport({
    pool: true,
    host: '127.0.0.1',
    port: Number(values.port),
    ignoreTLS: true,
    maxConnections: CONNECTIONS,
    maxMessages: Number.POSITIVE_INFINITY,
    ...(dkim === null ? {} : { dkim: { domainName: dkim.domain, keySelector: dkim.selector, privateKey: dkim.privateKeyPem } }),
  })
  const { envelopeFrom, to, toName, from, fromName, subject, html, text, date } = message
  const mail = {
    envelope: { from: envelopeFrom, to: [to] },
    from: { name: fromName, address: from },
    to: { name: toName, address: to },
    subject,
    html,
    text,
    date,
  }
  return () => transport.sendMail(mail)
}

async function sendMany(count: number): Promise<void> {
  let left = count
  const stream = async (): Promise<void> => {
    while (left > 0) {
      left--
      await send()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, stream))
}

process.on('SIGINT', () => {})
process.on('disconnect', () => process.exit(0))
process.on('message', async (count: number) => {
  await sendMany(count)
  process.send?.('sent')
})
await sendMany(WARM_UP)
process.send?.('ready')
