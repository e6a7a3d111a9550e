import { oneLine, type SettingsTable, whole } from '../../domain/account.js'
import type { ChannelConfig, ChannelModule, DocumentRoute, Environment, ProviderTable } from '../channel.js'
import { planCallLookups } from './call-lookup-store.js'
import { takeRecording } from './recordings.js'

export interface VoiceSettings {
  'voice.name': string
  'voice.retries': number
  'voice.retry.minutes': number
}

export const voiceSettings: SettingsTable<VoiceSettings> = {
  'voice.name': { default: '', meaning: 'nome falado no começo das ligações da conta (vazio: o nome da conta)', read: oneLine },
  'voice.retries': {
    default: 2,
    meaning: 'novas ligações depois de uma ocupada ou não atendida: 0 a 10',
    read: whole(0, 10),
  },
  'voice.retry.minutes': {
    default: 15,
    meaning: 'minutos entre uma ligação ocupada ou não atendida e a seguinte: 1 a 1440',
    read: whole(1, 1_440),
  },
}

export interface VoiceConfig extends ChannelConfig {
  /** The days for which recordings of calls are kept; null: without end. */
  recordingDays: number | null
}

const providers: ProviderTable = {
  twilio: { protocols: ['twilio:'], whenUnknown: 'lookup', load: async () => (await import('./twilio.js')).twilio },
  sip: { protocols: ['sip:'], whenUnknown: 'never', load: async () => (await import('./sip.js')).sip },
}

/** Uses a separate key, so that the address of a recording opens nothing else. */
export const recordingDocument: DocumentRoute = {
  name: 'recording',
  path: '/gravacao',
  extension: 'wav',
  contentType: 'audio/wav',
  fileName: 'ligacao.wav',
  headers: { 'content-security-policy': "sandbox; default-src 'none'" },
  missing: 'recordingMissing',
  expired: 'recordingExpired',
}

export const voice: ChannelModule<VoiceConfig> = {
  channel: 'voice',
  wire: 'voz',
  linkCode: 3,
  label: 'ligação',
  labels: {
    failures: { 'no-answer': 'Não atendida', busy: 'Ocupado', machine: 'Caixa postal', rejected: 'Falha na chamada' },
  },
  templates: { code: '5', html: false },
  settings: voiceSettings,
  readEnvironment,
  providers,
  blobUses: ["exists (select from recording r where r.sha256 = b.sha256 and r.state <> 'expired')"],
  onReferences: (db, references) =>
    planCallLookups(
      db,
      references.map(({ reference, ...call }) => ({ ...call, name: reference })),
    ),
  takeFile: (source, file, context) => takeRecording(source, file, context),
  documents: [recordingDocument],
  demo: {
    template: {
      name: 'ligacao-lembrete',
      content: 'Olá, {{ nome }}. Esta é uma mensagem sobre o seu contrato {{ contrato }}.',
      variables: ['nome', 'contrato'],
    },
    part: { number: '11987654321', template: 'ligacao-lembrete', payload: { nome: 'Maria', contrato: '4711' } },
  },
  contract: async () => (await import('./contract.js')).voiceContract,
  runtime: async () => (await import('./delivery.js')).voiceRuntime,
}

function readEnvironment({ carriers, setting }: Environment): VoiceConfig {
  return {
    carriers: carriers('VOICE_URL', providers),
    recordingDays: setting<number | null>('RECORDING_DAYS', null, 'um número inteiro de 1 a 36500', text =>
      /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 36_500 ? Number(text) : null,
    ),
  }
}
