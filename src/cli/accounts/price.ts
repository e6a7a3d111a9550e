import { Command, InvalidArgumentError } from 'commander'
import { moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { OperatorError } from '../../domain/errors.js'
import { listPrices, type Price, removePrice, setPrice } from '../../store/accounts/costs.js'
import { audit, change, run } from '../administration.js'
import { addVerb, channelOption, requireCarrier } from '../options.js'
import type { OutputOptions } from '../output.js'

type PriceOptions = OutputOptions & { channel: Channel; carrier?: string }

/** price: what the carriers charge, for estimates and caps. */
export function priceCommand(): Command {
  const price = new Command('price').description('preços das operadoras, para o custo estimado e os tetos')
  const addPriceVerb = (name: string, description: string): Command =>
    addVerb(price, name, description)
      .addOption(channelOption('canal').makeOptionMandatory())
      .option('--carrier <operadora>', 'só de uma operadora, como aparece em carteiro usage (ausente: qualquer uma do canal)')

  addPriceVerb('set', 'informa o preço de uma unidade do canal, em reais')
    .argument('<reais>', 'como 0,08 ou 0.08', readReais)
    .action((reais: number, { channel, carrier: named, ...options }: PriceOptions) => {
      const carrier = named === undefined ? '' : requireCarrier(named, channel)
      return change(options, async db => {
        await setPrice(db, { channel, carrier, price: reais })
        await audit(db, 'price set', channel, { carrier, price: reais })
        return describe({ channel, carrier, price: reais })
      })
    })

  addPriceVerb('remove', 'esquece um preço').action(({ channel, carrier = '', ...options }: PriceOptions) =>
    change(options, async db => {
      if (!(await removePrice(db, { channel, carrier })))
        throw new OperatorError('Não há este preço. Veja os preços com: carteiro price list')
      await audit(db, 'price remove', channel, { carrier })
      return { channel: moduleOf(channel).wire, carrier: carrier || null, removed: true }
    }),
  )

  addVerb(price, 'list', 'lista os preços').action((options: OutputOptions) =>
    run(options, async ({ pool }) => [
      (await listPrices(pool)).map(describe),
      'Nenhum preço: o custo estimado é zero. Informe um com: carteiro price set --channel CANAL 0,08',
    ]),
  )

  return price
}

const describe = ({ channel, carrier, price }: Price) => ({
  channel: moduleOf(channel).wire,
  carrier: carrier || null,
  price,
  unit: moduleOf(channel).cost.one,
})

function readReais(text: string): number {
  if (!/^\d{1,7}([.,]\d{1,4})?$/.test(text)) throw new InvalidArgumentError('Informe reais com até quatro casas, como 0,08.')
  return Number(text.replace(',', '.'))
}
