import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useState } from 'react'
import type {
  EditedTemplate,
  NewTemplate,
  TemplateDetail,
  TemplatePreview,
  TemplatePreviewBody,
  Variable,
} from '../../../../src/http/console/sending/templates-schema.js'
import { api, withQuery } from '../../api/client.js'
import { template as templateQuery } from '../../api/queries.js'
import { type OneAccount, useInstallation } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { useChannel } from '../../parts/data/channel.js'
import { Bubble, MarkupFrame } from '../../parts/data/message-views.js'
import { Button, IconButton } from '../../parts/form/button.js'
import { Check } from '../../parts/form/check.js'
import { inputClass, Select, TextField } from '../../parts/form/field.js'
import { LongField } from '../../parts/form/long-field.js'
import { useSettled } from '../../parts/form/use-settled.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card } from '../../parts/shell/page.js'
import { messageOf } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { type Metadata, MetadataFields } from './metadata.js'
import { words as screenWords } from './words.js'

interface EditorProps {
  /** null: a new one. */
  known: TemplateDetail | null
  firstChannel: string
  /** The content of an earlier version, to be saved as the next one. */
  restored?: string | null
  scope: OneAccount
  onSaved?(saved: TemplateDetail): void
}

interface Draft {
  name: string
  channel: string
  externalId: string
  content: string
  shared: boolean
  active: boolean
  metadata: Metadata
}

export function TemplateEditor({ known, firstChannel, restored = null, scope, onSaved }: EditorProps) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const { channels } = useInstallation()
  const client = useQueryClient()
  const toast = useToast()
  const [base, setBase] = useState(known)
  const [draft, setDraft] = useState(() => {
    const first = draftOf(known, firstChannel)
    return restored === null ? first : { ...first, content: restored }
  })
  const [samples, setSamples] = useState<Readonly<Record<string, string>>>({})
  const [declared, setDeclared] = useState<readonly Variable[]>(known?.variables ?? [])
  const set = (changes: Partial<Draft>): void => setDraft(all => ({ ...all, ...changes }))
  const preview = usePreview(scope, draft, samples)
  const used = preview?.variables ?? declared.map(({ name }) => name)
  // Declared ones keep their order, which is that of a carrier's parameters; new ones follow.
  const variables = [
    ...declared,
    ...used.filter(name => !declared.some(variable => variable.name === name)).map(name => ({ name, required: true })),
  ]
  // Of this person alone: a change of another person, saved meanwhile, stays.
  const changes = changesOf(base, draft, variables)
  const load = (newer: TemplateDetail): void => {
    setBase(newer)
    setDraft(draftOf(newer, firstChannel))
    setDeclared(newer.variables)
  }
  const newer = known !== null && base !== null && known.updatedAt > base.updatedAt ? known : null
  if (newer !== null && Object.keys(changes).length === 0) load(newer)
  const readOnly = known !== null && !known.editable
  const save = useMutation({
    mutationFn: (_sent: Draft) =>
      known === null
        ? api.post<TemplateDetail>(withQuery('/templates', { ...scope }), {
            name: draft.name,
            channel: draft.channel,
            content: draft.content,
            variables,
            externalId: draft.externalId || null,
            shared: draft.shared,
            metadata: draft.metadata,
          } satisfies NewTemplate)
        : api.put<TemplateDetail>(withQuery(`/templates/${known.id}`, { ...scope }), changes),
    onSuccess: (saved, sent) => {
      setBase(saved)
      // A person may go on writing meanwhile.
      setDraft(now => (now === sent ? draftOf(saved, firstChannel) : now))
      setDeclared(saved.variables)
      client.setQueryData(templateQuery(saved.id, scope).queryKey, saved)
      void client.invalidateQueries({ queryKey: ['fixed', 'templates'] })
      toast(words.saved)
      onSaved?.(saved)
    },
  })
  const makesVersion = known !== null && (changes.content !== undefined || changes.variables !== undefined)
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card>
        <form
          className="flex flex-col gap-4"
          onSubmit={event => {
            event.preventDefault()
            save.mutate(draft)
          }}
        >
          {readOnly && <p className="rounded-lg bg-sunken px-3 py-2 text-muted">{words.readOnly}</p>}
          <fieldset disabled={readOnly} className="flex min-w-0 flex-col gap-4">
            <TextField
              label={words.name}
              required
              maxLength={255}
              value={draft.name}
              onChange={event => set({ name: event.target.value })}
            />
            {known === null && (
              <Select
                label={words.channel}
                value={draft.channel}
                choices={channels.map(({ name, label }) => ({ value: name, label }))}
                onChoose={channel => set({ channel, metadata: {} })}
              />
            )}
            <LongField
              label={words.content}
              hint={words.contentHint}
              error={preview?.problem ?? null}
              mono
              required
              rows={10}
              spellCheck
              value={draft.content}
              onChange={event => set({ content: event.target.value })}
            />
            {(preview?.warnings ?? []).map(warning => (
              <p key={warning} role="status" className="rounded-lg bg-sunken px-3 py-2">
                {warning}
              </p>
            ))}
            <Variables
              variables={variables}
              used={used}
              samples={samples}
              onSample={(name, value) => setSamples(all => ({ ...all, [name]: value }))}
              onRequired={(name, required) =>
                setDeclared(variables.map(variable => (variable.name === name ? { name, required } : variable)))
              }
              onDrop={name => setDeclared(variables.filter(variable => variable.name !== name))}
            />
            <TextField
              label={words.externalId}
              hint={words.externalHint}
              maxLength={255}
              value={draft.externalId}
              onChange={event => set({ externalId: event.target.value })}
            />
            <MetadataFields
              channel={draft.channel}
              metadata={draft.metadata}
              variables={variables.map(({ name }) => name)}
              onChange={metadata => set({ metadata })}
            />
            <Check label={words.share} checked={draft.shared} onChange={shared => set({ shared })} />
            {known !== null && <Check label={words.activeSwitch} checked={draft.active} onChange={active => set({ active })} />}
          </fieldset>
          {newer !== null && (
            <div role="status" className="flex flex-col items-start gap-2 rounded-lg bg-warn-soft px-3 py-2">
              <p className="text-warn">{words.newer}</p>
              <Button size="small" onClick={() => load(newer)}>
                {words.loadNewer}
              </Button>
            </div>
          )}
          <FormError message={save.error === null ? null : messageOf(save.error, unreachable)} />
          {!readOnly && (
            <Button
              look="primary"
              type="submit"
              busy={save.isPending}
              disabled={known !== null && Object.keys(changes).length === 0}
              className="self-start"
            >
              {makesVersion ? words.saveVersion(known.version + 1) : words.save}
            </Button>
          )}
        </form>
      </Card>
      <PreviewCard preview={preview} channel={draft.channel} />
    </div>
  )
}

const draftOf = (known: TemplateDetail | null, firstChannel: string): Draft => ({
  name: known?.name ?? '',
  channel: firstChannel,
  externalId: known?.externalId ?? '',
  content: known?.content ?? '',
  shared: known?.shared ?? false,
  active: known?.active ?? true,
  metadata: known?.metadata ?? {},
})

/** Only what differs is sent: a change of the name makes no version. */
function changesOf(known: TemplateDetail | null, draft: Draft, variables: readonly Variable[]): EditedTemplate {
  if (known === null) return {}
  const changes: EditedTemplate = {}
  if (draft.name !== known.name) changes.name = draft.name
  if (draft.externalId !== (known.externalId ?? '')) changes.externalId = draft.externalId || null
  if (draft.shared !== known.shared) changes.shared = draft.shared
  if (draft.active !== known.active) changes.active = draft.active
  if (JSON.stringify(draft.metadata) !== JSON.stringify(known.metadata)) changes.metadata = draft.metadata
  if (draft.content !== known.content) changes.content = draft.content
  if (JSON.stringify(variables) !== JSON.stringify(known.variables)) changes.variables = [...variables]
  return changes
}

function usePreview(scope: OneAccount, { channel, content }: Draft, values: Readonly<Record<string, string>>) {
  const asked = useSettled(JSON.stringify({ channel, content, values } satisfies TemplatePreviewBody))
  const { data } = useQuery({
    queryKey: ['fixed', 'template-preview', scope, asked],
    queryFn: () => api.post<TemplatePreview>(withQuery('/templates/preview', { ...scope }), JSON.parse(asked)),
    placeholderData: keepPreviousData,
    enabled: content.trim() !== '',
  })
  return content.trim() === '' ? undefined : data
}

function Variables({
  variables,
  used,
  samples,
  onSample,
  onRequired,
  onDrop,
}: {
  variables: readonly Variable[]
  used: readonly string[]
  samples: Readonly<Record<string, string>>
  onSample(name: string, value: string): void
  onRequired(name: string, required: boolean): void
  onDrop(name: string): void
}) {
  const words = useWords(screenWords)
  return (
    <div>
      <h3 className="mb-1.5 text-[0.93rem] font-medium">{words.variables}</h3>
      {variables.length === 0 ? (
        <p className="text-muted">{words.noVariables}</p>
      ) : (
        <ul className="flex flex-col divide-y divide-line">
          {variables.map(({ name, required }) => (
            <li key={name} className="grid grid-cols-[1fr_auto] items-center gap-x-3 gap-y-1.5 py-2 sm:grid-cols-[9rem_1fr_auto]">
              <code className="wrap-anywhere">{name}</code>
              {used.includes(name) ? (
                <input
                  aria-label={words.sample(name)}
                  placeholder={`[${name}]`}
                  value={samples[name] ?? ''}
                  onChange={event => onSample(name, event.target.value)}
                  className={`${inputClass} col-span-2 row-start-2 sm:col-span-1 sm:row-start-auto`}
                />
              ) : (
                <span className="col-span-2 row-start-2 flex items-center gap-1 text-warn sm:col-span-1 sm:row-start-auto">
                  {words.unused}
                  <IconButton label={words.drop(name)} onClick={() => onDrop(name)}>
                    <X size={16} />
                  </IconButton>
                </span>
              )}
              <Check
                label={words.requiredShort}
                spoken={words.required(name)}
                checked={required}
                onChange={value => onRequired(name, value)}
              />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function PreviewCard({ preview, channel }: { preview: TemplatePreview | undefined; channel: string }) {
  const words = useWords(screenWords)
  const { color } = useChannel(channel)
  if (preview === undefined || preview.text === null) return null
  const { html, text, parts } = preview
  return (
    <Card title={words.preview}>
      {html ? <MarkupFrame title={words.previewFrame} html={text} /> : <Bubble color={color}>{text}</Bubble>}
      {parts !== null && (
        <p className="mt-2 text-[0.93rem] text-muted">
          {words.parts(parts.count, parts.characters)}
          {parts.encoding === 'ucs2' && <span className="block text-warn">{words.unicode}</span>}
        </p>
      )}
    </Card>
  )
}
