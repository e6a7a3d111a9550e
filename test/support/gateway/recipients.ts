import { moduleOf } from '../../../src/channels/registry.js'
import type { Channel } from '../../../src/domain/channel.js'
import { type LinkTarget, makeLinkCode } from '../../../src/domain/recipient/link.js'
import { createShortLinks } from '../../../src/engine/recipient/short-links.js'
import { recordChanges } from '../../../src/engine/record/record.js'
import type { Pool } from '../../../src/store/postgres.js'
import { type Gateway, type TestAccount, testKeys } from './gateway.js'
import { request, send, validSend } from './requests.js'
import { cookieOf, filled, visit } from './visitor.js'

/** Notifications that have left, and the links that lead to them. */
export interface Sent {
  id: string
  target: LinkTarget
  /** Of the full-strength link. */
  url: string
  short: string
}

export async function sendNotification(
  gateway: Gateway,
  pool: Pool,
  account: TestAccount,
  body: object = {},
  channel: Channel = 'email',
): Promise<Sent> {
  const answer = await send(gateway.url, account.token, { ...validSend, ...body })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  const { idEmail: id } = answer.body as { idEmail: string }
  const target = { notification: id, channel }
  const fact = { channel, type: 'sent' as const, at: new Date(), source: 'test', data: {} }
  await recordChanges(pool, Date.now, [{ kind: 'fact', notification: id, fact }])
  const code = await createShortLinks(pool, testKeys.link)(target)
  const full = makeLinkCode(testKeys.link, id, moduleOf(channel).linkCode)
  return { id, target, url: `${gateway.url}/n/${full}`, short: `${gateway.url}/s/${code}` }
}

/** Presses "Abrir" as a person; gives the session's cookie. */
export const openLink = async (url: string, target: LinkTarget): Promise<string> =>
  cookieOf(await visit(url, { form: filled(target) }))

export const statusOf = async (gateway: Gateway, account: TestAccount, channel: string, id: string) =>
  (await request(`${gateway.url}/gw/${channel}/${id}`, { token: account.token })).body as Record<string, unknown>

export interface StoredEvent {
  type: string
  source: string
  data: Record<string, unknown>
}

export async function eventsOf(pool: Pool, id: string): Promise<StoredEvent[]> {
  const { rows } = await pool.query<StoredEvent>(
    "select type, source, data from event where notification_id = $1 and source = 'recipient' order by seq",
    [id],
  )
  return rows
}
