import { type SettingsTable, settingsOf, whole } from '../../domain/account.js'
import type { ChannelConfig, ChannelModule } from '../channel.js'
import { type AccentRule, accentRules } from './fit-text.js'
import { isOptOut } from './opt-out.js'

export interface SmsSettings {
  'sms.accents': AccentRule
  'fallback.minutes': number
}

export const smsSettings: SettingsTable<SmsSettings> = {
  'sms.accents': {
    default: 'transliterate',
    meaning: 'acentos do SMS: keep mantém; transliterate tira quando isso poupa uma parte da mensagem',
    read: text => accentRules.find(rule => rule === text) ?? null,
  },
  'fallback.minutes': {
    default: 30,
    meaning: "minutos sem entrega confirmada do e-mail até sair o SMS de typeSend '1': 1 a 10080",
    read: whole(1, 10_080),
  },
}

export const sms: ChannelModule<ChannelConfig> = {
  channel: 'sms',
  wire: 'sms',
  linkCode: 1,
  label: 'SMS',
  labels: {
    read: 'Lido (acessou o link)',
    waiting: 'Aguardando o e-mail',
    notNeeded: 'Não enviado: e-mail entregue',
    failures: { undelivered: 'Não entregue' },
  },
  fallback: { for: 'email', waitMinutes: settings => settingsOf(smsSettings, settings)['fallback.minutes'] },
  templates: { code: '3', html: false },
  settings: smsSettings,
  readEnvironment: ({ carriers }) => ({
    carriers: carriers('SMS_URL', 'uma ou mais URLs smpp://, smpps:// ou zenvia://, separadas por vírgulas', [
      'smpp:',
      'smpps:',
      'zenvia:',
    ]),
  }),
  providers: { smpp: 'report', zenvia: 'never' },
  simulatorPorts: ['smpp'],
  isOptOut,
  demo: {
    template: {
      name: 'aviso-curto',
      content: '{{ nome }}, ha uma notificacao para voce: {SHORT_LINK}',
      variables: ['nome'],
    },
    part: { number: '11987654321', typeSend: '2', customMessage: 'Voce tem uma notificacao: {SHORT_LINK}' },
  },
  contract: async () => (await import('./contract.js')).smsContract,
  runtime: async () => (await import('./delivery.js')).smsRuntime,
}
