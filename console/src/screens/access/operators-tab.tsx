import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Ellipsis } from 'lucide-react'
import { useState } from 'react'
import type { Operators } from '../../../../src/http/console/access/operators-schema.js'
import { api } from '../../api/client.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { Table } from '../../parts/data/table.js'
import { Button, IconButton } from '../../parts/form/button.js'
import { FormError } from '../../parts/shell/gate.js'
import { Menu, MenuItem } from '../../parts/shell/menu.js'
import { ErrorState, messageOf, Skeleton } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { Confirm } from './confirm.js'
import { operators } from './queries.js'
import { ChangeRole, Invite } from './role-dialogs.js'
import { words as screenWords } from './words.js'

type Row = Operators['rows'][number]
type Act = 'disable' | 'enable' | 'end-sessions'

export function OperatorsTab({ mayChange }: { mayChange: boolean }) {
  const words = useWords(screenWords)
  const { data, error, refetch } = useQuery(operators)
  const [inviting, setInviting] = useState(false)
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />
  if (data === undefined) return <Skeleton />
  return (
    <div className="flex flex-col gap-4">
      <p className="text-muted">{words.operatorsAbout}</p>
      {mayChange && (
        <Button look="primary" className="self-start" onClick={() => setInviting(true)}>
          {words.invite}
        </Button>
      )}
      <People rows={data.rows} mayChange={mayChange} />
      {data.invitations.length > 0 && <Invitations rows={data.invitations} mayChange={mayChange} />}
      {inviting && <Invite onClose={() => setInviting(false)} />}
    </div>
  )
}

function People({ rows, mayChange }: { rows: readonly Row[]; mayChange: boolean }) {
  const words = useWords(screenWords)
  const dates = useDates()
  const client = useQueryClient()
  const toast = useToast()
  const [asked, setAsked] = useState<{ row: Row; act: Act } | null>(null)
  const [changing, setChanging] = useState<Row | null>(null)
  const act = useMutation({
    mutationFn: ({ row, act: wanted }: { row: Row; act: Act }) => api.post(`/operators/${row.id}/${wanted}`),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: operators.queryKey })
      setAsked(null)
      toast(words.saved)
    },
  })
  return (
    <>
      <Table
        label={words.operators}
        rows={rows}
        keyOf={({ id }) => id}
        empty={null}
        columns={[
          {
            name: 'person',
            head: words.person,
            cell: ({ name, email, isYou, disabledAt, hasTotp }) => (
              <>
                <span className="line-clamp-2 font-medium wrap-anywhere">
                  {name} {isYou && <span className="font-normal text-muted">({words.you})</span>}
                </span>
                <span className="line-clamp-2 text-[0.87rem] wrap-anywhere text-muted">{email}</span>
                <span className="mt-1 flex flex-wrap gap-1 md:hidden">
                  {disabledAt !== null && <Badge tone="bad">{words.disabled}</Badge>}
                  {hasTotp && <Badge tone="quiet">{words.totp}</Badge>}
                </span>
              </>
            ),
          },
          {
            name: 'role',
            head: words.role,
            cell: ({ role, accountName }) => (
              <>
                {words.roles[role]}
                {accountName !== null && (
                  <span className="line-clamp-2 text-[0.87rem] wrap-anywhere text-muted">{accountName}</span>
                )}
              </>
            ),
          },
          {
            name: 'state',
            head: words.state,
            wideOnly: true,
            cell: ({ disabledAt, hasTotp }) => (
              <span className="flex flex-wrap gap-1">
                <Badge tone={disabledAt === null ? 'good' : 'bad'}>{disabledAt === null ? words.active : words.disabled}</Badge>
                {hasTotp && <Badge tone="quiet">{words.totp}</Badge>}
              </span>
            ),
          },
          { name: 'sessions', head: words.sessions, wideOnly: true, number: true, cell: ({ sessions }) => sessions },
          { name: 'seen', head: words.seen, wideOnly: true, cell: ({ seenAt }) => (seenAt === null ? '–' : dates.short(seenAt)) },
          {
            name: 'acts',
            head: <span className="sr-only">{words.acts}</span>,
            number: true,
            cell: row =>
              mayChange ? (
                <Menu
                  trigger={
                    <IconButton label={words.actsFor(row.name)}>
                      <Ellipsis size={18} />
                    </IconButton>
                  }
                >
                  {!row.isYou && <MenuItem onSelect={() => setChanging(row)}>{words.changeRole}</MenuItem>}
                  <MenuItem onSelect={() => setAsked({ row, act: 'end-sessions' })}>{words.acting['end-sessions']}</MenuItem>
                  {!row.isYou && (
                    <MenuItem onSelect={() => setAsked({ row, act: row.disabledAt === null ? 'disable' : 'enable' })}>
                      {words.acting[row.disabledAt === null ? 'disable' : 'enable']}
                    </MenuItem>
                  )}
                </Menu>
              ) : null,
          },
        ]}
      />
      <Confirm
        open={asked !== null}
        title={asked === null ? '' : `${words.acting[asked.act]}: ${asked.row.name}`}
        about={asked === null ? '' : words.actingAbout[asked.act]}
        act={asked === null ? '' : words.acting[asked.act]}
        mutation={act}
        onConfirm={() => act.mutate(asked!)}
        onClose={() => setAsked(null)}
      />
      {changing !== null && <ChangeRole row={changing} onClose={() => setChanging(null)} />}
    </>
  )
}

function Invitations({ rows, mayChange }: { rows: Operators['invitations']; mayChange: boolean }) {
  const words = useWords(screenWords)
  const dates = useDates()
  const { unreachable } = useWords(partWords)
  const client = useQueryClient()
  const cancel = useMutation({
    mutationFn: (email: string) => api.delete(`/operators/invitations?email=${encodeURIComponent(email)}`),
    onSettled: () => client.invalidateQueries({ queryKey: operators.queryKey }),
  })
  return (
    <section className="flex flex-col gap-2">
      <h2 className="font-semibold">{words.invitations}</h2>
      <FormError message={cancel.error === null ? null : messageOf(cancel.error, unreachable)} />
      <Table
        label={words.invitations}
        rows={rows}
        keyOf={({ email }) => email}
        empty={null}
        columns={[
          {
            name: 'email',
            head: words.email,
            cell: ({ email, expiresAt }) => (
              <>
                <span className="line-clamp-2 wrap-anywhere">{email}</span>
                <span className="text-[0.87rem] text-muted md:hidden">
                  {words.until} {dates.short(expiresAt)}
                </span>
              </>
            ),
          },
          {
            name: 'role',
            head: words.role,
            wideOnly: true,
            cell: ({ role, accountName }) => `${words.roles[role]}${accountName === null ? '' : ` · ${accountName}`}`,
          },
          { name: 'until', head: words.until, wideOnly: true, cell: ({ expiresAt }) => dates.short(expiresAt) },
          {
            name: 'cancel',
            head: <span className="sr-only">{words.acts}</span>,
            number: true,
            cell: ({ email }) =>
              mayChange ? (
                <Button
                  size="small"
                  look="danger"
                  busy={cancel.isPending && cancel.variables === email}
                  onClick={() => cancel.mutate(email)}
                >
                  {words.cancel}
                </Button>
              ) : null,
          },
        ]}
      />
    </section>
  )
}
