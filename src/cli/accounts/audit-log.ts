import { Command } from 'commander'
import { listAudit } from '../../store/audit.js'
import { run } from '../administration.js'
import { readLimit, readMoment } from '../options.js'
import { cutList, type OutputOptions } from '../output.js'

interface AuditLogOptions extends OutputOptions {
  since?: Date
  until?: Date
  actor?: string
  action?: string
  limit: number
}

/** Reads what `audit` checks: who did what to accounts, tokens, settings and deliveries, and when. */
export function auditLogCommand(): Command {
  return new Command('audit-log')
    .description('lista as ações administrativas: quem fez o quê, quando; a mais nova primeiro')
    .option('--since <momento>', 'desde este momento, como "18/07/2026 01:01:32"', readMoment)
    .option('--until <momento>', 'até este momento, sem ele', readMoment)
    .option('--actor <autor>', 'só as deste autor, como a lista o mostra: command:usuário, operator:e-mail')
    .option('--action <ação>', 'só esta ação ("token issue"), ou todas as de um assunto ("token")')
    .option('--limit <n>', 'quantas no máximo', readLimit, 100)
    .option('--json', 'resultado em JSON, com os hashes da cadeia')
    .action((options: AuditLogOptions) =>
      run(options, async ({ pool }) => {
        const found = await listAudit(pool, { ...options, limit: options.limit + 1 })
        const entries = cutList(found, options.limit, 'as mais novas').map(
          ({ id, at, actor, action, subject, detail, prev, hash }) => ({
            id,
            at: new Date(at),
            actor,
            action,
            target: subject,
            detail,
            ...(options.json ? { prev, hash } : {}),
          }),
        )
        return [entries, 'Nenhuma ação. Amplie --since e --until, ou retire --actor e --action.']
      }),
    )
}
