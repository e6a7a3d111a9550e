import { type Static, Type } from 'typebox'
import { count, list, moment, one, orNull, text } from '../wire.js'

const account = Type.String({ maxLength: 36 })
const mode = Type.Optional(one(['live', 'test']))
const variable = Type.Object({ name: text, required: Type.Boolean() })
export type Variable = Static<typeof variable>
/** What the sender keeps with it; channels read some members (`templateFields` of the installation). */
const metadata = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

export const templatesQuery = Type.Object({ account, mode, channel: Type.Optional(text), cursor: Type.Optional(text) })
export type TemplatesQuery = Static<typeof templatesQuery>

const row = {
  id: text,
  name: text,
  channel: text,
  externalId: orNull(text),
  variables: list(variable),
  shared: Type.Boolean(),
  active: Type.Boolean(),
  version: count,
  updatedAt: moment,
  /** The account that made it, where that is another one. */
  sharedBy: orNull(text),
  /** Made in the test mode, and known there only. */
  isTest: Type.Boolean(),
  /** The person and the mode may change it. */
  editable: Type.Boolean(),
}
const templateRow = Type.Object(row)
export type TemplateRow = Static<typeof templateRow>
export const templatesPage = Type.Object({ rows: list(templateRow), cursor: orNull(text) })
export type TemplatesPage = Static<typeof templatesPage>

export const templateSchema = Type.Object({
  ...row,
  content: text,
  metadata,
  versions: list(Type.Object({ version: count, createdAt: moment })),
})
export type TemplateDetail = Static<typeof templateSchema>

export const templateQuery = Type.Object({ account, mode })
export type TemplateQuery = Static<typeof templateQuery>
export const versionSchema = Type.Object({ content: text, variables: list(variable) })
export type TemplateVersionWire = Static<typeof versionSchema>

const declared = Type.Array(variable, { maxItems: 500 })
export const newTemplate = Type.Object({
  name: text,
  channel: text,
  content: text,
  /** null: those that the content uses, all of them obligatory. */
  variables: orNull(declared),
  externalId: orNull(text),
  shared: Type.Boolean(),
  metadata: Type.Optional(metadata),
})
export type NewTemplate = Static<typeof newTemplate>
export const editedTemplate = Type.Object({
  name: Type.Optional(text),
  content: Type.Optional(text),
  variables: Type.Optional(declared),
  externalId: Type.Optional(orNull(text)),
  shared: Type.Optional(Type.Boolean()),
  active: Type.Optional(Type.Boolean()),
  metadata: Type.Optional(metadata),
})
export type EditedTemplate = Static<typeof editedTemplate>

export const previewBody = Type.Object({
  channel: text,
  content: text,
  values: Type.Record(Type.String(), Type.String()),
})
export type TemplatePreviewBody = Static<typeof previewBody>
export const previewSchema = Type.Object({
  /** Those that the content uses; empty where it has a fault. */
  variables: list(text),
  /** Filled in, with sample values where none were given; null: it has a fault. */
  text: orNull(text),
  /** The content is markup. */
  html: Type.Boolean(),
  /** Where the text travels in parts: how many, and by which alphabet. */
  parts: orNull(Type.Object({ count, encoding: text, characters: count })),
  problem: orNull(text),
  /** What should be reconsidered; it may be saved as it is. */
  warnings: list(text),
})
export type TemplatePreview = Static<typeof previewSchema>
