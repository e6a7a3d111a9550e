import { type Static, Type } from 'typebox'
import { MAX_ACCOUNT_NAME_CHARACTERS } from '../../../domain/account-name.js'
import { bilingual, list, moment, one, orNull, text } from '../wire.js'

const accountRow = Type.Object({ id: text, name: text, entity: text, createdAt: moment })
export const accountsSchema = Type.Object({ rows: list(accountRow) })
export const newAccountSchema = Type.Object({
  name: Type.String({ maxLength: MAX_ACCOUNT_NAME_CHARACTERS }),
  entity: Type.Optional(Type.String({ maxLength: MAX_ACCOUNT_NAME_CHARACTERS })),
})

export const accountSchema = Type.Object({
  ...accountRow.properties,
  logo: orNull(text),
  settings: list(
    Type.Object({
      name: text,
      kind: one(['text', 'number', 'switch']),
      /** As it is written in a form. */
      value: text,
      isDefault: Type.Boolean(),
      label: bilingual,
      /** What it does and what it accepts. */
      meaning: bilingual,
      /** Empty: more than a few values. */
      choices: list(Type.Object({ value: text, pt: text, en: text })),
    }),
  ),
  /** What can be seen of the brand before it is saved; the label is in Portuguese. */
  samples: list(Type.Object({ name: text, label: text })),
})
export const changeSettingsSchema = Type.Object({ changes: Type.Record(Type.String(), Type.String({ maxLength: 500 })) })
/** The file in base64. */
export const changeLogoSchema = Type.Object({ data: Type.String({ maxLength: 200_000 }) })
/** `draft`: settings that are not saved yet, as JSON. */
export const sampleQuery = Type.Object({ draft: Type.Optional(Type.String({ maxLength: 8_000 })) })

export type Accounts = Static<typeof accountsSchema>
export type NewAccount = Static<typeof newAccountSchema>
export type AccountDetails = Static<typeof accountSchema>
export type ChangeSettings = Static<typeof changeSettingsSchema>
export type ChangeLogo = Static<typeof changeLogoSchema>
