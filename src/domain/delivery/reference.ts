import type { Channel } from '../channel.js'

/** What a reference of ours names: one message of a delivery. Its text is "notification.channel.ordinal". */
export interface Reference {
  notification: string
  channel: Channel
  ordinal: number
}

/** The query of store/delivery/claims.ts writes the same text in SQL. */
export const makeReference = ({ notification, channel, ordinal }: Reference): string => `${notification}.${channel}.${ordinal}`

/** null: the text is not a reference of ours. Carriers send us any text in the place of a reference. */
export function readReference(text: string): Reference | null {
  const [, notification, channel, ordinal] =
    /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([a-z]+)\.(\d{1,4})$/.exec(text) ?? []
  return notification === undefined ? null : { notification, channel: channel!, ordinal: Number(ordinal) }
}

/** For a text that we wrote ourselves: anything but a reference is a bug. */
export function expectReference(text: string): Reference {
  const reference = readReference(text)
  if (reference === null) throw new Error(`not a reference of ours: ${text}`)
  return reference
}
