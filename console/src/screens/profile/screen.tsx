import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ChangePassword, Me, NewTotp, SetTotp } from '../../../../src/http/console/access/sign-in-schema.js'
import { api } from '../../api/client.js'
import { me } from '../../api/queries.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { Table } from '../../parts/data/table.js'
import { Button } from '../../parts/form/button.js'
import { PasswordField } from '../../parts/form/field.js'
import { NewPasswordField } from '../../parts/form/new-password.js'
import { TotpSetup } from '../../parts/form/totp-setup.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card, Page } from '../../parts/shell/page.js'
import { ErrorState, messageOf, Skeleton } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { words as screenWords } from './words.js'

/** The rule of the gateway, for the hint; the gateway decides. */
const LEAST = 12

export function ProfileScreen() {
  const words = useWords(screenWords)
  const { data, error, refetch } = useQuery(me)
  if (error !== null)
    return (
      <Page title={words.title}>
        <ErrorState error={error} onRetry={refetch} />
      </Page>
    )
  return (
    <Page title={words.title}>
      {data === undefined ? (
        <Skeleton />
      ) : (
        <>
          <div className="grid items-start gap-4 lg:grid-cols-2">
            <PasswordCard />
            <SecondFactor isOn={data.hasTotp} />
          </div>
          <section className="flex flex-col gap-2">
            <h2 className="font-semibold">{words.sessions}</h2>
            <Sessions sessions={data.sessions} />
          </section>
        </>
      )}
    </Page>
  )
}

function Sessions({ sessions }: { sessions: Me['sessions'] }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const dates = useDates()
  const client = useQueryClient()
  const toast = useToast()
  const end = useMutation({
    mutationFn: (id: string) => api.delete(`/me/sessions/${id}`),
    onSuccess: () => toast(words.ended),
    onSettled: () => client.invalidateQueries({ queryKey: me.queryKey }),
  })
  return (
    <>
      <FormError message={end.error === null ? null : messageOf(end.error, unreachable)} />
      <Table
        label={words.sessions}
        rows={sessions}
        keyOf={session => session.id}
        empty={null}
        columns={[
          {
            name: 'agent',
            head: words.device,
            cell: ({ agent }) => <span className="line-clamp-2 break-all">{browserOf(agent)}</span>,
          },
          { name: 'address', head: words.address, wideOnly: true, cell: ({ address }) => address },
          { name: 'seen', head: words.seen, cell: ({ seenAt }) => dates.short(seenAt) },
          {
            name: 'end',
            head: <span className="sr-only">{words.end}</span>,
            cell: ({ id, current }) =>
              current ? (
                <Badge tone="good">{words.current}</Badge>
              ) : (
                <Button size="small" look="danger" busy={end.isPending && end.variables === id} onClick={() => end.mutate(id)}>
                  {words.end}
                </Button>
              ),
          },
        ]}
      />
    </>
  )
}

const browserOf = (agent: string): string => {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\/[\d]+/.exec(agent)?.[1]?.replace('Edg', 'Edge').replace('OPR', 'Opera')
  const system = /(Android|iPhone|iPad|Windows|Mac OS X|Linux)/.exec(agent)?.[1]
  return browser === undefined ? agent : `${browser}${system === undefined ? '' : ` · ${system}`}`
}

function PasswordCard() {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const toast = useToast()
  const client = useQueryClient()
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const change = useMutation({
    mutationFn: () => api.put('/me/password', { current, next } satisfies ChangePassword),
    onSuccess: () => {
      toast(words.changed)
      setCurrent('')
      setNext('')
      void client.invalidateQueries({ queryKey: me.queryKey })
    },
  })
  return (
    <Card title={words.password}>
      <form
        className="flex flex-col gap-4"
        onSubmit={event => {
          event.preventDefault()
          change.mutate()
        }}
      >
        <PasswordField
          label={words.currentPassword}
          autoComplete="current-password"
          required
          value={current}
          onChange={event => setCurrent(event.target.value)}
        />
        <NewPasswordField value={next} onChange={setNext} least={LEAST} isChange />
        <FormError message={change.error === null ? null : messageOf(change.error, unreachable)} />
        <Button look="primary" type="submit" busy={change.isPending} className="self-start">
          {words.change}
        </Button>
      </form>
    </Card>
  )
}

function SecondFactor({ isOn }: { isOn: boolean }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const toast = useToast()
  const client = useQueryClient()
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  /** null: nothing was asked for; 'remove': the second factor goes. */
  const [wanted, setWanted] = useState<NewTotp | 'remove' | null>(null)
  const start = useMutation({ mutationFn: () => api.post<NewTotp>('/me/new-totp'), onSuccess: setWanted })
  const save = useMutation({
    mutationFn: () => {
      const totp = wanted === 'remove' || wanted === null ? null : { secret: wanted.secret, code: code.replace(/\s/g, '') }
      return api.put('/me/totp', { password, totp } satisfies SetTotp)
    },
    onSuccess: () => {
      toast(words.secondSaved)
      setWanted(null)
      setPassword('')
      setCode('')
      void client.invalidateQueries({ queryKey: me.queryKey })
    },
  })
  const error = save.error ?? start.error
  return (
    <Card title={words.second} actions={<Badge tone={isOn ? 'good' : 'quiet'}>{isOn ? words.on : words.off}</Badge>}>
      {wanted === null ? (
        <div className="flex flex-wrap gap-2">
          <p className="basis-full text-muted">{words.secondAbout}</p>
          <Button busy={start.isPending} onClick={() => start.mutate()}>
            {isOn ? words.replace : words.set}
          </Button>
          {isOn && (
            <Button look="danger" onClick={() => setWanted('remove')}>
              {words.remove}
            </Button>
          )}
        </div>
      ) : (
        <form
          className="flex flex-col gap-4"
          onSubmit={event => {
            event.preventDefault()
            save.mutate()
          }}
        >
          {wanted !== 'remove' && <TotpSetup totp={wanted} code={code} onCode={setCode} />}
          <PasswordField
            label={words.currentPassword}
            autoComplete="current-password"
            required
            value={password}
            onChange={event => setPassword(event.target.value)}
          />
          <FormError message={error === null ? null : messageOf(error, unreachable)} />
          <Button look="primary" type="submit" busy={save.isPending} className="self-start">
            {wanted === 'remove' ? words.remove : words.confirm}
          </Button>
        </form>
      )}
    </Card>
  )
}
