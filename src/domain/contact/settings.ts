import { type AccountSettings, type Bilingual, type Setting, settingsOf, whole } from '../account.js'
import type { ChannelTraits } from '../channel.js'
import { HOUR_MS } from '../units.js'
import { ANY_TIME, readHours } from './hours.js'
import type { ContactRules } from './rules.js'

/** What a channel that reaches people at once declares: its rules where an account sets none. */
export interface ContactDefaults {
  /** As the setting is written (hours.ts). */
  readonly hours: string
  readonly perDay: number
}

const readHoursSetting = (text: string): string | null => (text === ANY_TIME ? text : (readHours(text)?.text ?? null))

/** The account's settings of a channel with contact rules. `label`: the channel for people. */
export const contactSettings = (
  channel: string,
  label: Bilingual,
  defaults: ContactDefaults,
): Readonly<Record<string, Setting>> => ({
  [`${channel}.hours`]: {
    default: defaults.hours,
    label: { pt: `Horário de contato por ${label.pt}`, en: `Hours of contact by ${label.en}` },
    meaning: {
      pt: `horário de contato por ${label.pt}, na hora do destinatário, como seg-sex 08:00-20:00; sab 08:00-14:00 (sempre: a qualquer hora e dia)`,
      en: `hours of contact by ${label.en}, in the recipient's time, such as seg-sex 08:00-20:00; sab 08:00-14:00 (sempre: at any time)`,
    },
    read: readHoursSetting,
  } as Setting,
  [`${channel}.perDay`]: {
    default: defaults.perDay,
    label: { pt: `Contatos por dia por ${label.pt}`, en: `Contacts per day by ${label.en}` },
    meaning: {
      pt: `contatos por dia com a mesma pessoa por ${label.pt}: 1 a 1000 (0: sem limite)`,
      en: `contacts per day with the same person by ${label.en}: 1 to 1000 (0: no limit)`,
    },
    read: whole(0, 1_000),
  } as Setting,
})

/** The rules of an account for a channel; null: the channel has none, or the account has turned them off. */
export function contactRulesOf({ channel, label, contact }: ChannelTraits, settings: AccountSettings): ContactRules | null {
  if (contact === undefined || !settings['contact.rules']) return null
  const own = settingsOf<Record<string, string | number>>(
    contactSettings(channel, { pt: label, en: label }, contact) as never,
    settings,
  )
  const hours = String(own[`${channel}.hours`])
  const perDay = Number(own[`${channel}.perDay`])
  const repeatHours = settings['contact.repeat.hours']
  return {
    hours: hours === ANY_TIME ? null : readHours(hours),
    holidays: settings['contact.holidays'],
    perDay: perDay === 0 ? null : perDay,
    repeatAfterMs: repeatHours === 0 ? null : repeatHours * HOUR_MS,
  }
}
