import type { Channel } from '../../domain/channel.js'
import type { Json } from '../../domain/evidence/canonical-json.js'
import { filterBy, type Queryable, queryRows, queryValues } from '../postgres.js'
import { carrierForms, namesOne, UNMATCHED } from './erase.js'
import type { Person } from './find.js'

export type StoredRow = Record<string, Json>

/**
 * Not for an export: bytes are files of their own; salts and what a message hides would let a reader forge; the code of a link is the
 * recipient's alone, and this file goes through the hands of an operator.
 */
const WITHHELD = ['bytes', 'salt', 'hidden', 'transaction_id']
const WITHHELD_OF: Readonly<Record<string, readonly string[]>> = {
  link: ['code'],
  // Senders put secrets of their own there.
  webhook_attempt: ['url', 'response_headers'],
}

/** Every table with rows of single notifications: asked of the catalogue, so that a new one cannot be forgotten. */
const listTables = (db: Queryable): Promise<string[]> =>
  queryValues(
    db,
    `select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.attname = 'notification_id' and not a.attisdropped order by c.relname`,
  )

/** Tables with rows that belong to a notification by another row. */
const INDIRECT = [{ table: 'webhook_attempt', key: 'message_id', parent: 'webhook_message' }] as const

/** All rows of these notifications, by notification and table. */
export async function readRows(db: Queryable, ids: readonly string[]): Promise<Map<string, Record<string, StoredRow[]>>> {
  const found = new Map<string, Record<string, StoredRow[]>>(ids.map(id => [id, {}]))
  const read = async (table: string, key: string, from: string): Promise<void> => {
    const rows = await queryRows<{ id: string; row: StoredRow }>(
      db,
      `select ${key} as id, to_jsonb(t) - $2::text[] as row from ${from} where ${key} = any($1::uuid[]) order by ${key}, t`,
      [ids, [...WITHHELD, ...(WITHHELD_OF[table] ?? [])]],
    )
    for (const { id, row } of rows) {
      const tables = found.get(id)!
      tables[table] = [...(tables[table] ?? []), row]
    }
  }
  await read('notification', 't.id', 'public.notification t')
  for (const table of await listTables(db)) await read(table, 't.notification_id', `public.${table} t`)
  for (const { table, key, parent } of INDIRECT)
    await read(table, 'p.notification_id', `public.${parent} p join public.${table} t on t.${key} = p.id`)
  return found
}

/**
 * Reports and replies that belong to no notification yet, and so to no account. What an account is given has none of them: they may be of
 * another one's message.
 */
export async function readUnmatched(db: Queryable, person: Person): Promise<Record<string, StoredRow[]>> {
  const forms = person.account === null ? carrierForms(person) : []
  const found: Record<string, StoredRow[]> = {}
  if (forms.length === 0) return found
  for (const [table, column] of UNMATCHED)
    found[table] = await queryValues<StoredRow>(
      db,
      `select to_jsonb(t) from ${table} t where ${namesOne(`t.${column}`)} order by received_at`,
      [forms],
    )
  return found
}

/** What is kept of a person's contacts apart from notifications. */
export async function readContactRows(db: Queryable, { contacts, account }: Person): Promise<Record<string, StoredRow[]>> {
  const found: Record<string, StoredRow[]> = {}
  for (const table of ['suppression', 'contact_day', 'contact_content'])
    found[table] = await queryValues<StoredRow>(
      db,
      `select to_jsonb(t) from ${table} t where recipient = any($1::text[]) and ($2::uuid is null or account_id = $2)`,
      [contacts, account],
    )
  return found
}

/** Lists the suppressions of a person's contacts, in all modes. */
export const listSuppressedContacts = (
  db: Queryable,
  { contacts, account }: Person,
): Promise<{ account: string; mode: string; channel: Channel; recipient: string }[]> =>
  queryRows(
    db,
    `select a.name as account, s.mode, s.channel, s.recipient from suppression s join account a on a.id = s.account_id
     where s.recipient = any($1::text[]) and ${filterBy('$2::uuid', account, 's.account_id = $2')} order by 1, 2, 3, 4`,
    [contacts, account],
  )
