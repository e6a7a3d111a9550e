import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { Me } from '../../../src/http/console/access/sign-in-schema.js'
import type { Installation } from '../../../src/http/console/installation-schema.js'
import type { ShownNotification, Verification } from '../../../src/http/console/notifications/notification-schema.js'
import type { NotificationsPage, NotificationsQuery } from '../../../src/http/console/notifications/notifications-schema.js'
import type { Overview, OverviewQuery } from '../../../src/http/console/operation/overview-schema.js'
import type { ComposeForm } from '../../../src/http/console/sending/compose-schema.js'
import type { Sequence } from '../../../src/http/console/sending/sequence-schema.js'
import type { TemplateDetail, TemplatesPage, TemplateVersionWire } from '../../../src/http/console/sending/templates-schema.js'
import type {
  SimulatedInbox,
  SimulatedMessage,
  Simulator,
  SimulatorQuery,
} from '../../../src/http/console/simulator/simulator-schema.js'
import type { OneAccount } from '../app/installation.js'
import { api } from './client.js'

/**
 * What the screens ask for. The first part of a key says what is asked again when something changes:
 * `live` after every event of the stream, `fixed` only after an act of this person.
 */
export const installation = queryOptions({
  queryKey: ['fixed', 'installation'],
  queryFn: ({ signal }) => api.get<Installation>('/installation', {}, signal),
  staleTime: 60_000,
})

export const me = queryOptions({
  queryKey: ['fixed', 'me'],
  queryFn: ({ signal }) => api.get<Me>('/me', {}, signal),
})

export const overview = (query: OverviewQuery) =>
  queryOptions({
    queryKey: ['live', 'overview', query],
    queryFn: ({ signal }) => api.get<Overview>('/overview', query, signal),
    placeholderData: keepPreviousData,
  })

export const notifications = (query: Omit<NotificationsQuery, 'cursor'>) =>
  infiniteQueryOptions({
    queryKey: ['live', 'notifications', query],
    queryFn: ({ signal, pageParam }) => api.get<NotificationsPage>('/notifications', { ...query, cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: (page: NotificationsPage) => page.cursor,
    placeholderData: keepPreviousData,
  })

export const notification = (id: string) =>
  queryOptions({
    queryKey: ['live', 'notification', id],
    queryFn: ({ signal }) => api.get<ShownNotification>(`/notifications/${id}`, {}, signal),
  })

export const notificationStatus = (id: string) =>
  queryOptions({
    queryKey: ['live', 'notification', id, 'status'],
    queryFn: ({ signal }) => api.get<object>(`/notifications/${id}/status`, {}, signal),
  })

/** Makes the documents and signs them: only when somebody looks. */
export const verification = (id: string) =>
  queryOptions({
    queryKey: ['fixed', 'verification', id],
    queryFn: ({ signal }) => api.get<Verification>(`/notifications/${id}/verification`, {}, signal),
    staleTime: 60_000,
  })

export const simulator = queryOptions({
  queryKey: ['live', 'simulator'],
  queryFn: ({ signal }) => api.get<Simulator>('/simulator', {}, signal),
})

/** The simulator's own acts are no events of the gateway: the inbox is asked for again by itself. */
const SIMULATOR_EVERY_MS = 3_000

export const simulatorInbox = (query: SimulatorQuery) =>
  queryOptions({
    queryKey: ['live', 'simulator', 'messages', query],
    queryFn: ({ signal }) => api.get<SimulatedInbox>('/simulator/messages', query, signal),
    refetchInterval: SIMULATOR_EVERY_MS,
    placeholderData: keepPreviousData,
  })

export const simulatorMessage = (id: string) =>
  queryOptions({
    queryKey: ['live', 'simulator', 'message', id],
    queryFn: ({ signal }) => api.get<SimulatedMessage>(`/simulator/messages/${id}`, {}, signal),
    refetchInterval: SIMULATOR_EVERY_MS,
  })

/** A form asks for the stored state at every visit: a person who comes back at once must not save an older state over a colleague's. */
const EDITED = { staleTime: 0 }

export const sequence = ({ account }: OneAccount) =>
  queryOptions({
    queryKey: ['fixed', 'sequence', account],
    queryFn: ({ signal }) => api.get<Sequence>('/sequence', { account }, signal),
    ...EDITED,
  })

export const templates = (query: OneAccount & { channel?: string }) =>
  infiniteQueryOptions({
    queryKey: ['fixed', 'templates', query],
    queryFn: ({ signal, pageParam }) => api.get<TemplatesPage>('/templates', { ...query, cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: (page: TemplatesPage) => page.cursor,
    placeholderData: keepPreviousData,
  })

export const template = (id: string, scope: OneAccount) =>
  queryOptions({
    queryKey: ['fixed', 'template', id, scope],
    queryFn: ({ signal }) => api.get<TemplateDetail>(`/templates/${id}`, { ...scope }, signal),
    ...EDITED,
  })

/** A version never changes. */
export const templateVersion = (id: string, version: number, scope: OneAccount) =>
  queryOptions({
    queryKey: ['fixed', 'template-version', id, version, scope],
    queryFn: ({ signal }) => api.get<TemplateVersionWire>(`/templates/${id}/versions/${version}`, { ...scope }, signal),
    staleTime: Number.POSITIVE_INFINITY,
  })

export const composeForm = ({ account }: OneAccount) =>
  queryOptions({
    queryKey: ['fixed', 'compose', account],
    queryFn: ({ signal }) => api.get<ComposeForm>('/compose', { account }, signal),
  })
