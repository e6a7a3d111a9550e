import { brazilianDate } from '../../domain/dates.js'
import { Refusal } from '../../domain/errors.js'
import { readId } from '../../domain/id.js'
import type { Channel } from '../../domain/notification.js'
import type { AnnouncedFact } from '../../domain/webhook.js'

/** The wire's own words for what the code names in English. */
export type WireChannel = 'email' | 'sms' | 'whatsapp' | 'voz' | 'carta'

export const wireChannels = {
  email: 'email',
  sms: 'sms',
  whatsapp: 'whatsapp',
  voice: 'voz',
  letter: 'carta',
} as const satisfies Record<Channel, WireChannel>

export const channelOf: Record<WireChannel, Channel> = {
  email: 'email',
  sms: 'sms',
  whatsapp: 'whatsapp',
  voz: 'voice',
  carta: 'letter',
}

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

/** A date that has not happened is null on some records and an empty text on others. */
export const dateOrNull = (date: Date | null): string | null => (date === null ? null : brazilianDate(date))
export const dateOrEmpty = (date: Date | null): string => (date === null ? '' : brazilianDate(date))

/** The id of a path, or 404: what is no UUID exists as little as what is unknown. */
export function pathId(text: string, missing: 'noStatus' | 'templateMissing' | 'reportMissing' | 'webhookMissing'): string {
  const id = readId(text)
  if (id === null) throw new Refusal(missing)
  return id
}
