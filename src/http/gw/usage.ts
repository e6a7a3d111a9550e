import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { channelModules, moduleOf } from '../../channels/registry.js'
import type { Clock } from '../../domain/clock.js'
import { refuse } from '../../domain/errors.js'
import { monthOf, readMonth } from '../../domain/month.js'
import { readCommitted, readUsage, type Usage } from '../../store/accounts/costs.js'
import type { Pool } from '../../store/postgres.js'
import { channelName, dataAnswer, dataRoute } from './wire.js'

const amount = (description: string) => Type.Number({ description })
const units = channelModules.map(({ label, cost }) => `${label}: ${cost.many}`).join('; ')
const usageSchema = Type.Object({
  mes: Type.String({ description: 'O mês, de Brasília.', examples: ['2026-11'] }),
  custoEstimado: amount('A soma dos custos estimados, em reais.'),
  teto: Type.Unsafe<number | null>({
    type: ['number', 'null'],
    description: 'O teto do mês, em reais (`cost.month.cap`); null: não há.',
  }),
  comprometido: amount('O que os envios aceitos no mês já ocupam do teto, em reais: 0 onde não há teto.'),
  itens: Type.Array(
    Type.Object({
      canal: channelName,
      operadora: Type.String({ description: 'A operadora que levou as mensagens.' }),
      mensagens: Type.Integer({ description: 'Mensagens que a operadora aceitou.' }),
      unidades: Type.Integer({ description: `O que a operadora cobra. ${units}.` }),
      unidade: Type.String({ description: 'O nome da unidade.' }),
      custoEstimado: amount('Em reais, pelos preços do momento de cada envio.'),
    }),
    { description: 'Por canal e operadora.' },
  ),
})
const query = Type.Object({ mes: Type.Optional(Type.String({ description: 'Como 2026-11. Ausente: o mês corrente.' })) })

/** GET /gw/usage: what the account's messages of a month used, and what they are estimated to cost. */
export function addUsage(app: FastifyInstance, { pool, clock }: { pool: Pool; clock: Clock }): void {
  app.get<{ Querystring: Static<typeof query> }>(
    '/gw/usage',
    dataRoute('Uso', 'Uso e custo estimado de um mês', usageSchema, { querystring: query }),
    async ({ caller, query: { mes } }) => {
      const month = mes === undefined ? monthOf(new Date(clock())) : (readMonth(mes) ?? refuse('badMonth', 'mes'))
      const [rows, committed] = await Promise.all([
        readUsage(pool, [caller.account], caller.mode, month.from, month.to),
        readCommitted(pool, caller, month.from),
      ])
      const cap = caller.settings['cost.month.cap']
      return dataAnswer({
        mes: month.name,
        custoEstimado: sumOf(rows),
        teto: cap === 0 ? null : cap,
        comprometido: committed,
        itens: rows.map(({ channel, carrier, messages, units, cost }) => ({
          canal: moduleOf(channel).wire,
          operadora: carrier,
          mensagens: messages,
          unidades: units,
          unidade: moduleOf(channel).cost[units === 1 ? 'one' : 'many'],
          custoEstimado: cost,
        })),
      })
    },
  )
}

const sumOf = (rows: readonly Usage[]): number => Math.round(rows.reduce((sum, { cost }) => sum + cost, 0) * 10_000) / 10_000
