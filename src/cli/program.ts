import { Command, CommanderError } from 'commander'
import { explainStoreFault } from '../app/database/store-fault.js'
import { loadEnvFile } from '../app/process/env-file.js'
import { readVersion } from '../app/version.js'
import { channelModules } from '../channels/registry.js'
import { FileDamaged, FilesUnavailable, OperatorError, Refusal } from '../domain/errors.js'
import { speakPortuguese } from './portuguese.js'

/** A command is loaded only when it is named: listing an address must not wait for the whole gateway. */
const verbs: Readonly<Record<string, () => Promise<Command>>> = {
  start: async () => (await import('./installation/start.js')).startCommand(),
  migrate: async () => (await import('./installation/migrate.js')).migrateCommand(),
  account: async () => (await import('./accounts/account.js')).accountCommand(),
  token: async () => (await import('./accounts/token.js')).tokenCommand(),
  address: async () => (await import('./accounts/address.js')).addressCommand(),
  template: async () => (await import('./accounts/template.js')).templateCommand(),
  suppression: async () => (await import('./accounts/suppression.js')).suppressionCommand(),
  person: async () => (await import('./accounts/person.js')).personCommand(),
  'legal-hold': async () => (await import('./accounts/legal-hold.js')).legalHoldCommand(),
  month: async () => (await import('./installation/month.js')).monthCommand(),
  send: async () => (await import('./sending/send.js')).sendCommand(),
  status: async () => (await import('./sending/follow.js')).statusCommand(),
  list: async () => (await import('./sending/follow.js')).listCommand(),
  events: async () => (await import('./sending/follow.js')).eventsCommand(),
  finalize: async () => (await import('./sending/follow.js')).finalizeCommand(),
  retry: async () => (await import('./sending/queue.js')).retryCommand(),
  price: async () => (await import('./accounts/price.js')).priceCommand(),
  usage: async () => (await import('./accounts/usage.js')).usageCommand(),
  queue: async () => (await import('./sending/queue.js')).queueCommand(),
  hold: async () => (await import('./installation/hold.js')).holdCommand(),
  resume: async () => (await import('./installation/hold.js')).resumeCommand(),
  restored: async () => (await import('./installation/restored.js')).restoredCommand(),
  webhook: async () => (await import('./sending/webhook.js')).webhookCommand(),
  'send-bulk': async () => (await import('./sending/send-bulk.js')).sendBulkCommand(),
  listen: async () => (await import('./sending/listen.js')).listenCommand(),
  simulate: async () => (await import('../../simulator/main.js')).simulateCommand(),
  operator: async () => (await import('./accounts/operator.js')).operatorCommand(),
  backup: async () => (await import('./installation/backup.js')).backupCommand(),
  restore: async () => (await import('./installation/backup.js')).restoreCommand(),
  files: async () => (await import('./installation/files.js')).filesCommand(),
  'rotate-master-key': async () => (await import('./installation/rotate-master-key.js')).rotateMasterKeyCommand(),
  evidence: async () => (await import('./proofs/evidence.js')).evidenceCommand(),
  'sent-message': async () => (await import('./proofs/sent-message.js')).sentMessageCommand(),
  verify: async () => (await import('./proofs/verify.js')).verifyCommand(),
  audit: async () => (await import('./proofs/audit.js')).auditCommand(),
  'audit-log': async () => (await import('./accounts/audit-log.js')).auditLogCommand(),
  doctor: async () => (await import('./installation/doctor.js')).doctorCommand(),
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
  const fault = explainStoreFault(error)
  if (fault !== null) return fault
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
