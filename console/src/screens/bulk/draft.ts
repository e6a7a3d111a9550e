import type { BatchDetail } from '../../../../src/http/console/sending/bulk-schema.js'
import type { ComposeForm } from '../../../../src/http/console/sending/compose-schema.js'
import { type Draft, toRequest, toText } from '../new/request.js'
import type { Mapping } from './mapping.js'

/** The message of a batch and the meaning of its columns, as the form has them. Files are for single sends. */
export interface BulkDraft extends Draft {
  mapping: Mapping
}

/** The members of the send request that are the same in all lines. A channel that is chosen is there, even without a field. */
export function toBase(draft: BulkDraft, form: ComposeForm): Record<string, unknown> {
  const base = toRequest(draft, form)
  // A member that holds an object also holds its template.
  for (const { channel, member, template } of form.channels)
    if (draft.channels.includes(channel) && template.startsWith(`${member}.`)) base[member] ??= {}
  return base
}

/** The form as the batch was checked with it. Before, the channels are those that its columns name. */
export function draftOf({ base, columns }: BatchDetail, form: ComposeForm): BulkDraft {
  const values = Object.fromEntries(leavesOf(base))
  if (values.content !== undefined) values.content = toText(values.content)
  const named = columns.flatMap(({ paths }) => paths.map(path => path.split('.')[0]!))
  const channels = form.channels.filter(({ member }) => member in base || named.includes(member)).map(({ channel }) => channel)
  const mapping = Object.fromEntries(columns.map(({ name, paths }) => [name, paths]))
  return { values, channels: channels.length === 0 ? [form.channels[0]!.channel] : channels, attachments: [], mapping }
}

/** Whether both send the same: the members of a request have no order. */
export function isSameDraft(one: BulkDraft, other: BulkDraft, form: ComposeForm): boolean {
  const textOf = (draft: BulkDraft): string =>
    JSON.stringify([leavesOf(toBase(draft, form)).sort(), [...draft.channels].sort(), leavesOf(draft.mapping).sort()])
  return textOf(one) === textOf(other)
}

function leavesOf(value: object, path = ''): [string, string][] {
  return Object.entries(value).flatMap(([name, member]): [string, string][] => {
    const at = path === '' ? name : `${path}.${name}`
    return typeof member === 'object' && member !== null ? leavesOf(member as object, at) : [[at, String(member)]]
  })
}
