import { Command } from 'commander'
import { readRange } from '../../domain/access/address-range.js'
import { OperatorError } from '../../domain/errors.js'
import { addRange, listRanges, removeRange } from '../../store/accounts/accounts.js'
import { audit, changeAccount, runForAccount } from '../administration.js'
import { type AccountOptions, addAccountVerb, required } from '../options.js'

export function addressCommand(): Command {
  const address = new Command('address').description('endereços registrados de uma conta: IPs e faixas CIDR')

  addAccountVerb(address, 'add', 'registra um endereço')
    .argument('<cidr>', 'IP ou faixa CIDR, v4 ou v6', requireRange)
    .action((range: string, options: AccountOptions) =>
      changeAccount(options, async (db, { id, name }) => {
        await addRange(db, id, range)
        await audit(db, 'address add', id, { range })
        return { account: name, address: range }
      }),
    )

  addAccountVerb(address, 'remove', 'retira um endereço')
    .argument('<cidr>', 'IP ou faixa CIDR como registrado', requireRange)
    .action((range: string, options: AccountOptions) =>
      changeAccount(options, async (db, { id, name }) => {
        if (!(await removeRange(db, id, range)))
          throw new OperatorError(
            `${range} não está registrado na conta "${name}". Veja os registrados com: carteiro address list --account CONTA`,
          )
        await audit(db, 'address remove', id, { range })
        return { account: options.account, removed: range }
      }),
    )

  addAccountVerb(address, 'list', 'lista os endereços registrados').action((options: AccountOptions) =>
    runForAccount(options, async ({ pool }, { id, name }) => [
      (await listRanges(pool, id)).map(range => ({ address: range })),
      `A conta "${name}" não tem endereços registrados. Registre um com: carteiro address add --account ${name} 203.0.113.7`,
    ]),
  )

  return address
}

const requireRange = (text: string): string =>
  required(readRange(text), `"${text}" não é um IP nem uma faixa CIDR (exemplos: 203.0.113.7, 203.0.113.0/24, 2001:db8::/32).`)
