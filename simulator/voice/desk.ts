import { html } from '../../src/domain/html.js'
import type { Desk, DeskFates, DeskParts } from '../desk.js'
import { FaultSwitch } from '../faults.js'
import type { Call } from './call.js'
import { addCarrier } from './carrier.js'
import { FATES, fateNumber, type Meeting } from './fates.js'
import { renderCall } from './page.js'
import { soundOf } from './sound.js'
import { Telephone } from './telephone.js'
import { FAULT_FIELDS, REPORT_WORDS } from './words.js'

/** The sender's account at the simulated carrier: everybody who reaches it may use it. */
const ACCOUNT = 'simulador'
const TOKEN = 'simulador'
const FROM = '+551130000000'

/** What people may make a ringing telephone do by hand. */
const ACTIONS = {
  answer: { label: 'Atender e ouvir', meeting: 'listens' },
  hangup: { label: 'Atender e desligar', meeting: 'hangs up early' },
  machine: { label: 'Caixa postal', meeting: 'machine' },
  busy: { label: 'Ocupado', meeting: 'busy' },
  ignore: { label: 'Não atender', meeting: 'no-answer' },
  fail: { label: 'Falhar', meeting: 'failed' },
  repeat: { label: 'Repetir o último aviso', meeting: null },
} as const satisfies Record<string, { label: string; meeting: Meeting | null }>

/** A Twilio-compatible carrier, and the telephones behind it. */
export async function openVoiceDesk({ inbox, callbacks, clock }: DeskParts): Promise<Desk<Call>> {
  const faults = new FaultSwitch(FAULT_FIELDS, () => {})
  const telephone = new Telephone({ callbacks, faults, clock, account: ACCOUNT })
  return {
    channel: 'voice',
    name: 'Ligação',
    faults,
    fates: VOICE_FATES,
    actions: ACTIONS,
    reportWords: REPORT_WORDS,
    shows: ['media'],
    carriers: url => ({
      voice: `twilio://${ACCOUNT}:${TOKEN}@${new URL(url).host}?from=${encodeURIComponent(FROM)}&tls=${url.startsWith('https:') ? 'on' : 'off'}`,
    }),
    async act(call, action) {
      const { meeting } = ACTIONS[action as keyof typeof ACTIONS]
      return meeting === null ? telephone.repeat(call) : telephone.act(call, meeting)
    },
    summarize: ({ sid, status }) => ({ sid, status }),
    detail: async ({ message: { order, answeredBy, said, durationSeconds, recorded } }) => ({
      order,
      answeredBy,
      said,
      durationSeconds,
      recorded,
    }),
    file: async ({ message, raw }, path) => {
      if (path === 'raw') return { type: 'application/x-www-form-urlencoded', bytes: raw }
      return path === 'audio.wav' && message.said.length > 0 ? { type: 'audio/wav', bytes: await soundOf(message.said) } : null
    },
    render: renderCall,
    addRoutes: app => addCarrier(app, { inbox, telephone, faults, clock, account: ACCOUNT, token: TOKEN }),
    async close() {
      telephone.close()
    },
  }
}

const VOICE_FATES: DeskFates = {
  lead: html`Estes números têm sempre o mesmo destino. Qualquer outro número atende, tecla 1 se isso for pedido e ouve até o fim;
cada ligação pode ser ouvida na página dela.`,
  list: FATES.map(fate => ({
    name: fate.name,
    address: fateNumber(fate),
    meaning: fate.meaning,
    does: fate.does,
    example: ['atende', 'ocupado', 'caixa-postal'].includes(fate.name),
  })),
  more: null,
}
