import { readAccountSetting } from '../../../channels/account-settings.js'
import type { SettingValue } from '../../../domain/account.js'
import { refuse } from '../../../domain/errors.js'

/** The first value that is refused refuses them all. */
export function readSettings(changes: Readonly<Record<string, string>>): Record<string, SettingValue> {
  return Object.fromEntries(
    Object.entries(changes).map(([name, text]) => {
      const read = readAccountSetting(name, text) ?? refuse('badSetting', name, 'não existe esta configuração')
      return [name, 'problem' in read ? refuse('badSetting', name, read.problem) : read.value]
    }),
  )
}
