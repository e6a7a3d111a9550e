import type { Mode } from '../../domain/access/token.js'
import { type AccountSettings, completeSettings, type StoredSettings } from '../../domain/account.js'
import type { DatedStatus } from '../../domain/delivery/status.js'
import type { Scope } from '../../domain/scope.js'
import { type FoundStatus, STATUS_COLUMNS, UNKNOWN_SINCE } from '../delivery/deliveries.js'
import { type LoggedEvent, readChain } from '../notification/event-log.js'
import { type Pool, type Queryable, queryRow, queryRows, snapshot } from '../postgres.js'

/** Everything that the documents about a notification are made of, as it was at one moment. */
export interface Dossier {
  id: string
  code: number
  mode: Mode
  acceptedAt: Date
  customId: string | null
  /** null: erased, as are the next two. */
  recipientName: string | null
  subject: string | null
  content: string | null
  /** null: the content is shown without one. */
  question: string | null
  sender: { name: string; settings: AccountSettings; logo: { sha256: string; type: string; bytes: Buffer } | null }
  /** In the order in which they are sent. */
  deliveries: (FoundStatus & DatedStatus & { recipient: string | null })[]
  attachments: { name: string; sha256: string; size: number }[]
  events: LoggedEvent[]
}

/** null: the scope has no such notification. */
export const readDossier = (pool: Pool, scope: Scope, id: string): Promise<Dossier | null> =>
  snapshot(pool, db => readAll(db, scope, id))

interface Row extends Omit<Dossier, 'sender' | 'deliveries' | 'attachments' | 'events'> {
  accountName: string
  settings: StoredSettings
  logoSha256: string | null
  logoType: string | null
  logoBytes: Buffer | null
}

async function readAll(db: Queryable, { account, mode }: Scope, id: string): Promise<Dossier | null> {
  const row = await queryRow<Row>(
    db,
    `select n.id, n.code, n.mode, n.accepted_at as "acceptedAt", n.custom_id as "customId", n.recipient_name as "recipientName", n.subject,
       n.content, n.validation ->> 'question' as question, a.name as "accountName", a.settings,
       encode(g.sha256, 'hex') as "logoSha256", g.type as "logoType", g.bytes as "logoBytes"
     from notification n join account a on a.id = n.account_id left join logo g on g.sha256 = a.logo
     where n.id = $1 and n.account_id = $2 and n.mode = $3`,
    [id, account, mode],
  )
  if (row === null) return null
  const deliveries = await queryRows<Dossier['deliveries'][number]>(
    db,
    `select ${STATUS_COLUMNS}, ${UNKNOWN_SINCE}, d.recipient
     from delivery d where d.notification_id = $1 order by d.step, d.channel`,
    [id],
  )
  const attachments = await queryRows<Dossier['attachments'][number]>(
    db,
    `select name, encode(sha256, 'hex') as sha256, size from attachment where notification_id = $1 order by ordinal`,
    [id],
  )
  const events = await readChain(db, id)
  const { accountName, settings, logoSha256, logoType, logoBytes, ...own } = row
  const logo = logoSha256 === null ? null : { sha256: logoSha256, type: logoType!, bytes: logoBytes! }
  return { ...own, sender: { name: accountName, settings: completeSettings(settings), logo }, deliveries, attachments, events }
}
