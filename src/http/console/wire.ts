import { type TSchema, Type } from 'typebox'

/** The shapes that the console's routes and its pages share. The pages import the types alone. */
export const text = Type.String()
export const count = Type.Number()
/** ISO 8601 in UTC; pages show it in Brasília's time. */
export const moment = Type.String()
export const orNull = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()])
export const one = <const V extends readonly string[]>(values: V) => Type.Unsafe<V[number]>({ type: 'string', enum: [...values] })
export const list = <S extends TSchema>(item: S) => Type.Array(item)

/** A text for people, in both languages of the pages. */
export const bilingual = Type.Object({ pt: text, en: text })

const modeSchema = one(['live', 'test'])
/** The members of every query that is about accounts. An absent member means all that the person may see. */
export const scopeQuery = { account: Type.Optional(Type.String({ maxLength: 36 })), mode: Type.Optional(modeSchema) }
export const done = Type.Object({ done: Type.Literal(true) })
