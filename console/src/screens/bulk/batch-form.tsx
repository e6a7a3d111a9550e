import { useMutation, useQueryClient } from '@tanstack/react-query'
import { ListChecks } from 'lucide-react'
import type { BatchDetail, CheckBody } from '../../../../src/http/console/sending/bulk-schema.js'
import type { ComposeForm } from '../../../../src/http/console/sending/compose-schema.js'
import { api } from '../../api/client.js'
import { useWords } from '../../app/language.js'
import { Button } from '../../parts/form/button.js'
import { TextField } from '../../parts/form/field.js'
import { LongField } from '../../parts/form/long-field.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card } from '../../parts/shell/page.js'
import { messageOf } from '../../parts/shell/states.js'
import { partWords } from '../../parts/words.js'
import { ChannelFields } from '../new/channel-fields.js'
import { ColumnMapping } from './column-mapping.js'
import { type BulkDraft, toBase } from './draft.js'
import { withColumns } from './mapping.js'
import { words as screenWords } from './words.js'

/** What the columns mean and what the message says; then the lines are checked. */
export function BatchForm({
  batch,
  form,
  draft,
  onChange,
  onChecked,
}: {
  batch: BatchDetail
  form: ComposeForm
  draft: BulkDraft
  onChange(draft: BulkDraft): void
  /** `checked`: as it was sent; the form may have changed since. */
  onChecked(checked: BulkDraft): void
}) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const queries = useQueryClient()
  const check = useMutation({
    mutationFn: (sent: BulkDraft) =>
      api.post(`/bulk/${batch.id}/check`, {
        mapping: Object.fromEntries(Object.entries(sent.mapping).map(([column, paths]) => [column, [...paths]])),
        base: toBase(sent, form),
        channels: [...sent.channels],
      } satisfies CheckBody),
    onSuccess: async (_, sent) => {
      await queries.invalidateQueries({ queryKey: ['live', 'bulk'] })
      onChecked(sent)
    },
  })
  const change = (part: Partial<BulkDraft>): void => onChange(withColumns(draft, { ...draft, ...part }, batch, form))
  const set = (path: string, value: string): void => change({ values: { ...draft.values, [path]: value } })
  const textAt = (path: string): string => draft.values[path] ?? ''
  const isFirst = Object.keys(batch.base).length === 0
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={event => {
        event.preventDefault()
        check.mutate(draft)
      }}
    >
      <Card title={words.message}>
        <div className="flex flex-col gap-4">
          <p className="text-muted">{words.messageAbout}</p>
          <TextField
            label={words.subject}
            autoComplete="off"
            value={textAt('subject')}
            onChange={event => set('subject', event.target.value)}
          />
          <LongField
            label={words.content}
            hint={words.contentHint}
            rows={6}
            value={textAt('content')}
            onChange={event => set('content', event.target.value)}
          />
        </div>
      </Card>
      <Card title={words.channels}>
        {form.channels.map(channel => (
          <ChannelFields
            key={channel.channel}
            form={channel}
            isOn={draft.channels.includes(channel.channel)}
            onToggle={isOn =>
              change({
                channels: isOn ? [...draft.channels, channel.channel] : draft.channels.filter(name => name !== channel.channel),
              })
            }
            state={{ valueOf: textAt, errorOf: () => null, set }}
          />
        ))}
      </Card>
      <ColumnMapping
        batch={batch}
        channels={draft.channels}
        mapping={draft.mapping}
        onChange={mapping => onChange({ ...draft, mapping })}
      />
      <FormError message={check.error === null ? null : messageOf(check.error, unreachable)} />
      <Button
        look={isFirst ? 'primary' : 'plain'}
        type="submit"
        busy={check.isPending || batch.state === 'checking'}
        icon={<ListChecks size={17} aria-hidden="true" />}
        className="self-start"
      >
        {isFirst ? words.check : words.checkAgain}
      </Button>
    </form>
  )
}
