import { brazilianDate } from '../domain/text/dates.js'
import { DAY_MS } from '../domain/units.js'
import { channelModules, loadContracts } from './registry.js'

const NOTICE_MS = 30 * DAY_MS

/**
 * A send by every channel that the demo account can make at once: its templates, and recipients of the simulator. All of them speak of
 * the same person, contract and date.
 */
export async function firstSend(now: number): Promise<Record<string, unknown>> {
  const dueDate = brazilianDate(new Date(now + NOTICE_MS)).slice(0, 10)
  const contracts = await loadContracts()
  const parts = channelModules.map(({ channel, demo }) => [contracts.get(channel)!.part.member, demo.part(dueDate)])
  return {
    nameTo: 'Maria da Silva',
    subject: 'Aviso de vencimento',
    content: `<p>Olá, Maria.</p><p>O seu contrato 4711 vence em ${dueDate}.</p>`,
    ...Object.fromEntries(parts),
  }
}
