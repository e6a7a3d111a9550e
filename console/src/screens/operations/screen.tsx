import { useNavigate, useSearch } from '@tanstack/react-router'
import { useInstallation } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Page } from '../../parts/shell/page.js'
import { Tabs } from '../../parts/shell/tabs.js'
import { CheckpointsView, RetentionView } from './evidence.js'
import { Queue } from './queue.js'
import { Stuck } from './stuck.js'
import { Suppressions } from './suppressions.js'
import { words as screenWords } from './words.js'

export function OperationsScreen() {
  const words = useWords(screenWords)
  const { operator } = useInstallation()
  const { tab = 'queue' } = useSearch({ from: '/shell/operations' })
  const navigate = useNavigate({ from: '/operations' })
  const ofInstallation =
    operator.role === 'sender'
      ? []
      : [
          { value: 'evidence', label: words.tabs.evidence, content: <CheckpointsView /> },
          { value: 'retention', label: words.tabs.retention, content: <RetentionView /> },
        ]
  return (
    <Page title={words.title} about={words.about}>
      <Tabs
        label={words.title}
        value={tab}
        onChoose={value => {
          // The filters of one list mean nothing to another.
          const search = ({ account, mode }: { account?: string; mode?: 'live' | 'test' }) => ({
            ...(account === undefined ? {} : { account }),
            ...(mode === undefined ? {} : { mode }),
            tab: value,
          })
          void navigate({ search, replace: true })
        }}
        tabs={[
          { value: 'queue', label: words.tabs.queue, content: <Queue /> },
          { value: 'dead', label: words.tabs.dead, content: <Stuck kind="dead" /> },
          { value: 'unknown', label: words.tabs.unknown, content: <Stuck kind="unknown" /> },
          { value: 'suppressions', label: words.tabs.suppressions, content: <Suppressions /> },
          ...ofInstallation,
        ]}
      />
    </Page>
  )
}
