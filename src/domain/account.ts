import { hasControlCharacters } from './text.js'

/** The settings of an account that belong to no channel; each channel's module declares its own beside these. */
export interface CoreSettings {
  validation: boolean
  'limit.registered': number
  'limit.unregistered': number
  'brand.name': string
  'brand.color': string
  'link.domain': string
  'link.days': number
}

export type SettingValue = string | number | boolean

/** An account stores only the values that differ from the defaults. */
export type StoredSettings = Readonly<Record<string, SettingValue>>

/** The core settings in full, and those of the channels as they are stored. */
export type AccountSettings = CoreSettings & StoredSettings

export interface Setting<T extends SettingValue = SettingValue> {
  readonly default: T
  /** Its effect and the values that it accepts, in Portuguese. */
  readonly meaning: string
  read(text: string): T | null
  /** Why a value was refused, where more can be said than what is accepted. */
  explain?(text: string): string | null
}

export type SettingsTable<T> = { readonly [Name in keyof T]: T[Name] extends SettingValue ? Setting<T[Name]> : never }

export function settingsOf<T>(table: SettingsTable<T>, stored: StoredSettings): T {
  const entries = Object.entries(table as Record<string, Setting>)
  return Object.fromEntries(entries.map(([name, setting]) => [name, stored[name] ?? setting.default])) as T
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

function perMinute(limit: number, senders: string): Setting<number> {
  return { default: limit, meaning: `requisições por minuto de ${senders}: 1 a 10000000`, read: whole(1, 10_000_000) }
}

export const coreSettings: SettingsTable<CoreSettings> = {
  validation: { default: false, meaning: 'pergunta e resposta antes da leitura: true ou false', read: yesOrNo },
  'limit.registered': perMinute(6000, 'endereços registrados'),
  'limit.unregistered': perMinute(120, 'outros endereços'),
  'brand.name': { default: '', meaning: 'nome mostrado nas páginas do destinatário (vazio: o nome da conta)', read: oneLine },
  'brand.color': {
    default: '',
    meaning: 'cor das páginas do destinatário, como #0a5c36, com contraste de 4,5 ou mais com o branco (vazio: a padrão)',
    read: readBrandColor,
    explain: explainBrandColor,
  },
  'link.domain': {
    default: '',
    meaning: 'endereço próprio dos links, como https://avisos.empresa.com.br, sem caminho (vazio: PUBLIC_URL)',
    read: readLinkDomain,
  },
  'link.days': {
    default: 1_825,
    meaning: 'dias em que os links abrem, a contar da aceitação: 1 a 36500',
    read: whole(1, 36_500),
  },
}

export const completeSettings = (stored: StoredSettings): AccountSettings =>
  ({ ...settingsOf(coreSettings, stored), ...stored }) as AccountSettings
