import { Command, CommanderError } from 'commander'
import { channelModules } from '../channels/registry.js'
import { OperatorError, Refusal, StoreUnavailable } from '../domain/errors.js'

/** A command is loaded only when it is named: listing an address must not wait for the whole gateway. */
const verbs: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import('./start.js')).startCommand(),
  migrate: async () => (await import('./migrate.js')).migrateCommand(),
  account: async () => (await import('./account.js')).accountCommand(),
  token: async () => (await import('./token.js')).tokenCommand(),
  address: async () => (await import('./address.js')).addressCommand(),
  template: async () => (await import('./template.js')).templateCommand(),
  suppression: async () => (await import('./suppression.js')).suppressionCommand(),
  queue: async () => (await import('./queue.js')).queueCommand(),
  webhook: async () => (await import('./webhook.js')).webhookCommand(),
  listen: async () => (await import('./listen.js')).listenCommand(),
  simulate: async () => (await import('../../simulator/main.js')).simulateCommand(),
  audit: async () => (await import('./audit.js')).auditCommand(),
  ...Object.fromEntries(
    channelModules
      .flatMap(({ commands = [] }) => commands)
      .map(({ name, load }) => [name, async () => load((await import('./administration.js')).commandContext)]),
  ),
}

/** Runs one command to its end, and resolves with its exit code. What went wrong is told on standard error. */
export async function runProgram(args: readonly string[]): Promise<number> {
  const program = new Command('carteiro').description(
    `Gateway de notificações: ${channelModules.map(({ label }) => label).join(', ')}`,
  )
  const name = args[0] ?? ''
  for (const load of Object.hasOwn(verbs, name) ? [verbs[name]!] : Object.values(verbs)) program.addCommand(await load())
  throwInsteadOfExit(program)
  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // The parser has said it already.
    if (error instanceof CommanderError) return error.exitCode
    process.stderr.write(`${explain(error)}\n`)
    return 1
  }
}

function throwInsteadOfExit(command: Command): void {
  command.exitOverride()
  for (const verb of command.commands) throwInsteadOfExit(verb as Command)
}

function explain(error: unknown): string {
  if (error instanceof OperatorError || error instanceof Refusal) return error.message
  const { code, message } = (error instanceof StoreUnavailable ? error.cause : error) as { code?: string; message?: string }
  if (error instanceof StoreUnavailable || ['ECONNREFUSED', 'ENOTFOUND', 'ETIMEDOUT', '28P01', '3D000'].includes(code ?? '')) {
    return `O banco de dados não respondeu (${code ?? message}). Verifique DATABASE_URL e se o servidor está no ar.`
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
