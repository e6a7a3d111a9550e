import { Command } from 'commander'
import { readConfig } from '../app/config.js'
import { openDatabase, openRolePool, prepareDatabase } from '../app/database.js'
import { loadKeys } from '../app/keys.js'
import { openLog } from '../app/log.js'
import { type OutputOptions, print } from './output.js'

export function migrateCommand(): Command {
  return new Command('migrate')
    .description('atualiza o esquema do banco de dados (o start também faz isso)')
    .option('--json', 'resultado em JSON')
    .action(async (options: OutputOptions) => {
      const config = readConfig(process.env)
      const database = await openDatabase(config, false)
      const pool = openRolePool(config, database.url, openLog('silent', 'command'))
      try {
        const migrations = await prepareDatabase(pool, loadKeys(config))
        if (options.json) print(JSON.stringify({ applied: migrations }))
        else print(migrations.length === 0 ? 'O esquema já está em dia.' : migrations.join('\n'))
      } finally {
        await pool.end()
        await database.close()
      }
    })
}
