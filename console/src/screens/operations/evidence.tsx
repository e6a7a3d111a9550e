import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Evidence } from '../../../../src/http/console/operation/operations-schema.js'
import { api } from '../../api/client.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { Table } from '../../parts/data/table.js'
import { ErrorState, Skeleton } from '../../parts/shell/states.js'
import { words as screenWords } from './words.js'

const evidence = queryOptions({
  queryKey: ['live', 'operations', 'evidence'],
  queryFn: ({ signal }) => api.get<Evidence>('/operations/evidence', {}, signal),
  placeholderData: keepPreviousData,
  refetchInterval: 10_000,
})

function WithEvidence({ children }: { children(data: Evidence): ReactNode }) {
  const { data, error, refetch } = useQuery(evidence)
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />
  return data === undefined ? <Skeleton /> : children(data)
}

/** Seconds that an event may wait for the log before somebody should look. */
const USUAL_LAG = 60

export function CheckpointsView() {
  const words = useWords(screenWords)
  const dates = useDates()
  return (
    <WithEvidence>
      {({ size, lagSeconds, checkpoints, targets }) => (
        <div className="flex flex-col gap-4">
          <dl className="grid gap-4 sm:grid-cols-3">
            <Figure name={words.events}>{dates.number(size)}</Figure>
            <Figure name={words.lag}>
              {lagSeconds < USUAL_LAG ? words.upToDate : dates.age(Date.now() - lagSeconds * 1_000)}
            </Figure>
            <Figure name={words.lastCheckpoint}>
              {checkpoints[0] === undefined ? words.none : dates.short(checkpoints[0].at)}
            </Figure>
          </dl>
          <h2 className="text-lg font-semibold">{words.targets}</h2>
          <Table
            label={words.targets}
            rows={targets}
            keyOf={row => row.target}
            empty={<p className="p-4 text-muted">{words.noTargets}</p>}
            columns={[
              {
                name: 'target',
                head: words.target,
                cell: row => (
                  <>
                    <span className="font-mono text-[0.87rem] wrap-anywhere">{row.target}</span>
                    {row.error !== null && (
                      <span className="line-clamp-2 text-[0.87rem] wrap-anywhere text-bad">{row.error}</span>
                    )}
                  </>
                ),
              },
              {
                name: 'when',
                head: words.when,
                wideOnly: true,
                cell: row => (row.doneAt === null ? '–' : dates.short(row.doneAt)),
              },
              { name: 'has', head: words.has, number: true, wideOnly: true, cell: row => dates.number(row.size) },
              {
                name: 'state',
                head: words.state,
                cell: row => {
                  const behind = (checkpoints[0]?.size ?? 0) - row.size
                  if (row.failures > 0) return <Badge tone="bad">{words.failures(row.failures)}</Badge>
                  return behind <= 0 ? (
                    <Badge tone="good">{words.current}</Badge>
                  ) : (
                    <Badge tone="busy">{words.behind(dates.number(behind))}</Badge>
                  )
                },
              },
            ]}
          />
          <h2 className="text-lg font-semibold">{words.checkpoints}</h2>
          <Table
            label={words.checkpoints}
            rows={checkpoints}
            keyOf={row => String(row.size)}
            empty={<p className="p-4 text-muted">{words.noCheckpoints}</p>}
            columns={[
              { name: 'at', head: words.when, cell: row => dates.long(row.at) },
              { name: 'size', head: words.size, number: true, cell: row => dates.number(row.size) },
              { name: 'cosignatures', head: words.cosignatures, number: true, cell: row => row.cosignatures },
              { name: 'timeStamps', head: words.timeStamps, number: true, wideOnly: true, cell: row => row.timeStamps },
            ]}
          />
        </div>
      )}
    </WithEvidence>
  )
}

const Figure = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="rounded-xl border border-line bg-surface p-4 shadow-card">
    <dt className="text-[0.87rem] text-muted">{name}</dt>
    <dd className="text-xl font-semibold tabular-nums">{children}</dd>
  </div>
)

export function RetentionView() {
  const words = useWords(screenWords)
  const dates = useDates()
  return (
    <WithEvidence>
      {({ retention }) => (
        <Table
          label={words.tabs.retention}
          rows={retention}
          keyOf={row => row.what}
          empty={null}
          columns={[
            { name: 'what', head: words.what, cell: row => row.what },
            {
              name: 'days',
              head: words.kept,
              cell: row => (row.days === null ? words.forever : words.days(dates.number(row.days))),
            },
            {
              name: 'setting',
              head: words.setting,
              wideOnly: true,
              cell: row => <span className="font-mono text-[0.87rem]">{row.setting ?? '–'}</span>,
            },
          ]}
        />
      )}
    </WithEvidence>
  )
}
