import { type SettingsTable, settingsOf, whole } from '../../domain/account.js'
import { contactSettings } from '../../domain/contact/settings.js'
import type { ChannelModule } from '../channel.js'
import type { ChannelConfig } from '../channel-config.js'
import type { ProviderTable } from '../provider-module.js'
import { type AccentRule, accentRules, fitSms } from './fit-text.js'
import { isOptOut } from './opt-out.js'

export interface SmsSettings {
  'sms.accents': AccentRule
  'fallback.minutes': number
}

export const smsSettings: SettingsTable<SmsSettings> = {
  'sms.accents': {
    default: 'transliterate',
    label: { pt: 'Acentos do SMS', en: 'Accents in SMS' },
    meaning: {
      pt: 'acentos do SMS: keep mantém; transliterate tira quando isso poupa uma parte da mensagem',
      en: 'accents in SMS: keep keeps them; transliterate drops them where that saves a part of the message',
    },
    choices: [
      { value: 'transliterate', pt: 'Tirar quando poupa uma parte', en: 'Drop them where that saves a part' },
      { value: 'keep', pt: 'Manter', en: 'Keep them' },
    ],
    read: text => accentRules.find(rule => rule === text) ?? null,
  },
  'fallback.minutes': {
    default: 30,
    label: { pt: 'Espera do SMS pelo e-mail, em minutos', en: 'Minutes that an SMS waits for the e-mail' },
    meaning: {
      pt: "minutos sem entrega confirmada do e-mail até sair o SMS de typeSend '1': 1 a 10080",
      en: "minutes without a confirmed delivery of the e-mail until the SMS of typeSend '1' leaves: 1 to 10080",
    },
    read: whole(1, 10_080),
  },
}

/** The hours of São Paulo's law on calls (Lei 15.426/2014), which Alagoas's has for text messages too (Lei 7.782/2016). */
const contact = { hours: 'seg-sex 08:00-20:00; sab 08:00-14:00', perDay: 3 } as const

const providers: ProviderTable = {
  smpp: { protocols: ['smpp:', 'smpps:'], whenUnknown: 'report', load: async () => (await import('./smpp.js')).smpp },
  zenvia: { protocols: ['zenvia:'], whenUnknown: 'never', load: async () => (await import('./zenvia.js')).zenvia },
}

export const sms: ChannelModule<ChannelConfig> = {
  channel: 'sms',
  wire: 'sms',
  linkCode: 1,
  label: 'SMS',
  look: { icon: 'message-square', color: 'violet', english: 'SMS' },
  labels: {
    read: 'Lido (acessou o link)',
    waiting: 'Aguardando o e-mail',
    notNeeded: 'Não enviado: e-mail entregue',
    failures: { undelivered: 'Não entregue' },
  },
  fallback: { for: 'email', waitMinutes: settings => settingsOf(smsSettings, settings)['fallback.minutes'] },
  templates: { code: '3', html: false, link: true, member: 'sms.template', values: 'sms.variables' },
  contact,
  exposed: 'na tela bloqueada do celular',
  cost: { one: 'parte', many: 'partes', counts: 'segments' },
  settings: { ...smsSettings, ...contactSettings('sms', { pt: 'SMS', en: 'SMS' }, contact) },
  readEnvironment: ({ carriers }) => ({ carriers: carriers('SMS_URL', providers) }),
  providers,
  simulatorPorts: ['smpp'],
  isOptOut,
  fitText: (text, settings) => fitSms(text, settingsOf(smsSettings, settings)['sms.accents']),
  demo: {
    template: {
      name: 'aviso-curto',
      content: '{{ nome }}, aviso sobre o contrato {{ contrato }}: {SHORT_LINK}',
      variables: ['nome', 'contrato'],
    },
    part: () => ({ number: '11987654321', typeSend: '2', customMessage: 'Maria, aviso sobre o contrato 4711: {SHORT_LINK}' }),
  },
  contract: async () => (await import('./contract.js')).smsContract,
  runtime: async () => (await import('./delivery.js')).smsRuntime,
}
