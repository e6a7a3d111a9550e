import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { AccountDetails, ChangeSettings } from '../../../../src/http/console/access/accounts-schema.js'
import { api } from '../../api/client.js'
import { useLanguage, useWords } from '../../app/language.js'
import { Button } from '../../parts/form/button.js'
import { Check } from '../../parts/form/check.js'
import { Select, TextField } from '../../parts/form/field.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card } from '../../parts/shell/page.js'
import { ErrorState, messageOf, Skeleton } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { BrandPreview } from './brand-preview.js'
import { LogoField } from './logo-field.js'
import { accountDetails } from './queries.js'
import { words as screenWords } from './words.js'

type Setting = AccountDetails['settings'][number]

/** What recipients see of the account; everything else follows below. */
const isIdentity = ({ name }: Setting): boolean => /^(brand|sender)\./.test(name)

export function AccountTab({ account, mayChange }: { account: string; mayChange: boolean }) {
  const { data, error, refetch } = useQuery(accountDetails(account))
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />
  return data === undefined ? <Skeleton rows={10} /> : <AccountForms details={data} mayChange={mayChange} />
}

function AccountForms({ details, mayChange }: { details: AccountDetails; mayChange: boolean }) {
  const words = useWords(screenWords)
  const [draft, setDraft] = useState<Record<string, string>>({})
  const identity = details.settings.filter(isIdentity)
  return (
    <div className="flex flex-col gap-4">
      <div className="grid gap-4 lg:grid-cols-[minmax(0,5fr)_minmax(0,6fr)]">
        <Card title={words.identity}>
          <SettingsForm account={details.id} settings={identity} mayChange={mayChange} onDraft={setDraft}>
            <LogoField account={details.id} logo={details.logo} mayChange={mayChange} />
          </SettingsForm>
        </Card>
        <BrandPreview details={details} draft={draft} />
      </div>
      <Card title={words.sending}>
        <SettingsForm
          account={details.id}
          settings={details.settings.filter(setting => !isIdentity(setting))}
          mayChange={mayChange}
          wide
        />
      </Card>
    </div>
  )
}

function SettingsForm({
  account,
  settings,
  mayChange,
  wide = false,
  onDraft,
  children,
}: {
  account: string
  settings: readonly Setting[]
  mayChange: boolean
  wide?: boolean
  onDraft?: (changes: Record<string, string>) => void
  children?: ReactNode
}) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const client = useQueryClient()
  const toast = useToast()
  const [changes, setChanges] = useState<Record<string, string>>({})
  const change = (name: string, value: string): void => {
    const saved = settings.find(setting => setting.name === name)!.value
    const next = { ...changes, [name]: value }
    if (value === saved) delete next[name]
    setChanges(next)
    onDraft?.(next)
  }
  const save = useMutation({
    mutationFn: () => api.put(`/accounts/${account}/settings`, { changes } satisfies ChangeSettings),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: accountDetails(account).queryKey })
      setChanges({})
      onDraft?.({})
      toast(words.saved)
    },
  })
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={event => {
        event.preventDefault()
        save.mutate()
      }}
    >
      {children}
      <div className={wide ? 'grid items-start gap-4 md:grid-cols-2' : 'flex flex-col gap-4'}>
        {settings.map(setting => (
          <SettingField
            key={setting.name}
            setting={setting}
            value={changes[setting.name] ?? setting.value}
            disabled={!mayChange}
            onChange={value => change(setting.name, value)}
          />
        ))}
      </div>
      <FormError message={save.error === null ? null : messageOf(save.error, unreachable)} />
      {mayChange && (
        <Button
          look="primary"
          type="submit"
          busy={save.isPending}
          disabled={Object.keys(changes).length === 0}
          className="self-start"
        >
          {words.save}
        </Button>
      )}
    </form>
  )
}

/** The meaning continues a line of the command's help; in a form it stands alone. */
const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`

function SettingField({
  setting: { kind, label: labels, meaning, choices },
  value,
  disabled,
  onChange,
}: {
  setting: Setting
  value: string
  disabled: boolean
  onChange(value: string): void
}) {
  const language = useLanguage()
  const shared = { label: labels[language], hint: sentence(meaning[language]), disabled }
  if (kind === 'switch') return <Check {...shared} checked={value === 'true'} onChange={isOn => onChange(String(isOn))} />
  if (choices.length > 0)
    return (
      <Select
        {...shared}
        value={value}
        choices={choices.map(choice => ({ value: choice.value, label: choice[language] }))}
        onChoose={onChange}
      />
    )
  return (
    <TextField
      {...shared}
      value={value}
      inputMode={kind === 'number' ? 'numeric' : 'text'}
      onChange={event => onChange(event.target.value)}
    />
  )
}
