import { type Static, Type } from 'typebox'
import { list, moment, orNull, text } from '../wire.js'

/** What people hold back; null: any. */
export const holdsSchema = list(
  Type.Object({ channel: orNull(text), carrier: orNull(text), account: orNull(text), reason: text, since: moment }),
)
export type Holds = Static<typeof holdsSchema>
