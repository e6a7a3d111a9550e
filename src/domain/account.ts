import { type HolidayKind, holidayKinds } from './contact/holidays.js'
import { type RetentionSettings, retentionSettings } from './retention.js'
import { explainCnpj, readCnpj, readPrivacyContact, readSenderPhone, readSite, type SenderSettings } from './send/sender.js'
import { hasControlCharacters } from './text/text.js'

/** The settings of an account that belong to no channel; each channel's module declares its own beside these. */
export interface CoreSettings extends SenderSettings, RetentionSettings {
  validation: boolean
  'limit.registered': number
  'limit.unregistered': number
  'bulk.lines': number
  'bulk.perMinute': number
  'brand.color': string
  'link.domain': string
  'link.days': number
  'contact.rules': boolean
  'contact.holidays': HolidayKind
  'contact.repeat.hours': number
  'cost.month.cap': number
}

/** A text for people, in both languages of the console. */
export interface Bilingual {
  readonly pt: string
  readonly en: string
}

export type SettingValue = string | number | boolean

/** An account stores only the values that differ from the defaults. */
export type StoredSettings = Readonly<Record<string, SettingValue>>

/** The core settings in full, and those of the channels as they are stored. */
export type AccountSettings = CoreSettings & StoredSettings

export interface Setting<T extends SettingValue = SettingValue> {
  readonly default: T
  /** Its name in forms. */
  readonly label: Bilingual
  /** Its effect and the values that it accepts, after the name. */
  readonly meaning: Bilingual
  /** The values, where a few are all that it accepts. */
  readonly choices?: readonly (Bilingual & { readonly value: string })[]
  read(text: string): T | null
  /** Why a value was refused, where more can be said than what is accepted. */
  explain?(text: string): string | null
}

export type SettingsTable<T> = { readonly [Name in keyof T]: T[Name] extends SettingValue ? Setting<T[Name]> : never }

export function settingsOf<T>(table: SettingsTable<T>, stored: StoredSettings): T {
  const settings: Record<string, SettingValue> = {}
  for (const name in table) settings[name] = stored[name] ?? (table as Record<string, Setting>)[name]!.default
  return settings as T
}

export const whole =
  (least: number, most: number) =>
  (text: string): number | null => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= least && value <= most ? value : null
  }

export const oneLine = (text: string): string | null => (hasControlCharacters(text) || text.length > 200 ? null : text.trim())

export const yesOrNo = (text: string): boolean | null => (text === 'true' ? true : text === 'false' ? false : null)

/** WCAG 2.2 AA, for white text on the colour and for the colour as text on white. */
const LEAST_CONTRAST = 4.5
const HEX_COLOR = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/

const readColor = (text: string): string | null => (HEX_COLOR.test(text.toLowerCase()) ? text.toLowerCase() : null)

/** From 1 to 21 (WCAG 2.2, "relative luminance"). */
function contrastWithWhite(color: string): number {
  const linear = (part: number): number => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  const parts = HEX_COLOR.exec(color)!.slice(1)
  const [red, green, blue] = parts.map(part => linear(Number.parseInt(part, 16) / 255)) as [number, number, number]
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
}

function readBrandColor(text: string): string | null {
  const color = readColor(text)
  return text === '' || (color !== null && contrastWithWhite(color) >= LEAST_CONTRAST) ? (color ?? '') : null
}

function explainBrandColor(text: string): string | null {
  const color = readColor(text)
  if (color === null) return null
  const ratio = (Math.floor(contrastWithWhite(color) * 10) / 10).toFixed(1).replace('.', ',')
  return `${color} tem contraste ${ratio} com o branco, e o texto ficaria ilegível para muita gente. É preciso 4,5: use um tom mais escuro`
}

/** The origin alone; plain http only where nothing leaves the machine. */
function readLinkDomain(text: string): string | null {
  if (text === '') return ''
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  const bare = url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  const loopback = url.protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname)
  return bare && (url.protocol === 'https:' || loopback) ? url.origin : null
}

function perMinute(limit: number, label: Bilingual, senders: Bilingual): Setting<number> {
  return {
    default: limit,
    label,
    meaning: {
      pt: `requisições por minuto de ${senders.pt}: 1 a 10000000`,
      en: `requests per minute from ${senders.en}: 1 to 10000000`,
    },
    read: whole(1, 10_000_000),
  }
}

export const coreSettings: SettingsTable<CoreSettings> = {
  validation: {
    default: false,
    label: { pt: 'Pergunta antes de ler', en: 'Question before reading' },
    meaning: {
      pt: 'envios podem pedir a resposta certa a uma pergunta antes da leitura',
      en: 'sends may ask for the right answer to a question before the message is shown',
    },
    read: yesOrNo,
  },
  'limit.registered': perMinute(
    6000,
    { pt: 'Limite de endereços registrados', en: 'Limit of registered addresses' },
    { pt: 'endereços registrados', en: 'registered addresses' },
  ),
  'limit.unregistered': perMinute(
    120,
    { pt: 'Limite de outros endereços', en: 'Limit of other addresses' },
    { pt: 'outros endereços', en: 'other addresses' },
  ),
  'bulk.lines': {
    default: 100_000,
    label: { pt: 'Linhas de um lote', en: 'Lines of a batch' },
    meaning: { pt: 'linhas de um lote, no máximo: 1 a 1000000', en: 'lines of a batch at most: 1 to 1000000' },
    read: whole(1, 1_000_000),
  },
  'bulk.perMinute': {
    default: 3_000,
    label: { pt: 'Ritmo dos lotes', en: 'Pace of batches' },
    meaning: { pt: 'linhas de lotes aceitas por minuto: 1 a 10000000', en: 'lines of batches accepted a minute: 1 to 10000000' },
    read: whole(1, 10_000_000),
  },
  'brand.name': {
    default: '',
    label: { pt: 'Nome mostrado', en: 'Name shown' },
    meaning: {
      pt: 'nome mostrado nas páginas e nos e-mails (vazio: o nome da conta)',
      en: 'name on pages and in e-mails (empty: the name of the account)',
    },
    read: oneLine,
  },
  'brand.color': {
    default: '',
    label: { pt: 'Cor', en: 'Colour' },
    meaning: {
      pt: 'cor das páginas, dos e-mails e das cartas, como #0a5c36, com contraste de 4,5 ou mais com o branco (vazio: a padrão)',
      en: 'colour of pages, e-mails and letters, such as #0a5c36, with a contrast of 4.5 or more with white (empty: the usual one)',
    },
    read: readBrandColor,
    explain: explainBrandColor,
  },
  'sender.legalName': {
    default: '',
    label: { pt: 'Razão social', en: 'Legal name' },
    meaning: {
      pt: 'razão social de quem envia: uma linha de até 200 caracteres (vazio: não é mostrada)',
      en: 'legal name of the sender: one line of up to 200 characters (empty: not shown)',
    },
    read: oneLine,
  },
  'sender.document': {
    default: '',
    label: { pt: 'CNPJ', en: 'CNPJ' },
    meaning: {
      pt: 'CNPJ de quem envia, com ou sem máscara, como 11.222.333/0001-81 (vazio: não é mostrado)',
      en: 'CNPJ of the sender, with or without its mask, such as 11.222.333/0001-81 (empty: not shown)',
    },
    read: readCnpj,
    explain: explainCnpj,
  },
  'sender.phone': {
    default: '',
    label: { pt: 'Telefone', en: 'Telephone' },
    meaning: {
      pt: 'telefone de quem envia, com DDD, como (11) 3003-1234 ou 0800 123 4567 (vazio: não é mostrado)',
      en: 'telephone of the sender, with its area code, such as (11) 3003-1234 or 0800 123 4567 (empty: not shown)',
    },
    read: readSenderPhone,
  },
  'sender.site': {
    default: '',
    label: { pt: 'Site', en: 'Site' },
    meaning: {
      pt: 'site de quem envia, que começa por https://, como https://www.empresa.com.br (vazio: não é mostrado)',
      en: 'site of the sender, which starts with https://, such as https://www.empresa.com.br (empty: not shown)',
    },
    read: readSite,
  },
  'sender.privacy': {
    default: '',
    label: { pt: 'Encarregado de dados (LGPD)', en: 'Data protection contact (LGPD)' },
    meaning: {
      pt: 'contato do encarregado de dados pessoais (LGPD): um e-mail, ou um endereço que começa por https:// (vazio: não é mostrado)',
      en: 'contact for personal data (LGPD): an e-mail address, or an address that starts with https:// (empty: not shown)',
    },
    read: readPrivacyContact,
  },
  'link.domain': {
    default: '',
    label: { pt: 'Endereço dos links', en: 'Address of the links' },
    meaning: {
      pt: 'endereço próprio dos links, como https://avisos.empresa.com.br, sem caminho (vazio: PUBLIC_URL)',
      en: 'own address of the links, such as https://avisos.empresa.com.br, without a path (empty: PUBLIC_URL)',
    },
    read: readLinkDomain,
  },
  'link.days': {
    default: 1_825,
    label: { pt: 'Validade dos links, em dias', en: 'Days for which links open' },
    meaning: {
      pt: 'dias em que os links abrem, a contar da aceitação: 1 a 36500',
      en: 'days for which links open, from the acceptance: 1 to 36500',
    },
    read: whole(1, 36_500),
  },
  'contact.rules': {
    default: true,
    label: { pt: 'Regras de contato', en: 'Rules of contact' },
    meaning: {
      pt: 'horários, feriados, limite por dia e repetições, nos canais que chegam na hora',
      en: 'hours, holidays, contacts per day and repetitions, on channels that arrive at once',
    },
    read: yesOrNo,
  },
  'contact.holidays': {
    default: 'national',
    label: { pt: 'Feriados sem contato', en: 'Holidays without contact' },
    meaning: {
      pt: 'feriados sem contato: national (os nacionais e a Sexta-feira Santa), bank (também Carnaval e Corpus Christi) ou none (nenhum)',
      en: 'holidays without contact: national (those and Good Friday), bank (Carnival and Corpus Christi too) or none',
    },
    read: text => holidayKinds.find(kind => kind === text) ?? null,
  },
  'contact.repeat.hours': {
    default: 24,
    label: { pt: 'Horas sem repetição', en: 'Hours without repetition' },
    meaning: {
      pt: 'horas em que a mesma mensagem não é repetida à mesma pessoa: 1 a 720 (0: pode ser repetida)',
      en: 'hours in which the same message is not repeated to the same person: 1 to 720 (0: it may be)',
    },
    read: whole(0, 720),
  },
  'cost.month.cap': {
    default: 0,
    label: { pt: 'Teto do mês, em reais', en: 'Cap of the month, in reais' },
    meaning: {
      pt: 'teto do custo estimado dos envios de um mês, em reais inteiros: 1 a 100000000 (0: sem teto)',
      en: "cap of the estimated cost of a month's sends, in whole reais: 1 to 100000000 (0: none)",
    },
    read: whole(0, 100_000_000),
  },
  ...retentionSettings,
}

export const completeSettings = (stored: StoredSettings): AccountSettings =>
  ({ ...settingsOf(coreSettings, stored), ...stored }) as AccountSettings
