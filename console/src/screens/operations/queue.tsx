import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Inbox } from 'lucide-react'
import type { Load } from '../../../../src/http/console/operation/operations-schema.js'
import { api } from '../../api/client.js'
import { useDates } from '../../app/dates.js'
import { useScope } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Badge, type Tone } from '../../parts/data/badge.js'
import { ChannelName } from '../../parts/data/channel.js'
import { Holds, Notice } from '../../parts/data/holds.js'
import { Table } from '../../parts/data/table.js'
import { EmptyState, ErrorState, Skeleton } from '../../parts/shell/states.js'
import { words as screenWords } from './words.js'

type Row = Load['rows'][number]
const tones: Record<Row['state'], Tone> = {
  queued: 'busy',
  later: 'quiet',
  sending: 'busy',
  uncertain: 'warn',
  unresolved: 'warn',
  dead: 'bad',
}

/** What is not finished, by channel and carrier; every line leads to its list. */
export function Queue() {
  const words = useWords(screenWords)
  const dates = useDates()
  const scope = useScope()
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'operations', 'queue', scope],
    queryFn: ({ signal }) => api.get<Load>('/operations/queue', { ...scope }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  })
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />
  if (data === undefined) return <Skeleton />
  return (
    <div className="flex flex-col gap-3">
      <Held {...data} />
      <Table
        label={words.tabs.queue}
        rows={data.rows}
        keyOf={row => `${row.channel} ${row.carrier} ${row.state}`}
        linkOf={({ state, channel }) =>
          state === 'dead'
            ? { to: '/operations', search: { tab: 'dead', channel } }
            : state === 'uncertain' || state === 'unresolved'
              ? { to: '/operations', search: { tab: 'unknown', state, channel } }
              : { to: '/notifications', search: { channel, status: state === 'sending' ? 'sending' : 'queued' } }
        }
        empty={
          <EmptyState icon={Inbox} title={words.queueEmpty}>
            {words.queueEmptyAbout}
          </EmptyState>
        }
        columns={[
          { name: 'channel', head: words.channel, cell: row => <ChannelName name={row.channel} /> },
          {
            name: 'carrier',
            head: words.carrier,
            wideOnly: true,
            cell: row =>
              row.carrier === null ? (
                <span className="text-muted">{words.anyCarrier}</span>
              ) : (
                <span className="font-mono text-[0.87rem] wrap-anywhere">{row.carrier}</span>
              ),
          },
          { name: 'state', head: words.state, cell: row => <Badge tone={tones[row.state]}>{words.states[row.state]}</Badge> },
          {
            name: 'oldest',
            head: words.oldest,
            wideOnly: true,
            cell: ({ oldest, state }) =>
              oldest === null ? '–' : state === 'later' ? words.next(dates.hour(oldest)) : words.since(dates.age(oldest)),
          },
          {
            name: 'count',
            head: words.count,
            number: true,
            cell: row => (row.more ? words.atLeast(dates.number(row.count)) : dates.number(row.count)),
          },
        ]}
      />
    </div>
  )
}

/** What people hold back, and what waits because the database is a copy. */
function Held({ holds, restored }: Pick<Load, 'holds' | 'restored'>) {
  const words = useWords(screenWords)
  const dates = useDates()
  const waiting = dates.number(restored.count)
  return (
    <>
      <Holds holds={holds} />
      {restored.count > 0 && <Notice>{words.restored(restored.more ? words.atLeast(waiting) : waiting)}</Notice>}
    </>
  )
}
