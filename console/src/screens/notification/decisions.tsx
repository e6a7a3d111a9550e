import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Decision, DecisionBody } from '../../../../src/http/console/notifications/notification-schema.js'
import { api } from '../../api/client.js'
import { notification } from '../../api/queries.js'
import { useWords } from '../../app/language.js'
import { ChannelName } from '../../parts/data/channel.js'
import { Button } from '../../parts/form/button.js'
import { Dialog } from '../../parts/shell/dialog.js'
import { FormError } from '../../parts/shell/gate.js'
import { messageOf } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { words as screenWords } from './words.js'

/** What a person is about to do with the notification, or with one of its channels. */
export type Act = { kind: 'finalize' } | { kind: Decision; channel: string }

export function useAct() {
  const [act, setAct] = useState<Act | null>(null)
  return { act, open: setAct, close: () => setAct(null) }
}

const DANGEROUS: readonly Act['kind'][] = ['finalize', 'cancel', 'failed']

/** Says what the act means before it is done; a refusal stays in the dialog. */
export function ActDialog({ id, act, onClose }: { id: string; act: Act; onClose(): void }) {
  const words = useWords(screenWords)
  const shared = useWords(partWords)
  const client = useQueryClient()
  const toast = useToast()
  const text = act.kind === 'finalize' ? words.finalize : words.decisions[act.kind]
  const run = useMutation({
    mutationFn: () =>
      act.kind === 'finalize'
        ? api.post(`/notifications/${id}/finalize`)
        : api.post(`/notifications/${id}/channels/${act.channel}/decision`, { decision: act.kind } satisfies DecisionBody),
    onSuccess: () => {
      toast(text.done)
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: notification(id).queryKey }),
  })
  return (
    <Dialog
      open
      onClose={onClose}
      title={text.title}
      about={text.about}
      actions={
        <>
          <Button onClick={onClose}>{words.keep}</Button>
          <Button look={DANGEROUS.includes(act.kind) ? 'danger' : 'primary'} busy={run.isPending} onClick={() => run.mutate()}>
            {text.label}
          </Button>
        </>
      }
    >
      {act.kind !== 'finalize' && <ChannelName name={act.channel} />}
      <FormError message={run.error === null ? null : messageOf(run.error, shared.unreachable)} />
    </Dialog>
  )
}
