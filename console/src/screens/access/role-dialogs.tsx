import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type {
  Invite as InviteBody,
  Invited,
  Operators,
  ChangeRole as Right,
} from '../../../../src/http/console/access/operators-schema.js'
import { api } from '../../api/client.js'
import { useInstallation } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Button } from '../../parts/form/button.js'
import { CopyButton } from '../../parts/form/copy-button.js'
import { Select, TextField } from '../../parts/form/field.js'
import { Dialog } from '../../parts/shell/dialog.js'
import { FormError } from '../../parts/shell/gate.js'
import { messageOf } from '../../parts/shell/states.js'
import { partWords } from '../../parts/words.js'
import { operators } from './queries.js'
import { words as screenWords } from './words.js'

type Role = Right['role']

/** A role, and the account of a sender. */
function RightFields({ right, onChange }: { right: Right; onChange(right: Right): void }) {
  const words = useWords(screenWords)
  const { accounts } = useInstallation()
  return (
    <>
      <Select
        label={words.role}
        hint={words.roleAbout[right.role]}
        value={right.role}
        choices={(['operator', 'sender', 'auditor'] as const).map(value => ({ value, label: words.roles[value] }))}
        onChoose={value => onChange({ role: value as Role, account: value === 'sender' ? (accounts[0]?.id ?? null) : null })}
      />
      {right.role === 'sender' && (
        <Select
          label={words.account}
          value={right.account ?? ''}
          choices={accounts.map(({ id, name }) => ({ value: id, label: name }))}
          onChoose={account => onChange({ ...right, account })}
        />
      )}
    </>
  )
}

export function Invite({ onClose }: { onClose(): void }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const client = useQueryClient()
  const [email, setEmail] = useState('')
  const [right, setRight] = useState<Right>({ role: 'operator', account: null })
  const invite = useMutation({
    mutationFn: () => api.post<Invited>('/operators/invite', { email, ...right } satisfies InviteBody),
    onSuccess: () => client.invalidateQueries({ queryKey: operators.queryKey }),
  })
  if (invite.data !== undefined)
    return (
      <Dialog
        open
        onClose={onClose}
        title={words.invited}
        about={words.invitedAbout(email)}
        actions={<Button onClick={onClose}>{words.doneButton}</Button>}
      >
        <output className="block rounded-lg bg-sunken p-3 font-mono text-[0.85rem] break-all">{invite.data.link}</output>
        <CopyButton text={invite.data.link} />
      </Dialog>
    )
  return (
    <Dialog
      open
      onClose={onClose}
      title={words.invite}
      actions={
        <Button look="primary" busy={invite.isPending} disabled={email.trim() === ''} onClick={() => invite.mutate()}>
          {words.makeLink}
        </Button>
      }
    >
      <TextField label={words.email} type="email" value={email} onChange={event => setEmail(event.target.value)} />
      <RightFields right={right} onChange={setRight} />
      <FormError message={invite.error === null ? null : messageOf(invite.error, unreachable)} />
    </Dialog>
  )
}

export function ChangeRole({ row, onClose }: { row: Operators['rows'][number]; onClose(): void }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const client = useQueryClient()
  const [right, setRight] = useState<Right>({ role: row.role, account: row.account })
  const change = useMutation({
    mutationFn: () => api.put(`/operators/${row.id}/role`, right),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: operators.queryKey })
      onClose()
    },
  })
  return (
    <Dialog
      open
      onClose={onClose}
      title={`${words.changeRole}: ${row.name}`}
      about={words.changeRoleAbout}
      actions={
        <Button look="primary" busy={change.isPending} onClick={() => change.mutate()}>
          {words.save}
        </Button>
      }
    >
      <RightFields right={right} onChange={setRight} />
      <FormError message={change.error === null ? null : messageOf(change.error, unreachable)} />
    </Dialog>
  )
}
