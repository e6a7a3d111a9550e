import { smppProvider } from '../../../src/channels/sms/smpp.js'
import { commands } from '../../../src/channels/sms/smpp-pdu.js'
import type { SmsMessage } from '../../../src/channels/sms/sms-message.js'
import { zenviaProvider } from '../../../src/channels/sms/zenvia.js'
import { startHttpSide } from '../scripted-http.js'
import { type Behaviour, Plan, RECIPIENT, type ScriptedSide, type Subject, WAIT_SECONDS } from '../subject.js'
import { receiptBody } from './receipts.js'
import { smscForTest } from './scripted-smsc.js'

const PASSWORD = 'senha-do'
const TOKEN = 'token-do-contrato'
const CALLBACK_SECRET = 'segredo-do-callback'

/** SMPP 3.4, 5.1.3. */
const statuses: Partial<Record<Behaviour, number>> = {
  'refuse for good': 0x0b,
  'refuse for a while': 0x08,
  throttle: 0x58,
}

const message = (reference: string): SmsMessage => ({ reference, to: RECIPIENT.number, text: 'Aviso' })

async function startSmsc(): Promise<ScriptedSide<SmsMessage>> {
  const plan = new Plan()
  /** The marks of messages: the 16 bits of the reference that a submit_sm carries, in its last bytes. */
  const taken: string[] = []
  const smsc = await smscForTest({
    onSubmit(pdu, connection) {
      const behaviour = plan.take()
      const status = statuses[behaviour]
      if (status !== undefined) return connection.answer(pdu, status)
      if (behaviour !== 'drop') taken.push(pdu.body.subarray(-2).toString('hex'))
      if (behaviour === 'accept') connection.answer(pdu, 0, Buffer.from(`id${taken.length}\0`))
      if (behaviour === 'reset' || behaviour === 'drop') connection.socket.resetAndDestroy()
      if (behaviour === 'answer garbage') connection.socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')
    },
  })
  const url = new URL(smsc.url)
  url.password = PASSWORD
  return {
    url,
    provider: ({ onEvents }) => smppProvider({ onEvents, onUnreadable: () => {} }),
    behave: plan.behave,
    taken: () => taken,
    leave: smsc.close,
    comeBack: smsc.comeBack,
    open: () => smsc.connections.filter(({ socket }) => !socket.destroyed).length,
    async report() {
      const connection = await smsc.bound()
      for (const [place, mark] of taken.entries()) {
        const body = receiptBody({ from: RECIPIENT.number, id: `id${place + 1}`, mark: Buffer.from(mark, 'hex') })
        await connection.ask(commands.deliver, body)
      }
    },
  }
}

export const smppSubject: Subject<SmsMessage> = {
  name: 'smpp',
  channel: 'sms',
  setting: 'SMS_URL',
  start: startSmsc,
  request: { sms: { number: RECIPIENT.number, typeSend: '2' } },
  message,
  secrets: [PASSWORD],
  badUrls: [
    ['smpp:', 'falta o nome do servidor'],
    ['smpp://u:p@h?window=0', 'window deve ser um número de 1 a 1000'],
    ['smpp://u:p@h?validity=x', 'validity'],
    ['smpp://u:p@h?from=Operação', 'from'],
    ['smpp://u:p@h?unanswered=sempre', 'unanswered deve ser person, repeat ou replace'],
    ['smpp://u:p@h?intermediate=1', 'intermediate deve ser on ou off'],
    [
      'smpp://u:p@h?Window=9',
      'a opção Window não existe; as que existem são from, ton, npi, system-type, window, validity, intermediate, unanswered, reference-tlv, rate.',
    ],
  ],
  givesNames: true,
  cannot: {
    'say how long to wait': 'a submit_sm_resp has a status and nothing else',
    'stand behind a proxy': 'SMPP is not HTTP',
  },
}

export const zenviaSubject: Subject<SmsMessage> = {
  name: 'zenvia',
  channel: 'sms',
  setting: 'SMS_URL',
  start: () =>
    startHttpSide({
      provider: () => zenviaProvider(),
      url: port => `zenvia://${TOKEN}@127.0.0.1:${port}?from=acme&secret=${CALLBACK_SECRET}&tls=off`,
      nameOf: () => '',
      accept: number => ({ status: 200, body: JSON.stringify({ id: `z-${number}` }) }),
      refusals: {
        'refuse for good': { status: 400, body: '{"code":"VALIDATION_ERROR"}' },
        'refuse for a while': { status: 503, body: '{"code":"UNAVAILABLE","message":"Falha"}' },
        throttle: { status: 429, body: '{"code":"RATE"}', headers: { 'retry-after': String(WAIT_SECONDS) } },
      },
    }),
  request: { sms: { number: RECIPIENT.number, typeSend: '2' } },
  message,
  secrets: [TOKEN, CALLBACK_SECRET],
  badUrls: [
    ['zenvia://@api.zenvia.com?from=a&secret=0123456789abcdef', 'falta o token'],
    ['zenvia://t@api.zenvia.com?secret=0123456789abcdef', 'from'],
    ['zenvia://t@api.zenvia.com?from=a', 'secret'],
    ['zenvia://t@api.zenvia.com?from=a&secret=curto', 'secret'],
    ['zenvia://t@api.zenvia.com?from=a&secret=0123456789abcdef&tls=off', 'tls'],
    ['zenvia://t@api.zenvia.com?from=a&secret=0123456789abcdef&window=abc', 'window deve ser um número de 1 a 1000'],
    ['zenvia://t@api.zenvia.com?from=a&secret=0123456789abcdef&window=0', 'window'],
    [
      'zenvia://t@api.zenvia.com?from=a&secret=0123456789abcdef&Rate=5',
      'a opção Rate não existe; as que existem são from, secret, tls, window, rate.',
    ],
  ],
  givesNames: true,
  cannot: { 'carry our reference': 'a message of API v2 has no field for it' },
}
