import { Command } from 'commander'
import { findFaults } from '../engine/record/audit.js'
import { readEventLog } from '../store/notification/event-log.js'
import { run } from './administration.js'
import type { OutputOptions } from './output.js'

export function auditCommand(): Command {
  return new Command('audit')
    .description('confere cada cadeia de eventos e refaz as situações a partir deles; termina com código 1 se algo difere')
    .option('--json', 'resultado em JSON')
    .action((options: OutputOptions) =>
      run(options, async ({ pool }) => {
        let checked = 0
        const faults: string[] = []
        for await (const page of readEventLog(pool)) {
          checked += page.length
          faults.push(...page.flatMap(findFaults))
          if (process.stderr.isTTY) process.stderr.write(`\r${checked} notificações conferidas`)
        }
        if (process.stderr.isTTY) process.stderr.write('\n')
        if (faults.length > 0) process.exitCode = 1
        if (options.json) return { checked, faults }
        return [...faults, `${checked} notificações conferidas, ${faults.length} diferenças`].join('\n')
      }),
    )
}
