import { useInstallation } from '../../app/installation.js'
import { useLanguage } from '../../app/language.js'
import { Check } from '../../parts/form/check.js'
import { Select, TextField } from '../../parts/form/field.js'

export type Metadata = Readonly<Record<string, unknown>>

/** What the channel reads from a template's metadata. Other members stay as they are. */
export function MetadataFields({
  channel,
  metadata,
  variables,
  onChange,
}: {
  channel: string
  metadata: Metadata
  variables: readonly string[]
  onChange(metadata: Metadata): void
}) {
  const language = useLanguage()
  const fields = useInstallation().channels.find(({ name }) => name === channel)?.templateFields ?? []
  /** An empty value leaves the metadata: the channel has a default. */
  const set = (name: string, value: unknown): void => {
    const { [name]: _, ...others } = metadata
    onChange(value === undefined ? others : { ...others, [name]: value })
  }
  return fields.map(({ name, kind, label: labels, hint: hints, choices = [] }) => {
    const value = metadata[name]
    const label = labels[language]
    const hint = hints[language]
    if (kind === 'switch')
      return (
        <Check
          key={name}
          label={label}
          hint={hint}
          checked={value === true}
          onChange={isOn => set(name, isOn ? true : undefined)}
        />
      )
    if (kind === 'choice')
      return (
        <Select
          key={name}
          label={label}
          hint={hint}
          value={typeof value === 'string' ? value : (choices[0]?.value ?? '')}
          choices={choices.map(choice => ({ value: choice.value, label: choice[language] }))}
          onChoose={chosen => set(name, chosen === choices[0]?.value ? undefined : chosen)}
        />
      )
    if (kind === 'variables')
      return <Chosen key={name} label={label} hint={hint} names={variables} value={value} onChange={list => set(name, list)} />
    return (
      <TextField
        key={name}
        label={label}
        hint={hint}
        {...(kind === 'number' ? { type: 'number', min: 0, max: 9, step: 1 } : { maxLength: 100 })}
        value={value === undefined || value === null ? '' : String(value)}
        onChange={({ target }) =>
          set(name, target.value.trim() === '' ? undefined : kind === 'number' ? Number(target.value) : target.value.trim())
        }
      />
    )
  })
}

function Chosen({
  label,
  hint,
  names,
  value,
  onChange,
}: {
  label: string
  hint: string
  names: readonly string[]
  value: unknown
  onChange(names: string[] | undefined): void
}) {
  const chosen = Array.isArray(value) ? value.map(String) : []
  if (names.length === 0) return null
  return (
    <fieldset>
      <legend className="text-[0.93rem] font-medium">{label}</legend>
      <div className="flex flex-wrap gap-x-5">
        {names.map(name => (
          <Check
            key={name}
            label={<code className="wrap-anywhere">{name}</code>}
            checked={chosen.includes(name)}
            onChange={isOn => {
              const next = isOn ? [...chosen, name] : chosen.filter(other => other !== name)
              onChange(next.length === 0 ? undefined : next)
            }}
          />
        ))}
      </div>
      <p className="text-[0.87rem] text-muted">{hint}</p>
    </fieldset>
  )
}
