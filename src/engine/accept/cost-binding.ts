import type { Channel } from '../../domain/channel.js'
import { refuse } from '../../domain/errors.js'
import type { Sender, SendRequest, TemplateVersion } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'
import type { CountUnits } from './count-units.js'

export interface CostStore {
  /** Binds the estimated cost of a send to its account's cap; null: the cap would be passed. */
  bindCost(scope: Scope, asked: readonly { channel: Channel; units: number }[], cap: number): Promise<Map<Channel, number> | null>
  releaseCost(scope: Scope, amount: number): Promise<void>
}

/** The cost of each channel of a send; null: its account has no cap. */
export type BoundCost = ReadonlyMap<Channel, number> | null

/** Binds the cost of sends to the cap of their accounts (docs/adr/0040-costs-are-bound-before-a-send-is-written.md). */
export const createCostBinding = (store: CostStore, countUnits: CountUnits) => ({
  /** Before anything is written: a send beyond the cap must not cost anything. Accounts without a cap are not asked about. */
  async bind(
    request: SendRequest,
    { account, mode, rules }: Sender,
    templates: ReadonlyMap<Channel, TemplateVersion>,
  ): Promise<BoundCost> {
    const cap = rules.settings['cost.month.cap']
    if (cap === 0 || mode === 'test') return null
    const asked = await countUnits({ account, mode }, request, templates)
    return (await store.bindCost({ account, mode }, asked, cap)) ?? refuse('capReached', String(cap))
  },
  async release(scope: Scope, bound: BoundCost): Promise<void> {
    const amount = [...(bound?.values() ?? [])].reduce((sum, cost) => sum + cost, 0)
    if (amount > 0) await store.releaseCost(scope, amount).catch(() => {})
  },
})
