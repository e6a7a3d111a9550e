import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { Layers } from 'lucide-react'
import type { BatchRow } from '../../../../src/http/console/sending/bulk-schema.js'
import { useDates } from '../../app/dates.js'
import { useInstallation, useOneAccount, useScope } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Badge, type Tone } from '../../parts/data/badge.js'
import { Table } from '../../parts/data/table.js'
import { Card, Page } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, Skeleton } from '../../parts/shell/states.js'
import { BatchView } from './batch-view.js'
import { batch, batches } from './queries.js'
import { UploadArea } from './upload-area.js'
import { words as screenWords } from './words.js'

export function BulkScreen() {
  const words = useWords(screenWords)
  const { id = '' } = useSearch({ from: '/shell/bulk' })
  const { name } = useOneAccount()
  const { operator } = useInstallation()
  if (id !== '') return <OneBatch id={id} />
  return (
    <Page title={words.title} about={words.about}>
      {name === null ? (
        <Card>
          <EmptyState icon={Layers} title={words.noAccount}>
            {words.noAccountAbout}
          </EmptyState>
        </Card>
      ) : (
        <>
          {operator.role !== 'auditor' && <UploadArea accountName={name} />}
          <Batches />
        </>
      )}
    </Page>
  )
}

function OneBatch({ id }: { id: string }) {
  const words = useWords(screenWords)
  const { data, error, refetch } = useQuery(batch(id))
  return (
    <Page
      title={data?.name ?? words.title}
      back={{ label: words.back, link: { to: '/bulk' } }}
      {...(data === undefined ? {} : { actions: <BatchState state={data.state} /> })}
    >
      {error !== null && data === undefined && <ErrorState error={error} onRetry={refetch} />}
      {data === undefined ? error === null && <Skeleton /> : <BatchView key={data.id} batch={data} />}
    </Page>
  )
}

const tones: Record<BatchRow['state'], Tone> = {
  receiving: 'busy',
  checking: 'busy',
  checked: 'warn',
  sending: 'busy',
  paused: 'warn',
  done: 'good',
  cancelled: 'quiet',
}

function BatchState({ state }: { state: BatchRow['state'] }) {
  const words = useWords(screenWords)
  return <Badge tone={tones[state]}>{words.states[state]}</Badge>
}

function Batches() {
  const words = useWords(screenWords)
  const dates = useDates()
  const scope = useScope()
  const { accounts, operator } = useInstallation()
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(batches(scope))
  if (error !== null && data === undefined) return <ErrorState error={error} onRetry={refetch} />
  if (data === undefined) return <Skeleton />
  return (
    <Table
      label={words.list}
      rows={data.pages.flatMap(({ rows }) => rows)}
      keyOf={row => row.id}
      linkOf={row => ({ to: '/bulk', search: { id: row.id } })}
      more={{ has: hasNextPage, loading: isFetchingNextPage, load: () => void fetchNextPage() }}
      empty={
        <EmptyState icon={Layers} title={words.none}>
          {operator.role === 'auditor' ? words.noneRead : words.noneAbout}
        </EmptyState>
      }
      columns={[
        {
          name: 'name',
          head: words.name,
          cell: row => (
            <>
              <span className="line-clamp-2 wrap-anywhere">{row.name}</span>
              {accounts.length > 1 && <span className="block text-[0.87rem] font-normal text-muted">{row.accountName}</span>}
            </>
          ),
        },
        {
          name: 'state',
          head: words.state,
          cell: row => (
            <>
              <BatchState state={row.state} />
              {row.pausedBecause !== null && (
                <span className="block text-[0.87rem] text-muted">{words.pausedBecauseShort[row.pausedBecause]}</span>
              )}
              {row.expiredWhile !== null && (
                <span className="block text-[0.87rem] text-muted">{words.expiredShort[row.expiredWhile]}</span>
              )}
            </>
          ),
        },
        { name: 'lines', head: words.lines, number: true, wideOnly: true, cell: row => dates.number(row.total) },
        { name: 'accepted', head: words.sentLines, number: true, cell: row => dates.number(row.accepted) },
        {
          name: 'wrong',
          head: words.wrong,
          number: true,
          wideOnly: true,
          cell: row => dates.number(row.rejected + row.failed),
        },
        { name: 'created', head: words.created, wideOnly: true, cell: row => dates.short(row.createdAt) },
      ]}
    />
  )
}
