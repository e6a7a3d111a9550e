import { readEmailAddress } from '../channels/email/address.js'
import { readSenderAddress } from '../channels/letter/postal-address.js'
import { contrastWithWhite, readColor } from './color.js'
import { type AccentRule, accentRules } from './message-parts.js'
import { hasControlCharacters } from './text.js'

/** The settings of an account: one table of names, defaults, meaning and accepted values. */
export interface AccountSettings {
  validation: boolean
  'limit.registered': number
  'limit.unregistered': number
  'fallback.minutes': number
  'email.from': string
  'email.name': string
  'email.receipt': boolean
  'sms.accents': AccentRule
  'voice.name': string
  'voice.retries': number
  'voice.retry.minutes': number
  'brand.name': string
  'brand.color': string
  'link.domain': string
  'link.days': number
  'letter.name': string
  'letter.address': string
  'letter.color': string
}

export type SettingName = keyof AccountSettings

interface Setting<T> {
  default: T
  meaning: string
  read(text: string): T | null
  /** Why a value was refused, where more can be said than what is accepted. */
  explain?(text: string): string | null
}

const whole =
  (least: number, most: number) =>
  (text: string): number | null => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= least && value <= most ? value : null
  }

const oneLine = (text: string): string | null => (hasControlCharacters(text) || text.length > 200 ? null : text.trim())

const yesOrNo = (text: string): boolean | null => (text === 'true' ? true : text === 'false' ? false : null)

/** WCAG 2.2 AA, for white text on the colour and for the colour as text on white. */
const LEAST_CONTRAST = 4.5

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

export const accountSettings: { readonly [Name in SettingName]: Setting<AccountSettings[Name]> } = {
  validation: { default: false, meaning: 'pergunta e resposta antes da leitura: true ou false', read: yesOrNo },
  'limit.registered': {
    default: 6000,
    meaning: 'requisições por minuto de endereços registrados: 1 a 10000000',
    read: whole(1, 10_000_000),
  },
  'limit.unregistered': {
    default: 120,
    meaning: 'requisições por minuto de outros endereços: 1 a 10000000',
    read: whole(1, 10_000_000),
  },
  'fallback.minutes': {
    default: 30,
    meaning: "minutos sem entrega confirmada do e-mail até sair o SMS de typeSend '1': 1 a 10080",
    read: whole(1, 10_080),
  },
  'email.from': {
    default: '',
    meaning: 'endereço de remetente dos e-mails da conta (vazio: o do servidor)',
    read: text => (text === '' ? '' : readEmailAddress(text)),
  },
  'email.name': { default: '', meaning: 'nome de remetente dos e-mails da conta (vazio: o nome da conta)', read: oneLine },
  'email.receipt': {
    default: false,
    meaning: 'pede ao programa de e-mail do destinatário a confirmação de leitura (MDN): true ou false',
    read: yesOrNo,
  },
  'sms.accents': {
    default: 'transliterate',
    meaning: 'acentos do SMS: keep mantém; transliterate tira quando isso poupa uma parte da mensagem',
    read: text => accentRules.find(rule => rule === text) ?? null,
  },
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

export const settingNames = Object.keys(accountSettings) as SettingName[]

/** What is stored holds only the differences; the rest follows the defaults. */
export function completeSettings(stored: Partial<AccountSettings>): AccountSettings {
  const defaults = Object.fromEntries(
    settingNames.map(name => [name, accountSettings[name].default]),
  ) as unknown as AccountSettings
  return { ...defaults, ...stored }
}
