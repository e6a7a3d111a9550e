import { Command } from 'commander'
import { openEvidence } from '../../app/api/evidence-api.js'
import { openLog } from '../../app/log.js'
import { run } from '../administration.js'
import { idReader, required } from '../options.js'
import type { OutputOptions } from '../output.js'
import { writeWhole } from '../whole-file.js'

export function evidenceCommand(): Command {
  return new Command('evidence')
    .description('grava o pacote de evidências (ZIP) de uma notificação')
    .argument('<id>', 'o idEmail da notificação', idReader('Informe o idEmail da notificação (um UUID).'))
    .option('--out <arquivo>', 'onde gravar (sem ele, evidencia-ID.zip nesta pasta)')
    .option('--json', 'resultado em JSON')
    .action((id: string, { out = `evidencia-${id}.zip`, ...options }: OutputOptions & { out?: string }) =>
      run(options, async ({ config, keys, pool }) => {
        const { buildBundle, close } = openEvidence({ config, keys, pool, clock: Date.now, log: openLog('silent', 'command') })
        const bundle = required(await buildBundle(id).finally(close), `Não existe a notificação ${id}.`)
        await writeWhole(out, bundle.write())
        return { file: out, size: bundle.size }
      }),
    )
}
