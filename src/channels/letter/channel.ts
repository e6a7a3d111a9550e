import { resolve } from 'node:path'
import { oneLine, type SettingsTable } from '../../domain/account.js'
import type { ChannelConfig, ChannelModule, DocumentRoute, Environment, ProviderTable } from '../channel.js'
import { abandonPlace } from './lot-store.js'
import { readSenderAddress } from './postal-address.js'

export interface LetterSettings {
  'letter.name': string
  'letter.address': string
  'letter.color': string
}

export const letterSettings: SettingsTable<LetterSettings> = {
  'letter.name': { default: '', meaning: 'nome de remetente das cartas da conta (vazio: o nome da conta)', read: oneLine },
  'letter.address': {
    default: '',
    meaning: 'endereço de remetente das cartas: logradouro; número; complemento; bairro; cidade; UF; CEP',
    read: text => (text === '' || readSenderAddress(text) !== null ? text.trim() : null),
  },
  'letter.color': {
    default: '#1f3a5f',
    meaning: 'cor do remetente nas cartas da conta, como #1f3a5f',
    read: text => (/^#[0-9a-f]{6}$/i.test(text) ? text.toLowerCase() : null),
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
  missing: 'reportMissing',
}

export const letter: ChannelModule<LetterConfig> = {
  channel: 'letter',
  wire: 'carta',
  linkCode: 4,
  label: 'carta',
  labels: { failures: { rejected: 'Falha no processamento', returned: 'Devolvida', undelivered: 'Extraviada' } },
  producedFirst: true,
  readAfterDelivery: true,
  recipientIsName: true,
  templates: { code: '4', html: true },
  settings: letterSettings,
  readEnvironment,
  providers,
  blobUses: ['exists (select from letter l where l.sha256 = b.sha256)'],
  // A letter must not leave with a lot that still waits after a person decided about it.
  beforeOperatorDecision: abandonPlace,
  documents: [proofDocument],
  demo: {
    template: {
      name: 'notificacao-extrajudicial',
      content:
        '<p>Prezado(a) {{ nome }},</p><p>Notificamos que o contrato {{ contrato }} está em aberto desde {{ vencimento }}.</p>',
      variables: ['nome', 'contrato', 'vencimento'],
    },
    part: {
      name: 'Maria da Silva',
      modelo: 'registrada',
      template: 'notificacao-extrajudicial',
      variables: {
        nome: 'Maria',
        contrato: '4711',
        vencimento: '10/12/2026',
        logradouro: 'Rua das Flores',
        numero: '100',
        cidade: 'São Paulo',
        uf: 'SP',
        cep: '01000-001',
      },
    },
  },
  contract: async () => (await import('./contract.js')).letterContract,
  runtime: async () => (await import('./delivery.js')).letterRuntime,
}

function readEnvironment({ carriers, setting }: Environment): LetterConfig {
  return {
    carriers: carriers('LETTER_URL', providers),
    keyFile: setting<string | null>('LETTER_KEY_FILE', null, 'um arquivo', text => resolve(text)),
    tracking: setting<URL | null>('CORREIOS_URL', null, 'uma URL https:// com usuário, código de acesso e ?cartao=', text =>
      URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol) ? new URL(text) : null,
    ),
  }
}
