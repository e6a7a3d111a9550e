import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Send } from 'lucide-react'
import { useState } from 'react'
import type {
  Replayed,
  ReplayOrder,
  Webhook,
  WebhookAttempt,
  WebhookSecret,
} from '../../../../src/http/console/operation/webhooks-schema.js'
import { api } from '../../api/client.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { ChannelName } from '../../parts/data/channel.js'
import { JsonView } from '../../parts/data/json-view.js'
import { Table } from '../../parts/data/table.js'
import { Button } from '../../parts/form/button.js'
import { Segments, TextField } from '../../parts/form/field.js'
import { Dialog } from '../../parts/shell/dialog.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, messageOf } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { EndpointForm } from './endpoint-form.js'
import { attempts } from './queries.js'
import { Situation } from './screen.js'
import { words as screenWords } from './words.js'

interface ViewProps {
  endpoint: Webhook
  statuses: readonly string[]
  mayChange: boolean
  onSecret(secret: WebhookSecret): void
}

type Open = 'edit' | 'rotate' | 'remove' | 'replay' | null

export function EndpointView({ endpoint, statuses, mayChange, onSecret }: ViewProps) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const dates = useDates()
  const toast = useToast()
  const client = useQueryClient()
  const navigate = useNavigate({ from: '/webhooks' })
  const [open, setOpen] = useState<Open>(null)
  const { id, active } = endpoint
  const act = useMutation({
    mutationFn: (work: () => Promise<string | null>) => work(),
    onSuccess: said => {
      setOpen(null)
      if (said !== null) toast(said)
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['live', 'webhooks'] }),
  })
  const failure = act.error === null ? null : messageOf(act.error, unreachable)
  const test = async () => {
    await api.post(`/webhooks/${id}/test`)
    return words.tested
  }
  const turn = async () => {
    await api.put(`/webhooks/${id}`, { active: !active })
    return active ? words.turnedOff : words.turnedOn
  }
  const rotate = async () => {
    onSecret(await api.post<WebhookSecret>(`/webhooks/${id}/rotate`))
    return null
  }
  const remove = async () => {
    await api.delete(`/webhooks/${id}`)
    await navigate({ search: ({ id: _, ...scope }) => scope })
    return words.removed
  }
  const replay = async (order: ReplayOrder) =>
    words.replayed((await api.post<Replayed>(`/webhooks/${id}/replay`, order)).messages)
  return (
    <>
      <Card>
        <div className="flex flex-col gap-3">
          <div className="flex flex-wrap items-center gap-2">
            <h2 className="min-w-0 font-mono text-[0.95rem] font-semibold wrap-anywhere">{endpoint.url}</h2>
            <Situation endpoint={endpoint} />
          </div>
          <p className="text-muted">
            {endpoint.accountName} · {endpoint.version} ·{' '}
            {endpoint.channels.length === 0 ? words.allChannels : endpoint.channels.join(', ')} ·{' '}
            {endpoint.statuses.length === 0 ? words.allStatuses : endpoint.statuses.join(', ').replaceAll('_', ' ')}
          </p>
          {endpoint.reason !== null && (
            <p className="rounded-lg bg-warn-soft px-3 py-2 text-warn">{words.reasons[endpoint.reason]}</p>
          )}
          {active && endpoint.failingSince !== null && (
            <p className="rounded-lg bg-warn-soft px-3 py-2 text-warn">
              {words.failingSince(dates.short(endpoint.failingSince))}
            </p>
          )}
          {endpoint.previousSecretUntil !== null && (
            <p className="text-muted">{words.previous(dates.short(endpoint.previousSecretUntil))}</p>
          )}
          {open === null && <FormError message={failure} />}
          {mayChange && (
            <div className="flex flex-wrap gap-2">
              <Button
                look="primary"
                size="small"
                disabled={!active}
                busy={act.isPending && open === null}
                onClick={() => act.mutate(test)}
              >
                {words.test}
              </Button>
              <Button size="small" disabled={!active} onClick={() => setOpen('replay')}>
                {words.replaySince}
              </Button>
              <Button size="small" onClick={() => setOpen('edit')}>
                {words.edit}
              </Button>
              <Button size="small" onClick={() => setOpen('rotate')}>
                {words.rotate}
              </Button>
              <Button size="small" onClick={() => act.mutate(turn)}>
                {active ? words.turnOff : words.turnOn}
              </Button>
              <Button size="small" look="danger" onClick={() => setOpen('remove')}>
                {words.remove}
              </Button>
            </div>
          )}
        </div>
      </Card>
      <Attempts id={id} onReplay={mayChange && active ? message => act.mutate(() => replay({ message })) : null} />
      {open === 'edit' && (
        <EndpointForm
          endpoint={endpoint}
          statuses={statuses}
          onClose={() => setOpen(null)}
          onSaved={() => {
            setOpen(null)
            toast(words.saved)
          }}
        />
      )}
      {open === 'replay' && (
        <ReplayDialog
          busy={act.isPending}
          failure={failure}
          onClose={() => setOpen(null)}
          onReplay={order => act.mutate(() => replay(order))}
        />
      )}
      <Dialog
        open={open === 'rotate' || open === 'remove'}
        onClose={() => setOpen(null)}
        title={open === 'remove' ? words.remove : words.rotate}
        about={open === 'remove' ? words.removeAbout : words.rotateAbout}
        actions={
          <>
            <Button onClick={() => setOpen(null)}>{words.cancel}</Button>
            <Button
              look={open === 'remove' ? 'danger' : 'primary'}
              busy={act.isPending}
              onClick={() => act.mutate(open === 'remove' ? remove : rotate)}
            >
              {open === 'remove' ? words.remove : words.rotate}
            </Button>
          </>
        }
      >
        <FormError message={failure} />
      </Dialog>
    </>
  )
}

function ReplayDialog({
  busy,
  failure,
  onClose,
  onReplay,
}: {
  busy: boolean
  failure: string | null
  onClose(): void
  onReplay(order: ReplayOrder): void
}) {
  const words = useWords(screenWords)
  const [since, setSince] = useState('')
  const [missedOnly, setMissedOnly] = useState(true)
  return (
    <Dialog
      open
      onClose={onClose}
      title={words.replaySince}
      about={words.replayAbout}
      actions={
        <>
          <Button onClick={onClose}>{words.cancel}</Button>
          <Button
            look="primary"
            busy={busy}
            disabled={since === ''}
            onClick={() => onReplay({ since: `${since}:00-03:00`, missedOnly })}
          >
            {words.replay}
          </Button>
        </>
      }
    >
      <TextField label={words.moment} type="datetime-local" value={since} onChange={event => setSince(event.target.value)} />
      <label className="flex items-center gap-2">
        <input type="checkbox" checked={missedOnly} onChange={event => setMissedOnly(event.target.checked)} />
        {words.missedOnly}
      </label>
      <FormError message={failure} />
    </Dialog>
  )
}

function Attempts({ id, onReplay }: { id: string; onReplay: ((message: string) => void) | null }) {
  const words = useWords(screenWords)
  const dates = useDates()
  const [failedOnly, setFailedOnly] = useState(false)
  const [shown, setShown] = useState<WebhookAttempt | null>(null)
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(attempts(id, failedOnly))
  const rows = data?.pages.flatMap(page => page.rows) ?? []
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="text-lg font-semibold">{words.attempts}</h2>
        <Segments
          label={words.filter}
          value={failedOnly ? 'failed' : 'all'}
          onChoose={value => setFailedOnly(value === 'failed')}
          choices={[
            { value: 'all', label: words.allAttempts },
            { value: 'failed', label: words.failedOnly },
          ]}
        />
      </div>
      {error !== null && <ErrorState error={error} onRetry={refetch} />}
      <Table
        label={words.attempts}
        rows={rows}
        keyOf={row => String(row.id)}
        more={{ has: hasNextPage, loading: isFetchingNextPage, load: () => void fetchNextPage() }}
        empty={
          <EmptyState icon={Send} title={words.noAttempts}>
            {words.noAttemptsAbout}
          </EmptyState>
        }
        columns={[
          {
            name: 'when',
            head: words.when,
            cell: row => (
              <>
                {dates.short(row.at)}
                <span className="block text-[0.87rem] text-muted">{words.attempt(row.attempt)}</span>
              </>
            ),
          },
          {
            name: 'subject',
            head: words.subject,
            wideOnly: true,
            cell: row => (row.notification === null ? words.testEvent : <ChannelName name={row.channel} />),
          },
          {
            name: 'result',
            head: words.result,
            cell: row =>
              row.error === null ? (
                <Badge tone="good">{words.received(String(row.status))}</Badge>
              ) : (
                <>
                  <Badge tone="bad">{words.failed}</Badge>
                  <span className="mt-1 line-clamp-2 text-[0.87rem] wrap-anywhere text-muted">{row.error}</span>
                </>
              ),
          },
          {
            name: 'acts',
            head: '',
            cell: row => (
              <div className="flex flex-wrap justify-end gap-2">
                <Button size="small" look="quiet" onClick={() => setShown(row)}>
                  {words.details}
                </Button>
                {onReplay !== null && (
                  <Button size="small" onClick={() => onReplay(row.message)}>
                    {words.replay}
                  </Button>
                )}
              </div>
            ),
          },
        ]}
      />
      {shown !== null && <AttemptDialog attempt={shown} onClose={() => setShown(null)} />}
    </>
  )
}

function AttemptDialog({ attempt, onClose }: { attempt: WebhookAttempt; onClose(): void }) {
  const words = useWords(screenWords)
  const dates = useDates()
  return (
    <Dialog
      open
      onClose={onClose}
      title={`${words.detailsOf} · ${dates.long(attempt.at)}`}
      about={`${words.states[attempt.state]} · ${words.took(dates.number(attempt.durationMs))}`}
    >
      {attempt.error !== null && <FormError message={attempt.error} />}
      <section className="flex flex-col gap-2">
        <h3 className="font-semibold">{words.request}</h3>
        {attempt.requestBody === null ? (
          <p className="text-muted">{words.erased}</p>
        ) : (
          <Body text={attempt.requestBody} label={words.request} />
        )}
      </section>
      <section className="flex flex-col gap-2">
        <h3 className="font-semibold">{words.response}</h3>
        {attempt.status === null ? (
          <p className="text-muted">{words.noResponse}</p>
        ) : (
          <Body
            text={`${attempt.status}\n${attempt.responseHeaders ?? ''}\n\n${attempt.responseBody ?? ''}`.trim()}
            label={words.response}
          />
        )}
      </section>
      {attempt.notification !== null && (
        <Link to="/notifications/$id" params={{ id: attempt.notification }} className="text-accent hover:underline">
          {words.notification}
        </Link>
      )}
    </Dialog>
  )
}

/** JSON in lines where it is JSON, and anything else as it came. */
function Body({ text, label }: { text: string; label: string }) {
  const value = readJson(text)
  if (value !== undefined) return <JsonView value={value} label={label} />
  return (
    <section aria-label={label} tabIndex={0} className="max-h-72 overflow-auto rounded-lg bg-sunken p-3">
      <pre className="font-mono text-[0.85rem] whitespace-pre-wrap wrap-anywhere">{text}</pre>
    </section>
  )
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
