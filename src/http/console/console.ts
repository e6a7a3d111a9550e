import type { FastifyInstance } from 'fastify'
import { refuseRoute } from '../errors.js'
import { addAccounts } from './accounts.js'
import { addAudit } from './audit.js'
import { addBrandSamples } from './brand-samples.js'
import { addConsoleBulk, type ConsoleBulkOptions } from './bulk.js'
import { addCarriers, type CarrierOptions } from './carriers.js'
import { addCompose, type ComposeOptions } from './compose.js'
import { addInstallation, type InstallationOptions } from './installation.js'
import { addLive, type LiveOptions } from './live.js'
import { addMe } from './me.js'
import { addNotification, type OneNotificationOptions } from './notification.js'
import { addNotificationActs, type NotificationActOptions } from './notification-acts.js'
import { addNotificationFiles, type NotificationFileOptions } from './notification-files.js'
import { addNotifications, type NotificationOptions } from './notifications.js'
import { addOperations, type OperationsOptions } from './operations.js'
import { addOperators } from './operators.js'
import { addOverview } from './overview.js'
import { addConsolePages, type ConsolePageOptions } from './pages.js'
import { guardConsole } from './route.js'
import { addConsoleSequence } from './sequence.js'
import { addSignIn, type SignInOptions } from './sign-in.js'
import { addSimulator, type SimulatorOptions } from './simulator.js'
import { addConsoleTemplates, type ConsoleTemplateOptions } from './templates.js'
import { addTokens, type TokenOptions } from './tokens.js'
import { addConsoleWebhooks, type ConsoleWebhookOptions } from './webhooks.js'

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
