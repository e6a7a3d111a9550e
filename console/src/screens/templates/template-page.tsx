import { useQuery } from '@tanstack/react-query'
import { type LinkProps, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { template } from '../../api/queries.js'
import { useInstallation, useOneAccount } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Page } from '../../parts/shell/page.js'
import { ErrorState, Skeleton } from '../../parts/shell/states.js'
import { Tabs } from '../../parts/shell/tabs.js'
import { TemplateEditor } from './editor.js'
import { Versions } from './versions.js'
import { words as screenWords } from './words.js'

/** The content of an earlier version. `count`: of the times that somebody asked for one. */
interface Restored {
  content: string
  count: number
}

/** One template, or a new one. */
export function TemplatePage({ id }: { id: string }) {
  const words = useWords(screenWords)
  const { scope } = useOneAccount()
  const { tab } = useSearch({ from: '/shell/templates' })
  const { channels } = useInstallation()
  const navigate = useNavigate({ from: '/templates' })
  const [restored, setRestored] = useState<Restored | null>(null)
  const isNew = id === 'new'
  const { data, error, refetch } = useQuery({ ...template(id, scope), enabled: !isNew })
  const open = (next: string) =>
    navigate({
      search: ({ tab: _, ...others }) => ({ ...others, ...(next === 'edit' ? {} : { tab: next }) }),
      replace: true,
    })
  return (
    <Page
      title={isNew ? words.create : (data?.name ?? words.title)}
      back={{
        label: words.back,
        link: { to: '/templates', search: ({ id: _, tab: __, ...others }: Record<string, string>) => others } as LinkProps,
      }}
    >
      {isNew ? (
        <TemplateEditor
          known={null}
          firstChannel={channels[0]!.name}
          scope={scope}
          onSaved={({ id: made }) => navigate({ search: previous => ({ ...previous, id: made }), replace: true })}
        />
      ) : error !== null ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : data === undefined ? (
        <Skeleton />
      ) : (
        <Tabs
          label={data.name}
          value={tab ?? 'edit'}
          onChoose={open}
          tabs={[
            {
              value: 'edit',
              label: words.edit,
              keep: true,
              content: (
                <TemplateEditor
                  key={restored?.count ?? 0}
                  known={data}
                  firstChannel={data.channel}
                  restored={restored?.content ?? null}
                  scope={scope}
                />
              ),
            },
            {
              value: 'versions',
              label: `${words.versions} (${data.version})`,
              content: (
                <Versions
                  known={data}
                  scope={scope}
                  onRestore={content => {
                    setRestored(last => ({ content, count: (last?.count ?? 0) + 1 }))
                    void open('edit')
                  }}
                />
              ),
            },
          ]}
        />
      )}
    </Page>
  )
}
