import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ListChecks } from 'lucide-react'
import { useState } from 'react'
import type { BatchDetail, CheckBody } from '../../../../src/http/console/sending/bulk-schema.js'
import type { ComposeForm } from '../../../../src/http/console/sending/compose-schema.js'
import { api } from '../../api/client.js'
import { composeForm } from '../../api/queries.js'
import { useWords } from '../../app/language.js'
import { Button } from '../../parts/button.js'
import { TextField } from '../../parts/field.js'
import { FormError } from '../../parts/gate.js'
import { LongField } from '../../parts/long-field.js'
import { Card } from '../../parts/page.js'
import { messageOf, Skeleton } from '../../parts/states.js'
import { partWords } from '../../parts/words.js'
import { ChannelFields } from '../new/channel-fields.js'
import { ColumnMapping, type Mapping } from './column-mapping.js'
import { type BulkDraft, draftOf, toBase } from './draft.js'
import { words as screenWords } from './words.js'

/** What the columns mean and what the message says; then the lines are checked. */
export function BatchForm({ batch }: { batch: BatchDetail }) {
  const { data } = useQuery(composeForm({ account: batch.account, mode: batch.mode }))
  return data === undefined ? <Skeleton /> : <FormFields batch={batch} form={withoutRecipients(data)} />
}

/** The recipients come from the columns of the file, line by line. */
const withoutRecipients = (form: ComposeForm): ComposeForm => ({
  ...form,
  channels: form.channels.map(channel => ({ ...channel, fields: channel.fields.filter(({ required }) => required !== true) })),
})

function FormFields({ batch, form }: { batch: BatchDetail; form: ComposeForm }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const queries = useQueryClient()
  const [draft, setDraft] = useState<BulkDraft>(() => draftOf(batch, form))
  // null: by the columns' names, for as long as nobody chose otherwise.
  const [mapping, setMapping] = useState<Mapping | null>(null)
  const check = useMutation({
    mutationFn: () =>
      api.post(`/bulk/${batch.id}/check`, {
        mapping,
        base: toBase(draft, form),
        channels: [...draft.channels],
      } satisfies CheckBody),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['live', 'bulk'] }),
  })
  const set = (path: string, value: string): void => setDraft(all => ({ ...all, values: { ...all.values, [path]: value } }))
  const textAt = (path: string): string => draft.values[path] ?? ''
  const isFirst = Object.keys(batch.base).length === 0
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={event => {
        event.preventDefault()
        check.mutate()
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
              setDraft(all => ({
                ...all,
                channels: isOn ? [...all.channels, channel.channel] : all.channels.filter(name => name !== channel.channel),
              }))
            }
            state={{ valueOf: textAt, errorOf: () => null, set }}
          />
        ))}
      </Card>
      <ColumnMapping batch={batch} channels={draft.channels} mapping={mapping} onChange={setMapping} />
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
