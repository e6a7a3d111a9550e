import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { accountCommand } from './cli/account.js'
import { addressCommand } from './cli/address.js'
import { auditCommand } from './cli/audit.js'
import { listenCommand } from './cli/listen.js'
import { migrateCommand } from './cli/migrate.js'
import { queueCommand } from './cli/queue.js'
import { simulateCommand } from './cli/simulate.js'
import { startCommand } from './cli/start.js'
import { templateCommand } from './cli/template.js'
import { tokenCommand } from './cli/token.js'
import { webhookCommand } from './cli/webhook.js'
import { OperatorError, Refusal, StoreUnavailable } from './domain/errors.js'

if (existsSync('.env')) process.loadEnvFile('.env')

const program = new Command('carteiro')
  .description('Gateway de notificações por e-mail, SMS, WhatsApp, voz e carta')
  .addCommand(startCommand())
  .addCommand(migrateCommand())
  .addCommand(accountCommand())
  .addCommand(tokenCommand())
  .addCommand(addressCommand())
  .addCommand(templateCommand())
  .addCommand(queueCommand())
  .addCommand(webhookCommand())
  .addCommand(listenCommand())
  .addCommand(simulateCommand())
  .addCommand(auditCommand())

try {
  await program.parseAsync()
} catch (error) {
  process.stderr.write(`${explain(error)}\n`)
  process.exitCode = 1
  // Whatever still runs must not keep a failed command alive.
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
