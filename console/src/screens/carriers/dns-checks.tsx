import { useQuery } from '@tanstack/react-query'
import { Globe } from 'lucide-react'
import type { Setup, SetupRow } from '../../../../src/http/console/operation/carriers-schema.js'
import { api } from '../../api/client.js'
import { useWords } from '../../app/language.js'
import { Badge, type Tone } from '../../parts/data/badge.js'
import { Button } from '../../parts/form/button.js'
import { CopyButton } from '../../parts/form/copy-button.js'
import { Card } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, Skeleton } from '../../parts/shell/states.js'
import { words as screenWords } from './words.js'

const tones: Record<SetupRow['state'], Tone> = { good: 'good', warn: 'warn', bad: 'bad', unknown: 'quiet' }

/** What receivers find about our domains, asked at the moment: whoever looks has just changed something. */
export function DnsChecks() {
  const words = useWords(screenWords)
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ['fixed', 'carriers', 'setup'],
    queryFn: ({ signal }) => api.get<Setup>('/carriers/setup', {}, signal),
    staleTime: 60_000,
  })
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />
  if (data === undefined) return <Skeleton />
  if (data.checks === null)
    return (
      <Card>
        <EmptyState icon={Globe} title={words.noChecks}>
          {words.noChecksAbout}
        </EmptyState>
      </Card>
    )
  const subjects = [...new Set(data.checks.map(({ subject }) => subject))]
  return (
    <div className="flex flex-col gap-4">
      <Button className="self-end" size="small" busy={isFetching} onClick={() => void refetch()}>
        {words.again}
      </Button>
      {subjects.map(subject => (
        <Card key={subject} title={subject} flush>
          <ul>
            {data
              .checks!.filter(check => check.subject === subject)
              .map(check => (
                <li key={check.name} className="flex flex-col gap-2 border-b border-line p-4 last:border-0">
                  <div className="flex flex-wrap items-center gap-2">
                    <h3 className="w-16 font-semibold">{check.name}</h3>
                    <Badge tone={tones[check.state]}>{words.checks[check.state]}</Badge>
                    <p className="min-w-0 grow basis-60">{check.advice}</p>
                  </div>
                  <dl className="grid grid-cols-[6rem_minmax(0,1fr)] gap-x-3 gap-y-1 text-[0.87rem]">
                    {check.record !== null && <Fact name={words.record} values={[check.record]} />}
                    <Fact name={words.found} values={check.found.length === 0 ? [words.nothing] : check.found} />
                    {check.expected !== null && <Fact name={words.expected} values={[check.expected]} copy />}
                  </dl>
                </li>
              ))}
          </ul>
        </Card>
      ))}
    </div>
  )
}

const Fact = ({ name, values, copy = false }: { name: string; values: readonly string[]; copy?: boolean }) => (
  <>
    <dt className="text-muted">{name}</dt>
    <dd className="font-mono wrap-anywhere">
      {values.map(value => (
        <span key={value} className="block">
          {value} {copy && <CopyButton compact text={value} />}
        </span>
      ))}
    </dd>
  </>
)
