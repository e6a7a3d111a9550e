import { type Queryable, queryValue, run } from '../postgres.js'
import type { Person } from './find.js'

/** What can be erased of a notification apart from the rest. */
export type ErasedKind = 'content' | 'attachments' | 'letters' | 'recordings' | 'visits' | 'events' | 'references' | 'webhooks'

/** Those of the notifications that were erased: the others are held, still being delivered, or another transaction has them. */
export const eraseData = async (db: Queryable, ids: readonly string[], kinds: readonly ErasedKind[]): Promise<string[]> =>
  (await queryValue<string[]>(db, 'select erase_data($1::uuid[], $2::text[])', [ids, kinds]))!

const rowsOf = async (...statement: Parameters<typeof run>): Promise<number> => (await run(...statement)).rowCount ?? 0

/** Tables of what carriers said and nobody could match yet, with the column that may name a person. They have no account yet. */
export const UNMATCHED = [
  ['early_report', 'report'],
  ['reply_part', 'reply'],
] as const

/** A carrier may write a number without its plus sign. */
export const carrierForms = ({ contacts }: Person): string[] =>
  contacts.filter(form => /@|^\+\d+$/.test(form)).map(form => form.replace(/^\+/, ''))

/** Whether a column has one of these forms ($1) anywhere. */
export const namesOne = (column: string): string =>
  `exists (select from unnest($1::text[]) as form where position(form in lower(${column}::text)) > 0)`

/**
 * What tables hold of a person that belongs to no notification: counts of contacts, and reports and replies that match none. The
 * suppressions stay: without them the next send would reach a person who asked not to be reached.
 */
export async function eraseTraces(db: Queryable, person: Person): Promise<number> {
  const { contacts, account } = person
  const ofScope = 'recipient in (select form from unnest($1::text[]) as form) and ($2::uuid is null or account_id = $2)'
  let erased = await rowsOf(db, `delete from contact_day where ${ofScope}`, [contacts, account])
  erased += await rowsOf(db, `delete from contact_content where ${ofScope}`, [contacts, account])
  const forms = carrierForms(person)
  if (forms.length === 0) return erased
  for (const [table, column] of UNMATCHED) erased += await rowsOf(db, `delete from ${table} where ${namesOne(column)}`, [forms])
  return erased
}

/** The lines of batches with a cell that is the person's: as a contact, or by its digits. */
const LINES = `from bulk_line l join bulk_batch b on b.id = l.batch_id
  where b.erased_at is null and l.cells is not null and ($3::uuid is null or b.account_id = $3)
    and exists (select from jsonb_array_elements_text(l.cells) as cell
      where lower(trim(cell)) = any($1::text[]) or regexp_replace(cell, '\\D', '', 'g') = any($2::text[]))`

/** The digits of numbers and documents, as a file may have them: with the country's code and without it. */
const digitsOf = ({ contacts, names }: Person): string[] => {
  const digits = [...contacts.filter(form => form.startsWith('+')), ...names].map(form => form.replace(/\D/g, ''))
  const all = digits.flatMap(form => [form, form.replace(/^55(?=\d{10,11}$)/, '')])
  return [...new Set(all)].filter(form => form.length >= 8)
}

const formsOf = ({ contacts, names }: Person): string[] => [...contacts, ...names.map(name => name.toLowerCase())]

/** The batches with lines that are still to be sent to the person. */
export const findOpenBatches = async (db: Queryable, person: Person): Promise<{ id: string; name: string }[]> =>
  (
    await run<{ id: string; name: string }>(
      db,
      `select distinct b.id, b.name ${LINES} and b.state not in ('done', 'cancelled') and l.state in ('new', 'good') order by b.id`,
      [formsOf(person), digitsOf(person), person.account],
    )
  ).rows

/** Erases the data of lines that will not be sent any more. */
export const eraseLines = (db: Queryable, person: Person): Promise<number> =>
  rowsOf(
    db,
    `update bulk_line set cells = null, error = case when error is null then null else 'Os dados da linha foram apagados.' end
     where (batch_id, line) in (select l.batch_id, l.line ${LINES}
       and (b.state in ('done', 'cancelled') or l.state not in ('new', 'good')))`,
    [formsOf(person), digitsOf(person), person.account],
  )

export const listLines = async (db: Queryable, person: Person): Promise<object[]> =>
  (
    await run<{ row: object }>(
      db,
      `select jsonb_build_object('batch', b.id, 'name', b.name, 'line', l.line, 'columns', b.columns,
       'cells', l.cells, 'state', l.state, 'error', l.error) as row ${LINES} order by b.id, l.line`,
      [formsOf(person), digitsOf(person), person.account],
    )
  ).rows.map(({ row }) => row)
