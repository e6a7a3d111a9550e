import { QueryCache, QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Link,
  lazyRouteComponent,
  Outlet,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router'
import { Compass } from 'lucide-react'
import { ApiError } from '../api/client.js'
import { installation } from '../api/queries.js'
import { buttonClass } from '../parts/form/button.js'
import { EmptyState, ErrorState, Skeleton } from '../parts/shell/states.js'
import type { Scope } from './installation.js'
import { useWords } from './language.js'
import { Shell } from './shell.js'
import { shellWords } from './words.js'

const isSignedOut = (error: unknown): boolean => error instanceof ApiError && error.status === 401

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: error => {
      if (!isSignedOut(error) || router.state.location.pathname === '/sign-in') return
      queryClient.clear()
      void router.navigate({ to: '/sign-in', search: { next: router.state.location.href } })
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // What the gateway refused it refuses again; what did not arrive may arrive now.
      retry: (count, error) => count < 2 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 502),
    },
  },
})

const text = (value: unknown): string | undefined => {
  const read = typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : ''
  return read === '' ? undefined : read.slice(0, 300)
}

/** Texts of the address, each checked; what is not known is dropped. */
const readTexts = <const Name extends string>(search: Record<string, unknown>, names: readonly Name[]) =>
  Object.fromEntries(names.flatMap(name => (text(search[name]) === undefined ? [] : [[name, text(search[name])]]))) as {
    [N in Name]?: string
  }

const readScope = (search: Record<string, unknown>): Scope => ({
  ...(text(search.account) === undefined ? {} : { account: text(search.account)! }),
  ...(search.mode === 'test' ? { mode: 'test' as const } : {}),
})

const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({ component: Outlet })

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: search => readTexts(search, ['next']),
  component: lazyRouteComponent(() => import('../screens/sign-in/screen.js'), 'SignIn'),
})
const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: lazyRouteComponent(() => import('../screens/invitation/screen.js'), 'Invitation'),
})

const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  validateSearch: readScope,
  // The account and the mode stay chosen from screen to screen.
  search: { middlewares: [retainSearchParams(['account', 'mode'])] },
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queryClient.ensureQueryData(installation)
    } catch (error) {
      if (isSignedOut(error)) throw redirect({ to: '/sign-in', search: { next: location.href } })
      throw error
    }
  },
  component: Shell,
  errorComponent: ({ error, reset }) => (
    <div className="mx-auto max-w-lg p-6">
      <ErrorState error={error} onRetry={reset} />
    </div>
  ),
})

const overview = createRoute({
  getParentRoute: () => shell,
  path: '/',
  validateSearch: search => readTexts(search, ['period']),
  component: lazyRouteComponent(() => import('../screens/overview/screen.js'), 'OverviewScreen'),
})
const notifications = createRoute({
  getParentRoute: () => shell,
  path: '/notifications',
  validateSearch: search => readTexts(search, ['q', 'channel', 'status', 'from', 'to']),
  component: lazyRouteComponent(() => import('../screens/notifications/screen.js'), 'NotificationsScreen'),
})
const profile = createRoute({
  getParentRoute: () => shell,
  path: '/profile',
  component: lazyRouteComponent(() => import('../screens/profile/screen.js'), 'ProfileScreen'),
})

// The routes of the screens below. Each screen has a folder of its own and validates its own search parameters.
const notification = createRoute({
  getParentRoute: () => shell,
  path: '/notifications/$id',
  validateSearch: search => readTexts(search, ['tab']),
  component: lazyRouteComponent(() => import('../screens/notification/screen.js'), 'NotificationScreen'),
})
const newSend = createRoute({
  getParentRoute: () => shell,
  path: '/new',
  component: lazyRouteComponent(() => import('../screens/new/screen.js'), 'NewScreen'),
})
const bulk = createRoute({
  getParentRoute: () => shell,
  path: '/bulk',
  validateSearch: search => readTexts(search, ['id']),
  component: lazyRouteComponent(() => import('../screens/bulk/screen.js'), 'BulkScreen'),
})
const templates = createRoute({
  getParentRoute: () => shell,
  path: '/templates',
  validateSearch: search => readTexts(search, ['channel', 'id', 'tab']),
  component: lazyRouteComponent(() => import('../screens/templates/screen.js'), 'TemplatesScreen'),
})
const sequence = createRoute({
  getParentRoute: () => shell,
  path: '/sequence',
  component: lazyRouteComponent(() => import('../screens/sequence/screen.js'), 'SequenceScreen'),
})
const webhooks = createRoute({
  getParentRoute: () => shell,
  path: '/webhooks',
  validateSearch: search => readTexts(search, ['id']),
  component: lazyRouteComponent(() => import('../screens/webhooks/screen.js'), 'WebhooksScreen'),
})
const carriers = createRoute({
  getParentRoute: () => shell,
  path: '/carriers',
  validateSearch: search => readTexts(search, ['tab']),
  component: lazyRouteComponent(() => import('../screens/carriers/screen.js'), 'CarriersScreen'),
})
const simulator = createRoute({
  getParentRoute: () => shell,
  path: '/simulator',
  validateSearch: search => readTexts(search, ['tab', 'message', 'to', 'channel', 'notification']),
  component: lazyRouteComponent(() => import('../screens/simulator/screen.js'), 'SimulatorScreen'),
})
const access = createRoute({
  getParentRoute: () => shell,
  path: '/access',
  validateSearch: search => readTexts(search, ['tab', 'actor']),
  component: lazyRouteComponent(() => import('../screens/access/screen.js'), 'AccessScreen'),
})
const operations = createRoute({
  getParentRoute: () => shell,
  path: '/operations',
  validateSearch: search => readTexts(search, ['tab', 'state', 'channel', 'recipient']),
  component: lazyRouteComponent(() => import('../screens/operations/screen.js'), 'OperationsScreen'),
})

function Lost() {
  const words = useWords(shellWords)
  return (
    <EmptyState
      icon={Compass}
      title={words.lost}
      action={
        <Link to="/" className={buttonClass('primary')}>
          {words.home}
        </Link>
      }
    >
      {words.lostAbout}
    </EmptyState>
  )
}

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    invitation,
    shell.addChildren([
      overview,
      notifications,
      notification,
      newSend,
      bulk,
      templates,
      sequence,
      webhooks,
      carriers,
      simulator,
      access,
      operations,
      profile,
    ]),
  ]),
  basepath: '/console',
  context: { queryClient },
  defaultPreload: 'intent',
  defaultPendingComponent: () => <Skeleton />,
  defaultErrorComponent: ({ error, reset }) => (
    <div className="mx-auto w-full max-w-lg p-6">
      <ErrorState error={error} onRetry={reset} />
    </div>
  ),
  defaultNotFoundComponent: Lost,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
