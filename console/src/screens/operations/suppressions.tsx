import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { UserX } from 'lucide-react'
import { useState } from 'react'
import type {
  SuppressionRemoval,
  SuppressionRow,
  SuppressionsPage,
  SuppressionsQuery,
} from '../../../../src/http/console/operation/operations-schema.js'
import { api } from '../../api/client.js'
import { useDates } from '../../app/dates.js'
import { useInstallation, useScope } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { ChannelIcon } from '../../parts/data/channel.js'
import { Table } from '../../parts/data/table.js'
import { Button } from '../../parts/form/button.js'
import { Select, TextField } from '../../parts/form/field.js'
import { Dialog } from '../../parts/shell/dialog.js'
import { FormError } from '../../parts/shell/gate.js'
import { EmptyState, ErrorState, messageOf, Skeleton } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { words as screenWords } from './words.js'

const suppressions = (query: Omit<SuppressionsQuery, 'cursor'>) =>
  infiniteQueryOptions({
    queryKey: ['live', 'operations', 'suppressions', query],
    queryFn: ({ signal, pageParam }) =>
      api.get<SuppressionsPage>('/operations/suppressions', { ...query, cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: (page: SuppressionsPage) => page.cursor,
    placeholderData: keepPreviousData,
  })

/** The contacts that accounts no longer send to. */
export function Suppressions() {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const dates = useDates()
  const toast = useToast()
  const client = useQueryClient()
  const scope = useScope()
  const { operator, accounts, channels } = useInstallation()
  const { channel = '', recipient = '' } = useSearch({ from: '/shell/operations' })
  const navigate = useNavigate({ from: '/operations' })
  const [typed, setTyped] = useState(recipient)
  const [asked, setAsked] = useState<SuppressionRow | null>(null)
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(
    suppressions({ ...scope, ...(channel === '' ? {} : { channel }), ...(recipient === '' ? {} : { recipient }) }),
  )
  const remove = useMutation({
    mutationFn: ({ account, channel: name, recipient: contact }: SuppressionRow) =>
      api.post('/operations/suppressions/remove', {
        account,
        mode: scope.mode ?? 'live',
        channel: name,
        recipient: contact,
      } satisfies SuppressionRemoval),
    onSuccess: () => {
      setAsked(null)
      toast(words.removed)
    },
    onSettled: () => client.invalidateQueries({ queryKey: ['live', 'operations', 'suppressions'] }),
  })
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />
  if (data === undefined) return <Skeleton />
  return (
    <div className="flex flex-col gap-3">
      <form
        className="flex flex-wrap items-end gap-2"
        onSubmit={event => {
          event.preventDefault()
          void navigate({ search: previous => ({ ...previous, recipient: typed }), replace: true })
        }}
      >
        <Select
          label={words.channel}
          hideLabel
          className="w-48"
          value={channel}
          onChoose={value => void navigate({ search: previous => ({ ...previous, channel: value }), replace: true })}
          choices={[{ value: '', label: words.allChannels }, ...channels.map(({ name, label }) => ({ value: name, label }))]}
        />
        <TextField
          label={words.searchRecipient}
          hideLabel
          type="search"
          className="w-full sm:w-72"
          placeholder={words.searchRecipient}
          value={typed}
          onChange={event => setTyped(event.target.value)}
        />
        <Button type="submit">{words.search}</Button>
      </form>
      <Table
        label={words.tabs.suppressions}
        rows={data.pages.flatMap(page => page.rows)}
        keyOf={row => `${row.account} ${row.channel} ${row.recipient}`}
        more={{ has: hasNextPage, loading: isFetchingNextPage, load: () => void fetchNextPage() }}
        empty={
          <EmptyState icon={UserX} title={words.noSuppressions}>
            {words.noSuppressionsAbout}
          </EmptyState>
        }
        columns={[
          {
            name: 'recipient',
            head: words.suppressed,
            cell: row => (
              <div className="flex min-w-0 gap-2">
                <span className="pt-0.5">
                  <ChannelIcon name={row.channel} />
                </span>
                <div className="min-w-0">
                  <p className="font-medium wrap-anywhere">{row.recipient}</p>
                  {accounts.length > 1 && <p className="text-[0.87rem] wrap-anywhere text-muted">{row.accountName}</p>}
                </div>
              </div>
            ),
          },
          {
            name: 'reason',
            head: words.reason,
            cell: row => (
              <>
                {words.reasons[row.reason]}
                <span className="block text-[0.87rem] text-muted">
                  {dates.short(row.at)}
                  {row.notification !== null && (
                    <>
                      {' · '}
                      <Link to="/notifications/$id" params={{ id: row.notification }} className="text-accent underline">
                        {words.cause}
                      </Link>
                    </>
                  )}
                </span>
              </>
            ),
          },
          {
            name: 'acts',
            head: '',
            cell: row =>
              operator.role === 'operator' && (
                <Button size="small" onClick={() => setAsked(row)}>
                  {words.remove}
                </Button>
              ),
          },
        ]}
      />
      <Dialog
        open={asked !== null}
        onClose={() => setAsked(null)}
        title={words.removeTitle}
        about={words.removeAbout}
        actions={
          <>
            <Button onClick={() => setAsked(null)}>{words.cancel}</Button>
            <Button look="primary" busy={remove.isPending} onClick={() => asked !== null && remove.mutate(asked)}>
              {words.remove}
            </Button>
          </>
        }
      >
        <p className="font-medium wrap-anywhere">{asked?.recipient}</p>
        <FormError message={remove.error === null ? null : messageOf(remove.error, unreachable)} />
      </Dialog>
    </div>
  )
}
