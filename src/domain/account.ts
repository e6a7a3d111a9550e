import { readEmailAddress } from './email-address.js'
import { hasControlCharacters } from './text.js'

/** The settings of an account: one table of names, defaults, meaning and accepted values. */
export interface AccountSettings {
  validation: boolean
  'limit.registered': number
  'limit.unregistered': number
  'fallback.minutes': number
  'email.from': string
  'email.name': string
  'voice.name': string
  'voice.retries': number
  'voice.retry.minutes': number
}

export type SettingName = keyof AccountSettings

interface Setting<T> {
  default: T
  meaning: string
  read(text: string): T | null
}

const whole =
  (least: number, most: number) =>
  (text: string): number | null => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= least && value <= most ? value : null
  }

const oneLine = (text: string): string | null => (hasControlCharacters(text) || text.length > 200 ? null : text.trim())

const yesOrNo = (text: string): boolean | null => (text === 'true' ? true : text === 'false' ? false : null)

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

export const settingNames = Object.keys(accountSettings) as SettingName[]

/** What is stored holds only the differences; the rest follows the defaults. */
export function completeSettings(stored: Partial<AccountSettings>): AccountSettings {
  const defaults = Object.fromEntries(
    settingNames.map(name => [name, accountSettings[name].default]),
  ) as unknown as AccountSettings
  return { ...defaults, ...stored }
}
