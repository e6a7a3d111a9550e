import { Command } from 'commander'
import { readContacts } from '../../channels/person.js'
import { channelModules, moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { OperatorError } from '../../domain/errors.js'
import { maskAddress } from '../../domain/recipient/mask.js'
import { addSuppression, listSuppressions, removeSuppression, type SuppressionReason } from '../../store/accounts/suppressions.js'
import { audit, changeAccount, runForScope } from '../administration.js'
import { addScopeVerb, channelNames, channelOption, readLimit, type ScopeOptions } from '../options.js'
import { cutList } from '../output.js'

type ListOptions = ScopeOptions & { channel?: Channel | null; recipient?: string; limit: number }

const reasons: Record<SuppressionReason, string> = {
  'hard bounce': 'o endereço não existe',
  complaint: 'reclamação',
  stranger: 'não é o destinatário',
  'opt-out': 'pediu para parar',
  operator: 'operador',
}

/** suppression: the contacts that an account no longer writes to, in one mode. */
export function suppressionCommand(): Command {
  const suppression = new Command('suppression').description(
    'contatos suprimidos de uma conta: endereços que não existem, reclamações, pedidos de parar',
  )

  addScopeVerb(suppression, 'list', 'lista os contatos suprimidos, o mais recente primeiro')
    .addOption(channelOption('canal'))
    .option('--recipient <contato>', 'só este endereço ou número')
    .option('--limit <n>', 'quantos no máximo', readLimit, 100)
    .action(async ({ channel = null, recipient: text, limit, ...options }: ListOptions) => {
      const recipients = text === undefined ? null : await readForms(text, channel)
      await runForScope(options, async ({ pool }, scope) => {
        const found = await listSuppressions(pool, { ...scope, channel, recipients, limit: limit + 1 })
        const shown = cutList(found, limit, 'os mais recentes').map(({ createdAt, channel, reason, ...entry }) => ({
          ...{ ...entry, channel: moduleOf(channel).wire, reason: options.json ? reason : reasons[reason] },
          ...{ mode: scope.mode, since: createdAt },
        }))
        const filtered = channel !== null || recipients !== null
        return [
          shown,
          filtered ? 'Nenhum contato suprimido com este filtro.' : 'Nenhum contato suprimido: nada impede os envios desta conta.',
        ]
      })
    })

  const first = channelModules[0]!
  for (const [name, adds, description] of [
    ['add', true, 'suprime um contato: a conta não envia mais a ele por este canal'],
    ['remove', false, 'permite de novo o envio a um contato'],
  ] as const) {
    addScopeVerb(suppression, name, description)
      .addOption(channelOption('canal').default(first.channel, first.wire))
      .argument('<contato>', 'endereço de e-mail, número ou, em cartas, o nome')
      .action(async (text: string, options: ScopeOptions & { channel: Channel }) => {
        const { channel, mode } = options
        const { wire } = moduleOf(channel)
        const recipient = await requireContact(text, channel)
        await changeAccount(options, async (db, account) => {
          const contact = { account: account.id, mode, channel, recipient }
          const state = adds ? 'já está' : 'não está'
          if (!(await (adds ? addSuppression(db, contact, 'operator') : removeSuppression(db, contact))))
            throw new OperatorError(`${recipient} ${state} suprimido na conta "${account.name}" (${wire}, ${mode}).`)
          // Masked: an entry of the log of actions can never be erased.
          await audit(db, `suppression ${name}`, account.id, { mode, channel, recipient: maskAddress(recipient) })
          return { account: account.name, mode, channel: wire, [adds ? 'suppressed' : 'removed']: recipient }
        })
      })
  }

  return suppression
}

const readForms = async (text: string, channel: Channel | null): Promise<string[]> =>
  channel === null ? [text.trim(), ...(await readContacts(text))] : [await requireContact(text, channel)]

/** As deliveries of the channel store it. */
async function requireContact(text: string, channel: Channel): Promise<string> {
  const { readContact, contactKind } = await moduleOf(channel).contract()
  const contact = readContact(text.trim())
  if (contact === null || contact === '')
    throw new OperatorError(`"${text}" não é ${contactKind}. Para outro canal, use --channel (${channelNames.join(', ')}).`)
  return contact
}
