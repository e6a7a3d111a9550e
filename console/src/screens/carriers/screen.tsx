import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { CircleCheck, RadioTower } from 'lucide-react'
import type { CarrierRow, Carriers, CarrierTest, CarrierTested } from '../../../../src/http/console/operation/carriers-schema.js'
import { api } from '../../api/client.js'
import { useDates } from '../../app/dates.js'
import { useInstallation, useScope } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Badge, type Tone } from '../../parts/data/badge.js'
import { ChannelName } from '../../parts/data/channel.js'
import { Button } from '../../parts/form/button.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card, Page } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, messageOf, Skeleton } from '../../parts/shell/states.js'
import { Tabs } from '../../parts/shell/tabs.js'
import { partWords } from '../../parts/words.js'
import { DnsChecks } from './dns-checks.js'
import { words as screenWords } from './words.js'

export function CarriersScreen() {
  const words = useWords(screenWords)
  const { operator } = useInstallation()
  const { tab = 'serving' } = useSearch({ from: '/shell/carriers' })
  const navigate = useNavigate({ from: '/carriers' })
  if (operator.role === 'sender')
    return (
      <Page title={words.title}>
        <Card>
          <EmptyState icon={RadioTower} title={words.forbidden}>
            {words.forbiddenAbout}
          </EmptyState>
        </Card>
      </Page>
    )
  return (
    <Page title={words.title} about={words.about}>
      <Tabs
        label={words.title}
        value={tab}
        onChoose={value => void navigate({ search: previous => ({ ...previous, tab: value }), replace: true })}
        tabs={[
          { value: 'serving', label: words.serving, content: <Serving mayTest={operator.role === 'operator'} /> },
          { value: 'dns', label: words.dns, content: <DnsChecks /> },
        ]}
      />
    </Page>
  )
}

function Serving({ mayTest }: { mayTest: boolean }) {
  const words = useWords(screenWords)
  const { mode } = useScope()
  const { data, error, refetch } = useQuery({
    queryKey: ['live', 'carriers', mode],
    queryFn: ({ signal }) => api.get<Carriers>('/carriers', { mode }, signal),
    placeholderData: keepPreviousData,
    // Workers report their health by the clock, not by events.
    refetchInterval: 10_000,
  })
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />
  if (data === undefined) return <Skeleton />
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      {data.channels.map(({ channel, carriers }) => (
        <section key={channel} className="min-w-0 rounded-xl border border-line bg-surface shadow-card">
          <h2 className="border-b border-line px-4 py-2.5 font-semibold">
            <ChannelName name={channel} />
          </h2>
          {carriers.length === 0 ? (
            <p className="p-4 text-muted">{words.none}</p>
          ) : (
            <ul>
              {carriers.map((carrier, rank) => (
                <li key={carrier.carrier} className="flex flex-col gap-2 border-b border-line p-4 last:border-0">
                  <Carrier carrier={carrier} rank={carriers.length === 1 ? null : rank} mayTest={mayTest} />
                </li>
              ))}
            </ul>
          )}
        </section>
      ))}
    </div>
  )
}

const tones: Record<'open' | 'paused' | 'closed' | 'absent', Tone> = {
  open: 'good',
  paused: 'warn',
  closed: 'bad',
  absent: 'bad',
}

function Carrier({ carrier, rank, mayTest }: { carrier: CarrierRow; rank: number | null; mayTest: boolean }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const dates = useDates()
  const state = carrier.health?.state ?? 'absent'
  const test = useMutation({
    mutationFn: () => api.post<CarrierTested>('/carriers/test', { carrier: carrier.carrier } satisfies CarrierTest),
  })
  const facts = [
    ...(rank === null ? [] : [rank === 0 ? words.preferred : words.reserve(rank + 1)]),
    ...(carrier.simulated ? [] : [carrier.perSecond === null ? words.noRate : words.rate(dates.number(carrier.perSecond))]),
    ...(carrier.concurrency === null ? [] : [words.atOnce(dates.number(carrier.concurrency))]),
    words.unknown[carrier.whenUnknown],
  ]
  return (
    <>
      <div className="flex flex-wrap items-start justify-between gap-2">
        <div className="min-w-0">
          <p className="flex flex-wrap items-center gap-2 font-medium">
            <span className="uppercase">{carrier.provider}</span>
            {carrier.simulated ? (
              <Badge tone="quiet">{words.simulated}</Badge>
            ) : (
              <span className="wrap-anywhere">{carrier.host}</span>
            )}
          </p>
          {!carrier.simulated && <p className="font-mono text-[0.8rem] wrap-anywhere text-muted">{carrier.carrier}</p>}
        </div>
        <Badge tone={tones[state]}>{words.states[state]}</Badge>
      </div>
      {words.stateAbout[state] !== '' && <p className="text-[0.93rem]">{words.stateAbout[state]}</p>}
      {carrier.health !== null && (
        <p className="text-[0.93rem] tabular-nums">
          {dates.number(carrier.health.sent)} {words.sent} · {dates.number(carrier.health.failed)} {words.failed} ·{' '}
          {words.workers(carrier.health.workers)} · {words.since(dates.hour(carrier.health.seenAt))}
        </p>
      )}
      <p className="text-[0.87rem] text-muted">{facts.join(' · ')}</p>
      {mayTest && carrier.testable && (
        <Button size="small" className="self-start" busy={test.isPending} onClick={() => test.mutate()}>
          {words.test}
        </Button>
      )}
      {test.error !== null && <FormError message={messageOf(test.error, unreachable)} />}
      {test.data !== undefined && (
        <div role="status" className={`rounded-lg px-3 py-2 ${test.data.ok ? 'bg-good-soft text-good' : 'bg-bad-soft text-bad'}`}>
          <p className="flex items-center gap-2">
            {test.data.ok && <CircleCheck size={16} aria-hidden="true" />}
            {test.data.ok ? words.testOk : test.data.reason}
          </p>
          {test.data.answer !== null && <p className="mt-1 font-mono text-[0.8rem] wrap-anywhere">{test.data.answer}</p>}
        </div>
      )}
    </>
  )
}
