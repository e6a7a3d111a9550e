import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { startWorker } from '../../src/app/worker/worker.js'
import type { EmailMessage } from '../../src/channels/email/email-message.js'
import { openInbound } from '../../src/channels/email/reports/inbound.js'
import { type Report, readReport } from '../../src/channels/email/reports/reports.js'
import { smtpProvider } from '../../src/channels/email/smtp/smtp.js'
import { type ReturnAddress, verpAddress } from '../../src/channels/email/verp.js'
import type { Receipt } from '../../src/channels/provider.js'
import { newId } from '../../src/domain/id.js'
import { freePort } from '../../src/runtime/free-port.js'
import { email } from '../channels/email/messages.js'
import { databaseForTest } from '../support/database/database.js'
import { createAccount, gatewayForTest, testKeys } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { findProgram, isRoot, run, untilListening, userIds } from '../support/programs/other-programs.js'
import { writePostfixSettings } from '../support/programs/postfix-settings.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { smtpSink } from './smtp-sink.js'

const postfix = findProgram('postfix')
const sink = findProgram('smtp-sink')
const missing = postfix === null || sink === null || userIds('postfix') === null || !isRoot

/** A Postfix of our own: own settings, queue and port; it delivers to the given ports by domain. */
async function startPostfix(routes: Record<string, number>): Promise<{ port: number; log: () => string }> {
  const folder = temporaryFolder()
  const port = await freePort()
  const { settings, log } = writePostfixSettings(folder, port, {
    smtp_host_lookup: 'native',
    default_transport: 'error:5.1.2 no such domain',
    relay_transport: 'error:5.1.2 no such domain',
    transport_maps: `inline:{ ${Object.entries(routes)
      .map(([domain, to]) => `{ ${domain} = smtp:[127.0.0.1]:${to} }`)
      .join(', ')} }`,
    notify_classes: '',
    bounce_size_limit: '50000',
  })
  onTestFinished(() => {
    run(postfix!, ['-c', settings, 'stop'])
  })
  run(postfix!, ['-c', settings, 'start'])
  await untilListening(port)
  return { port, log: () => readFileSync(log, 'utf8') }
}

const verp = { domain: 'bounce.example.com', key: Buffer.alloc(32, 9) }

interface Returned {
  recipients: ReturnAddress[]
  report: Report
}

/** Sends through a real Postfix and waits for what comes back to the envelope sender. */
async function roundTrip(
  routes: Record<string, number>,
  changes: Partial<EmailMessage>,
): Promise<{ id: string; receipt: Receipt; returned: Returned }> {
  const arrived: Returned[] = []
  const inbound = await openInbound({
    host: '127.0.0.1',
    port: 0,
    maxBytes: 5_000_000,
    verp,
    onMessage: async (recipients, raw) => void arrived.push({ recipients, report: await readReport(raw) }),
  })
  onTestFinished(() => inbound.close())
  const relay = await startPostfix({ ...routes, [verp.domain]: inbound.port })
  const carrier = await smtpProvider({ signer: null }).open(new URL(`smtp://127.0.0.1:${relay.port}?tls=off`))
  onTestFinished(() => carrier.close())
  const id = newId(Date.now())
  const message = email({ reference: `${id}.email.1`, envelopeFrom: verpAddress(id, verp), ...changes })
  const receipt = await carrier.send(message, new AbortController().signal)
  await vi
    .waitFor(() => expect(arrived).toHaveLength(1), { timeout: 120_000, interval: 100 })
    .catch(error => {
      throw new Error(`nothing came back\n${relay.log()}`, { cause: error })
    })
  return { id, receipt, returned: arrived[0]! }
}

/** The gateway and its worker, whose only carrier is that Postfix: what it reports comes back to the worker's own listener. */
async function startThrough(
  routes: Record<string, number>,
): Promise<{ accept(to: string): Promise<string>; statusOf: StatusOf }> {
  const { pool, url } = await databaseForTest()
  const inbound = await freePort()
  const relay = await startPostfix({ ...routes, [verp.domain]: inbound })
  const env = {
    EMAIL_URL: `smtp://127.0.0.1:${relay.port}?tls=off`,
    BOUNCE_DOMAIN: verp.domain,
    INBOUND_SMTP_HOST: '127.0.0.1',
    INBOUND_SMTP_PORT: String(inbound),
    SIMULATOR: 'off',
  }
  const gateway = await gatewayForTest(pool, env)
  const { token } = await createAccount(pool)
  const worker = await startWorker({
    config: readConfig({ PORT: '0', ...env }),
    keys: testKeys,
    pool,
    databaseUrl: url,
    log: pino({ level: 'silent' }),
    // Nothing is known of example.net here: the e-mail goes on.
    channelOptions: {
      email: { resolver: { exchangers: async () => ({ status: 'unknown' }), addresses: async () => ({ status: 'unknown' }) } },
    },
  })
  onTestFinished(() => worker.close())
  return {
    accept: async to => ((await send(gateway.url, token, { ...validSend, to })).body as { idEmail: string }).idEmail,
    statusOf: async id => (await request(`${gateway.url}/gw/email/${id}`, { token })).body as Record<string, unknown>,
  }
}

type StatusOf = (id: string) => Promise<Record<string, unknown>>

describe.skipIf(missing)('through a private Postfix (as root, with smtp-sink)', () => {
  test('its reports change the status: delivered by one, returned by the other, and the returned address is suppressed', async () => {
    const good = await smtpSink(sink!, ['-N'])
    const bad = await smtpSink(sink!, ['-f', 'RCPT', '-B', '550 5.1.1 User unknown'])
    const { accept, statusOf } = await startThrough({ 'example.net': good, 'example.org': bad })
    const [delivered, returned] = [await accept('joao@example.net'), await accept('Ninguem@example.org')]
    await expect.poll(() => statusOf(delivered)).toMatchObject({ description: 'Entregue', error: false })
    await expect.poll(() => statusOf(returned)).toMatchObject({ description: 'Devolvido', error: true })
    expect(await statusOf(returned)).toMatchObject({ dateSend: expect.stringMatching(/\d/), dateDelivery: '' })
    const again = await accept('ninguem@example.org')
    await expect.poll(() => statusOf(again)).toMatchObject({ failureReason: 'Endereço suprimido' })
  })

  test('a delivery is reported to our envelope sender', async () => {
    // -N: without DSN, so that Postfix is the last that can report.
    const port = await smtpSink(sink!, ['-N'])
    const { id, receipt, returned } = await roundTrip({ 'example.net': port }, { to: 'joao@example.net' })
    expect(receipt.answer).toMatch(/^250 2\.0\.0 Ok: queued as /)
    expect(returned.recipients).toEqual([{ notification: id, purpose: 'return' }])
    expect(returned.report).toMatchObject({
      kind: 'dsn',
      messages: expect.arrayContaining([`${id}.email.1`, `${id}.email.1@orgao.example.com`]),
      entries: [{ action: 'relayed', status: '2.0.0', recipients: ['joao@example.net'] }],
    })
  })

  test('a refusal further on is told by a failure report with its reason', async () => {
    const port = await smtpSink(sink!, ['-f', 'RCPT', '-B', '550 5.1.1 User unknown'])
    const { id, returned } = await roundTrip({ 'example.net': port }, { to: 'ninguem@example.net' })
    expect(returned.recipients[0]!.notification).toBe(id)
    expect(returned.report).toMatchObject({
      kind: 'dsn',
      messages: expect.arrayContaining([`${id}.email.1`]),
      entries: [{ action: 'failed', status: '5.1.1', recipients: ['ninguem@example.net'] }],
    })
  })

  test('a refusal of a large message’s content: the report still finds its way', async () => {
    const port = await smtpSink(sink!, ['-f', '.', '-B', '554 5.7.1 Not like this'])
    const attachments = [{ name: 'ç.pdf', bytes: Buffer.alloc(300_000, 1) }]
    const { id, returned } = await roundTrip({ 'example.net': port }, { attachments })
    expect(returned.recipients[0]!.notification).toBe(id)
    expect(returned.report).toMatchObject({
      kind: 'dsn',
      entries: [{ action: 'failed', status: '5.7.1', diagnostic: '554 5.7.1 Not like this' }],
    })
  })

  test('what Postfix itself refuses is known at once: a domain without a route, a message over its limit', async () => {
    const relay = await startPostfix({ 'example.net': 1 })
    const carrier = await smtpProvider({ signer: null }).open(new URL(`smtp://127.0.0.1:${relay.port}?tls=off`))
    onTestFinished(() => carrier.close())
    const { signal } = new AbortController()
    await expect(carrier.send(email({ to: 'a@nowhere.example' }), signal)).rejects.toMatchObject({
      kind: 'permanent',
      reason: 'O domínio do destinatário não existe ou não recebe e-mails.',
    })
    const large = email({ attachments: [{ name: 'a', bytes: Buffer.alloc(9_000_000, 1) }] })
    await expect(carrier.send(large, signal)).rejects.toMatchObject({
      kind: 'permanent',
      reason: 'A mensagem é grande demais para o servidor de e-mail.',
    })
    expect((await carrier.send(email(), signal)).answer).toMatch(/^250/)
  })
})
