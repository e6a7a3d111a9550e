import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ExternalLink, Inbox } from 'lucide-react'
import { useState } from 'react'
import type { SimulatedMessage, SimulatorAction } from '../../../../src/http/console/simulator/simulator-schema.js'
import { api } from '../../api/client.js'
import { simulatorMessage } from '../../api/queries.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { ChannelName } from '../../parts/data/channel.js'
import { Timeline } from '../../parts/data/timeline.js'
import { Button, buttonClass } from '../../parts/form/button.js'
import { TextField } from '../../parts/form/field.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card } from '../../parts/shell/page.js'
import { ErrorState, messageOf, Skeleton } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { Device } from './device.js'
import { words as screenWords } from './words.js'

/** One message on its recipient's device, what they may do, and what went back. */
export function Message({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(simulatorMessage(id))
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />
  if (data === undefined) return <Skeleton rows={10} />
  return (
    <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_19rem]">
      <Device message={data} />
      <div className="flex min-w-0 flex-col gap-4">
        <Where message={data} />
        <Actions message={data} />
        <Reports message={data} />
      </div>
    </div>
  )
}

function Where({ message }: { message: SimulatedMessage }) {
  const words = useWords(screenWords)
  const facts = message.facts as readonly { name: keyof typeof words.facts; value: string }[]
  return (
    <Card>
      <div className="flex flex-col gap-2.5">
        <p className="font-semibold">
          <ChannelName name={message.channel} />
        </p>
        <p className="wrap-anywhere">{message.to}</p>
        {facts.map(({ name, value }) => (
          <p key={name} className="text-[0.93rem] text-muted">
            {words.facts[name]}: <span className="text-text">{value}</span>
          </p>
        ))}
        <div className="flex flex-wrap gap-2">
          {message.link !== null && (
            <a href={message.link} target="_blank" rel="noopener noreferrer" className={buttonClass('primary', 'small')}>
              <ExternalLink size={15} aria-hidden="true" />
              {words.openAs}
            </a>
          )}
          {message.notification !== null && (
            <Link to="/notifications/$id" params={{ id: message.notification }} className={buttonClass('plain', 'small')}>
              <Inbox size={15} aria-hidden="true" />
              {words.openNotification}
            </Link>
          )}
        </div>
        {message.answer !== null && (
          <p className="text-[0.87rem] text-muted">
            {words.answer}: <code className="wrap-anywhere">{message.answer}</code>
          </p>
        )}
      </div>
    </Card>
  )
}

type Action = SimulatedMessage['actions'][number]

function Actions({ message }: { message: SimulatedMessage }) {
  const words = useWords(screenWords)
  const shared = useWords(partWords)
  const client = useQueryClient()
  const toast = useToast()
  const [asked, setAsked] = useState<Action | null>(null)
  const [text, setText] = useState('')
  const act = useMutation({
    mutationFn: (body: SimulatorAction) => api.post(`/simulator/messages/${message.id}/actions`, body),
    onSuccess: () => {
      toast(words.acted)
      setAsked(null)
    },
    onSettled: () => client.invalidateQueries({ queryKey: simulatorMessage(message.id).queryKey }),
  })
  const press = (action: Action): void => {
    setText(action.text?.value ?? '')
    setAsked(action.text === null || asked?.name === action.name ? null : action)
    if (action.text === null) act.mutate({ action: action.name })
  }
  return (
    <Card title={words.act}>
      <div className="flex flex-col gap-3">
        <div className="flex flex-wrap gap-1.5">
          {message.actions.map(action => (
            <Button
              key={action.name}
              size="small"
              busy={act.isPending && act.variables.action === action.name}
              {...(action.text === null ? {} : { 'aria-expanded': asked?.name === action.name })}
              onClick={() => press(action)}
            >
              {action.label}
            </Button>
          ))}
        </div>
        {asked?.text != null && (
          <form
            className="flex items-end gap-2"
            onSubmit={event => {
              event.preventDefault()
              act.mutate({ action: asked.name, text })
            }}
          >
            <TextField
              label={asked.text.label}
              className="min-w-0 flex-1"
              value={text}
              maxLength={10_000}
              onChange={event => setText(event.target.value)}
            />
            <Button type="submit" look="primary" busy={act.isPending}>
              {words.send}
            </Button>
          </form>
        )}
        <FormError message={act.error === null ? null : messageOf(act.error, shared.unreachable)} />
      </div>
    </Card>
  )
}

function Reports({ message: { reports } }: { message: SimulatedMessage }) {
  const words = useWords(screenWords)
  return (
    <Card title={words.reports}>
      {reports.length === 0 ? (
        <p className="text-muted">{words.noReports}</p>
      ) : (
        <Timeline
          label={words.reports}
          steps={reports.map(({ id, at, tone, label, state, detail }) => ({
            id,
            at,
            tone,
            title: (
              <>
                {label} {state !== 'done' && <Badge tone={state === 'waiting' ? 'busy' : 'warn'}>{words.states[state]}</Badge>}
              </>
            ),
            ...(detail === null ? {} : { detail: <span className="line-clamp-4">{detail}</span> }),
          }))}
        />
      )}
    </Card>
  )
}
