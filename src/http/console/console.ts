import type { FastifyInstance } from 'fastify'
import { refuseRoute } from '../errors.js'
import { addAccounts } from './access/accounts.js'
import { addAudit } from './access/audit.js'
import { addBrandSamples } from './access/brand-samples.js'
import { addMe } from './access/me.js'
import { addOperators } from './access/operators.js'
import { addSignIn, type SignInOptions } from './access/sign-in.js'
import { addTokens, type TokenOptions } from './access/tokens.js'
import { addInstallation, type InstallationOptions } from './installation.js'
import { addLive, type LiveOptions } from './live.js'
import { addNotification, type OneNotificationOptions } from './notifications/notification.js'
import { addNotificationActs, type NotificationActOptions } from './notifications/notification-acts.js'
import { addNotificationFiles, type NotificationFileOptions } from './notifications/notification-files.js'
import { addNotifications, type NotificationOptions } from './notifications/notifications.js'
import { addCarriers, type CarrierOptions } from './operation/carriers.js'
import { addOperations, type OperationsOptions } from './operation/operations.js'
import { addOverview } from './operation/overview.js'
import { addConsoleWebhooks, type ConsoleWebhookOptions } from './operation/webhooks.js'
import { addConsolePages, type ConsolePageOptions } from './pages.js'
import { guardConsole } from './route.js'
import { addConsoleBulk, type ConsoleBulkOptions } from './sending/bulk.js'
import { addCompose, type ComposeOptions } from './sending/compose.js'
import { addConsoleSequence } from './sending/sequence.js'
import { addConsoleTemplates, type ConsoleTemplateOptions } from './sending/templates.js'
import { addSimulator, type SimulatorOptions } from './simulator/simulator.js'

export type ConsoleOptions = Omit<SignInOptions & TokenOptions, 'publicUrl'> &
  InstallationOptions &
  NotificationOptions &
  ConsoleBulkOptions &
  OneNotificationOptions &
  NotificationActOptions &
  NotificationFileOptions &
  SimulatorOptions &
  ConsoleTemplateOptions &
  ComposeOptions &
  LiveOptions &
  ConsoleWebhookOptions &
  OperationsOptions &
  CarrierOptions &
  ConsolePageOptions

/** The console: its pages, and the API that only they use. */
export function addConsole(app: FastifyInstance, options: ConsoleOptions): void {
  addConsolePages(app, options)
  app.register(async scope => {
    const session = { ...options, publicUrl: options.publicUrl() }
    guardConsole(scope, session)
    addSignIn(scope, session)
    addMe(scope, session)
    addInstallation(scope, options)
    addOverview(scope, options)
    addNotifications(scope, options)
    addNotification(scope, options)
    addNotificationActs(scope, options)
    addNotificationFiles(scope, options)
    addSimulator(scope, options)
    addConsoleWebhooks(scope, options)
    addOperations(scope, options)
    addCarriers(scope, options)
    addConsoleBulk(scope, { ...options, ...session })
    addCompose(scope, { ...options, ...session })
    addConsoleTemplates(scope, options)
    addConsoleSequence(scope, options)
    addLive(scope, options)
    addAccounts(scope, options)
    addBrandSamples(scope, options)
    addTokens(scope, session)
    addOperators(scope, options)
    addAudit(scope, options)
    // An unknown route is for those who are signed in to know of.
    scope.all('/console/api/*', { config: { allows: ['operator', 'sender', 'auditor'] }, schema: { hide: true } }, refuseRoute)
  })
}
