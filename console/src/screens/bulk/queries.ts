import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { BatchDetail, BatchesPage, BatchesQuery } from '../../../../src/http/console/sending/bulk-schema.js'
import { api } from '../../api/client.js'

/** A batch moves without an event of the stream: while it does, it is asked for by itself. */
const MOVING_MS = 1_000
const moves = (state: string | undefined): boolean => state === 'checking' || state === 'sending'

export const batches = (query: Omit<BatchesQuery, 'cursor'>) =>
  infiniteQueryOptions({
    queryKey: ['live', 'bulk', query],
    queryFn: ({ signal, pageParam }) => api.get<BatchesPage>('/bulk', { ...query, cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: (page: BatchesPage) => page.cursor,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) =>
      data?.pages.some(({ rows }) => rows.some(({ state }) => moves(state))) ? MOVING_MS : false,
  })

export const batch = (id: string) =>
  queryOptions({
    queryKey: ['live', 'bulk', 'one', id],
    queryFn: ({ signal }) => api.get<BatchDetail>(`/bulk/${id}`, {}, signal),
    refetchInterval: ({ state: { data } }) => (moves(data?.state) ? MOVING_MS : false),
  })
