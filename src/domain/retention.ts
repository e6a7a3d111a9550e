import type { Setting } from './account.js'

/** The kinds of data of a notification that an account may give a term of their own, apart from everything of it (`events`). */
const retainedKinds = ['content', 'attachments', 'letters', 'recordings', 'visits'] as const
type RetainedKind = (typeof retainedKinds)[number]

export interface RetentionSettings {
  'retention.events': number
  'retention.content': number
  'retention.attachments': number
  'retention.letters': number
  'retention.recordings': number
  'retention.visits': number
  'retention.webhooks': number
  'retention.references': number
}

/** Ten years: the longest limitation of Brazilian civil law (Código Civil, art. 205). */
const LONGEST_CLAIM_DAYS = 3_650
const MOST_DAYS = 36_500
/** Carriers report on a message for this long at most, unless its channel says otherwise. After that their reference of the message is of no use. */
export const REFERENCE_DAYS = 90
/** The retry plan of webhooks takes about three days, and needs its messages until then. */
const LEAST_WEBHOOK_DAYS = 4

const days =
  (least: number, most: number, zero: boolean) =>
  (text: string): number | null => {
    const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
    return (zero && value === 0) || (value >= least && value <= most) ? value : null
  }

/** 0: as long as everything of the notification. */
const ofKind = (pt: string, en: string): Setting<number> => ({
  default: 0,
  label: { pt: `Prazo: ${pt}`, en: `Term: ${en}` },
  meaning: {
    pt: `dias, a contar da aceitação, em que ficam ${pt}: 1 a ${MOST_DAYS} (0: o mesmo de retention.events)`,
    en: `days from the acceptance for which these are kept: ${en}: 1 to ${MOST_DAYS} (0: as retention.events)`,
  },
  read: days(1, MOST_DAYS, true),
})

export const retentionSettings: { readonly [Name in keyof RetentionSettings]: Setting<number> } = {
  'retention.events': {
    default: LONGEST_CLAIM_DAYS,
    label: { pt: 'Prazo: dados pessoais', en: 'Term: personal data' },
    meaning: {
      pt: `dias, a contar da aceitação, em que ficam os dados pessoais de uma notificação; depois ficam datas, situações e hashes: 30 a ${MOST_DAYS} (0: sem prazo)`,
      en: `days from the acceptance for which the personal data of a notification are kept; dates, statuses and hashes stay: 30 to ${MOST_DAYS} (0: without end)`,
    },
    read: days(30, MOST_DAYS, true),
  },
  'retention.content': ofKind(
    'assunto, conteúdo, variáveis e mensagens como saíram',
    'subject, content, variables and messages as they left',
  ),
  'retention.attachments': ofKind('anexos', 'attachments'),
  'retention.letters': ofKind('cartas em PDF e avisos de recebimento', 'letters as PDF and receipts'),
  'retention.recordings': ofKind('gravações de ligações', 'recordings of calls'),
  'retention.visits': ofKind('dados de acessos: endereço IP e navegador', 'data of visits: IP address and browser'),
  'retention.webhooks': {
    default: 0,
    label: { pt: 'Prazo: webhooks', en: 'Term: webhooks' },
    meaning: {
      pt: `dias em que ficam as mensagens a webhooks e as tentativas: ${LEAST_WEBHOOK_DAYS} a 3650 (0: WEBHOOK_DAYS da instalação)`,
      en: `days for which messages to webhooks and their attempts are kept: ${LEAST_WEBHOOK_DAYS} to 3650 (0: WEBHOOK_DAYS)`,
    },
    read: days(LEAST_WEBHOOK_DAYS, 3_650, true),
  },
  'retention.references': {
    default: REFERENCE_DAYS,
    label: { pt: 'Prazo: referências das operadoras', en: "Term: carriers' references" },
    meaning: {
      pt: `dias em que ficam as referências das operadoras, pelas quais chegam avisos atrasados: 7 a ${REFERENCE_DAYS}`,
      en: `days for which the carriers' references are kept, by which late reports are matched: 7 to ${REFERENCE_DAYS}`,
    },
    read: days(7, REFERENCE_DAYS, false),
  },
}

export interface Term {
  kind: RetainedKind | 'events'
  days: number
}

/** How long an account keeps the carriers' references, of whatever channel; Infinity: for as long as carriers report on their messages. */
export const referenceDaysOf = (settings: RetentionSettings): number =>
  Math.min(
    settings['retention.references'] < REFERENCE_DAYS ? settings['retention.references'] : Number.POSITIVE_INFINITY,
    // After that nothing more is recorded of the notification.
    settings['retention.events'] || Number.POSITIVE_INFINITY,
  )

/** The terms of an account. A kind of data that is kept as long as the whole notification is erased with it and has no term here. */
export function termsOf(settings: RetentionSettings): Term[] {
  const whole = settings['retention.events']
  const shorter = retainedKinds
    .map(kind => ({ kind, days: settings[`retention.${kind}`] }))
    .filter(term => term.days > 0 && (whole === 0 || term.days < whole))
  return whole === 0 ? shorter : [...shorter, { kind: 'events', days: whole }]
}
