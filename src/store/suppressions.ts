import type { Channel } from '../domain/notification.js'
import { type Queryable, run } from './postgres.js'

/** Recipients that an account must not be sent to again on a channel, and why. */
export async function suppress(
  db: Queryable,
  entry: { notification: string; channel: Channel; reason: 'hard bounce' | 'complaint' | 'stranger' | 'opt-out' },
): Promise<void> {
  await run(
    db,
    `insert into suppression (account_id, channel, recipient, reason, notification_id)
     select account_id, channel, recipient, $3, notification_id from delivery
     where notification_id = $1 and channel = $2 and recipient is not null
     on conflict do nothing`,
    [entry.notification, entry.channel, entry.reason],
  )
}
