import type { EmailMessage } from '../../../src/channels/email/email-message.js'
import { systemResolver } from '../../../src/channels/email/resolver.js'
import { mxProvider } from '../../../src/channels/email/smtp/mx.js'
import { smtpProvider } from '../../../src/channels/email/smtp/smtp.js'
import { type Behaviour, Plan, RECIPIENT, type ScriptedSide, type Subject, WAIT_SECONDS } from '../subject.js'
import { email } from './messages.js'
import { nameServer } from './name-server.js'
import { type Point, type Step, scriptedServer } from './scripted-server.js'

const PASSWORD = 'senha-do-contrato'

const steps: Partial<Record<Behaviour, { at: Point; step: Step }>> = {
  'refuse for good': { at: 'RCPT', step: '550 5.1.1 No such user' },
  'refuse for a while': { at: 'RCPT', step: '450 4.2.1 Mailbox busy' },
  throttle: { at: 'MAIL', step: `421 4.7.0 Too many messages, try again in ${WAIT_SECONDS} seconds` },
  'stay silent': { at: 'end', step: 'SILENCE' },
  reset: { at: 'end', step: 'RESET' },
  'answer garbage': { at: 'end', step: 'lixo' },
}

const messageId = (raw: string): string => /^Message-ID: *(.+)\r$/im.exec(raw)![1]!

async function startServer(
  url: (port: number) => string,
  provider: ScriptedSide<EmailMessage>['provider'],
): Promise<ScriptedSide<EmailMessage>> {
  const plan = new Plan()
  const server = await scriptedServer({
    extensions: ['PIPELINING', '8BITMIME', 'ENHANCEDSTATUSCODES', 'AUTH PLAIN'],
    at(point) {
      const planned = steps[point === 'end' ? plan.take() : plan.now]
      return planned?.at === point ? planned.step : undefined
    },
  })
  return {
    url: new URL(url(server.port)),
    provider,
    behave: plan.behave,
    // An empty one ends a transaction whose recipient was refused (RFC 2920 3.1).
    taken: () => server.messages.filter(raw => raw !== '').map(messageId),
    leave: server.leave,
    comeBack: server.comeBack,
    open: () => server.open,
  }
}

const message = (reference: string): EmailMessage => email({ reference, to: RECIPIENT.email })

export const smtpSubject: Subject<EmailMessage> = {
  name: 'smtp',
  channel: 'email',
  setting: 'EMAIL_URL',
  start: () =>
    startServer(
      port => `smtp://usuario:${PASSWORD}@127.0.0.1:${port}?tls=off`,
      () => smtpProvider({ signer: null }),
    ),
  request: { to: RECIPIENT.email },
  message,
  secrets: [PASSWORD, Buffer.from(`\0usuario\0${PASSWORD}`).toString('base64')],
  badUrls: [
    ['http://relay.example.com', 'smtp:// ou smtps://'],
    ['smtp://', 'servidor'],
    ['smtp:relay', 'servidor'],
    ['smtp://relay.example.com?tls=yes', 'tls'],
    ['smtp://relay.example.com?pool=0', 'pool'],
    ['smtp://relay.example.com?pool=1000', 'pool'],
    ['smtp://relay.example.com?pool=x', 'pool'],
    ['smtp://relay.example.com?name=a%20b', 'name'],
    ['smtp://relay.example.com?name=a%0d%0ab', 'name'],
    ['smtp://relay.example.com?TLS=required', 'a opção TLS não existe; as que existem são tls, pool, name, rate.'],
    ['smtp://relay.example.com?port=25', 'a opção port não existe'],
    ['smtps://relay.example.com?tls=off', 'o TLS é sempre exigido'],
  ],
  givesNames: false,
  cannot: { 'stand behind a proxy': 'SMTP is not HTTP' },
}

export const mxSubject: Subject<EmailMessage> = {
  name: 'mx',
  channel: 'email',
  setting: 'EMAIL_URL',
  async start() {
    const [, domain = ''] = RECIPIENT.email.split('@')
    const zones = { [domain]: { mx: [[10, `mx.${domain}`]] as [number, string][] }, [`mx.${domain}`]: { a: ['127.0.0.1'] } }
    const resolver = systemResolver({ servers: [(await nameServer(zones)).address] })
    return startServer(
      port => `mx://envio.example.com?port=${port}&tls=off&private=yes&pool=200`,
      () => mxProvider({ signer: null, resolver }),
    )
  },
  request: { to: RECIPIENT.email },
  message,
  secrets: [],
  badUrls: [
    ['smtp://x.example', 'mx://'],
    ['mx://', 'name'],
    ['mx://a_b', 'name'],
    ['mx://x.example?port=0x19', 'port'],
    ['mx://x.example?port=70000', 'port'],
    ['mx://x.example?tls=on', 'tls'],
    ['mx://x.example?TLS=required', 'a opção TLS não existe'],
    ['mx://x.example?name=y.example', 'a opção name não existe'],
    ['mx://x.example?private=true', 'private'],
  ],
  givesNames: false,
  cannot: { 'hold a password': 'its URL names no user', 'stand behind a proxy': 'SMTP is not HTTP' },
}
