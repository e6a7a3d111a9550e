import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { AttemptsPage, Webhooks, WebhooksQuery } from '../../../../src/http/console/operation/webhooks-schema.js'
import { api } from '../../api/client.js'

export const webhooks = (scope: WebhooksQuery) =>
  queryOptions({
    queryKey: ['live', 'webhooks', scope],
    queryFn: ({ signal }) => api.get<Webhooks>('/webhooks', scope, signal),
    placeholderData: keepPreviousData,
    // Attempts are no events of the stream.
    refetchInterval: 5_000,
  })

export const attempts = (id: string, failed: boolean) =>
  infiniteQueryOptions({
    queryKey: ['live', 'webhooks', 'attempts', id, failed],
    queryFn: ({ signal, pageParam }) =>
      api.get<AttemptsPage>(`/webhooks/${id}/attempts`, { before: pageParam, failed: failed ? 'true' : '' }, signal),
    initialPageParam: '',
    getNextPageParam: (page: AttemptsPage) => page.cursor,
    placeholderData: keepPreviousData,
    refetchInterval: 3_000,
  })
