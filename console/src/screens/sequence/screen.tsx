import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Waypoints } from 'lucide-react'
import { useState } from 'react'
import type { Sequence, SequenceStepWire, SetSequence } from '../../../../src/http/console/sending/sequence-schema.js'
import { ApiError, api, withQuery } from '../../api/client.js'
import { sequence as sequenceQuery } from '../../api/queries.js'
import { type OneAccount, useInstallation, useOneAccount } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { Button } from '../../parts/form/button.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card, Page } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, messageOf, Skeleton } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { Picture } from './picture.js'
import { Simulation } from './simulation.js'
import { words as screenWords } from './words.js'

export function SequenceScreen() {
  const words = useWords(screenWords)
  const { scope, name } = useOneAccount()
  const { data, error, refetch } = useQuery({ ...sequenceQuery(scope), enabled: name !== null })
  if (name === null)
    return (
      <Page title={words.title}>
        <Card>
          <EmptyState icon={Waypoints} title={words.noAccount}>
            {words.noAccountAbout}
          </EmptyState>
        </Card>
      </Page>
    )
  return (
    <Page title={words.title} about={words.about(name)}>
      {error !== null ? (
        <ErrorState error={error} onRetry={refetch} />
      ) : data === undefined ? (
        <Skeleton />
      ) : (
        <Editor key={scope.account} scope={scope} stored={data} />
      )}
    </Page>
  )
}

function Editor({ scope, stored }: { scope: OneAccount; stored: Sequence }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const { operator } = useInstallation()
  const client = useQueryClient()
  const toast = useToast()
  // null: as it is stored, also when somebody else changes that.
  const [changed, setChanged] = useState<{ from: string; steps: readonly SequenceStepWire[] } | null>(null)
  const steps = changed?.steps ?? stored.steps
  const isStored = (some: readonly SequenceStepWire[]): boolean => JSON.stringify(some) === JSON.stringify(stored.steps)
  const isChanged = !isStored(steps)
  const canEdit = operator.role !== 'auditor'
  const save = useMutation({
    mutationFn: () =>
      api.put<Sequence>(withQuery('/sequence', { ...scope }), {
        steps: [...steps],
        revision: stored.revision,
      } satisfies SetSequence),
    onSuccess: saved => {
      client.setQueryData(sequenceQuery(scope).queryKey, saved)
      setChanged(null)
      toast(words.saved)
    },
    onError: error => {
      if (error instanceof ApiError && error.status === 409)
        void client.invalidateQueries({ queryKey: sequenceQuery(scope).queryKey })
    },
  })
  const isOverNewer = isChanged && changed !== null && changed.from !== stored.revision
  const discard = (): void => {
    setChanged(null)
    save.reset()
  }
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card title={words.picture} {...(isChanged ? { actions: <Badge tone="warn">{words.unsaved}</Badge> } : {})}>
        <div className="flex flex-col gap-4">
          <Picture
            steps={steps}
            conditions={stored.conditions}
            maxWaitMinutes={stored.maxWaitMinutes}
            onChange={
              canEdit ? next => setChanged(isStored(next) ? null : { from: changed?.from ?? stored.revision, steps: next }) : null
            }
          />
          {isOverNewer && (
            <div role="status" className="flex flex-col items-start gap-2 rounded-lg bg-warn-soft px-3 py-2">
              <p className="text-warn">{words.newer}</p>
              <Button size="small" onClick={discard}>
                {words.loadNewer}
              </Button>
            </div>
          )}
          <FormError message={save.error === null ? null : messageOf(save.error, unreachable)} />
          {canEdit && (
            <div className="flex flex-wrap gap-2">
              <Button look="primary" disabled={!isChanged} busy={save.isPending} onClick={() => save.mutate()}>
                {words.save}
              </Button>
              {isChanged && (
                <Button look="quiet" onClick={discard}>
                  {words.discard}
                </Button>
              )}
            </div>
          )}
        </div>
      </Card>
      <Simulation scope={scope} steps={steps} />
    </div>
  )
}
