import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Smartphone, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { ApiError, api } from '../../api/client.js'
import { simulator } from '../../api/queries.js'
import { useInstallation } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Button } from '../../parts/form/button.js'
import { Dialog } from '../../parts/shell/dialog.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card, Page } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, messageOf, Skeleton } from '../../parts/shell/states.js'
import { Tabs } from '../../parts/shell/tabs.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { FatesTab } from './fates.js'
import { FaultsTab } from './faults.js'
import { InboxTab } from './inbox.js'
import { words as screenWords } from './words.js'

export function SimulatorScreen() {
  const words = useWords(screenWords)
  const { data, error, refetch } = useQuery(simulator)
  const { operator } = useInstallation()
  const { tab = 'inbox' } = useSearch({ from: '/shell/simulator' })
  const navigate = useNavigate({ from: '/simulator' })
  if (error instanceof ApiError && error.status === 404)
    return (
      <Page title={words.title}>
        <Card>
          <EmptyState icon={Smartphone} title={words.off}>
            {words.offAbout}
          </EmptyState>
        </Card>
      </Page>
    )
  if (error !== null)
    return (
      <Page title={words.title}>
        <ErrorState error={error} onRetry={refetch} />
      </Page>
    )
  return (
    <Page title={words.title} about={words.about} actions={operator.role === 'operator' && <Clear />}>
      {data === undefined ? (
        <Skeleton />
      ) : (
        <Tabs
          label={words.sections}
          value={tab}
          onChoose={next =>
            navigate({ search: ({ tab: _, ...rest }) => (next === 'inbox' ? rest : { ...rest, tab: next }), replace: true })
          }
          tabs={[
            { value: 'inbox', label: words.tabs.inbox, content: <InboxTab /> },
            { value: 'faults', label: words.tabs.faults, content: <FaultsTab channels={data.channels} /> },
            { value: 'fates', label: words.tabs.fates, content: <FatesTab channels={data.channels} /> },
          ]}
        />
      )}
    </Page>
  )
}

function Clear() {
  const words = useWords(screenWords)
  const shared = useWords(partWords)
  const client = useQueryClient()
  const toast = useToast()
  const [asking, setAsking] = useState(false)
  const clear = useMutation({
    mutationFn: () => api.delete('/simulator/messages'),
    onSuccess: () => {
      toast(words.cleared)
      setAsking(false)
    },
    onSettled: () => client.invalidateQueries({ queryKey: simulator.queryKey }),
  })
  return (
    <>
      <Button icon={<Trash2 size={16} />} onClick={() => setAsking(true)}>
        {words.clear}
      </Button>
      <Dialog
        open={asking}
        onClose={() => setAsking(false)}
        title={words.clearTitle}
        about={words.clearAbout}
        actions={
          <>
            <Button onClick={() => setAsking(false)}>{words.keep}</Button>
            <Button look="danger" busy={clear.isPending} onClick={() => clear.mutate()}>
              {words.clear}
            </Button>
          </>
        }
      >
        <FormError message={clear.error === null ? null : messageOf(clear.error, shared.unreachable)} />
      </Dialog>
    </>
  )
}
