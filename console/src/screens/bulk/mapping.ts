import type { BatchDetail } from '../../../../src/http/console/sending/bulk-schema.js'
import type { ComposeForm } from '../../../../src/http/console/sending/compose-schema.js'
import type { BulkDraft } from './draft.js'

/** The members of the send request that each column fills in. */
export type Mapping = Readonly<Record<string, readonly string[]>>

/**
 * The draft, with the columns of the channels and templates that were just chosen: as the batch had them, or else by the names of the columns.
 * Members of a channel or template that is no longer chosen are taken off. All other columns stay as they are.
 */
export function withColumns(before: BulkDraft, after: BulkDraft, { columns, fields }: BatchDetail, form: ComposeForm): BulkDraft {
  const isUsed = (path: string, { channels, values }: BulkDraft): boolean => {
    const field = fields.find(known => known.path === path)
    if (field !== undefined) return field.channel === null || channels.includes(field.channel)
    const owner = form.channels.find(({ member, values: variables }) =>
      [member, variables].some(start => path.startsWith(`${start}.`)),
    )
    if (owner === undefined) return true
    const isVariable = path.startsWith(`${owner.values}.`) && path !== owner.template
    return channels.includes(owner.channel) && (!isVariable || (values[owner.template] ?? '') !== '')
  }
  const mapping = Object.fromEntries(
    columns.map(({ name }) => [name, (after.mapping[name] ?? []).filter(path => isUsed(path, after) || !isUsed(path, before))]),
  )
  const taken = new Set(Object.values(mapping).flat())
  for (const source of ['paths', 'named'] as const)
    for (const column of columns)
      for (const path of column[source])
        if (isUsed(path, after) && !isUsed(path, before) && !taken.has(path)) {
          taken.add(path)
          mapping[column.name]!.push(path)
        }
  return { ...after, mapping }
}
