import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import { actor } from '../../app/actor.js'
import { readConfig } from '../../app/config.js'
import { openDatabase, prepareDatabase } from '../../app/database/database.js'
import { adoptNextKey, loadKeys, makeNextKey } from '../../app/database/keys.js'
import { rotateMasterKey } from '../../app/database/master-key-rotation.js'
import { openLog } from '../../app/log.js'
import { OperatorError } from '../../domain/errors.js'
import { mayRewriteHistory } from '../../store/application-role.js'
import { openPool } from '../../store/postgres.js'
import { required } from '../options.js'
import { type OutputOptions, printRecord } from '../output.js'

/** How long running nodes are given to read the new key, before it counts and before its last pass. */
const WAIT_SECONDS = 3

export const rotateMasterKeyCommand = (): Command =>
  new Command('rotate-master-key')
    .description(
      'troca a chave mestra: cifra de novo, com a chave nova, todos os segredos do banco; tokens e links continuam valendo',
    )
    .option('--wait <segundos>', 'quanto os nós em execução têm para ler a chave nova', readSeconds, WAIT_SECONDS)
    .option('--json', 'resultado em JSON')
    .action(async ({ wait, ...options }: OutputOptions & { wait: number }) => {
      const config = readConfig(process.env)
      const database = await openDatabase(config, false, openLog('silent', 'command'))
      const owner = openPool({ url: database.ownerUrl, size: 1, asOwner: true, onError: () => {} })
      try {
        const { keys } = await prepareDatabase(database, (isNew, fingerprint) => loadKeys(config, isNew, fingerprint))
        if (!(await mayRewriteHistory(owner)))
          throw new OperatorError('Só o dono das tabelas pode trocar a chave: defina DATABASE_OWNER_URL para este comando.')
        const next = makeNextKey(config)
        await sleep(wait * 1_000)
        const order = { keys, next, actor: actor() }
        const first = await rotateMasterKey(owner, order)
        await sleep(wait * 1_000)
        // What a node sealed in the last moment before it noticed.
        const last = await rotateMasterKey(owner, order)
        adoptNextKey(config, next)
        const { fingerprint } = first
        printRecord({ fingerprint, previous: keys.fingerprint, resealed: first.resealed + last.resealed }, options)
      } finally {
        await owner.end()
        await database.close()
      }
    })

const readSeconds = (text: string): number =>
  required(/^\d{1,3}$/.test(text) ? Number(text) : null, '--wait deve ser um número inteiro de segundos, até 999.')
