import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { AccountDetails } from '../../../../src/http/console/access/accounts-schema.js'
import type { AuditChain, AuditPage, Operators } from '../../../../src/http/console/access/operators-schema.js'
import type { Addresses, TokensPage } from '../../../../src/http/console/access/tokens-schema.js'
import { api } from '../../api/client.js'

export const accountDetails = (id: string) =>
  queryOptions({
    queryKey: ['fixed', 'account', id],
    queryFn: ({ signal }) => api.get<AccountDetails>(`/accounts/${id}`, {}, signal),
  })

export const tokens = (account: string) =>
  infiniteQueryOptions({
    queryKey: ['fixed', 'tokens', account],
    queryFn: ({ signal, pageParam }) => api.get<TokensPage>(`/accounts/${account}/tokens`, { cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: (page: TokensPage) => page.cursor,
  })

export const addresses = (account: string) =>
  queryOptions({
    queryKey: ['fixed', 'addresses', account],
    queryFn: ({ signal }) => api.get<Addresses>(`/accounts/${account}/addresses`, {}, signal),
  })

export const operators = queryOptions({
  queryKey: ['fixed', 'operators'],
  queryFn: ({ signal }) => api.get<Operators>('/operators', {}, signal),
})

export const audit = (actor: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ['fixed', 'audit', actor],
    queryFn: ({ signal, pageParam }) => api.get<AuditPage>('/audit', { actor, cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: (page: AuditPage) => page.cursor,
    placeholderData: keepPreviousData,
  })

export const auditChain = queryOptions({
  queryKey: ['fixed', 'audit-chain'],
  // Part by part, so that no request is long; a fault ends it.
  queryFn: async ({ signal }) => {
    for (let after = ''; ; ) {
      const part = await api.get<AuditChain>('/audit/chain', { after }, signal)
      if (part.next === null) return part
      after = part.next
    }
  },
})

/** Whether the gateway accepts settings that are not saved yet: the answer is the sample itself, which a frame shows. */
export const draftCheck = (account: string, sample: string, draft: string) =>
  queryOptions({
    queryKey: ['fixed', 'draft', account, sample, draft],
    queryFn: async ({ signal }) => {
      await api.get(`/accounts/${account}/samples/${sample}`, { draft }, signal)
      return true
    },
    retry: false,
  })
