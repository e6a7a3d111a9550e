import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Flag } from 'lucide-react'
import type { ShownNotification } from '../../../../src/http/console/notifications/notification-schema.js'
import { notification, notificationStatus } from '../../api/queries.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { JsonView } from '../../parts/data/json-view.js'
import { Button } from '../../parts/form/button.js'
import { CopyButton } from '../../parts/form/copy-button.js'
import { Card, Page } from '../../parts/shell/page.js'
import { ErrorState, Skeleton } from '../../parts/shell/states.js'
import { Tabs } from '../../parts/shell/tabs.js'
import { ContentTab } from './content.js'
import { type Act, ActDialog, useAct } from './decisions.js'
import { Lanes } from './lanes.js'
import { Coming, Replies } from './next.js'
import { ProofTab } from './proof.js'
import { Swimlanes } from './swimlanes.js'
import { words as screenWords } from './words.js'

export function NotificationScreen() {
  const words = useWords(screenWords)
  const { id } = useParams({ from: '/shell/notifications/$id' })
  const { data, error, refetch } = useQuery(notification(id))
  if (error !== null)
    return (
      <Page title={words.title} back={{ label: words.back, link: { to: '/notifications' } }}>
        <ErrorState error={error} onRetry={refetch} />
      </Page>
    )
  if (data === undefined)
    return (
      <Page title={words.title} back={{ label: words.back, link: { to: '/notifications' } }}>
        <Skeleton rows={10} />
      </Page>
    )
  return <Shown shown={data} />
}

function Shown({ shown }: { shown: ShownNotification }) {
  const words = useWords(screenWords)
  const { tab = 'timeline' } = useSearch({ from: '/shell/notifications/$id' })
  const navigate = useNavigate({ from: '/notifications/$id' })
  const { act, open, close } = useAct()
  return (
    <Page
      title={shown.subject ?? words.noSubject}
      about={<About shown={shown} />}
      back={{ label: words.back, link: { to: '/notifications' } }}
      actions={
        shown.mayFinalize && (
          <Button icon={<Flag size={17} />} onClick={() => open({ kind: 'finalize' })}>
            {words.finalize.label}
          </Button>
        )
      }
    >
      <Tabs
        label={words.sections}
        value={tab}
        onChoose={next =>
          navigate({
            search: ({ tab: _, ...rest }) => (next === 'timeline' ? rest : { ...rest, tab: next }),
            replace: true,
          })
        }
        tabs={[
          { value: 'timeline', label: words.tabs.timeline, content: <TimelineTab shown={shown} onAct={open} /> },
          { value: 'content', label: words.tabs.content, content: <ContentTab shown={shown} /> },
          { value: 'proof', label: words.tabs.proof, content: <ProofTab shown={shown} /> },
          { value: 'json', label: words.tabs.json, content: <JsonTab id={shown.id} /> },
        ]}
      />
      {act !== null && <ActDialog id={shown.id} act={act} onClose={close} />}
    </Page>
  )
}

function About({ shown }: { shown: ShownNotification }) {
  const words = useWords(screenWords)
  const dates = useDates()
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1 wrap-anywhere">
      <span>{words.to(shown.recipientName ?? words.erased)}</span>
      <span>{shown.account.name}</span>
      {shown.mode === 'test' && <Badge tone="quiet">{words.test}</Badge>}
      <span>{words.accepted(dates.long(shown.acceptedAt))}</span>
      {shown.customId !== null && <span className="font-mono text-[0.87rem]">{shown.customId}</span>}
      <span className="inline-flex items-center gap-1 font-mono text-[0.87rem]">
        {shown.id}
        <CopyButton compact text={shown.id} label={words.copyId} />
      </span>
    </span>
  )
}

function TimelineTab({ shown, onAct }: { shown: ShownNotification; onAct(act: Act): void }) {
  return (
    <div className="flex flex-col gap-4">
      <Lanes lanes={shown.lanes} onAct={onAct} />
      <div className="grid gap-4 lg:grid-cols-2">
        <Coming shown={shown} onAct={onAct} />
        <Replies shown={shown} />
      </div>
      <Swimlanes shown={shown} />
    </div>
  )
}

function JsonTab({ id }: { id: string }) {
  const words = useWords(screenWords)
  const { data, error, refetch } = useQuery(notificationStatus(id))
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />
  if (data === undefined) return <Skeleton />
  return (
    <Card title={`GET /gw/full/${id}`}>
      <p className="mb-3 text-muted">{words.jsonNote}</p>
      <JsonView label="JSON" value={data} />
    </Card>
  )
}
