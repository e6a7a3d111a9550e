import { html } from '../../src/domain/text/html.js'
import { type ChannelContext, type ChannelDeclaration, type ChannelFates, listFates, type SimulatedChannel } from '../channel.js'
import { FaultSwitch } from '../faults.js'
import type { Call } from './call.js'
import { FATES, fateNumber, type Reaction } from './fates.js'
import { FAULT_FIELDS, REPORT_LABELS } from './labels.js'
import { renderCall } from './page.js'
import { soundOf } from './sound.js'
import { Telephone } from './telephone.js'
import { addTwilioApi } from './twilio-api.js'

const ACCOUNT = 'simulador'
const FROM = '+551130000000'

const ACTIONS = {
  answer: { label: 'Atender e ouvir', reaction: 'listens' },
  hangup: { label: 'Atender e desligar', reaction: 'hangs up early' },
  machine: { label: 'Caixa postal', reaction: 'machine' },
  busy: { label: 'Ocupado', reaction: 'busy' },
  ignore: { label: 'Não atender', reaction: 'no-answer' },
  fail: { label: 'Falhar', reaction: 'failed' },
  repeat: { label: 'Repetir o último aviso', reaction: null },
} as const satisfies Record<string, { label: string; reaction: Reaction | null }>

/** A Twilio-compatible carrier and the telephones that it calls. */
export const voice: ChannelDeclaration = { open: openVoice }

async function openVoice(context: ChannelContext): Promise<SimulatedChannel<Call>> {
  const faults = new FaultSwitch(FAULT_FIELDS)
  const telephone = new Telephone({ ...context, faults, account: ACCOUNT })
  return {
    channel: 'voice',
    name: 'Ligação',
    faults,
    fates: VOICE_FATES,
    actions: ACTIONS,
    reportLabels: REPORT_LABELS,
    allowedContent: ['media'],
    carriers: url => ({
      voice: `twilio://${ACCOUNT}:${context.key}@${new URL(url).host}?from=${encodeURIComponent(FROM)}&tls=${url.startsWith('https:') ? 'on' : 'off'}`,
    }),
    async act(call, action) {
      const { reaction } = ACTIONS[action as keyof typeof ACTIONS]
      return reaction === null ? telephone.repeatReport(call) : telephone.act(call, reaction)
    },
    summarize: ({ sid, status }) => ({ sid, status }),
    detail: async ({ message: { order, answeredBy, said, durationSeconds, recorded } }) => ({
      order,
      answeredBy,
      said,
      durationSeconds,
      recorded,
      file: 'audio.wav',
    }),
    file: async ({ message, raw }, path) => {
      if (path === 'raw') return { type: 'application/x-www-form-urlencoded', bytes: raw }
      return path === 'audio.wav' && message.said.length > 0 ? { type: 'audio/wav', bytes: await soundOf(message.said) } : null
    },
    render: renderCall,
    addRoutes: app => addTwilioApi(app, { ...context, telephone, faults, account: ACCOUNT, token: context.key }),
    close: async () => telephone.close(),
  }
}

const VOICE_FATES: ChannelFates = {
  lead: html`Estes números têm sempre o mesmo destino. Qualquer outro número atende, tecla 1 se isso for pedido e ouve até o fim;
cada ligação pode ser ouvida na página dela.`,
  list: listFates(FATES, fateNumber, ['atende', 'ocupado', 'caixa-postal']),
  more: null,
}
