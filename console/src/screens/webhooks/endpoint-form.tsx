import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type {
  NewWebhook,
  Webhook,
  WebhookChanges,
  WebhookSecret,
} from '../../../../src/http/console/operation/webhooks-schema.js'
import { api } from '../../api/client.js'
import { useInstallation, useScope } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Button } from '../../parts/form/button.js'
import { Select, TextField } from '../../parts/form/field.js'
import { Dialog } from '../../parts/shell/dialog.js'
import { FormError } from '../../parts/shell/gate.js'
import { messageOf } from '../../parts/shell/states.js'
import { partWords } from '../../parts/words.js'
import { words as screenWords } from './words.js'

interface FormProps {
  /** Absent: a new one. */
  endpoint?: Webhook
  statuses: readonly string[]
  onClose(): void
  onMade?(secret: WebhookSecret): void
  onSaved?(): void
}

export function EndpointForm({ endpoint, statuses, onClose, onMade, onSaved }: FormProps) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const { accounts, channels } = useInstallation()
  const scope = useScope()
  const client = useQueryClient()
  const form = useId()
  const [account, setAccount] = useState(scope.account ?? (accounts.length === 1 ? accounts[0]!.id : ''))
  const [url, setUrl] = useState(endpoint?.url ?? '')
  const [version, setVersion] = useState<NewWebhook['version']>(endpoint?.version ?? 'v2')
  const [wanted, setWanted] = useState<readonly string[]>(endpoint?.channels ?? [])
  const [told, setTold] = useState<readonly string[]>(endpoint?.statuses ?? [])
  const save = useMutation({
    mutationFn: async () => {
      const interests = { url, version, channels: [...wanted], statuses: [...told] }
      if (endpoint !== undefined) {
        await api.put(`/webhooks/${endpoint.id}`, interests satisfies WebhookChanges)
        return null
      }
      return api.post<WebhookSecret>('/webhooks', { account, mode: scope.mode ?? 'live', ...interests } satisfies NewWebhook)
    },
    onSuccess: async made => {
      await client.invalidateQueries({ queryKey: ['live', 'webhooks'] })
      if (made === null) onSaved?.()
      else onMade?.(made)
    },
  })
  return (
    <Dialog
      open
      onClose={onClose}
      title={endpoint === undefined ? words.add : words.edit}
      actions={
        <>
          <Button onClick={onClose}>{words.cancel}</Button>
          <Button look="primary" type="submit" form={form} busy={save.isPending}>
            {endpoint === undefined ? words.create : words.save}
          </Button>
        </>
      }
    >
      <form
        id={form}
        className="flex flex-col gap-4"
        onSubmit={event => {
          event.preventDefault()
          save.mutate()
        }}
      >
        {endpoint === undefined && accounts.length > 1 && (
          <Select
            label={words.account}
            required
            value={account}
            onChoose={setAccount}
            choices={[{ value: '', label: words.chooseAccount }, ...accounts.map(({ id, name }) => ({ value: id, label: name }))]}
          />
        )}
        <TextField
          label={words.url}
          type="url"
          required
          placeholder="https://sistema.example.com/avisos"
          value={url}
          onChange={event => setUrl(event.target.value)}
        />
        <Select
          label={words.version}
          value={version}
          onChoose={value => setVersion(value as NewWebhook['version'])}
          choices={(['v2', 'v1'] as const).map(value => ({ value, label: words.versions[value] }))}
        />
        <Checks
          legend={words.channels}
          hint={words.all}
          choices={channels.map(({ name, label }) => ({ value: name, label }))}
          chosen={wanted}
          onChange={setWanted}
        />
        <Checks
          legend={words.statuses}
          hint={words.all}
          choices={statuses.map(name => ({ value: name, label: name.replaceAll('_', ' ') }))}
          chosen={told}
          onChange={setTold}
        />
        <FormError message={save.error === null ? null : messageOf(save.error, unreachable)} />
      </form>
    </Dialog>
  )
}

function Checks({
  legend,
  hint,
  choices,
  chosen,
  onChange,
}: {
  legend: string
  hint: string
  choices: readonly { value: string; label: string }[]
  chosen: readonly string[]
  onChange(chosen: readonly string[]): void
}) {
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="text-[0.93rem] font-medium">
        {legend} <span className="font-normal text-muted">{hint}</span>
      </legend>
      <div className="grid grid-cols-2 gap-x-4 sm:grid-cols-3">
        {choices.map(({ value, label }) => (
          <label key={value} className="flex min-h-8 items-center gap-2">
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={({ target }) => onChange(target.checked ? [...chosen, value] : chosen.filter(other => other !== value))}
            />
            <span className="min-w-0 wrap-anywhere">{label}</span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}
