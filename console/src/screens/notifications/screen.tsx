import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Download, Inbox, Search, SearchX, SlidersHorizontal } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { NotificationRow } from '../../../../src/http/console/notifications/notifications-schema.js'
import { apiUrl } from '../../api/client.js'
import { notifications } from '../../api/queries.js'
import { fieldDay, useDates } from '../../app/dates.js'
import { useInstallation, useScope } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { ChannelIcon } from '../../parts/data/channel.js'
import { type Column, Table } from '../../parts/data/table.js'
import { Button, buttonClass } from '../../parts/form/button.js'
import { Select, TextField } from '../../parts/form/field.js'
import { Page } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, Skeleton } from '../../parts/shell/states.js'
import { words as screenWords } from './words.js'

export function NotificationsScreen() {
  const words = useWords(screenWords)
  const scope = useScope()
  const filters = useFilters()
  const query = { ...scope, ...filters }
  const list = useInfiniteQuery(notifications(query))
  const columns = useColumns()
  const rows = list.data?.pages.flatMap(page => page.rows) ?? []
  return (
    <Page
      title={words.title}
      actions={
        <a href={apiUrl('/notifications.csv', query)} download className={buttonClass()}>
          <Download size={17} aria-hidden="true" />
          {words.export}
        </a>
      }
    >
      <Filters />
      {list.error !== null ? (
        <ErrorState error={list.error} onRetry={list.refetch} />
      ) : list.data === undefined ? (
        <Skeleton rows={10} />
      ) : (
        <Table
          label={words.title}
          columns={columns}
          rows={rows}
          keyOf={row => row.id}
          linkOf={row => ({ to: '/notifications/$id', params: { id: row.id } })}
          empty={<Nothing isFiltered={Object.keys(filters).length > 0} />}
          more={{ has: list.hasNextPage, loading: list.isFetchingNextPage, load: () => void list.fetchNextPage() }}
        />
      )}
    </Page>
  )
}

const FILTERS = ['q', 'channel', 'status', 'from', 'to'] as const

/** The filters of this screen; the address also holds the account and the mode. */
function useFilters(): { [Name in (typeof FILTERS)[number]]?: string } {
  const search = useSearch({ from: '/shell/notifications' })
  return Object.fromEntries(FILTERS.flatMap(name => (search[name] === undefined ? [] : [[name, search[name]]])))
}

function useColumns(): Column<NotificationRow>[] {
  const words = useWords(screenWords)
  const dates = useDates()
  const { accounts } = useInstallation()
  const { account } = useScope()
  return [
    {
      name: 'recipient',
      head: words.recipient,
      cell: row => (
        <span className="block min-w-0">
          <span className="line-clamp-2 wrap-anywhere">{row.recipientName ?? row.deliveries[0]?.recipient ?? words.noName}</span>
          <span className="line-clamp-1 text-[0.87rem] font-normal break-all text-muted">
            {row.customId ?? row.deliveries.find(({ recipient }) => recipient !== null)?.recipient}
          </span>
          <span className="line-clamp-1 font-normal wrap-anywhere text-muted md:hidden">{row.subject}</span>
        </span>
      ),
    },
    {
      name: 'subject',
      head: words.subject,
      wideOnly: true,
      cell: ({ subject }) => <span className="line-clamp-2 wrap-anywhere">{subject ?? words.noSubject}</span>,
    },
    {
      name: 'channels',
      head: words.channels,
      cell: ({ deliveries }) => (
        <ul className="flex flex-col items-start gap-1">
          {deliveries.map(({ channel, label, tone }) => (
            <li key={channel} className="flex max-w-full items-center gap-1.5">
              <ChannelIcon name={channel} />
              <Badge tone={tone}>
                <span className="max-w-32 truncate md:max-w-56" title={label}>
                  {label}
                </span>
              </Badge>
            </li>
          ))}
        </ul>
      ),
    },
    ...(accounts.length > 1 && account === undefined
      ? [
          {
            name: 'account',
            head: words.account,
            wideOnly: true,
            cell: (row: NotificationRow) => <span className="line-clamp-2 wrap-anywhere">{row.account}</span>,
          },
        ]
      : []),
    {
      name: 'accepted',
      head: words.accepted,
      wideOnly: true,
      cell: ({ acceptedAt }) => (
        <time dateTime={acceptedAt} title={dates.long(acceptedAt)} className="whitespace-nowrap tabular-nums">
          {dates.short(acceptedAt)}
        </time>
      ),
    },
  ]
}

const STATUSES = [
  '',
  'nao-alcancada',
  'queued',
  'waiting',
  'enviado',
  'entregue',
  'lido',
  'falhou',
  'em_verificacao',
  'dead',
] as const

function Filters() {
  const words = useWords(screenWords)
  const { channels } = useInstallation()
  const filters = useFilters()
  const navigate = useNavigate({ from: '/notifications' })
  const [q, setQ] = useState(filters.q ?? '')
  /** On a phone the list comes first: what narrows it is behind a button. */
  const [open, setOpen] = useState(false)
  const folded = open ? '' : 'max-md:hidden'
  const narrowing = Object.keys(filters).filter(name => name !== 'q').length
  useEffect(() => setQ(filters.q ?? ''), [filters.q])
  /** An empty filter leaves the address. */
  const choose = (change: Partial<Record<keyof typeof filters, string>>): void =>
    void navigate({
      search: previous => {
        const next = { ...previous, ...change }
        return Object.fromEntries(Object.entries(next).filter(([, value]) => value !== '')) as typeof previous
      },
      replace: true,
    })
  return (
    <form
      aria-label={words.filters}
      className="grid grid-cols-2 items-end gap-2 md:grid-cols-[2fr_1fr_1.2fr_auto_auto_auto]"
      onSubmit={event => {
        event.preventDefault()
        choose({ q: q.trim() })
      }}
    >
      <div className="relative col-span-2 md:col-span-1">
        <TextField
          label={words.search}
          type="search"
          value={q}
          placeholder={words.searchHint}
          onChange={event => {
            setQ(event.target.value)
            if (event.target.value === '') choose({ q: '' })
          }}
          onBlur={() => choose({ q: q.trim() })}
        />
        <button
          type="submit"
          aria-label={words.search}
          className="absolute right-0 bottom-0 flex h-10 w-10 items-center justify-center text-muted"
        >
          <Search size={17} />
        </button>
      </div>
      <Button
        className="col-span-2 md:hidden"
        icon={<SlidersHorizontal size={16} aria-hidden="true" />}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        {words.filters} {narrowing > 0 && `(${narrowing})`}
      </Button>
      <Select
        className={folded}
        label={words.channel}
        value={filters.channel ?? ''}
        choices={[{ value: '', label: words.allChannels }, ...channels.map(({ name, label }) => ({ value: name, label }))]}
        onChoose={channel => choose({ channel })}
      />
      <Select
        className={folded}
        label={words.status}
        value={filters.status ?? ''}
        choices={[
          ...STATUSES.map(value => ({ value: value as string, label: words.statuses[value] as string })),
          ...otherStatus(filters.status),
        ]}
        onChoose={status => choose({ status })}
      />
      <TextField
        className={folded}
        label={words.from}
        type="date"
        value={day(filters.from, 'start')}
        onChange={event => choose({ from: event.target.value })}
      />
      <TextField
        className={folded}
        label={words.to}
        type="date"
        value={day(filters.to, 'end')}
        onChange={event => choose({ to: event.target.value })}
      />
      {Object.keys(filters).length > 0 && (
        <Button
          look="quiet"
          className="max-md:col-span-2"
          onClick={() => choose({ q: '', channel: '', status: '', from: '', to: '' })}
        >
          {words.clear}
        </Button>
      )}
    </form>
  )
}

/** A link may carry a status that the list of choices does not have. */
const otherStatus = (status: string | undefined) =>
  status === undefined || (STATUSES as readonly string[]).includes(status) ? [] : [{ value: status, label: status }]

/** The overview links to single hours; the field shows their day. An end is the first moment after them. */
function day(text: string | undefined, bound: 'start' | 'end'): string {
  const at = text?.includes('T') ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? (text?.slice(0, 10) ?? '') : fieldDay(bound === 'end' ? at - 1 : at)
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  const words = useWords(screenWords)
  if (isFiltered)
    return (
      <EmptyState icon={SearchX} title={words.nothingTitle}>
        {words.nothing}
      </EmptyState>
    )
  return (
    <EmptyState
      icon={Inbox}
      title={words.emptyTitle}
      action={
        <Link to="/new" className={buttonClass('primary')}>
          {words.emptyAction}
        </Link>
      }
    >
      {words.empty}
    </EmptyState>
  )
}
