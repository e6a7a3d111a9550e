import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { CircleCheck, RotateCcw } from 'lucide-react'
import { useState } from 'react'
import type { Decided, StuckPage, StuckQuery, StuckRow } from '../../../../src/http/console/operation/operations-schema.js'
import { api } from '../../api/client.js'
import { useDates } from '../../app/dates.js'
import { useInstallation, useScope } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { ChannelIcon } from '../../parts/data/channel.js'
import { Table } from '../../parts/data/table.js'
import { Button } from '../../parts/form/button.js'
import { Segments, Select } from '../../parts/form/field.js'
import { Dialog } from '../../parts/shell/dialog.js'
import { FormError } from '../../parts/shell/gate.js'
import { EmptyState, ErrorState, messageOf, Skeleton } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { words as screenWords } from './words.js'

const stuck = (query: Omit<StuckQuery, 'cursor'>) =>
  infiniteQueryOptions({
    queryKey: ['live', 'operations', 'stuck', query],
    queryFn: ({ signal, pageParam }) => api.get<StuckPage>('/operations/deliveries', { ...query, cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: (page: StuckPage) => page.cursor,
    placeholderData: keepPreviousData,
  })

/** The most that one request decides on. */
const MOST = 50

type Decision = 'retry' | 'sent' | 'failed'
const itemsOf = (rows: readonly StuckRow[]) => rows.map(({ notification, channel }) => ({ notification, channel }))

/** Dead letters and deliveries with unknown outcome, with the decisions that an operator can take. */
export function Stuck({ kind }: { kind: 'dead' | 'unknown' }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const toast = useToast()
  const client = useQueryClient()
  const scope = useScope()
  const { operator, channels } = useInstallation()
  const { state: wanted, channel = '' } = useSearch({ from: '/shell/operations' })
  const navigate = useNavigate({ from: '/operations' })
  const state = kind === 'dead' ? 'dead' : wanted === 'uncertain' ? 'uncertain' : 'unresolved'
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(
    stuck({ ...scope, state, ...(channel === '' ? {} : { channel }) }),
  )
  const [asked, setAsked] = useState<readonly StuckRow[]>([])
  const decide = useMutation({
    mutationFn: ({ rows, decision }: { rows: readonly StuckRow[]; decision: Decision }) =>
      decision === 'retry'
        ? api.post<Decided>('/operations/retry', { items: itemsOf(rows) })
        : api.post<Decided>('/operations/settle', { decision, items: itemsOf(rows) }),
    onSuccess: ({ recorded }) => {
      setAsked([])
      if (recorded > 0) toast(words.recorded(recorded))
      else toast(words.skipped, true)
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['live', 'operations'] }),
  })
  const failure = decide.error === null ? null : messageOf(decide.error, unreachable)
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />
  if (data === undefined) return <Skeleton />
  const rows = data.pages.flatMap(page => page.rows)
  const mayRetry = operator.role !== 'auditor'
  const maySettle = operator.role === 'operator'
  const shown = rows.slice(0, MOST)
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-end gap-2">
        <Select
          label={words.channel}
          hideLabel
          className="w-48"
          value={channel}
          onChoose={value => void navigate({ search: previous => ({ ...previous, channel: value }), replace: true })}
          choices={[{ value: '', label: words.allChannels }, ...channels.map(({ name, label }) => ({ value: name, label }))]}
        />
        {kind === 'unknown' && (
          <Segments
            label={words.which}
            value={state}
            onChoose={value => void navigate({ search: previous => ({ ...previous, state: value }), replace: true })}
            choices={[
              { value: 'unresolved', label: words.unresolved },
              { value: 'uncertain', label: words.uncertain },
            ]}
          />
        )}
        {kind === 'dead' && mayRetry && shown.length > 1 && (
          <Button icon={<RotateCcw size={16} />} onClick={() => setAsked(shown)}>
            {words.retryAll(shown.length)}
          </Button>
        )}
      </div>
      {asked.length === 0 && <FormError message={failure} />}
      <Table
        label={words.tabs[kind]}
        rows={rows}
        keyOf={row => `${row.notification} ${row.channel}`}
        more={{ has: hasNextPage, loading: isFetchingNextPage, load: () => void fetchNextPage() }}
        empty={
          <EmptyState icon={CircleCheck} title={kind === 'dead' ? words.deadEmpty : words.unknownEmpty}>
            {kind === 'dead' ? words.deadEmptyAbout : words.unknownEmptyAbout}
          </EmptyState>
        }
        columns={[
          { name: 'recipient', head: words.recipient, cell: row => <Recipient row={row} /> },
          { name: 'why', head: words.why, wideOnly: true, cell: row => <Why row={row} /> },
          {
            name: 'acts',
            head: '',
            cell: row =>
              kind === 'unknown'
                ? maySettle && (
                    <Button size="small" onClick={() => setAsked([row])}>
                      {words.settle}
                    </Button>
                  )
                : mayRetry && (
                    <Button
                      size="small"
                      busy={decide.isPending && decide.variables.rows[0] === row}
                      onClick={() => decide.mutate({ rows: [row], decision: 'retry' })}
                    >
                      {words.retry}
                    </Button>
                  ),
          },
        ]}
      />
      <Dialog
        open={asked.length > 0}
        onClose={() => setAsked([])}
        title={kind === 'dead' ? words.retryAll(asked.length) : words.settleTitle}
        about={kind === 'dead' ? words.retryAllAbout : words.settleAbout}
        actions={
          <>
            <Button
              busy={decide.isPending}
              look={kind === 'dead' ? 'primary' : 'plain'}
              onClick={() => decide.mutate({ rows: asked, decision: 'retry' })}
            >
              {kind === 'dead' ? words.retry : words.sendAgain}
            </Button>
            {kind === 'unknown' && (
              <>
                <Button busy={decide.isPending} look="danger" onClick={() => decide.mutate({ rows: asked, decision: 'failed' })}>
                  {words.wasNotSent}
                </Button>
                <Button busy={decide.isPending} look="primary" onClick={() => decide.mutate({ rows: asked, decision: 'sent' })}>
                  {words.wasSent}
                </Button>
              </>
            )}
          </>
        }
      >
        {kind === 'unknown' && asked[0] !== undefined && (
          <>
            <Why row={asked[0]} />
            <p className="text-[0.93rem] text-muted">{words.sendAgainAbout}</p>
          </>
        )}
        <FormError message={failure} />
      </Dialog>
    </div>
  )
}

function Recipient({ row }: { row: StuckRow }) {
  const words = useWords(screenWords)
  const dates = useDates()
  return (
    <div className="flex min-w-0 gap-2">
      <span className="pt-0.5">
        <ChannelIcon name={row.channel} />
      </span>
      <div className="min-w-0">
        <Link
          to="/notifications/$id"
          params={{ id: row.notification }}
          className="line-clamp-2 font-medium wrap-anywhere hover:underline"
        >
          {row.recipientName ?? row.recipient ?? row.notification}
        </Link>
        <p className="line-clamp-1 text-[0.87rem] break-all text-muted">{row.recipient}</p>
        <p className="text-[0.87rem] text-muted">
          {dates.short(row.at)} · {words.attempts(row.attempts)}
        </p>
        {/* A phone has no room for the column that tells why. */}
        {row.reason !== null && <p className="line-clamp-2 text-[0.87rem] wrap-anywhere md:hidden">{row.reason}</p>}
      </div>
    </div>
  )
}

function Why({ row }: { row: StuckRow }) {
  const words = useWords(screenWords)
  return (
    <div className="min-w-0">
      <p>{row.label}</p>
      {row.reason !== null && <p className="line-clamp-3 text-[0.93rem] wrap-anywhere text-muted">{row.reason}</p>}
      <p className="font-mono text-[0.8rem] wrap-anywhere text-muted">
        {[row.carrier, row.reference === null ? null : words.reference(row.reference)].filter(text => text !== null).join(' · ')}
      </p>
    </div>
  )
}
