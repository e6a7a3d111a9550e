import { Command } from 'commander'
import { userName } from '../../app/actor.js'
import { moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { OperatorError } from '../../domain/errors.js'
import { batchStateNames } from '../../domain/send/bulk.js'
import { releaseRestored } from '../../engine/unknown/restored.js'
import { listStopped } from '../../store/bulk/batches.js'
import { countRestored, listRestored } from '../../store/delivery/restored.js'
import { listRestorations } from '../../store/home-server.js'
import { databaseClock } from '../../store/installation.js'
import { transaction } from '../../store/postgres.js'
import { audit, run, withLongTimeouts } from '../administration.js'
import { addVerb, channelOption, idReader, readLimit } from '../options.js'
import { cutList, type OutputOptions } from '../output.js'

type ListOptions = OutputOptions & { channel?: Channel; limit: number }
type ReleaseOptions = OutputOptions & { channel?: Channel; all?: boolean }

/** Multiplies the time-out of a statement to one hour. */
const TIMEOUT_FACTOR = 360

/** How many deliveries wait for a person, by channel. The count reads the events of each delivery, and an old copy may have had millions under way. */
export const countHeld = (url: string) =>
  withLongTimeouts({ url, timeoutFactor: TIMEOUT_FACTOR }, async pool =>
    (await countRestored(pool)).map(({ channel, ...row }) => ({ channel: moduleOf(channel).wire, ...row })),
  )

/** restored: what waits for a person because the database is a copy. */
export function restoredCommand(): Command {
  const restored = new Command('restored').description(
    'o que ficou retido porque o banco é uma cópia restaurada ou promovida: contagem, lista, liberação',
  )

  addVerb(restored, 'count', 'quantas entregas esperam por uma pessoa, por canal').action((options: OutputOptions) =>
    run(options, async ({ databaseUrl }) => [await countHeld(databaseUrl), 'Nada espera por causa de uma restauração.']),
  )

  addVerb(restored, 'history', 'cada vez que o banco foi reconhecido como cópia, e por quê').action((options: OutputOptions) =>
    run(options, async ({ pool }) => [
      (await listRestorations(pool)).map(restoration => ({ ...restoration })),
      'Este banco nunca foi reconhecido como cópia.',
    ]),
  )

  addVerb(restored, 'list', 'as entregas retidas, conta por conta, a mais antiga primeiro')
    .addOption(channelOption('só de um canal'))
    .option('--limit <n>', 'quantas no máximo', readLimit, 100)
    .action(({ channel, limit, ...output }: ListOptions) =>
      run(output, async ({ pool }) => {
        const question = { notification: null, channel: channel ?? null, after: null, limit: limit + 1 }
        return [
          cutList(await listRestored(pool, question), limit, 'as mais antigas').map(
            ({ notification: id, channel: name, account, mode, recipient, was, acceptedAt }) => {
              return { id, channel: moduleOf(name).wire, account, mode, recipient, was, since: acceptedAt }
            },
          ),
          'Nada espera por causa de uma restauração.',
        ]
      }),
    )

  addVerb(restored, 'batches', 'os lotes parados: os pausados, e os arquivos da pasta que podem ter saído antes').action(
    (options: OutputOptions) =>
      run(options, async ({ pool }) => [
        (await listStopped(pool)).map(({ id, account, mode, name, state, open, createdAt }) => {
          return { id, account, mode, name, state: batchStateNames[state], open, since: createdAt }
        }),
        'Nenhum lote espera por causa de uma restauração.',
      ]),
  )

  addVerb(
    restored,
    'release',
    'envia o que ficou retido: uma notificação, um canal ou tudo; uma etapa que esperava volta a esperar',
  )
    .argument('[id]', 'idEmail da notificação', idReader('Informe o idEmail da notificação (um UUID).'))
    .addOption(channelOption('só de um canal'))
    .option('--all', 'tudo')
    .action((id: string | undefined, { channel, all = false, ...output }: ReleaseOptions) => {
      if (all === (id !== undefined || channel !== undefined))
        throw new OperatorError(
          'Informe o idEmail, --channel, ou só --all para tudo. Antes, veja o que sairia com: carteiro restored list',
        )
      return run(output, async ({ pool }) => {
        const order = { notification: id ?? null, channel: channel ?? null, by: userName() }
        const [first] = await listRestored(pool, { ...order, after: null, limit: 1 })
        if (first === undefined) throw new OperatorError('Nada disto está retido. Veja o que está com: carteiro restored list')
        // It is many transactions: the order is on record before the first of them sends anything.
        await transaction(pool, db => audit(db, 'restored release', id ?? channel ?? 'all', { channel: order.channel }))
        return releaseRestored(pool, await databaseClock(pool), order)
      })
    })

  return restored
}
