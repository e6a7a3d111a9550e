import { coreSettings, type Setting, type SettingValue } from '../domain/account.js'
import { channelModules } from './registry.js'

/** Every setting of an account: the core's and the channels'. */
export const accountSettings: Readonly<Record<string, Setting>> = Object.assign(
  {},
  coreSettings,
  ...channelModules.map(({ settings }) => settings),
)

/** Its effect and the values that it accepts as a person types them, in Portuguese. */
export const describeSetting = ({ meaning, default: usual }: Setting): string =>
  typeof usual === 'boolean' ? `${meaning.pt}: true ou false` : meaning.pt

/** A value as a person typed it, or why it is refused, in Portuguese; null: there is no such setting. */
export function readAccountSetting(name: string, text: string): { value: SettingValue } | { problem: string } | null {
  const setting = Object.hasOwn(accountSettings, name) ? accountSettings[name] : undefined
  if (setting === undefined) return null
  const value = setting.read(text)
  return value === null ? { problem: setting.explain?.(text) ?? describeSetting(setting) } : { value }
}
