import { Command, CommanderError } from 'commander'
import { examine, type Finding, type Health } from '../../app/doctor.js'
import { withDatabase } from '../administration.js'
import { type OutputOptions, print } from '../output.js'

const marks: Readonly<Record<Health, string>> = { ok: 'certo   ', warn: 'atenção ', bad: 'FALHA   ' }

/** Exits with 1 where something fails: a monitor can call it. */
export const doctorCommand = (): Command =>
  new Command('doctor')
    .description(
      'confere configurações, banco, relógio, disco, FILES_URL, operadoras, DNS, PUBLIC_URL, certificados e checkpoints; não envia nada',
    )
    .option('--json', 'resultado em JSON')
    .action(({ json }: OutputOptions) =>
      withDatabase(async parts => {
        const findings: Finding[] = []
        for await (const finding of examine(parts)) {
          findings.push(finding)
          if (!json) print(describe(finding))
        }
        if (json) print(JSON.stringify(findings))
        const failures = findings.filter(({ state }) => state === 'bad').length
        if (failures > 0) throw new CommanderError(1, 'carteiro.doctor', `${failures}`)
      }),
    )

const describe = ({ name, state, found, advice }: Finding): string =>
  `${marks[state]}${name}: ${found}${advice === null ? '' : `\n        → ${advice}`}`
