import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import type { IssuedToken, NewToken, TokensPage } from '../../../../src/http/console/access/tokens-schema.js'
import { api } from '../../api/client.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { Table } from '../../parts/data/table.js'
import { Button } from '../../parts/form/button.js'
import { CopyButton } from '../../parts/form/copy-button.js'
import { Select } from '../../parts/form/field.js'
import { Dialog } from '../../parts/shell/dialog.js'
import { FormError } from '../../parts/shell/gate.js'
import { EmptyState, ErrorState, messageOf, Skeleton } from '../../parts/shell/states.js'
import { partWords } from '../../parts/words.js'
import { Confirm } from './confirm.js'
import { tokens } from './queries.js'
import { words as screenWords } from './words.js'

type Row = TokensPage['rows'][number]
const tones = { active: 'good', expired: 'quiet', revoked: 'bad' } as const

export function TokensTab({ account, mayChange }: { account: { id: string; name: string }; mayChange: boolean }) {
  const words = useWords(screenWords)
  const dates = useDates()
  const client = useQueryClient()
  const list = useInfiniteQuery(tokens(account.id))
  const [issuing, setIssuing] = useState(false)
  const [revoking, setRevoking] = useState<Row | null>(null)
  const revoke = useMutation({
    mutationFn: (jti: string) => api.delete(`/accounts/${account.id}/tokens/${jti}`),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: tokens(account.id).queryKey })
      setRevoking(null)
    },
  })
  if (list.error !== null) return <ErrorState error={list.error} onRetry={list.refetch} />
  if (list.data === undefined) return <Skeleton />
  const issue = mayChange && (
    <Button look="primary" className="self-start" onClick={() => setIssuing(true)}>
      {words.issue}
    </Button>
  )
  return (
    <div className="flex flex-col gap-4">
      <p className="text-muted">{words.tokensAbout}</p>
      {issue}
      <Table
        label={words.tokens}
        rows={list.data.pages.flatMap(page => page.rows)}
        keyOf={({ jti }) => jti}
        empty={
          <EmptyState icon={KeyRound} title={words.noTokens}>
            {words.noTokensAbout}
          </EmptyState>
        }
        more={{ has: list.hasNextPage, loading: list.isFetchingNextPage, load: () => void list.fetchNextPage() }}
        columns={[
          {
            name: 'jti',
            head: 'jti',
            cell: ({ jti, issuedAt }) => (
              <>
                <span className="line-clamp-2 font-mono text-[0.87rem] break-all">{jti}</span>
                <span className="text-[0.87rem] text-muted md:hidden">{dates.short(issuedAt)}</span>
              </>
            ),
          },
          { name: 'mode', head: words.mode, wideOnly: true, cell: ({ mode }) => words.modes[mode] },
          { name: 'issued', head: words.issuedAt, wideOnly: true, cell: ({ issuedAt }) => dates.short(issuedAt) },
          {
            name: 'expires',
            head: words.expiresAt,
            wideOnly: true,
            cell: ({ expiresAt }) => (expiresAt === null ? words.never : dates.long(expiresAt)),
          },
          {
            name: 'state',
            head: words.state,
            cell: ({ state, mode }) => (
              <span className="flex flex-col items-start gap-1">
                <Badge tone={tones[state]}>{words.tokenStates[state]}</Badge>
                <span className="text-[0.87rem] text-muted md:hidden">{words.modes[mode]}</span>
              </span>
            ),
          },
          {
            name: 'revoke',
            head: <span className="sr-only">{words.acts}</span>,
            cell: row =>
              mayChange && row.state === 'active' ? (
                <Button size="small" look="danger" onClick={() => setRevoking(row)}>
                  {words.revoke}
                </Button>
              ) : null,
          },
        ]}
      />
      <Confirm
        open={revoking !== null}
        title={words.revokeTitle}
        about={words.revokeAbout(revoking?.jti ?? '')}
        act={words.revoke}
        mutation={revoke}
        onConfirm={() => revoke.mutate(revoking!.jti)}
        onClose={() => setRevoking(null)}
      />
      {issuing && <Issue account={account} onClose={() => setIssuing(false)} />}
    </div>
  )
}

const LIFETIMES = ['', '30d', '90d', '365d'] as const

function Issue({ account, onClose }: { account: { id: string; name: string }; onClose(): void }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const client = useQueryClient()
  const [mode, setMode] = useState<NewToken['mode']>('test')
  const [expires, setExpires] = useState<string>('90d')
  const issue = useMutation({
    mutationFn: () => api.post<IssuedToken>(`/accounts/${account.id}/tokens`, { mode, expires } satisfies NewToken),
    onSuccess: () => client.invalidateQueries({ queryKey: tokens(account.id).queryKey }),
  })
  if (issue.data !== undefined)
    return (
      <Dialog
        open
        onClose={onClose}
        title={words.issued}
        about={words.issuedAbout}
        actions={<Button onClick={onClose}>{words.doneButton}</Button>}
      >
        <output className="block rounded-lg bg-sunken p-3 font-mono text-[0.85rem] break-all">{issue.data.token}</output>
        <CopyButton text={issue.data.token} />
      </Dialog>
    )
  return (
    <Dialog
      open
      onClose={onClose}
      title={words.issueFor(account.name)}
      actions={
        <Button look="primary" busy={issue.isPending} onClick={() => issue.mutate()}>
          {words.issue}
        </Button>
      }
    >
      <Select
        label={words.mode}
        hint={words.modeAbout}
        value={mode}
        choices={[
          { value: 'test', label: words.modes.test },
          { value: 'live', label: words.modes.live },
        ]}
        onChoose={value => setMode(value as NewToken['mode'])}
      />
      <Select
        label={words.expiresAt}
        value={expires}
        choices={LIFETIMES.map(value => ({ value, label: value === '' ? words.never : words.days(Number.parseInt(value, 10)) }))}
        onChoose={setExpires}
      />
      <FormError message={issue.error === null ? null : messageOf(issue.error, unreachable)} />
    </Dialog>
  )
}
