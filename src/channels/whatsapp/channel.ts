import { contactSettings } from '../../domain/contact/settings.js'
import type { ChannelModule, MetadataField } from '../channel.js'
import type { ChannelConfig, Environment } from '../channel-config.js'
import type { ProviderTable } from '../provider-module.js'

export interface WhatsappConfig extends ChannelConfig {
  /** `appSecret` verifies the signatures of Meta's callbacks. `verifyToken` is what Meta sends when the callback address is registered. */
  appSecret: string | null
  verifyToken: string | null
}

/** The same limits as for SMS: both are texts that make a telephone ring. */
const contact = { hours: 'seg-sex 08:00-20:00; sab 08:00-14:00', perDay: 3 } as const

const providers: ProviderTable = {
  'whatsapp-cloud': {
    protocols: ['whatsapp:'],
    whenUnknown: 'report',
    signsCallbacks: true,
    load: async () => (await import('./cloud.js')).cloud,
  },
}

/** Read by readTemplatePlan. */
const metadata: readonly MetadataField[] = [
  {
    name: 'idioma',
    kind: 'text',
    label: { pt: 'Idioma aprovado', en: 'Approved language' },
    hint: { pt: 'Como a Meta o escreve. Vazio: pt_BR.', en: 'As Meta writes it. Empty: pt_BR.' },
  },
  {
    name: 'parametros',
    kind: 'choice',
    label: { pt: 'Parâmetros', en: 'Parameters' },
    hint: { pt: 'Como o template aprovado os chama.', en: 'What the approved template calls them by.' },
    choices: [
      { value: 'posicionais', pt: 'Numerados', en: 'Numbered' },
      { value: 'nomeados', pt: 'Com nome', en: 'Named' },
    ],
  },
  {
    name: 'cabecalho',
    kind: 'variables',
    label: { pt: 'Variáveis do cabeçalho', en: 'Variables of the header' },
    hint: { pt: 'As que ficam no cabeçalho, não no corpo.', en: 'Those that belong to the header, not to the body.' },
  },
  {
    name: 'botaoLink',
    kind: 'number',
    label: { pt: 'Botão com o link', en: 'Button with the link' },
    hint: {
      pt: 'A posição do botão que leva à notificação, de 0 a 9. Vazio: não há.',
      en: 'The place of the button that leads to the notification, from 0 to 9. Empty: there is none.',
    },
  },
]

export const whatsapp: ChannelModule<WhatsappConfig> = {
  channel: 'whatsapp',
  wire: 'whatsapp',
  linkCode: 2,
  label: 'WhatsApp',
  look: { icon: 'message-circle', color: 'green', english: 'WhatsApp' },
  labels: { failures: { undelivered: 'Não entregue' } },
  templates: {
    code: '1',
    html: false,
    link: true,
    member: 'whatsapp.variables.template',
    values: 'whatsapp.variables',
    required: true,
    metadata,
  },
  contact,
  exposed: 'na tela bloqueada do celular',
  cost: { one: 'mensagem', many: 'mensagens' },
  settings: contactSettings('whatsapp', { pt: 'WhatsApp', en: 'WhatsApp' }, contact),
  readEnvironment,
  providers,
  recordsLinkAccess: true,
  demo: {
    template: {
      name: 'notificacao_contrato',
      content: 'Olá, {{ nome }}. Há uma notificação sobre o contrato {{ contrato }}.',
      variables: ['nome', 'contrato'],
      metadata: { botaoLink: 0 },
    },
    part: () => ({ number: '11987654321', variables: { template: 'notificacao_contrato', nome: 'Maria', contrato: '4711' } }),
  },
  contract: async () => (await import('./contract.js')).whatsappContract,
  runtime: async () => (await import('./delivery.js')).whatsappRuntime,
}

function readEnvironment({ carriers, setting }: Environment): WhatsappConfig {
  const urls = carriers('WHATSAPP_URL', providers)
  return {
    carriers: urls,
    idle: urls.length === 0 ? [{ names: ['WHATSAPP_APP_SECRET', 'WHATSAPP_VERIFY_TOKEN'], without: 'WHATSAPP_URL' }] : [],
    appSecret: setting<string | null>('WHATSAPP_APP_SECRET', null, 'a chave secreta do app, como a Meta a mostra', text =>
      /^[\x21-\x7e]{16,256}$/.test(text) ? text : null,
    ),
    verifyToken: setting<string | null>('WHATSAPP_VERIFY_TOKEN', null, 'um texto de 8 a 256 caracteres sem espaços', text =>
      /^[\x21-\x7e]{8,256}$/.test(text) ? text : null,
    ),
  }
}
