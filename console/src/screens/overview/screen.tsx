import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { PenLine } from 'lucide-react'
import type { Overview, OverviewQuery } from '../../../../src/http/console/operation/overview-schema.js'
import { overview } from '../../api/queries.js'
import { useDates } from '../../app/dates.js'
import { useScope } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { ChannelIcon, ChannelName } from '../../parts/data/channel.js'
import { Chart } from '../../parts/data/chart.js'
import { Holds } from '../../parts/data/holds.js'
import { buttonClass } from '../../parts/form/button.js'
import { Segments } from '../../parts/form/field.js'
import { Card, Page } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, Skeleton } from '../../parts/shell/states.js'
import { Carriers, Waiting, Webhooks } from './health.js'
import { Usage } from './usage.js'
import { words as screenWords } from './words.js'

export const KINDS = ['accepted', 'sent', 'delivered', 'read', 'failed'] as const
type Kind = (typeof KINDS)[number]

/** The filter of the list that shows what a number counts. */
const statusOf: Record<Kind, string | undefined> = {
  accepted: undefined,
  sent: 'enviado',
  delivered: 'entregue',
  read: 'lido',
  failed: 'falhou',
}
const colorOf: Record<Kind, string> = {
  accepted: 'var(--muted)',
  sent: 'var(--blue)',
  delivered: 'var(--green)',
  read: 'var(--violet)',
  failed: 'var(--bad)',
}

const readPeriod = (text: string | undefined): NonNullable<OverviewQuery['period']> =>
  text === '7d' || text === '30d' ? text : '24h'

export function OverviewScreen() {
  const words = useWords(screenWords)
  const scope = useScope()
  const period = readPeriod(useSearch({ from: '/shell/' }).period)
  const navigate = useNavigate({ from: '/' })
  const { data, error, refetch } = useQuery(overview({ ...scope, period }))
  return (
    <Page
      title={words.title}
      actions={
        <Segments
          label={words.period}
          value={period}
          choices={(['24h', '7d', '30d'] as const).map(value => ({ value, label: words.periods[value] }))}
          onChoose={value =>
            void navigate({
              search: previous => ({ ...previous, period: value === '24h' ? undefined : value }) as typeof previous,
            })
          }
        />
      }
    >
      {error !== null ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : data === undefined ? (
        <Skeleton rows={12} />
      ) : (
        <Found data={data} />
      )}
    </Page>
  )
}

function Found({ data }: { data: Overview }) {
  const words = useWords(screenWords)
  const isEmpty = data.totals.every(({ accepted }) => accepted === 0)
  return (
    <>
      <Holds holds={data.holds} />
      <Totals data={data} />
      {isEmpty ? (
        <Card>
          <First />
        </Card>
      ) : (
        <>
          <Card title={words.overTime}>
            <OverTime data={data} />
          </Card>
          <Card title={words.byChannel} flush>
            <ByChannel data={data} />
          </Card>
        </>
      )}
      <div className="grid items-start gap-4 lg:grid-cols-3">
        <Waiting waiting={data.waiting} />
        {data.carriers !== null && <Carriers carriers={data.carriers} />}
        <Webhooks webhooks={data.webhooks} />
        {data.usage.length > 0 && <Usage usage={data.usage} />}
      </div>
    </>
  )
}

/** The list of what a number counts: the same channel, the same span of acceptance. */
function listSearch({ from, to }: Pick<Overview, 'from' | 'to'>, kind: Kind, channel?: string) {
  const status = statusOf[kind]
  return { from, to, ...(status === undefined ? {} : { status }), ...(channel === undefined ? {} : { channel }) }
}

function Totals({ data }: { data: Overview }) {
  const words = useWords(screenWords)
  const dates = useDates()
  const total = (kind: Kind): number => data.totals.reduce((sum, row) => sum + row[kind], 0)
  return (
    <ul className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-5">
      {KINDS.map(kind => (
        <li key={kind} className="max-sm:first:col-span-2">
          <Link
            to="/notifications"
            search={listSearch(data, kind)}
            className="flex h-full flex-col rounded-xl border border-line bg-surface p-4 shadow-card hover:border-accent"
          >
            <span className="flex items-center gap-2 text-[0.93rem] text-muted">
              <span className="size-2.5 rounded-sm" style={{ background: colorOf[kind] }} aria-hidden="true" />
              {words.counts[kind]}
            </span>
            <span className="text-2xl font-semibold tabular-nums">{dates.number(total(kind))}</span>
            <span className="text-[0.85rem] text-muted">
              {kind === 'accepted' ? words.acceptedHint : words.ofAccepted(dates.percent(total(kind), total('accepted')))}
            </span>
          </Link>
        </li>
      ))}
    </ul>
  )
}

const HOUR = 3_600_000

function OverTime({ data }: { data: Overview }) {
  const words = useWords(screenWords)
  const dates = useDates()
  const step = data.unit === 'hour' ? HOUR : 24 * HOUR
  const count = Math.round((Date.parse(data.to) - Date.parse(data.from)) / step)
  const starts = Array.from({ length: count }, (_, index) => Date.parse(data.from) + index * step)
  const sums = new Map<number, Record<Kind, number>>()
  for (const row of data.series) {
    const at = Math.floor((Date.parse(row.at) - Date.parse(data.from)) / step)
    const sum = sums.get(at) ?? { accepted: 0, sent: 0, delivered: 0, read: 0, failed: 0 }
    for (const kind of KINDS) sum[kind] += row[kind]
    sums.set(at, sum)
  }
  return (
    <Chart
      label={words.overTimeAbout}
      spans={starts.map(at => ({ at: String(at), label: data.unit === 'hour' ? dates.hour(at) : dates.day(at) }))}
      series={KINDS.map(kind => ({
        name: kind,
        label: words.counts[kind],
        color: colorOf[kind],
        values: starts.map((_, index) => sums.get(index)?.[kind] ?? 0),
      }))}
    />
  )
}

function ByChannel({ data }: { data: Overview }) {
  const words = useWords(screenWords)
  const dates = useDates()
  return (
    <section aria-label={words.byChannel} tabIndex={0} className="overflow-x-auto">
      <table className="w-full">
        <thead>
          <tr className="border-b border-line text-[0.85rem] text-muted">
            <th scope="col" className="px-4 py-2 text-left font-medium max-md:pr-1">
              <span className="max-md:sr-only">{words.channel}</span>
            </th>
            {KINDS.map(kind => (
              <th key={kind} scope="col" className="px-3 py-2 text-right font-medium last:pr-4 max-md:px-1 max-md:text-[0.75rem]">
                {words.counts[kind]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {data.totals.map(row => (
            <tr key={row.channel} className="border-b border-line last:border-0">
              <th scope="row" className="px-4 py-2 text-left font-normal">
                <span className="max-md:hidden">
                  <ChannelName name={row.channel} />
                </span>
                <span className="md:hidden">
                  <ChannelIcon name={row.channel} size={18} />
                </span>
              </th>
              {KINDS.map(kind => (
                <td key={kind} className="px-3 py-2 text-right tabular-nums last:pr-4 max-md:px-1">
                  {row[kind] === 0 ? (
                    <span className="text-muted">0</span>
                  ) : (
                    <Link
                      to="/notifications"
                      search={listSearch(data, kind, row.channel)}
                      className="text-accent underline-offset-2 hover:underline"
                    >
                      {dates.number(row[kind])}
                    </Link>
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function First() {
  const words = useWords(screenWords)
  return (
    <EmptyState
      icon={PenLine}
      title={words.firstTitle}
      action={
        <div className="flex flex-wrap justify-center gap-2">
          <Link to="/new" className={buttonClass('primary')}>
            {words.firstAction}
          </Link>
          <a href="/docs" className={buttonClass()}>
            {words.docs}
          </a>
        </div>
      }
    >
      {words.first}
    </EmptyState>
  )
}
