import { resolve } from 'node:path'
import { oneLine, type SettingsTable } from '../../domain/account.js'
import type { ChannelModule } from '../channel.js'
import type { ChannelConfig, Environment } from '../channel-config.js'
import type { DocumentRoute } from '../channel-contract.js'
import type { ProviderTable } from '../provider-module.js'
import { listLetterFiles, TRACKED_DAYS } from './letter-store.js'
import { abandonPlace, skipRestoredLots } from './lot-store.js'
import { readSenderAddress } from './postal-address.js'

export interface LetterSettings {
  'letter.name': string
  'letter.address': string
}

export const letterSettings: SettingsTable<LetterSettings> = {
  'letter.name': {
    default: '',
    label: { pt: 'Nome de remetente das cartas', en: 'Sender name of letters' },
    meaning: {
      pt: 'nome de remetente das cartas da conta (vazio: brand.name, ou o nome da conta)',
      en: 'sender name of the letters of the account (empty: brand.name, or the name of the account)',
    },
    read: oneLine,
  },
  'letter.address': {
    default: '',
    label: { pt: 'Endereço de remetente das cartas', en: 'Sender address of letters' },
    meaning: {
      pt: 'endereço de remetente das cartas: logradouro; número; complemento; bairro; cidade; UF; CEP',
      en: 'sender address of letters: street; number; complement; district; city; state; postcode',
    },
    read: text => (text === '' || readSenderAddress(text) !== null ? text.trim() : null),
  },
}

export interface LetterConfig extends ChannelConfig {
  /** The private key for the server of Correios. */
  keyFile: string | null
  /** Where registered letters are tracked; null: only the carriers tell where they are. */
  tracking: URL | null
}

const providers: ProviderTable = {
  'print-shop': {
    protocols: ['print+https:', 'print+http:'],
    whenUnknown: 'lookup',
    signsCallbacks: true,
    load: async () => (await import('./print-shop.js')).printShop,
  },
  'e-carta': {
    protocols: ['ecarta+sftp:'],
    whenUnknown: 'lookup',
    load: async () => (await import('./e-carta/e-carta.js')).eCarta,
  },
}

/** Uses a separate key, so that the code printed on a letter opens no receipt. */
export const proofDocument: DocumentRoute = {
  name: 'letter proof',
  path: '/comprovante/carta',
  extension: 'pdf',
  contentType: 'application/pdf',
  fileName: 'comprovante-carta.pdf',
  madeOnDemand: true,
  missing: 'reportMissing',
}

export const letter: ChannelModule<LetterConfig> = {
  channel: 'letter',
  wire: 'carta',
  linkCode: 4,
  label: 'carta',
  feminine: true,
  look: { icon: 'scroll-text', color: 'rose', english: 'letter' },
  labels: { failures: { rejected: 'Falha no processamento', returned: 'Devolvida', undelivered: 'Extraviada' } },
  producedFirst: true,
  readAfterDelivery: true,
  recipientIsName: true,
  // A letter is posted after it was taken, and its signed receipt comes after its end.
  reportDays: TRACKED_DAYS + 60,
  templates: { code: '4', html: true, link: false, member: 'carta.template', values: 'carta.variables' },
  cost: { one: 'página', many: 'páginas', counts: 'pages' },
  settings: letterSettings,
  readEnvironment,
  providers,
  blobUses: ['exists (select from letter l where l.sha256 = b.sha256)'],
  listPersonalFiles: listLetterFiles,
  // A letter must not leave with a lot that still waits after a person decided about it.
  beforeOperatorDecision: abandonPlace,
  onRestored: skipRestoredLots,
  documents: [proofDocument],
  demo: {
    template: {
      name: 'notificacao-extrajudicial',
      content: '<p>Prezado(a) {{ nome }},</p><p>Notificamos que o contrato {{ contrato }} vence em {{ vencimento }}.</p>',
      variables: ['nome', 'contrato', 'vencimento'],
    },
    part: dueDate => ({
      name: 'Maria da Silva',
      modelo: 'registrada',
      template: 'notificacao-extrajudicial',
      variables: {
        nome: 'Maria da Silva',
        contrato: '4711',
        vencimento: dueDate,
        logradouro: 'Rua das Flores',
        numero: '100',
        cidade: 'São Paulo',
        uf: 'SP',
        cep: '01000-001',
      },
    }),
  },
  brandSampler: async () => (await import('./brand-sampler.js')).openBrandSampler(),
  contract: async () => (await import('./contract.js')).letterContract,
  runtime: async () => (await import('./delivery.js')).letterRuntime,
}

function readEnvironment({ carriers, setting }: Environment): LetterConfig {
  const urls = carriers('LETTER_URL', providers)
  return {
    carriers: urls,
    idle: urls.length === 0 ? [{ names: ['LETTER_KEY_FILE'], without: 'LETTER_URL' }] : [],
    keyFile: setting<string | null>('LETTER_KEY_FILE', null, 'um arquivo', text => resolve(text)),
    tracking: setting<URL | null>('CORREIOS_URL', null, 'uma URL https:// com usuário, código de acesso e ?cartao=', text =>
      URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol) ? new URL(text) : null,
    ),
  }
}
