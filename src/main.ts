import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { channelModules } from './channels/registry.js'
import { OperatorError, Refusal, StoreUnavailable } from './domain/errors.js'

if (existsSync('.env')) process.loadEnvFile('.env')

// A reader that goes away (carteiro queue list | head) is no error, and the command still closes what it has opened.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

/** A command is loaded only when it is named: listing an address must not wait for the whole gateway. */
const verbs: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import('./cli/start.js')).startCommand(),
  migrate: async () => (await import('./cli/migrate.js')).migrateCommand(),
  account: async () => (await import('./cli/account.js')).accountCommand(),
  token: async () => (await import('./cli/token.js')).tokenCommand(),
  address: async () => (await import('./cli/address.js')).addressCommand(),
  template: async () => (await import('./cli/template.js')).templateCommand(),
  suppression: async () => (await import('./cli/suppression.js')).suppressionCommand(),
  queue: async () => (await import('./cli/queue.js')).queueCommand(),
  webhook: async () => (await import('./cli/webhook.js')).webhookCommand(),
  listen: async () => (await import('./cli/listen.js')).listenCommand(),
  simulate: async () => (await import('../simulator/main.js')).simulateCommand(),
  audit: async () => (await import('./cli/audit.js')).auditCommand(),
  ...Object.fromEntries(
    channelModules
      .flatMap(({ commands = [] }) => commands)
      .map(({ name, load }) => [name, async () => load((await import('./cli/administration.js')).commandContext)]),
  ),
}

const program = new Command('carteiro').description(
  `Gateway de notificações: ${channelModules.map(({ label }) => label).join(', ')}`,
)
const name = process.argv[2] ?? ''
for (const load of Object.hasOwn(verbs, name) ? [verbs[name]!] : Object.values(verbs)) program.addCommand(await load())

try {
  await program.parseAsync()
} catch (error) {
  process.stderr.write(`${explain(error)}\n`)
  process.exitCode = 1
  // A timer or a connection that is still open must not keep a failed command alive.
  setTimeout(() => process.exit(1), 5_000).unref()
}

function explain(error: unknown): string {
  if (error instanceof OperatorError || error instanceof Refusal) return error.message
  const { code, message } = (error instanceof StoreUnavailable ? error.cause : error) as { code?: string; message?: string }
  if (error instanceof StoreUnavailable || ['ECONNREFUSED', 'ENOTFOUND', 'ETIMEDOUT', '28P01', '3D000'].includes(code ?? '')) {
    return `O banco de dados não respondeu (${code ?? message}). Verifique DATABASE_URL e se o servidor está no ar.`
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
