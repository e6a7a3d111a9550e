import { Command, CommanderError } from 'commander'
import { loadEnvFile } from '../app/process/env-file.js'
import { readVersion } from '../app/version.js'
import { channelModules } from '../channels/registry.js'
import { FileDamaged, FilesUnavailable, OperatorError, Refusal, StoreUnavailable } from '../domain/errors.js'
import { speakPortuguese } from './portuguese.js'

/** A command is loaded only when it is named: listing an address must not wait for the whole gateway. */
const verbs: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import('./start.js')).startCommand(),
  migrate: async () => (await import('./migrate.js')).migrateCommand(),
  account: async () => (await import('./account.js')).accountCommand(),
  token: async () => (await import('./token.js')).tokenCommand(),
  address: async () => (await import('./address.js')).addressCommand(),
  template: async () => (await import('./template.js')).templateCommand(),
  suppression: async () => (await import('./suppression.js')).suppressionCommand(),
  person: async () => (await import('./person.js')).personCommand(),
  'legal-hold': async () => (await import('./legal-hold.js')).legalHoldCommand(),
  month: async () => (await import('./month.js')).monthCommand(),
  send: async () => (await import('./send.js')).sendCommand(),
  status: async () => (await import('./follow.js')).statusCommand(),
  list: async () => (await import('./follow.js')).listCommand(),
  events: async () => (await import('./follow.js')).eventsCommand(),
  finalize: async () => (await import('./follow.js')).finalizeCommand(),
  retry: async () => (await import('./queue.js')).retryCommand(),
  price: async () => (await import('./price.js')).priceCommand(),
  usage: async () => (await import('./usage.js')).usageCommand(),
  queue: async () => (await import('./queue.js')).queueCommand(),
  hold: async () => (await import('./hold.js')).holdCommand(),
  resume: async () => (await import('./hold.js')).resumeCommand(),
  restored: async () => (await import('./restored.js')).restoredCommand(),
  webhook: async () => (await import('./webhook.js')).webhookCommand(),
  'send-bulk': async () => (await import('./send-bulk.js')).sendBulkCommand(),
  listen: async () => (await import('./listen.js')).listenCommand(),
  simulate: async () => (await import('../../simulator/main.js')).simulateCommand(),
  operator: async () => (await import('./operator.js')).operatorCommand(),
  backup: async () => (await import('./backup.js')).backupCommand(),
  restore: async () => (await import('./backup.js')).restoreCommand(),
  files: async () => (await import('./files.js')).filesCommand(),
  'rotate-master-key': async () => (await import('./rotate-master-key.js')).rotateMasterKeyCommand(),
  evidence: async () => (await import('./evidence.js')).evidenceCommand(),
  'sent-message': async () => (await import('./sent-message.js')).sentMessageCommand(),
  verify: async () => (await import('./verify.js')).verifyCommand(),
  audit: async () => (await import('./audit.js')).auditCommand(),
  'audit-log': async () => (await import('./audit-log.js')).auditLogCommand(),
  doctor: async () => (await import('./doctor.js')).doctorCommand(),
  completion: async () => (await import('./completion.js')).completionCommand(() => buildProgram([])),
  ...Object.fromEntries(
    channelModules
      .flatMap(({ commands = [] }) => commands)
      .map(({ name, load }) => [name, async () => load((await import('./administration.js')).commandContext)]),
  ),
}

/** The program with the commands that these arguments can mean. */
export async function buildProgram(args: readonly string[]): Promise<Command> {
  const program = new Command('carteiro').description(
    `Gateway de notificações: ${channelModules.map(({ label }) => label).join(', ')}`,
  )
  const name = args[0] ?? ''
  program.version(readVersion(), '-V, --version', 'mostra a versão')
  const all = ['-V', '--version'].includes(name) ? [] : Object.values(verbs)
  for (const load of Object.hasOwn(verbs, name) ? [verbs[name]!] : all) program.addCommand(await load())
  speakPortuguese(program)
  throwInsteadOfExit(program)
  return program
}

/** Runs one command to its end, and resolves with its exit code. What went wrong is told on standard error. */
export async function runProgram(args: readonly string[]): Promise<number> {
  try {
    // Before the commands are loaded: they may read the environment.
    loadEnvFile('.env')
    const program = await buildProgram(args)
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
  if (error instanceof OperatorError || error instanceof Refusal || error instanceof FileDamaged) return error.message
  if (error instanceof FilesUnavailable) return `${error.message} (FILES_URL)`
  const { code, message } = (error instanceof StoreUnavailable ? error.cause : error) as { code?: string; message?: string }
  if (error instanceof StoreUnavailable || ['ECONNREFUSED', 'ENOTFOUND', 'ETIMEDOUT', '28P01', '3D000'].includes(code ?? '')) {
    return `O banco de dados não respondeu (${code ?? message}). Verifique DATABASE_URL e se o servidor está no ar.`
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
