import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Link2, Link2Off } from 'lucide-react'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { Table } from '../../parts/data/table.js'
import { Button } from '../../parts/form/button.js'
import { CopyButton } from '../../parts/form/copy-button.js'
import { Card } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, Skeleton } from '../../parts/shell/states.js'
import { audit, auditChain } from './queries.js'
import { words as screenWords } from './words.js'

export function AuditTab() {
  const words = useWords(screenWords)
  const dates = useDates()
  const navigate = useNavigate({ from: '/access' })
  const { actor } = useSearch({ from: '/shell/access' })
  const list = useInfiniteQuery(audit(actor))
  const showOf = (next: string | undefined): void =>
    void navigate({ search: ({ actor: _, ...previous }) => (next === undefined ? previous : { ...previous, actor: next }) })
  return (
    <div className="flex flex-col gap-4">
      <Chain />
      {actor !== undefined && (
        <div className="flex flex-wrap items-center gap-2">
          <span className="wrap-anywhere">{words.onlyOf(personOf(actor))}</span>
          <Button size="small" onClick={() => showOf(undefined)}>
            {words.ofAll}
          </Button>
        </div>
      )}
      {list.error !== null ? (
        <ErrorState error={list.error} onRetry={list.refetch} />
      ) : list.data === undefined ? (
        <Skeleton />
      ) : (
        <Table
          label={words.audit}
          rows={list.data.pages.flatMap(page => page.rows)}
          keyOf={({ id }) => String(id)}
          empty={<EmptyState icon={Link2} title={words.noActions} />}
          more={{ has: list.hasNextPage, loading: list.isFetchingNextPage, load: () => void list.fetchNextPage() }}
          columns={[
            { name: 'id', head: words.number, number: true, wideOnly: true, cell: ({ id }) => id },
            { name: 'at', head: words.when, cell: ({ at }) => <span className="tabular-nums">{dates.long(at)}</span> },
            {
              name: 'actor',
              head: words.who,
              wideOnly: true,
              cell: row => (
                <button
                  type="button"
                  className="line-clamp-2 text-left wrap-anywhere underline decoration-line underline-offset-2 hover:decoration-current"
                  onClick={() => showOf(row.actor)}
                >
                  {personOf(row.actor)}
                </button>
              ),
            },
            {
              name: 'action',
              head: words.what,
              cell: row => (
                <>
                  <span className="font-medium">{words.actions(row.action)}</span>
                  <span className="line-clamp-1 font-mono text-[0.8rem] break-all text-muted">{row.subject}</span>
                  <span className="line-clamp-2 text-[0.87rem] wrap-anywhere text-muted">{detailOf(row.detail)}</span>
                  <span className="line-clamp-1 text-[0.87rem] wrap-anywhere md:hidden">{personOf(row.actor)}</span>
                </>
              ),
            },
          ]}
        />
      )}
    </div>
  )
}

/** A person is known by their e-mail address; commands and the gateway itself by their name. */
const personOf = (actor: string): string => actor.replace(/^operator:/, '')

const detailOf = (detail: unknown): string =>
  Object.entries(detail ?? {})
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ')

function Chain() {
  const words = useWords(screenWords)
  const dates = useDates()
  const { data, error, refetch, isFetching } = useQuery(auditChain)
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />
  const isWhole = data?.fault === null
  return (
    <Card>
      <div className="flex flex-wrap items-center justify-between gap-3">
        {data === undefined ? (
          <span className="text-muted">{words.checking}</span>
        ) : (
          <div className="flex min-w-0 gap-3">
            <span className={`mt-0.5 shrink-0 ${isWhole ? 'text-good' : 'text-bad'}`}>
              {isWhole ? <Link2 size={20} aria-hidden="true" /> : <Link2Off size={20} aria-hidden="true" />}
            </span>
            <div className="min-w-0">
              <p className="font-semibold">
                {isWhole ? words.chainWhole(dates.number(data.checked)) : words.chainBroken(String(data.fault?.id))}
              </p>
              <p className="text-[0.93rem] text-muted">{isWhole ? words.chainAbout : words.chainBrokenAbout}</p>
              {data.head !== null && (
                <p className="mt-1 flex items-center gap-1 text-[0.8rem] text-muted">
                  <span className="line-clamp-2 font-mono break-all">
                    {data.head.id} {data.head.hash}
                  </span>
                  <CopyButton compact text={`${data.head.id} ${data.head.hash}`} />
                </p>
              )}
            </div>
          </div>
        )}
        <Button size="small" busy={isFetching} onClick={() => void refetch()}>
          {words.checkAgain}
        </Button>
      </div>
    </Card>
  )
}
