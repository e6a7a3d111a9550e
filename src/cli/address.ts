import { Command } from 'commander'
import { readRange } from '../domain/address-range.js'
import { OperatorError } from '../domain/errors.js'
import { addRange, listRanges, removeRange } from '../store/accounts/accounts.js'
import { transaction } from '../store/postgres.js'
import { audit, requireAccount, withDatabase } from './administration.js'
import { type OutputOptions, printList, printRecord } from './output.js'

type Options = OutputOptions & { account: string }

export function addressCommand(): Command {
  const address = new Command('address').description('endereços registrados de uma conta: IPs e faixas CIDR')

  const verb = (name: string, description: string): Command =>
    address
      .command(name)
      .description(description)
      .requiredOption('--account <conta>', 'nome ou id da conta')
      .option('--json', 'resultado em JSON')

  verb('add', 'registra um endereço')
    .argument('<cidr>', 'IP ou faixa CIDR, v4 ou v6')
    .action(async (text: string, options: Options) => {
      const range = requireRange(text)
      await withDatabase(async ({ pool }) => {
        const account = await transaction(pool, async db => {
          const found = await requireAccount(db, options.account)
          await addRange(db, found.id, range)
          await audit(db, 'address add', found.id, { range })
          return found
        })
        printRecord({ account: account.name, address: range }, options)
      })
    })

  verb('remove', 'retira um endereço')
    .argument('<cidr>', 'IP ou faixa CIDR como registrado')
    .action(async (text: string, options: Options) => {
      const range = requireRange(text)
      await withDatabase(async ({ pool }) => {
        await transaction(pool, async db => {
          const { id, name } = await requireAccount(db, options.account)
          if (!(await removeRange(db, id, range))) throw new OperatorError(`${range} não está registrado na conta "${name}".`)
          await audit(db, 'address remove', id, { range })
        })
        printRecord({ account: options.account, removed: range }, options)
      })
    })

  verb('list', 'lista os endereços registrados').action((options: Options) =>
    withDatabase(async ({ pool }) => {
      const { id } = await requireAccount(pool, options.account)
      printList(
        (await listRanges(pool, id)).map(range => ({ address: range })),
        options,
      )
    }),
  )

  return address
}

function requireRange(text: string): string {
  const range = readRange(text)
  if (range === null)
    throw new OperatorError(`"${text}" não é um IP nem uma faixa CIDR (exemplos: 203.0.113.7, 203.0.113.0/24, 2001:db8::/32).`)
  return range
}
