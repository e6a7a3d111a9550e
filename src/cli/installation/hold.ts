import { Command } from 'commander'
import { actor } from '../../app/actor.js'
import { moduleOf, providerNames } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { OperatorError } from '../../domain/errors.js'
import { signalDue } from '../../store/delivery/due-signal.js'
import { type Hold, type HoldScope, liftHold, listHolds, placeHold } from '../../store/delivery/holds.js'
import type { Queryable } from '../../store/postgres.js'
import { audit, change, requireAccount, run } from '../administration.js'
import { channelOption, refuseBeside, requireCarrier } from '../options.js'
import type { OutputOptions } from '../output.js'

type ScopeNames = OutputOptions & { channel?: Channel; carrier?: string; account?: string; all?: boolean }
type HoldOptions = ScopeNames & { reason?: string; list?: boolean }

const addScope = (command: Command): Command =>
  command
    .addOption(channelOption('canal'))
    .option('--carrier <operadora>', `como em queue list, ou só o tipo: ${providerNames.join(', ')}`)
    .option('--account <conta>', 'nome ou id da conta')
    .option('--all', 'a instalação inteira')
    .option('--json', 'resultado em JSON')

/** hold: what matches stays in the queue until it is resumed. */
export const holdCommand = (): Command =>
  addScope(new Command('hold'))
    .description('retém envios: o que for do canal, da operadora, da conta ou de tudo fica na fila até carteiro resume')
    .option('--reason <texto>', 'por quê; fica na auditoria e no console')
    .option('--list', 'mostra o que está retido')
    .action(({ list = false, reason, ...options }: HoldOptions) => {
      if (!list) return hold(reason, options)
      const { channel, carrier, account, all, ...output } = options
      const others = { '--channel': channel, '--carrier': carrier, '--account': account, '--all': all, '--reason': reason }
      refuseBeside('--list', others)
      return showHolds(output)
    })

export const resumeCommand = (): Command =>
  addScope(new Command('resume'))
    .description('solta o que carteiro hold, ou start --paused, reteve com as mesmas opções')
    .action((options: ScopeNames) =>
      change(options, async db => {
        const scope = await readScope(db, options)
        if (!(await liftHold(db, scope)))
          throw new OperatorError('Isto não está retido. Veja o que está com: carteiro hold --list')
        await audit(db, 'resume', subjectOf(scope), { ...scope })
        await signalDue(db)
        return { ...describeScope(scope, options.account ?? null), resumed: true, stillHeld: (await listHolds(db)).length }
      }),
    )

function hold(reason: string | undefined, options: ScopeNames): Promise<void> {
  if (reason === undefined || reason.trim() === '')
    throw new OperatorError('Diga por que com --reason: outra pessoa precisará saber.')
  const { channel = null, carrier } = options
  // A resume takes any name: the provider of an older hold may be gone.
  const names = carrier === undefined ? options : { ...options, carrier: requireCarrier(carrier, channel) }
  return change(options, async db => {
    const scope = await readScope(db, names)
    const placed = await placeHold(db, { ...scope, reason, by: actor() })
    if (placed === null) throw new OperatorError('Isto já está retido. Veja desde quando e por quem com: carteiro hold --list')
    await audit(db, 'hold', subjectOf(scope), { ...scope, reason })
    return { ...describeScope(scope, options.account ?? null), reason, ...placed }
  })
}

const showHolds = (options: OutputOptions): Promise<void> =>
  run(options, async ({ pool }) => [(await listHolds(pool)).map(describe), 'Nada está retido.'])

const describe = ({ reason, by, since, accountName, ...scope }: Hold) => ({
  ...describeScope(scope, accountName),
  reason,
  by,
  since,
})

async function readScope(db: Queryable, { channel, carrier, account, all = false }: ScopeNames): Promise<HoldScope> {
  const isWhole = channel === undefined && carrier === undefined && account === undefined
  if (all !== isWhole)
    throw new OperatorError(
      'Informe --channel, --carrier ou --account (juntos, vale o que tiver todos), ou só --all para a instalação inteira.',
    )
  const owner = account === undefined ? null : (await requireAccount(db, account)).id
  return { channel: channel ?? null, carrier: carrier ?? null, account: owner }
}

const describeScope = ({ channel, carrier }: HoldScope, account: string | null) => ({
  channel: channel === null ? null : moduleOf(channel).wire,
  carrier,
  account,
})

/** For the log of actions. */
const subjectOf = ({ channel, carrier, account }: HoldScope): string => account ?? carrier ?? channel ?? 'installation'
