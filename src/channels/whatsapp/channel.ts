import type { ChannelConfig, ChannelModule, Environment, ProviderTable } from '../channel.js'

export interface WhatsappConfig extends ChannelConfig {
  /** The secret of Meta's app signs its callbacks; the token proves to it that we are the ones it asked. */
  appSecret: string | null
  verifyToken: string | null
}

const providers: ProviderTable = {
  'whatsapp-cloud': { protocols: ['whatsapp:'], whenUnknown: 'report', load: async () => (await import('./cloud.js')).cloud },
}

export const whatsapp: ChannelModule<WhatsappConfig> = {
  channel: 'whatsapp',
  wire: 'whatsapp',
  linkCode: 2,
  label: 'WhatsApp',
  labels: { failures: { undelivered: 'Não entregue' } },
  templates: { code: '1', html: false },
  settings: {},
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
    part: { number: '11987654321', variables: { template: 'notificacao_contrato', nome: 'Maria', contrato: '4711' } },
  },
  contract: async () => (await import('./contract.js')).whatsappContract,
  runtime: async () => (await import('./delivery.js')).whatsappRuntime,
}

function readEnvironment({ carriers, setting }: Environment): WhatsappConfig {
  return {
    carriers: carriers('WHATSAPP_URL', providers),
    appSecret: setting<string | null>('WHATSAPP_APP_SECRET', null, 'a chave secreta do app, como a Meta a mostra', text =>
      /^[\x21-\x7e]{16,256}$/.test(text) ? text : null,
    ),
    verifyToken: setting<string | null>('WHATSAPP_VERIFY_TOKEN', null, 'um texto de 8 a 256 caracteres sem espaços', text =>
      /^[\x21-\x7e]{8,256}$/.test(text) ? text : null,
    ),
  }
}
