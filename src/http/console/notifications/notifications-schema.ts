import { type Static, Type } from 'typebox'
import { count, list, moment, orNull, scopeQuery, text } from '../wire.js'

const parameter = Type.Optional(Type.String({ maxLength: 300 }))

/** The filters of the list and of the export. Dates are days of Brasília or moments, as in GET /gw/notifications. */
export const notificationsQuery = Type.Object({
  ...scopeQuery,
  /** An id, a customID, a recipient or a part of the subject. */
  q: parameter,
  channel: parameter,
  /** As in GET /gw/notifications, or `nao-alcancada`. */
  status: parameter,
  from: parameter,
  to: parameter,
  cursor: parameter,
})

const delivery = Type.Object({
  channel: text,
  recipient: orNull(text),
  state: text,
  label: text,
  /** How the pages colour the label. */
  tone: text,
  at: moment,
})
const notificationRow = Type.Object({
  id: text,
  code: count,
  account: text,
  customId: orNull(text),
  recipientName: orNull(text),
  subject: orNull(text),
  acceptedAt: moment,
  deliveries: list(delivery),
})
export const notificationsPage = Type.Object({ rows: list(notificationRow), cursor: orNull(text) })

export type NotificationsQuery = Static<typeof notificationsQuery>
export type NotificationRow = Static<typeof notificationRow>
export type NotificationsPage = Static<typeof notificationsPage>
