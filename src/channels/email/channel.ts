import { join, resolve } from 'node:path'
import { oneLine, type SettingsTable, yesOrNo } from '../../domain/account.js'
import { readEmailAddress } from '../../domain/text/mail-address.js'
import type { ChannelModule } from '../channel.js'
import type { ChannelConfig, Environment } from '../channel-config.js'
import type { ProviderTable } from '../provider-module.js'
import { explainDialogue, explainMessage } from './proof-details.js'
import { validationFailures } from './validation-failures.js'

export interface EmailSettings {
  'email.from': string
  'email.name': string
  'email.receipt': boolean
  'email.replies.forward': string
}

export const emailSettings: SettingsTable<EmailSettings> = {
  'email.from': {
    default: '',
    label: { pt: 'Endereço de remetente', en: 'Sender address' },
    meaning: {
      pt: 'endereço de remetente dos e-mails da conta (vazio: o do servidor)',
      en: 'sender address of the e-mails of the account (empty: that of the server)',
    },
    read: text => (text === '' ? '' : readEmailAddress(text)),
  },
  'email.name': {
    default: '',
    label: { pt: 'Nome de remetente dos e-mails', en: 'Sender name of e-mails' },
    meaning: {
      pt: 'nome de remetente dos e-mails da conta (vazio: brand.name, ou o nome da conta)',
      en: 'sender name of the e-mails of the account (empty: brand.name, or the name of the account)',
    },
    read: oneLine,
  },
  'email.receipt': {
    default: false,
    label: { pt: 'Confirmação de leitura (MDN)', en: 'Read receipt (MDN)' },
    meaning: {
      pt: 'pede ao programa de e-mail do destinatário a confirmação de leitura (MDN)',
      en: "asks the recipient's mail program for a read receipt (MDN)",
    },
    read: yesOrNo,
  },
  'email.replies.forward': {
    default: '',
    label: { pt: 'Encaminhar respostas a', en: 'Forward replies to' },
    meaning: {
      pt: 'endereço a que as respostas dos destinatários são encaminhadas (vazio: a nenhum)',
      en: 'address to which replies of recipients are forwarded (empty: to nobody)',
    },
    read: text => (text === '' ? '' : readEmailAddress(text)),
  },
}

export interface EmailConfig extends ChannelConfig {
  /** The sender where an account names none. */
  from: string
  /** Reports come back to addresses of this domain. */
  bounceDomain: string
  inbound: { host: string; port: number }
  dkim: { domain: string; selector: string; keyFile: string } | null
}

const providers: ProviderTable = {
  smtp: { protocols: ['smtp:', 'smtps:'], whenUnknown: 'safe', load: async () => (await import('./smtp/smtp.js')).smtp },
  mx: { protocols: ['mx:'], whenUnknown: 'safe', load: async () => (await import('./smtp/mx.js')).mx },
}

export const email: ChannelModule<EmailConfig> = {
  channel: 'email',
  wire: 'email',
  linkCode: 0,
  label: 'e-mail',
  look: { icon: 'mail', color: 'blue', english: 'e-mail' },
  labels: {
    failures: { validation: 'Falha na validação', bounced: 'Devolvido' },
    explain: (failure, detail) => (failure === 'validation' ? (validationFailures[detail]?.description ?? null) : detail),
  },
  templates: { code: '2', html: true, link: true, member: 'template', values: 'variables' },
  cost: { one: 'mensagem', many: 'mensagens' },
  settings: emailSettings,
  readEnvironment,
  providers,
  simulatorPorts: ['smtp'],
  sendsContent: true,
  explainFacts: { smtp: explainDialogue },
  explainContent: explainMessage,
  sealedValues: {
    table: 'dkim_key',
    column: 'private_key',
    id: "domain || ' ' || selector",
    contextOf: name => `dkim ${name}`,
  },
  onRestored: async db => (await import('./forward/forward-store.js')).endRestoredForwards(db),
  commands: [{ name: 'dkim', load: async context => (await import('./dkim/command.js')).dkimCommand(context) }],
  demo: {
    template: {
      name: 'aviso-vencimento',
      content: '<p>Olá, {{ nome }}.</p><p>O contrato <b>{{ contrato }}</b> vence em {{ vencimento }}.</p>',
      variables: ['nome', 'contrato', 'vencimento'],
    },
    settings: { 'email.receipt': true },
    part: () => 'maria@example.com',
  },
  brandSampler: async () => (await import('./brand-sampler.js')).brandSampler,
  contract: async () => (await import('./contract.js')).emailContract,
  runtime: async () => (await import('./delivery.js')).emailRuntime,
}

/** For a trial: names that exist nowhere. */
const TRIAL_FROM = 'notificacao@carteiro.localhost'
const TRIAL_BOUNCE_DOMAIN = 'retorno.carteiro.localhost'

function readEnvironment({ carriers, setting, whole, dataFolder }: Environment): EmailConfig {
  const domain = (text: string): string | null => (/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(text) ? text.toLowerCase() : null)
  const dkimDomain = setting<string | null>('DKIM_DOMAIN', null, 'um domínio', domain)
  const selector = setting('DKIM_SELECTOR', 'carteiro', 'um seletor', domain)
  const keyFile = resolve(setting('DKIM_KEY_FILE', join(dataFolder, 'dkim.pem'), 'um arquivo', text => text))
  const from = setting('EMAIL_FROM', TRIAL_FROM, 'um endereço de e-mail', readEmailAddress)
  const bounceDomain = setting('BOUNCE_DOMAIN', TRIAL_BOUNCE_DOMAIN, 'um domínio', domain)
  return {
    carriers: carriers('EMAIL_URL', providers),
    from,
    bounceDomain,
    warnings: [
      ...(from === TRIAL_FROM
        ? [
            `EMAIL_FROM não foi definido: e-mails de contas sem email.from sairão de ${TRIAL_FROM}, e muitos servidores os recusarão.`,
          ]
        : []),
      ...(bounceDomain === TRIAL_BOUNCE_DOMAIN
        ? [`BOUNCE_DOMAIN não foi definido: devoluções e avisos de entrega irão para ${TRIAL_BOUNCE_DOMAIN} e se perderão.`]
        : []),
    ],
    idle: dkimDomain === null ? [{ names: ['DKIM_SELECTOR', 'DKIM_KEY_FILE'], without: 'DKIM_DOMAIN' }] : [],
    inbound: {
      host: setting('INBOUND_SMTP_HOST', '127.0.0.1', 'um endereço em que escutar', text =>
        /^[\w.:-]+$/.test(text) ? text : null,
      ),
      port: whole('INBOUND_SMTP_PORT', 0, 0, 65_535),
    },
    dkim: dkimDomain === null ? null : { domain: dkimDomain, selector, keyFile },
  }
}
