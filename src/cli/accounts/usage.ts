import { Command, InvalidArgumentError } from 'commander'
import { moduleOf } from '../../channels/registry.js'
import { type Month, monthOf, readMonth } from '../../domain/month.js'
import { readUsage } from '../../store/accounts/costs.js'
import { requireAccount, run } from '../administration.js'
import { modeOption, type ScopeOptions } from '../options.js'

type UsageOptions = ScopeOptions & { month?: Month }

/** usage: what an account's messages of a month used, and what they are estimated to cost. */
export const usageCommand = (): Command =>
  new Command('usage')
    .description('uso e custo estimado de uma conta num mês, por canal e operadora')
    .requiredOption('--account <conta>', 'nome ou id da conta')
    .addOption(modeOption('live: dos tokens de produção; test: dos tokens de teste').default('live'))
    .option('--month <mês>', 'como 2026-11 (ausente: o mês corrente)', requireMonth)
    .option('--json', 'resultado em JSON')
    .action(({ account: name, mode, month = monthOf(new Date()), ...options }: UsageOptions) =>
      run(options, async ({ pool }) => {
        const { id } = await requireAccount(pool, name)
        const rows = await readUsage(pool, [id], mode, month.from, month.to)
        const shown = rows.map(({ channel, ...row }) => ({
          month: month.name,
          channel: moduleOf(channel).wire,
          ...row,
          unit: moduleOf(channel).cost.many,
        }))
        return [shown, `Nenhuma mensagem em ${month.name}.`]
      }),
    )

function requireMonth(text: string): Month {
  const month = readMonth(text)
  if (month === null) throw new InvalidArgumentError('Informe um mês como 2026-11.')
  return month
}
