import { useMutation } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { SignedInAnswer, SignIn as SignInBody } from '../../../../src/http/console/access/sign-in-schema.js'
import { api } from '../../api/client.js'
import { useWords } from '../../app/language.js'
import { Button } from '../../parts/form/button.js'
import { PasswordField, TextField } from '../../parts/form/field.js'
import { FormError, Gate } from '../../parts/shell/gate.js'
import { messageOf } from '../../parts/shell/states.js'
import { partWords } from '../../parts/words.js'
import { words as screenWords } from './words.js'

/** Only paths of the console: an address of elsewhere stays a path below it. */
const pathAfter = (next: string | undefined): string => `/console${next?.startsWith('/') ? next : '/'}`

export function SignIn() {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const { next } = useSearch({ from: '/sign-in' })
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [asksCode, setAsksCode] = useState(false)
  const enter = useMutation({
    mutationFn: () => api.post<SignedInAnswer>('/sign-in', { email, password, code: code || null } satisfies SignInBody),
    onSuccess: answer => {
      if (answer.next === 'code') setAsksCode(true)
      else location.assign(pathAfter(next))
    },
  })
  return (
    <Gate title={words.title}>
      <form
        className="flex flex-col gap-4"
        onSubmit={event => {
          event.preventDefault()
          enter.mutate()
        }}
      >
        <TextField
          label={words.email}
          type="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          onChange={event => setEmail(event.target.value)}
        />
        <PasswordField
          label={words.password}
          autoComplete="current-password"
          required
          value={password}
          onChange={event => setPassword(event.target.value)}
        />
        {asksCode && (
          <TextField
            label={words.code}
            hint={words.codeHint}
            inputMode="numeric"
            autoComplete="one-time-code"
            required
            autoFocus
            value={code}
            onChange={event => setCode(event.target.value)}
          />
        )}
        <FormError message={enter.error === null ? null : messageOf(enter.error, unreachable)} />
        <Button look="primary" type="submit" busy={enter.isPending}>
          {words.enter}
        </Button>
      </form>
      <p className="text-[0.87rem] text-muted">{words.lost}</p>
    </Gate>
  )
}
