import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { OperatorError } from '../../domain/errors.js'
import { checkActionLog } from '../../engine/record/action-log.js'
import { auditLog } from '../../evidence/log-audit.js'
import { readVerifier } from '../../evidence/note.js'
import { findFaults } from '../../evidence/notification-faults.js'
import { readUnloggedEvents } from '../../store/evidence/log-leaves.js'
import { readEventLog } from '../../store/notification/event-log.js'
import type { Pool } from '../../store/postgres.js'
import { run } from '../administration.js'
import type { OutputOptions } from '../output.js'
import { showLine } from '../progress.js'

interface AuditOptions extends OutputOptions {
  checkpoint?: string[]
  key?: string
}

/** A worker appends within seconds; a slow one may need longer. */
const LOGGED_WITHIN_MS = 60_000

export function auditCommand(): Command {
  return new Command('audit')
    .description(
      'confere cada cadeia de eventos, refaz as situações a partir deles, confere o registro de ações administrativas e compara o dos eventos com os checkpoints; termina com código 1 se algo difere',
    )
    .option(
      '--checkpoint <arquivos...>',
      'arquivos com checkpoints que saíram do servidor: só eles revelam uma história reescrita por inteiro',
    )
    .option('--key <chave>', 'chave pública do registro, como foi anotada (nome+número+chave); sem ela, a do banco')
    .option('--json', 'resultado em JSON')
    .action((options: AuditOptions) => {
      // Before the database is opened: a wrong name is told at once.
      const files = (options.checkpoint ?? []).map(readArchive)
      const key = options.key?.trim() ?? null
      if (key !== null && readVerifier(key)?.kind !== 'log')
        throw new OperatorError(
          '--key deve ser a chave pública do registro, na forma nome+número+chave que "carteiro audit" mostra.',
        )
      return run(options, async ({ pool }) => {
        const show = showLine()
        const { checked, faults } = await auditChains(pool, text => show(() => text))
        const log = await auditLog(pool, {
          files,
          key,
          onProgress: (leaves, size) => show(() => `${leaves} de ${size} eventos do registro conferidos`),
        })
        show(null)
        const actions = await checkActionLog(pool)
        const broken = actions.fault
        const ownFaults = broken === null ? [] : [`registro de ações: cadeia rompida na linha ${broken.id} (${broken.fault})`]
        const all = [...faults, ...log.faults, ...ownFaults]
        if (all.length > 0) process.exitCode = 1
        if (options.json)
          return { checked, actions: actions.checked, faults: all, log: { size: log.size, key: log.key, compared: log.compared } }
        const compared =
          log.compared > 0
            ? `${log.compared} checkpoints de fora comparados`
            : 'nenhum checkpoint de fora comparado (use --checkpoint)'
        return [
          ...all,
          ...(log.key === null ? [] : [`chave do registro: ${log.key}`]),
          `${checked} notificações, ${log.size} eventos do registro e ${actions.checked} ações administrativas conferidos, ${compared}, ${all.length} diferenças`,
        ].join('\n')
      })
    })
}

async function auditChains(pool: Pool, show: (text: string) => void): Promise<{ checked: number; faults: string[] }> {
  let checked = 0
  const faults: string[] = []
  for await (const page of readEventLog(pool)) {
    checked += page.length
    faults.push(...page.flatMap(findFaults))
    const unlogged = await readUnloggedEvents(
      pool,
      page.map(({ id }) => id),
      LOGGED_WITHIN_MS,
    )
    faults.push(
      ...unlogged.map(
        ({ notification, seq }) =>
          `${notification}: o evento ${seq} não está no registro. Se o worker estava parado, inicie-o e confira de novo`,
      ),
    )
    show(`${checked} notificações conferidas`)
  }
  return { checked, faults }
}

function readArchive(name: string): { name: string; text: string } {
  try {
    return { name, text: readFileSync(name, 'utf8') }
  } catch (cause) {
    throw new OperatorError(`Não foi possível ler ${name} (${(cause as NodeJS.ErrnoException).code ?? 'erro'}).`, { cause })
  }
}
