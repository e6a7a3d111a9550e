import { Command, Option } from 'commander'
import { runRole } from '../../app/process/role.js'
import { supervise } from '../../app/process/supervisor.js'

type Role = 'api' | 'worker' | 'all'
type StartOptions = { role: Role; simulator?: boolean; json?: boolean; paused?: boolean }

export function startCommand(): Command {
  return new Command('start')
    .description('inicia o serviço')
    .addOption(new Option('--role <papel>', 'papel deste processo').choices(['api', 'worker', 'all']).default('all'))
    .option('--simulator', 'liga o simulador de operadoras')
    .option('--no-simulator', 'desliga o simulador de operadoras')
    .option('--paused', 'aceita envios e não envia nada até carteiro resume --all')
    .option('--json', 'mostra o que iniciou em JSON, numa linha')
    .action(async ({ role, simulator, json = false, paused = false }: StartOptions) => {
      const env = { ...process.env, ...(simulator === undefined ? {} : { SIMULATOR: simulator ? 'on' : 'off' }) }
      if (role === 'all') await supervise(env, { json, paused })
      else await runRole(role, env, { json, paused })
      // Not by running out of work: Node.js then gives its signals up first, and one that comes late would end it as a failure.
      process.exit(0)
    })
}
