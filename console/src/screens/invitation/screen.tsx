import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { AcceptInvitation, InvitationAnswer, NewTotp } from '../../../../src/http/console/access/sign-in-schema.js'
import { api } from '../../api/client.js'
import { useWords } from '../../app/language.js'
import { Button } from '../../parts/form/button.js'
import { TextField } from '../../parts/form/field.js'
import { NewPasswordField } from '../../parts/form/new-password.js'
import { TotpSetup } from '../../parts/form/totp-setup.js'
import { FormError, Gate } from '../../parts/shell/gate.js'
import { messageOf, Skeleton } from '../../parts/shell/states.js'
import { partWords } from '../../parts/words.js'
import { words as screenWords } from './words.js'

/** The secret of the link is in the fragment of the address, which browsers send nowhere. */
const secret = location.hash.slice(1)

export function Invitation() {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const looked = useQuery({
    queryKey: ['fixed', 'invitation'],
    queryFn: () => api.post<InvitationAnswer>('/invitation/look', { secret }),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  })
  if (looked.error !== null)
    return (
      <Gate title={words.gone}>
        <FormError message={messageOf(looked.error, unreachable)} />
      </Gate>
    )
  return (
    <Gate title={words.title} about={looked.data && words.about[looked.data.role]}>
      {looked.data === undefined ? <Skeleton /> : <Acceptance invitation={looked.data} />}
    </Gate>
  )
}

function Acceptance({ invitation }: { invitation: InvitationAnswer }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const [name, setName] = useState('')
  const [email, setEmail] = useState(invitation.email ?? '')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [wantsCode, setWantsCode] = useState(false)
  const totp = useMutation({
    mutationFn: () => api.post<NewTotp>('/invitation/totp', { secret, email: email || 'console' }),
    onError: () => setWantsCode(false),
  })
  const accept = useMutation({
    mutationFn: () => {
      const second = totp.data === undefined ? null : { secret: totp.data.secret, code: code.replace(/\s/g, '') }
      return api.post('/invitation/accept', { secret, name, email, password, totp: second } satisfies AcceptInvitation)
    },
    onSuccess: () => location.assign('/console'),
  })
  const error = accept.error ?? totp.error
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={event => {
        event.preventDefault()
        accept.mutate()
      }}
    >
      {invitation.account !== null && <p>{words.account(invitation.account)}</p>}
      <TextField
        label={words.name}
        autoComplete="name"
        required
        autoFocus
        value={name}
        onChange={event => setName(event.target.value)}
      />
      <TextField
        label={words.email}
        type="email"
        autoComplete="username"
        required
        readOnly={invitation.email !== null}
        value={email}
        onChange={event => setEmail(event.target.value)}
      />
      <NewPasswordField value={password} onChange={setPassword} least={invitation.minPassword} />
      <label className="flex items-start gap-3">
        <input
          type="checkbox"
          className="mt-1 size-4.5 accent-(--accent)"
          checked={wantsCode}
          onChange={event => {
            setWantsCode(event.target.checked)
            if (event.target.checked) totp.mutate()
            else totp.reset()
          }}
        />
        <span>
          {words.second}
          <span className="block text-[0.87rem] text-muted">{words.secondHint}</span>
        </span>
      </label>
      {totp.data !== undefined && <TotpSetup totp={totp.data} code={code} onCode={setCode} />}
      <FormError message={error === null ? null : messageOf(error, unreachable)} />
      <Button look="primary" type="submit" busy={accept.isPending || totp.isPending}>
        {words.create}
      </Button>
    </form>
  )
}
