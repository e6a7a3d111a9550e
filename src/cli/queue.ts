import { userInfo } from 'node:os'
import { Command, Option } from 'commander'
import { channelModules, moduleOf } from '../channels/registry.js'
import type { Channel } from '../domain/channel.js'
import { OperatorError } from '../domain/errors.js'
import { readId } from '../domain/id.js'
import { describe } from '../domain/status.js'
import { type Repair, repairDelivery, reviveRefused } from '../engine/unknown/operator-decision.js'
import { listQueue, readQueue, type UnfinishedState, unfinishedStates } from '../store/delivery/queue.js'
import { audit, requireAccount, withDatabase } from './administration.js'
import { channelOption } from './channel-option.js'
import { readMoment } from './moment.js'
import { type OutputOptions, printList, printRecord } from './output.js'

const providerNames = channelModules.flatMap(({ providers }) => Object.keys(providers))

interface ListOptions extends OutputOptions {
  state: UnfinishedState
  channel?: Channel
  account?: string
  limit: string
}

interface RetryOptions extends OutputOptions {
  channel: Channel
  carrier?: string
  since?: Date
  reason?: string
  dryRun?: boolean
}

/** queue: what is not finished, and what a person decides about it. */
export function queueCommand(): Command {
  const queue = new Command('queue').description('entregas por terminar: contagem, lista, novo envio, conferência')

  queue
    .command('count')
    .description('quantas entregas há por canal e estado, e há quantos segundos espera a mais antiga')
    .option('--json', 'resultado em JSON')
    .action((options: OutputOptions) =>
      withDatabase(async ({ pool }) => {
        const depths = await readQueue(pool)
        printList(
          depths.map(({ channel, state, count, oldestSeconds }) => ({
            channel,
            state,
            count,
            oldest: Math.round(oldestSeconds),
          })),
          options,
        )
      }),
    )

  queue
    .command('list')
    .description('as entregas em um estado, a mais antiga primeiro')
    .addOption(new Option('--state <estado>', 'estado').choices([...unfinishedStates]).default('dead'))
    .addOption(channelOption('canal'))
    .option('--account <conta>', 'nome ou id da conta')
    .option('--limit <n>', 'quantas no máximo', '100')
    .option('--json', 'resultado em JSON')
    .action((options: ListOptions) =>
      withDatabase(async ({ pool }) => {
        const limit = /^\d{1,6}$/.test(options.limit) ? Number(options.limit) : Number.NaN
        if (!(limit > 0)) throw new OperatorError('--limit deve ser um número inteiro a partir de 1.')
        const account = options.account === undefined ? null : (await requireAccount(pool, options.account)).id
        const found = await listQueue(pool, { state: options.state, channel: options.channel ?? null, account, limit })
        printList(
          found.map(delivery => ({
            id: delivery.notification,
            channel: delivery.channel,
            account: delivery.account,
            description: describe(delivery, moduleOf(delivery.channel)),
            reason: delivery.failureDetail,
            attempts: delivery.attempt,
            carrier: delivery.carrier,
            reference: delivery.reference,
            since: delivery.failedAt ?? delivery.acceptedAt,
          })),
          options,
        )
      }),
    )

  queue
    .command('retry')
    .description(
      'envia de novo o que desistiu (dead), está em verificação (uncertain, unresolved) ou foi recusado pela operadora',
    )
    .argument('[id]', 'idEmail da notificação; sem ele, tudo o que --carrier recusou desde --since')
    .addOption(channelOption('canal').makeOptionMandatory())
    .option('--carrier <nome>', `como em queue list, ou só o tipo: ${providerNames.join(', ')}`)
    .option('--since <momento>', 'recusados desde este momento: 2026-07-18T01:01:32-03:00', readMoment)
    .option('--reason <texto>', 'só aqueles cujo motivo contém o texto')
    .option('--dry-run', 'só conta')
    .option('--json', 'resultado em JSON')
    .action((id: string | undefined, options: RetryOptions) =>
      id === undefined ? retryRefused(options) : decide(id, 'retry', options),
    )
  const decision = (repair: 'sent' | 'failed', description: string): void => {
    queue
      .command(repair)
      .description(description)
      .argument('<id>', 'idEmail da notificação')
      .addOption(channelOption('canal').makeOptionMandatory())
      .option('--json', 'resultado em JSON')
      .action((id: string, options: OutputOptions & { channel: Channel }) => decide(id, repair, options))
  }
  decision('sent', 'declara enviado o que está em verificação, conferido com a operadora')
  decision('failed', 'declara não enviado o que está em verificação, conferido com a operadora')
  return queue
}

async function decide(text: string, repair: Repair, options: OutputOptions & { channel: Channel }): Promise<void> {
  const notification = readId(text)
  if (notification === null) throw new OperatorError(`"${text}" não é um idEmail (um UUID).`)
  await withDatabase(async ({ pool }) => {
    const order = { notification, channel: options.channel, repair, by: userInfo().username }
    const outcome = await repairDelivery(pool, Date.now, order)
    if (outcome !== 'recorded') throw new OperatorError(explain(order.channel, repair, outcome === 'unknown'))
    await audit(pool, `queue ${repair}`, order.notification, { channel: order.channel })
    printRecord({ id: order.notification, channel: order.channel, done: repair }, options)
  })
}

async function retryRefused({ channel, carrier, since, reason, dryRun = false, ...output }: RetryOptions): Promise<void> {
  if (carrier === undefined || since === undefined) throw new OperatorError('Informe o idEmail, ou --carrier e --since.')
  await withDatabase(async ({ pool }) => {
    const question = { channel, carrier, since, reason: reason ?? null }
    const total = await reviveRefused(pool, Date.now, { ...question, by: userInfo().username, dryRun })
    if (!dryRun) await audit(pool, 'queue retry', carrier, { ...question, ...total })
    printRecord({ channel, carrier, ...total }, output)
  })
}

const explain = (channel: Channel, repair: Repair, unknown: boolean): string =>
  unknown
    ? `Não há ${moduleOf(channel).label} nesta notificação. Confira o id e o canal.`
    : `Nada a decidir: ${repair === 'retry' ? 'a entrega não desistiu, não está em verificação e não foi recusada pela operadora' : 'a entrega não está em verificação'}. Veja: carteiro queue list --state ${repair === 'retry' ? 'dead' : 'unresolved'}`
