import { Refusal } from '../../domain/errors.js'
import { readId } from '../../domain/id.js'
import type { AnnouncedFact } from '../../domain/webhook.js'

/** What webhooks tell of. */
export const wireStatuses = {
  sent: 'enviado',
  delivered: 'entregue',
  read: 'lido',
  confirmed: 'confirmado',
  'link opened': 'link_acessado',
  answered: 'respondido',
  recorded: 'gravado',
  failed: 'falhou',
  cancelled: 'cancelado',
  uncertain: 'em_verificacao',
  revived: 'retomado',
  processed: 'em_producao',
  prepared: 'preparado',
} as const satisfies Record<AnnouncedFact, string>

/** The id of a path, or 404: what is no UUID exists as little as what is unknown. */
export function pathId(text: string, missing: 'noStatus' | 'templateMissing' | 'reportMissing' | 'webhookMissing'): string {
  const id = readId(text)
  if (id === null) throw new Refusal(missing)
  return id
}
