import { join } from 'node:path'
import { oneLine, type SettingsTable, whole } from '../../domain/account.js'
import { contactSettings } from '../../domain/contact/settings.js'
import type { ChannelModule, MetadataField } from '../channel.js'
import type { ChannelConfig, Environment } from '../channel-config.js'
import type { DocumentRoute } from '../channel-contract.js'
import type { ProviderTable } from '../provider-module.js'
import { dropCallLookups, planCallLookups } from './call-lookup-store.js'
import { listKeptRecordings, listRecordingFiles } from './recording-store.js'
import { takeRecording } from './recordings.js'

export interface VoiceSettings {
  'voice.name': string
  'voice.retries': number
  'voice.retry.minutes': number
}

export const voiceSettings: SettingsTable<VoiceSettings> = {
  'voice.name': {
    default: '',
    label: { pt: 'Nome falado nas ligações', en: 'Name spoken in calls' },
    meaning: {
      pt: 'nome falado no começo das ligações da conta (vazio: brand.name, ou o nome da conta)',
      en: 'name spoken at the beginning of calls (empty: brand.name, or the name of the account)',
    },
    read: oneLine,
  },
  'voice.retries': {
    default: 2,
    label: { pt: 'Novas ligações', en: 'Further calls' },
    meaning: {
      pt: 'novas ligações depois de uma ocupada ou não atendida: 0 a 10',
      en: 'further calls after one that was busy or not answered: 0 to 10',
    },
    read: whole(0, 10),
  },
  'voice.retry.minutes': {
    default: 15,
    label: { pt: 'Minutos entre ligações', en: 'Minutes between calls' },
    meaning: {
      pt: 'minutos entre uma ligação ocupada ou não atendida e a seguinte: 1 a 1440',
      en: 'minutes between a call that was busy or not answered and the next one: 1 to 1440',
    },
    read: whole(1, 1_440),
  },
}

export interface VoiceConfig extends ChannelConfig {
  /** The days for which recordings of calls are kept; null: as long as the terms of their account say. */
  recordingDays: number | null
  /** Where a recording of which there is no other copy waits until it is stored. */
  heldFolder: string
}

/** The hours that the laws of all states we know of allow for calls (docs/regras-de-contato.md). */
const contact = { hours: 'seg-sex 09:00-19:00', perDay: 3 } as const

const providers: ProviderTable = {
  twilio: {
    protocols: ['twilio:'],
    whenUnknown: 'lookup',
    signsCallbacks: true,
    load: async () => (await import('./twilio.js')).twilio,
  },
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

const metadata: readonly MetadataField[] = [
  {
    name: 'tecla',
    kind: 'switch',
    label: { pt: 'Pedir a tecla 1', en: 'Ask for key 1' },
    hint: {
      pt: 'A mensagem só é falada a quem tecla 1, e isso confirma que alguém ouviu.',
      en: 'The message is spoken only to whoever presses 1, which confirms that somebody listened.',
    },
  },
]

export const voice: ChannelModule<VoiceConfig> = {
  channel: 'voice',
  wire: 'voz',
  linkCode: 3,
  label: 'ligação',
  feminine: true,
  look: { icon: 'phone', color: 'orange', english: 'call' },
  labels: {
    failures: { 'no-answer': 'Não atendida', busy: 'Ocupado', machine: 'Caixa postal', rejected: 'Falha na chamada' },
  },
  templates: { code: '5', html: false, link: false, member: 'voz.template', values: 'voz.payload', required: true, metadata },
  contact,
  exposed: 'na caixa postal ou por quem atender',
  cost: { one: 'ligação', many: 'ligações' },
  settings: { ...voiceSettings, ...contactSettings('voice', { pt: 'ligação', en: 'call' }, contact) },
  readEnvironment,
  providers,
  blobUses: ["exists (select from recording r where r.sha256 = b.sha256 and r.state <> 'expired')"],
  onReferences: (db, references) =>
    planCallLookups(
      db,
      references.map(({ reference, ...call }) => ({ ...call, name: reference })),
    ),
  onRestored: dropCallLookups,
  takeFile: (source, file, context) => takeRecording(source, file, context),
  listRecordings: listKeptRecordings,
  listPersonalFiles: listRecordingFiles,
  documents: [recordingDocument],
  demo: {
    template: {
      name: 'ligacao-lembrete',
      content: 'Olá, {{ nome }}. Esta é uma mensagem sobre o seu contrato {{ contrato }}.',
      variables: ['nome', 'contrato'],
    },
    part: () => ({ number: '11987654321', template: 'ligacao-lembrete', payload: { nome: 'Maria', contrato: '4711' } }),
  },
  contract: async () => (await import('./contract.js')).voiceContract,
  runtime: async () => (await import('./delivery.js')).voiceRuntime,
}

function readEnvironment({ carriers, setting, dataFolder }: Environment): VoiceConfig {
  const recordingDays = setting<number | null>('RECORDING_DAYS', null, 'um número inteiro de 1 a 36500', text =>
    /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 36_500 ? Number(text) : null,
  )
  return {
    carriers: carriers('VOICE_URL', providers),
    recordingDays,
    heldFolder: join(dataFolder, 'recordings'),
    retention: [{ what: 'Gravações de ligações', setting: 'RECORDING_DAYS', days: recordingDays }],
  }
}
