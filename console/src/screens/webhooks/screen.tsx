import { useQuery } from '@tanstack/react-query'
import { type LinkProps, useNavigate, useSearch } from '@tanstack/react-router'
import { Plus, Webhook as WebhookIcon } from 'lucide-react'
import { useState } from 'react'
import type { Webhook, WebhookSecret } from '../../../../src/http/console/operation/webhooks-schema.js'
import { useDates } from '../../app/dates.js'
import { useInstallation, useScope } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { Table } from '../../parts/data/table.js'
import { Button } from '../../parts/form/button.js'
import { Page } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, Skeleton } from '../../parts/shell/states.js'
import { EndpointForm } from './endpoint-form.js'
import { EndpointView } from './endpoint-view.js'
import { webhooks } from './queries.js'
import { SecretDialog } from './secret-dialog.js'
import { words as screenWords } from './words.js'

export function WebhooksScreen() {
  const words = useWords(screenWords)
  const scope = useScope()
  const { id } = useSearch({ from: '/shell/webhooks' })
  const navigate = useNavigate({ from: '/webhooks' })
  const { operator } = useInstallation()
  const { data, error, refetch } = useQuery(webhooks(scope))
  const [adding, setAdding] = useState(false)
  const [made, setMade] = useState<WebhookSecret | null>(null)
  const mayChange = operator.role !== 'auditor'
  const chosen = data?.rows.find(row => row.id === id)
  const addButton = mayChange ? (
    <Button look="primary" icon={<Plus size={18} />} onClick={() => setAdding(true)}>
      {words.add}
    </Button>
  ) : undefined
  return (
    <Page
      title={words.title}
      about={chosen === undefined ? words.about : undefined}
      actions={chosen === undefined ? addButton : undefined}
      {...(chosen === undefined
        ? {}
        : {
            back: {
              label: words.back,
              link: { to: '/webhooks', search: ({ id: _, ...others }: Record<string, string>) => others } as LinkProps,
            },
          })}
    >
      {error !== null && <ErrorState error={error} onRetry={refetch} />}
      {data === undefined ? (
        error === null && <Skeleton />
      ) : chosen === undefined ? (
        <Endpoints rows={data.rows} add={addButton} />
      ) : (
        <EndpointView endpoint={chosen} statuses={data.statuses} mayChange={mayChange} onSecret={setMade} />
      )}
      {adding && data !== undefined && (
        <EndpointForm
          statuses={data.statuses}
          onClose={() => setAdding(false)}
          onMade={secret => {
            setAdding(false)
            setMade(secret)
            void navigate({ search: previous => ({ ...previous, id: secret.id }) })
          }}
        />
      )}
      <SecretDialog secret={made} onClose={() => setMade(null)} />
    </Page>
  )
}

function Endpoints({ rows, add }: { rows: readonly Webhook[]; add: React.ReactNode }) {
  const words = useWords(screenWords)
  const dates = useDates()
  const { accounts } = useInstallation()
  return (
    <Table
      label={words.title}
      rows={rows}
      keyOf={row => row.id}
      linkOf={row => ({ to: '/webhooks', search: { id: row.id } })}
      empty={
        <EmptyState icon={WebhookIcon} title={words.none} action={add}>
          {words.noneAbout}
        </EmptyState>
      }
      columns={[
        {
          name: 'url',
          head: words.endpoint,
          cell: row => (
            <>
              <span className="line-clamp-2 wrap-anywhere">{row.url}</span>
              {accounts.length > 1 && <span className="block text-[0.87rem] font-normal text-muted">{row.accountName}</span>}
            </>
          ),
        },
        { name: 'state', head: words.situation, cell: row => <Situation endpoint={row} /> },
        {
          name: 'waiting',
          head: words.waiting,
          number: true,
          wideOnly: true,
          cell: row => (row.more ? words.atLeast(dates.number(row.waiting)) : dates.number(row.waiting)),
        },
        {
          name: 'last',
          head: words.last,
          wideOnly: true,
          cell: ({ last }) =>
            last === null ? (
              <span className="text-muted">{words.never}</span>
            ) : (
              <>
                {dates.short(last.at)}
                {last.error !== null && <span className="line-clamp-1 text-[0.87rem] wrap-anywhere text-bad">{last.error}</span>}
              </>
            ),
        },
      ]}
    />
  )
}

export function Situation({ endpoint }: { endpoint: Webhook }) {
  const words = useWords(screenWords)
  if (!endpoint.active) return <Badge tone={endpoint.reason === 'manual' ? 'quiet' : 'bad'}>{words.off}</Badge>
  return endpoint.failingSince === null ? <Badge tone="good">{words.active}</Badge> : <Badge tone="warn">{words.failing}</Badge>
}
