import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { PenLine, Send } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { ComposeForm, OtherSent, Preview, SendBody, Sent } from '../../../../src/http/console/sending/compose-schema.js'
import { ApiError, api, withQuery } from '../../api/client.js'
import { composeForm } from '../../api/queries.js'
import { type OneAccount, useInstallation, useOneAccount } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Button, buttonClass } from '../../parts/form/button.js'
import { TextField } from '../../parts/form/field.js'
import { LongField } from '../../parts/form/long-field.js'
import { useSettled } from '../../parts/form/use-settled.js'
import { Dialog } from '../../parts/shell/dialog.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card, Page } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, messageOf, Skeleton } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { Attachments } from './attachments.js'
import { ChannelFields, type FieldState } from './channel-fields.js'
import { Previews } from './previews.js'
import { CORE, type Draft, fieldOf, toRequest } from './request.js'
import { words as screenWords } from './words.js'

export function NewScreen() {
  const words = useWords(screenWords)
  const { scope, name } = useOneAccount()
  const { data, error, refetch } = useQuery({ ...composeForm(scope), enabled: name !== null })
  if (name === null)
    return (
      <Page title={words.title}>
        <Card>
          <EmptyState icon={PenLine} title={words.noAccount}>
            {words.noAccountAbout}
          </EmptyState>
        </Card>
      </Page>
    )
  const about = scope.mode === 'test' ? `${words.about(name)} ${words.testMode}` : words.about(name)
  return (
    <Page title={words.title} about={about}>
      {error !== null ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : data === undefined ? (
        <Skeleton />
      ) : (
        <Composer key={scope.account} form={data} scope={scope} />
      )}
    </Page>
  )
}

function Composer({ form, scope }: { form: ComposeForm; scope: OneAccount }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const { operator, channels: known } = useInstallation()
  const navigate = useNavigate()
  const toast = useToast()
  const [draft, setDraft] = useState<Draft>({ values: {}, channels: [form.channels[0]!.channel], attachments: [] })
  // One key for one message: whatever happens to the answer, nobody gets it twice.
  const [key, setKey] = useState(newKey)
  const [asking, setAsking] = useState(false)
  const request = toRequest(draft, form)
  const preview = usePreview(scope, request)
  const send = useMutation({
    mutationFn: (key: string) => {
      const attachments = draft.attachments.map(({ name, base64 }) => ({ name, base64 }))
      const whole = attachments.length === 0 ? request : { ...request, attachments }
      return api.post<Sent>(withQuery('/compose/send', { ...scope }), { key, request: whole } satisfies SendBody)
    },
    onSuccess: ({ id }) => {
      toast(words.sent)
      void navigate({ to: '/notifications/$id', params: { id } })
    },
    onSettled: () => setAsking(false),
  })
  const accepted = acceptedOf(send.error)
  const refusal = send.error === null || accepted !== null ? null : messageOf(send.error, unreachable)
  const at = refusal === null ? null : fieldOf(refusal, pathsOf(form, draft))
  const state: FieldState = {
    valueOf: path => draft.values[path] ?? '',
    errorOf: path => (path === at ? refusal : null),
    set: (path, value) => {
      send.reset()
      setDraft(all => ({ ...all, values: { ...all.values, [path]: value } }))
    },
  }
  const toggle = (channel: string, isOn: boolean): void => {
    send.reset()
    setDraft(all => ({
      ...all,
      channels: isOn ? [...all.channels, channel] : all.channels.filter(name => name !== channel),
    }))
  }
  const labels = known.filter(({ name }) => draft.channels.includes(name)).map(({ label }) => label)
  return (
    <form
      className="grid items-start gap-4 lg:grid-cols-2"
      onSubmit={event => {
        event.preventDefault()
        setAsking(true)
      }}
    >
      <div className="flex min-w-0 flex-col gap-4">
        <Card title={words.message}>
          <MessageFields state={state} canAskQuestion={form.canAskQuestion}>
            <Attachments
              files={draft.attachments}
              error={state.errorOf('attachments')}
              onChange={attachments => {
                send.reset()
                setDraft(all => ({ ...all, attachments }))
              }}
            />
          </MessageFields>
        </Card>
        <Card title={words.channels}>
          {form.channels.map(channel => (
            <ChannelFields
              key={channel.channel}
              form={channel}
              isOn={draft.channels.includes(channel.channel)}
              onToggle={isOn => toggle(channel.channel, isOn)}
              state={state}
            />
          ))}
        </Card>
        <FormError message={at === null ? refusal : null} />
        {accepted !== null && (
          <div role="alert" className="flex flex-col gap-2 rounded-lg bg-warn-soft px-3 py-2">
            <p className="text-warn">{words.firstAccepted}</p>
            <div className="flex flex-wrap gap-2">
              <Link to="/notifications/$id" params={{ id: accepted }} className={buttonClass('plain', 'small')}>
                {words.openFirst}
              </Link>
              <Button
                size="small"
                busy={send.isPending}
                onClick={() => {
                  const next = newKey()
                  setKey(next)
                  send.mutate(next)
                }}
              >
                {words.sendThisToo}
              </Button>
            </div>
          </div>
        )}
        {operator.role === 'auditor' ? (
          <p className="rounded-lg bg-sunken px-3 py-2 text-muted">{words.readOnly}</p>
        ) : (
          <Button
            look="primary"
            type="submit"
            disabled={draft.channels.length === 0}
            icon={<Send size={17} aria-hidden="true" />}
            className="self-start"
          >
            {words.send}
          </Button>
        )}
      </div>
      <div className="min-w-0 lg:sticky lg:top-[calc(var(--header)+1rem)] lg:max-h-[calc(100dvh-var(--header)-2rem)] lg:overflow-y-auto">
        <Card title={words.preview}>
          {draft.channels.length === 0 ? (
            <p className="text-muted">{words.chooseChannel}</p>
          ) : preview === undefined || preview.deliveries.length === 0 ? (
            <p className="text-muted">{preview?.problem && !isEmpty(draft) ? preview.problem : words.waiting}</p>
          ) : (
            <Previews deliveries={preview.deliveries} />
          )}
        </Card>
      </div>
      <Dialog
        open={asking}
        onClose={() => setAsking(false)}
        title={draft.values.sendAt ? words.scheduleAsk : words.sendAsk}
        about={words.sendAbout(draft.values.nameTo ?? '', labels.join(', '))}
        actions={
          <>
            <Button onClick={() => setAsking(false)}>{words.cancel}</Button>
            <Button look="primary" busy={send.isPending} onClick={() => send.mutate(key)}>
              {words.send}
            </Button>
          </>
        }
      />
    </form>
  )
}

/** The notification that the key was used for before the message was changed; null: the send was not refused for that. */
const acceptedOf = (error: Error | null): string | null =>
  error instanceof ApiError && error.status === 422 ? ((error.answer as OtherSent | null)?.accepted ?? null) : null

const newKey = (): string => crypto.randomUUID()

const isEmpty = ({ values }: Draft): boolean => CORE.every(path => (values[path] ?? '') === '')

const pathsOf = (form: ComposeForm, { values, channels }: Draft): string[] => [
  ...CORE,
  'validation.question',
  'validation.reply',
  'attachments',
  ...form.channels
    .filter(({ channel }) => channels.includes(channel))
    .flatMap(({ fields, template }) => [...fields.map(({ path }) => path), template]),
  ...Object.keys(values),
]

function usePreview(scope: OneAccount, request: object): Preview | undefined {
  const asked = useSettled(JSON.stringify({ request }))
  return useQuery({
    queryKey: ['fixed', 'compose-preview', scope, asked],
    queryFn: () => api.post<Preview>(withQuery('/compose/preview', { ...scope }), JSON.parse(asked)),
    placeholderData: keepPreviousData,
    // A preview may hold a whole letter.
    gcTime: 10_000,
  }).data
}

function MessageFields({ state, canAskQuestion, children }: { state: FieldState; canAskQuestion: boolean; children: ReactNode }) {
  const words = useWords(screenWords)
  const field = (path: string, label: string) => ({
    label,
    error: state.errorOf(path),
    value: state.valueOf(path),
    onChange: (event: { target: { value: string } }) => state.set(path, event.target.value),
  })
  return (
    <div className="flex flex-col gap-4">
      <TextField {...field('nameTo', words.nameTo)} autoComplete="off" />
      <TextField {...field('subject', words.subject)} autoComplete="off" />
      <LongField {...field('content', words.content)} hint={words.contentHint} rows={8} />
      {children}
      <div className="grid gap-3 sm:grid-cols-2">
        <TextField {...field('customID', words.customID)} maxLength={255} autoComplete="off" />
        <TextField {...field('sendAt', words.sendAt)} type="datetime-local" hint={words.sendAtHint} />
      </div>
      {canAskQuestion && (
        <div className="grid gap-3 sm:grid-cols-2">
          <TextField {...field('validation.question', words.question)} autoComplete="off" />
          <TextField {...field('validation.reply', words.reply)} autoComplete="off" />
        </div>
      )}
    </div>
  )
}
