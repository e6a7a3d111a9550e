import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import type { NewAccount as Body } from '../../../../src/http/console/access/accounts-schema.js'
import { api } from '../../api/client.js'
import { installation } from '../../api/queries.js'
import { useWords } from '../../app/language.js'
import { Button } from '../../parts/form/button.js'
import { TextField } from '../../parts/form/field.js'
import { Dialog } from '../../parts/shell/dialog.js'
import { FormError } from '../../parts/shell/gate.js'
import { messageOf } from '../../parts/shell/states.js'
import { partWords } from '../../parts/words.js'
import { words as screenWords } from './words.js'

export function NewAccount() {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const client = useQueryClient()
  const navigate = useNavigate({ from: '/access' })
  const [open, setOpen] = useState(false)
  const [name, setName] = useState('')
  const [entity, setEntity] = useState('')
  const create = useMutation({
    mutationFn: () => api.post<{ id: string }>('/accounts', { name, entity } satisfies Body),
    onSuccess: async ({ id }) => {
      await client.invalidateQueries({ queryKey: installation.queryKey })
      setOpen(false)
      setName('')
      setEntity('')
      await navigate({ search: previous => ({ ...previous, account: id, tab: 'account' }) })
    },
  })
  return (
    <>
      <Button icon={<Plus size={17} aria-hidden="true" />} onClick={() => setOpen(true)}>
        {words.newAccount}
      </Button>
      <Dialog
        open={open}
        onClose={() => setOpen(false)}
        title={words.newAccount}
        about={words.newAccountAbout}
        actions={
          <Button look="primary" busy={create.isPending} disabled={name.trim() === ''} onClick={() => create.mutate()}>
            {words.create}
          </Button>
        }
      >
        <TextField label={words.accountName} value={name} maxLength={200} onChange={event => setName(event.target.value)} />
        <TextField
          label={words.entity}
          hint={words.entityAbout}
          value={entity}
          maxLength={200}
          onChange={event => setEntity(event.target.value)}
        />
        <FormError message={create.error === null ? null : messageOf(create.error, unreachable)} />
      </Dialog>
    </>
  )
}
