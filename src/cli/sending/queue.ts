import { Command, Option } from 'commander'
import { userName } from '../../app/actor.js'
import { moduleOf, providerNames } from '../../channels/registry.js'
import type { Mode } from '../../domain/access/token.js'
import type { Channel } from '../../domain/channel.js'
import { describe } from '../../domain/delivery/status.js'
import { OperatorError } from '../../domain/errors.js'
import { readId } from '../../domain/id.js'
import { type Repair, repairDelivery, reviveRefused } from '../../engine/unknown/operator-decision.js'
import { listQueue, type UnfinishedState, unfinishedStates } from '../../store/delivery/queue.js'
import { countQueue } from '../../store/delivery/queue-depth.js'
import { databaseClock } from '../../store/installation.js'
import { transaction } from '../../store/postgres.js'
import { audit, requireAccount, run } from '../administration.js'
import { addVerb, channelOption, modeOption, readLimit, readMoment, required } from '../options.js'
import { cutList, type OutputOptions } from '../output.js'

type ListOptions = OutputOptions & {
  state: UnfinishedState
  channel?: Channel | null
  mode?: Mode | null
  account?: string
  limit: number
}
type DecisionOptions = OutputOptions & { channel: Channel }
type RetryOptions = DecisionOptions & { carrier?: string; since?: Date; reason?: string | null; dryRun?: boolean }

/** queue: the deliveries that are not finished, and the decisions of a person about them. */
export function queueCommand(): Command {
  const queue = new Command('queue').description('entregas por terminar: contagem, lista, novo envio, conferência')

  addVerb(queue, 'count', 'quantas entregas há por canal, modo e estado, e há quantos segundos espera a mais antiga').action(
    (options: OutputOptions) =>
      run(options, async ({ pool }) => [
        (await countQueue(pool)).map(({ channel, mode, state, count, oldestSeconds }) => {
          return { channel: moduleOf(channel).wire, mode, state, count, oldest: Math.round(oldestSeconds) }
        }),
        'Nenhuma entrega por terminar.',
      ]),
  )

  addVerb(queue, 'list', 'as entregas em um estado, a mais antiga primeiro')
    .addOption(new Option('--state <estado>', 'estado').choices([...unfinishedStates]).default('dead'))
    .addOption(channelOption('canal'))
    .addOption(modeOption('só de um modo'))
    .option('--account <conta>', 'nome ou id da conta')
    .option('--limit <n>', 'quantas no máximo', readLimit, 100)
    .action(({ state, channel = null, mode = null, account: name, limit, ...output }: ListOptions) =>
      run(output, async ({ pool }) => {
        const account = name === undefined ? null : (await requireAccount(pool, name)).id
        const all = await listQueue(pool, { state, channel, mode, account, limit: limit + 1 })
        const found = cutList(all, limit, 'as mais antigas').map(delivery => ({
          id: delivery.notification,
          channel: moduleOf(delivery.channel).wire,
          account: delivery.account,
          mode: delivery.mode,
          description: describe(delivery, moduleOf(delivery.channel)),
          reason: delivery.failureDetail,
          attempts: delivery.attempt,
          carrier: delivery.carrier,
          reference: delivery.reference,
          since: delivery.failedAt ?? delivery.acceptedAt,
        }))
        return [found, `Nenhuma entrega no estado ${state}. Veja quantas há em cada estado com: carteiro queue count`]
      }),
    )

  queue.addCommand(retryCommand())
  for (const [decision, word] of [
    ['sent', 'enviado'],
    ['failed', 'não enviado'],
  ] as const) {
    addVerb(queue, decision, `declara ${word} o que está em verificação, conferido com a operadora`)
      .argument('<id>', 'idEmail da notificação', requireNotification)
      .addOption(channelOption('canal').makeOptionMandatory())
      .action((id: string, options: DecisionOptions) => decide(id, decision, options))
  }
  return queue
}

/** Known by two names: `queue retry` and `retry`. */
export const retryCommand = (): Command =>
  new Command('retry')
    .description(
      'envia de novo o que desistiu (dead), está em verificação (uncertain, unresolved) ou foi recusado pela operadora',
    )
    .option('--json', 'resultado em JSON')
    .argument('[id]', 'idEmail da notificação; sem ele, tudo o que --carrier recusou desde --since', requireNotification)
    .addOption(channelOption('canal').makeOptionMandatory())
    .option('--carrier <nome>', `como em queue list, ou só o tipo: ${providerNames.join(', ')}`)
    .option('--since <momento>', 'recusados desde este momento: "18/07/2026 01:01:32" (Brasília)', readMoment)
    .option('--reason <texto>', 'só aqueles cujo motivo contém o texto')
    .option('--dry-run', 'só conta')
    .action((id: string | undefined, options: RetryOptions) => (id === undefined ? retryRefused(options) : retryOne(id, options)))

const requireNotification = (text: string): string => required(readId(text), `"${text}" não é um idEmail (um UUID).`)

function retryOne(id: string, { carrier, since, reason, dryRun, ...options }: RetryOptions): Promise<void> {
  const given = Object.entries({ '--carrier': carrier, '--since': since, '--reason': reason, '--dry-run': dryRun })
  const ignored = given.filter(([, value]) => value !== undefined).map(([name]) => name)
  if (ignored.length > 0) throw new OperatorError(`${ignored.join(', ')}: valem só sem idEmail. Nada foi enviado de novo.`)
  return decide(id, 'retry', options)
}

const decide = (notification: string, repair: Repair, { channel, ...output }: DecisionOptions): Promise<void> =>
  run(output, async ({ pool }) => {
    const clock = await databaseClock(pool)
    const order = { notification, channel, repair, by: userName() }
    const outcome = await repairDelivery(pool, clock, order, db => audit(db, `queue ${repair}`, notification, { channel }))
    if (outcome !== 'recorded') throw new OperatorError(explain(channel, repair, outcome === 'unknown'))
    return { id: notification, channel: moduleOf(channel).wire, done: repair }
  })

function retryRefused({ channel, carrier, since, reason = null, dryRun = false, ...output }: RetryOptions): Promise<void> {
  if (carrier === undefined || since === undefined) throw new OperatorError('Informe o idEmail, ou --carrier e --since.')
  return run(output, async ({ pool }) => {
    const question = { channel, carrier, since, reason }
    const [clock, by] = [await databaseClock(pool), userName()]
    let total = await reviveRefused(pool, clock, { ...question, by, dryRun: true })
    if (!dryRun && total.found > 0) {
      // It is many transactions: the order is on record before the first of them sends anything.
      await transaction(pool, db => audit(db, 'queue retry', carrier, { ...question, found: total.found }))
      total = await reviveRefused(pool, clock, { ...question, by, dryRun })
    }
    return { channel: moduleOf(channel).wire, carrier, ...total }
  })
}

function explain(channel: Channel, repair: Repair, unknown: boolean): string {
  if (unknown) return `Não há ${moduleOf(channel).label} nesta notificação. Confira o id e o canal.`
  const [reason, state] =
    repair === 'retry'
      ? ['a entrega não desistiu, não está em verificação e não foi recusada pela operadora', 'dead']
      : ['a entrega não está em verificação', 'unresolved']
  return `Nada a decidir: ${reason}. Veja: carteiro queue list --state ${state}`
}
