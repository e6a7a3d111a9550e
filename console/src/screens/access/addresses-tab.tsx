import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { MapPin } from 'lucide-react'
import { useState } from 'react'
import type { NewAddress } from '../../../../src/http/console/access/tokens-schema.js'
import { api } from '../../api/client.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { Table } from '../../parts/data/table.js'
import { Button } from '../../parts/form/button.js'
import { TextField } from '../../parts/form/field.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, messageOf, Skeleton } from '../../parts/shell/states.js'
import { partWords } from '../../parts/words.js'
import { addresses } from './queries.js'
import { words as screenWords } from './words.js'

export function AddressesTab({ account, mayChange }: { account: string; mayChange: boolean }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const client = useQueryClient()
  const { data, error, refetch } = useQuery(addresses(account))
  const [range, setRange] = useState('')
  const settled = { onSettled: () => client.invalidateQueries({ queryKey: addresses(account).queryKey }) }
  const add = useMutation({
    mutationFn: (wanted: string) => api.post(`/accounts/${account}/addresses`, { range: wanted } satisfies NewAddress),
    onSuccess: () => setRange(''),
    ...settled,
  })
  const remove = useMutation({
    mutationFn: (unwanted: string) => api.delete(`/accounts/${account}/addresses?range=${encodeURIComponent(unwanted)}`),
    ...settled,
  })
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />
  if (data === undefined) return <Skeleton />
  const { ranges, yours } = data
  const failed = add.error ?? remove.error
  return (
    <div className="flex flex-col gap-4">
      <p className="text-muted">{words.addressesAbout}</p>
      <Card>
        <div className="flex flex-wrap items-center gap-3">
          <span>
            {words.yourAddress} <strong className="font-mono">{yours.address}</strong>
          </span>
          <Badge tone={yours.isRegistered ? 'good' : 'quiet'}>
            {yours.isRegistered ? words.registered : words.notRegistered}
          </Badge>
          {mayChange && !yours.isRegistered && (
            <Button size="small" busy={add.isPending} onClick={() => add.mutate(yours.address)}>
              {words.registerYours}
            </Button>
          )}
        </div>
        {mayChange && (
          <form
            className="mt-4 flex flex-wrap items-end gap-3"
            onSubmit={event => {
              event.preventDefault()
              add.mutate(range)
            }}
          >
            <TextField
              label={words.range}
              className="min-w-56 grow"
              placeholder="203.0.113.0/24"
              required
              value={range}
              onChange={event => setRange(event.target.value)}
            />
            <Button look="primary" type="submit" busy={add.isPending}>
              {words.register}
            </Button>
          </form>
        )}
        <div className="mt-3 empty:hidden">
          <FormError message={failed === null ? null : messageOf(failed, unreachable)} />
        </div>
      </Card>
      <Table
        label={words.addresses}
        rows={ranges}
        keyOf={row => row}
        empty={
          <EmptyState icon={MapPin} title={words.noAddresses}>
            {words.noAddressesAbout}
          </EmptyState>
        }
        columns={[
          { name: 'range', head: words.range, cell: row => <span className="font-mono break-all">{row}</span> },
          {
            name: 'remove',
            head: <span className="sr-only">{words.acts}</span>,
            number: true,
            cell: row =>
              mayChange ? (
                <Button
                  size="small"
                  look="danger"
                  busy={remove.isPending && remove.variables === row}
                  onClick={() => remove.mutate(row)}
                >
                  {words.remove}
                </Button>
              ) : null,
          },
        ]}
      />
    </div>
  )
}
