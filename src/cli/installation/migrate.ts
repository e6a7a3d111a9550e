import { Command } from 'commander'
import { run } from '../administration.js'
import type { OutputOptions } from '../output.js'

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('atualiza o esquema do banco de dados (o start também faz isso)')
    .option('--json', 'resultado em JSON')
    .action((options: OutputOptions) =>
      run(options, async ({ migrations }) => {
        if (options.json) return { applied: migrations }
        return migrations.length === 0 ? 'O esquema já está em dia.' : migrations.join('\n')
      }),
    )
}
