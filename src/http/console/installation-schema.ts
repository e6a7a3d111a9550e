import { type Static, Type } from 'typebox'
import { bilingual, list, one, orNull, text } from './wire.js'

/** What the pages must know before they show anything. */
export const installationSchema = Type.Object({
  operator: Type.Object({ id: text, name: text, email: text, role: one(['operator', 'sender', 'auditor']) }),
  accounts: list(Type.Object({ id: text, name: text })),
  /** In the order in which lists show them. The name is that of the API; the icon and the colour are of the pages' own sets. */
  channels: list(
    Type.Object({
      name: text,
      label: text,
      english: text,
      icon: text,
      color: text,
      /** The members of a template's metadata that the channel reads. */
      templateFields: list(
        Type.Object({
          name: text,
          kind: one(['text', 'number', 'switch', 'choice', 'variables']),
          label: bilingual,
          hint: bilingual,
          choices: Type.Optional(list(Type.Object({ value: text, pt: text, en: text }))),
        }),
      ),
    }),
  ),
  /** Where the API is reached, for examples. */
  publicUrl: text,
  /** Whether messages of live tokens leave for the real world. */
  hasCarriers: Type.Boolean(),
  simulatorUrl: orNull(text),
  version: text,
})
export type Installation = Static<typeof installationSchema>
