import { useInfiniteQuery } from '@tanstack/react-query'
import type { ComposeField, ComposeForm } from '../../../../src/http/console/sending/compose-schema.js'
import { templates } from '../../api/queries.js'
import { useOneAccount } from '../../app/installation.js'
import { useLanguage, useWords } from '../../app/language.js'
import { ChannelName, useChannel } from '../../parts/data/channel.js'
import { Check } from '../../parts/form/check.js'
import { Select, TextField } from '../../parts/form/field.js'
import { LongField } from '../../parts/form/long-field.js'
import { words as screenWords } from './words.js'

export interface FieldState {
  valueOf(path: string): string
  errorOf(path: string): string | null
  set(path: string, value: string): void
}

/** One channel: whether the message goes by it, its fields, its template and the values of the template's variables. */
export function ChannelFields({
  form,
  isOn,
  onToggle,
  state,
}: {
  form: ComposeForm['channels'][number]
  isOn: boolean
  onToggle(isOn: boolean): void
  state: FieldState
}) {
  const words = useWords(screenWords)
  const { label } = useChannel(form.channel)
  const hasTemplate = state.valueOf(form.template) !== ''
  return (
    <section aria-label={label} className="border-b border-line py-3 first:pt-0 last:border-0 last:pb-0">
      <div className="font-medium">
        <Check label={<ChannelName name={form.channel} />} spoken={words.by(label)} checked={isOn} onChange={onToggle} />
      </div>
      {isOn && (
        <div className="mt-2 grid gap-3 sm:grid-cols-2">
          {form.fields
            .filter(field => !(field.withoutTemplate && hasTemplate))
            .map(field => (
              <FormField key={field.path} field={field} state={state} />
            ))}
          <TemplateFields form={form} state={state} />
        </div>
      )}
    </section>
  )
}

const types: Readonly<Partial<Record<ComposeField['kind'], string>>> = { address: 'email', phone: 'tel' }

function FormField({ field, state }: { field: ComposeField; state: FieldState }) {
  const language = useLanguage()
  const { path, kind, example = '', choices = [] } = field
  const shared = { label: field[language], error: state.errorOf(path) }
  if (kind === 'choice')
    return (
      <Select
        {...shared}
        value={state.valueOf(path)}
        choices={choices.map(choice => ({ value: choice.value, label: choice[language] }))}
        onChoose={value => state.set(path, value)}
      />
    )
  if (kind === 'long')
    return (
      <div className="sm:col-span-2">
        <LongField
          {...shared}
          rows={3}
          placeholder={example}
          value={state.valueOf(path)}
          onChange={event => state.set(path, event.target.value)}
        />
      </div>
    )
  return (
    <TextField
      {...shared}
      type={types[kind] ?? 'text'}
      placeholder={example}
      autoComplete="off"
      value={state.valueOf(path)}
      onChange={event => state.set(path, event.target.value)}
    />
  )
}

function TemplateFields({ form, state }: { form: ComposeForm['channels'][number]; state: FieldState }) {
  const words = useWords(screenWords)
  const { scope } = useOneAccount()
  const { data } = useInfiniteQuery(templates({ ...scope, channel: form.channel }))
  const usable = data?.pages.flatMap(({ rows }) => rows).filter(({ active }) => active) ?? []
  const chosen = usable.find(({ id }) => id === state.valueOf(form.template))
  const none = { value: '', label: form.needsTemplate ? words.chooseTemplate : words.noTemplate }
  const asked = chosen?.variables.filter(({ name }) => !form.fields.some(({ path }) => path === `${form.values}.${name}`)) ?? []
  const nothing = data !== undefined && usable.length === 0 ? words.noTemplates : null
  if (nothing !== null && !form.needsTemplate) return null
  return (
    <>
      <div className="sm:col-span-2">
        <Select
          label={words.template}
          hint={nothing ?? (form.needsTemplate && chosen === undefined ? words.needsTemplate : undefined)}
          error={state.errorOf(form.template)}
          value={chosen?.id ?? ''}
          choices={[none, ...usable.map(({ id, name }) => ({ value: id, label: name }))]}
          onChoose={id => state.set(form.template, id)}
        />
      </div>
      {asked.map(({ name, required }) => (
        <TextField
          key={name}
          label={required ? name : `${name} (–)`}
          error={state.errorOf(`${form.values}.${name}`)}
          value={state.valueOf(`${form.values}.${name}`)}
          onChange={event => state.set(`${form.values}.${name}`, event.target.value)}
        />
      ))}
    </>
  )
}
