import type { BatchDetail } from '../../../../src/http/console/sending/bulk-schema.js'
import { useInstallation } from '../../app/installation.js'
import { useLanguage, useWords } from '../../app/language.js'
import { Select } from '../../parts/form/field.js'
import { Card } from '../../parts/shell/page.js'
import type { Mapping } from './mapping.js'
import { words as screenWords } from './words.js'

/** Each column with some of its values, and the field that it fills in. */
export function ColumnMapping({
  batch,
  channels,
  mapping,
  onChange,
}: {
  batch: BatchDetail
  /** Those that the message goes by: fields of others are not offered, unless a column has one. */
  channels: readonly string[]
  mapping: Mapping
  onChange(mapping: Mapping): void
}) {
  const words = useWords(screenWords)
  const language = useLanguage()
  const { channels: known } = useInstallation()
  const labelOf = (path: string): string => {
    const field = batch.fields.find(found => found.path === path)
    if (field === undefined) return path
    const channel = known.find(({ name }) => name === field.channel)
    return channel === undefined || channel.label === field[language] ? field[language] : `${channel.label}: ${field[language]}`
  }
  const offered = batch.fields.filter(({ channel }) => channel === null || channels.includes(channel)).map(({ path }) => path)
  return (
    <Card title={words.columns} flush>
      <p className="px-4 pt-3 text-muted">{words.columnsAbout}</p>
      <ul className="flex flex-col">
        {batch.columns.map(({ name, sample }) => {
          const paths = mapping[name] ?? []
          const value = paths.join(' ')
          const choices = [...new Set([...offered, ...(paths.length === 1 ? paths : [])])]
          return (
            <li key={name} className="grid items-center gap-2 border-b border-line px-4 py-3 last:border-0 sm:grid-cols-2">
              <div className="min-w-0">
                <p className="font-medium wrap-anywhere">{name}</p>
                <p className="truncate text-[0.87rem] text-muted">{sample.join(', ') || '–'}</p>
              </div>
              <Select
                label={words.fillsOf(name)}
                hideLabel
                value={value}
                choices={[
                  { value: '', label: words.unused },
                  ...(paths.length > 1 ? [{ value, label: paths.map(labelOf).join(' + ') }] : []),
                  ...choices.map(path => ({ value: path, label: labelOf(path) })),
                ]}
                onChoose={chosen => onChange({ ...mapping, [name]: chosen === '' ? [] : chosen.split(' ') })}
              />
            </li>
          )
        })}
      </ul>
    </Card>
  )
}
