import type { BatchDetail } from '../../../../src/http/console/sending/bulk-schema.js'
import type { ComposeForm } from '../../../../src/http/console/sending/compose-schema.js'
import { type Draft, toRequest } from '../new/request.js'

/** The message of a batch, as the form has it. Files are for single sends. */
export type BulkDraft = Draft

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
  const named = columns.flatMap(({ paths }) => paths.map(path => path.split('.')[0]!))
  const channels = form.channels.filter(({ member }) => member in base || named.includes(member)).map(({ channel }) => channel)
  return { values, channels: channels.length === 0 ? [form.channels[0]!.channel] : channels, attachments: [] }
}

function leavesOf(value: object, path = ''): [string, string][] {
  return Object.entries(value).flatMap(([name, member]): [string, string][] => {
    const at = path === '' ? name : `${path}.${name}`
    return typeof member === 'object' && member !== null ? leavesOf(member as object, at) : [[at, String(member)]]
  })
}
