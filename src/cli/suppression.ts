import { Command } from 'commander'
import { channels, moduleOf } from '../channels/registry.js'
import type { Channel } from '../domain/channel.js'
import { OperatorError } from '../domain/errors.js'
import { addSuppression, listSuppressions, removeSuppression } from '../store/accounts/suppressions.js'
import { transaction } from '../store/postgres.js'
import { audit, requireAccount, withDatabase } from './administration.js'
import { channelOption } from './channel-option.js'
import { type OutputOptions, printList, printRecord } from './output.js'

type Options = OutputOptions & { account: string; channel: Channel }
type ListOptions = OutputOptions & { account: string; channel?: Channel; recipient?: string; limit: string }

/** suppression: whom an account no longer writes to, and who may be written to again. */
export function suppressionCommand(): Command {
  const suppression = new Command('suppression').description(
    'contatos suprimidos de uma conta: endereços que não existem, reclamações, pedidos de parar',
  )
  const verb = (name: string, description: string): Command =>
    suppression
      .command(name)
      .description(description)
      .requiredOption('--account <conta>', 'nome ou id da conta')
      .option('--json', 'resultado em JSON')

  verb('list', 'lista os contatos suprimidos, o mais recente primeiro')
    .addOption(channelOption('canal'))
    .option('--recipient <contato>', 'só este endereço ou número')
    .option('--limit <n>', 'quantos no máximo', '100')
    .action((options: ListOptions) => list(options))

  verb('add', 'suprime um contato: a conta não envia mais a ele por este canal')
    .addOption(channelOption('canal').default(channels[0]))
    .argument('<contato>', 'endereço de e-mail, número ou, em cartas, o nome')
    .action((text: string, options: Options) => change(text, options, true))

  verb('remove', 'permite de novo o envio a um contato')
    .addOption(channelOption('canal').default(channels[0]))
    .argument('<contato>', 'endereço de e-mail, número ou, em cartas, o nome')
    .action((text: string, options: Options) => change(text, options, false))

  return suppression
}

async function list({ account, channel, recipient, limit: text, ...options }: ListOptions): Promise<void> {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (limit === 0) throw new OperatorError('--limit deve ser um número inteiro a partir de 1.')
  const asked =
    recipient === undefined ? null : channel === undefined ? recipient.trim() : await requireContact(recipient, channel)
  await withDatabase(async ({ pool }) => {
    const { id } = await requireAccount(pool, account)
    const found = await listSuppressions(pool, { account: id, channel: channel ?? null, recipient: asked, limit })
    printList(
      found.map(({ createdAt, ...entry }) => ({ ...entry, since: createdAt })),
      options,
    )
  })
}

async function change(text: string, options: Options, adds: boolean): Promise<void> {
  const { channel } = options
  const recipient = await requireContact(text, channel)
  await withDatabase(async ({ pool }) => {
    const name = await transaction(pool, async db => {
      const account = await requireAccount(db, options.account)
      const contact = { account: account.id, channel, recipient }
      const done = await (adds ? addSuppression(db, contact, 'operator') : removeSuppression(db, contact))
      if (!done)
        throw new OperatorError(
          `${recipient} ${adds ? 'já está' : 'não está'} suprimido na conta "${account.name}" (${channel}).`,
        )
      await audit(db, `suppression ${adds ? 'add' : 'remove'}`, account.id, { channel, recipient })
      return account.name
    })
    printRecord({ account: name, channel, [adds ? 'suppressed' : 'removed']: recipient }, options)
  })
}

/** As deliveries of the channel store it. */
async function requireContact(text: string, channel: Channel): Promise<string> {
  const { readContact, contactKind } = await moduleOf(channel).contract()
  const contact = readContact(text.trim())
  if (contact === null || contact === '')
    throw new OperatorError(`"${text}" não é ${contactKind}. Para outro canal, use --channel (${channels.join(', ')}).`)
  return contact
}
