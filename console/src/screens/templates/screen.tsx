import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { FileText, Plus } from 'lucide-react'
import type { TemplateRow } from '../../../../src/http/console/sending/templates-schema.js'
import { templates } from '../../api/queries.js'
import { useDates } from '../../app/dates.js'
import { useInstallation, useOneAccount } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { ChannelIcon } from '../../parts/data/channel.js'
import { type Column, Table } from '../../parts/data/table.js'
import { Button } from '../../parts/form/button.js'
import { Select } from '../../parts/form/field.js'
import { Card, Page } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, Skeleton } from '../../parts/shell/states.js'
import { TemplatePage } from './template-page.js'
import { words as screenWords } from './words.js'

export function TemplatesScreen() {
  const words = useWords(screenWords)
  const { id } = useSearch({ from: '/shell/templates' })
  const { scope, name } = useOneAccount()
  if (name === null)
    return (
      <Page title={words.title}>
        <Card>
          <EmptyState icon={FileText} title={words.noAccount}>
            {words.noAccountAbout}
          </EmptyState>
        </Card>
      </Page>
    )
  return id === undefined ? <TemplateList account={name} /> : <TemplatePage key={`${id} ${scope.account}`} id={id} />
}

function TemplateList({ account }: { account: string }) {
  const words = useWords(screenWords)
  const { operator, channels } = useInstallation()
  const { scope } = useOneAccount()
  const { channel } = useSearch({ from: '/shell/templates' })
  const navigate = useNavigate({ from: '/templates' })
  const list = useInfiniteQuery(templates({ ...scope, ...(channel === undefined ? {} : { channel }) }))
  const columns = useColumns()
  const add = operator.role !== 'auditor' && (
    <Button
      look="primary"
      icon={<Plus size={17} aria-hidden="true" />}
      onClick={() => navigate({ search: previous => ({ ...previous, id: 'new' }) })}
    >
      {words.create}
    </Button>
  )
  return (
    <Page title={words.title} about={words.about(account)} actions={add}>
      <div className="max-w-56">
        <Select
          label={words.channel}
          value={channel ?? ''}
          choices={[{ value: '', label: words.all }, ...channels.map(({ name, label }) => ({ value: name, label }))]}
          onChoose={value =>
            navigate({
              search: ({ channel: _, ...others }) => ({ ...others, ...(value === '' ? {} : { channel: value }) }),
              replace: true,
            })
          }
        />
      </div>
      {list.error !== null ? (
        <ErrorState error={list.error} onRetry={list.refetch} />
      ) : list.data === undefined ? (
        <Skeleton />
      ) : (
        <Table
          label={words.title}
          columns={columns}
          rows={list.data.pages.flatMap(page => page.rows)}
          keyOf={row => row.id}
          linkOf={row => ({ to: '/templates', search: { ...scope, id: row.id } as never })}
          empty={
            <EmptyState icon={FileText} title={channel === undefined ? words.emptyTitle : words.nothingTitle}>
              {words.emptyAbout}
            </EmptyState>
          }
          more={{ has: list.hasNextPage, loading: list.isFetchingNextPage, load: () => void list.fetchNextPage() }}
        />
      )}
    </Page>
  )
}

function useColumns(): Column<TemplateRow>[] {
  const words = useWords(screenWords)
  const dates = useDates()
  return [
    {
      name: 'name',
      head: words.name,
      cell: ({ name, channel }) => (
        <span className="flex items-center gap-2.5">
          <ChannelIcon name={channel} />
          <span className="line-clamp-2 font-medium wrap-anywhere">{name}</span>
        </span>
      ),
    },
    {
      name: 'variables',
      head: words.variables,
      wideOnly: true,
      cell: ({ variables }) => (
        <span className="line-clamp-1 wrap-anywhere text-muted">{variables.map(({ name }) => name).join(', ')}</span>
      ),
    },
    {
      name: 'situation',
      head: words.situation,
      cell: ({ active, shared, sharedBy, isTest }) => (
        <span className="flex flex-wrap gap-1">
          <Badge tone={active ? 'good' : 'quiet'}>{active ? words.active : words.inactive}</Badge>
          {sharedBy !== null ? (
            <Badge tone="busy">{words.sharedBy(sharedBy)}</Badge>
          ) : (
            shared && <Badge tone="busy">{words.shared}</Badge>
          )}
          {isTest && <Badge tone="warn">{words.test}</Badge>}
        </span>
      ),
    },
    { name: 'version', head: words.version, number: true, wideOnly: true, cell: ({ version }) => version },
    { name: 'updated', head: words.updated, wideOnly: true, cell: ({ updatedAt }) => dates.short(updatedAt) },
  ]
}
