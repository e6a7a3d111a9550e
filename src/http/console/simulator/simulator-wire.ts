import { channelModules, findModule } from '../../../channels/registry.js'
import { refuse } from '../../../domain/errors.js'
import type { InboxMessage, SimulatedChannel, SimulatedMessage } from './simulator-schema.js'

/** What the simulator answers (simulator/http/api.ts). Its channels have the names that they have inside the gateway. */
export interface ChannelAnswer {
  channel: string
  actions: Record<string, { label: string; text?: { label: string; value: string } }>
  reportLabels: Record<string, { text: string; tone: 'good' | 'bad' | 'warn' | 'plain' }>
  fates: { address: string; meaning: string; does: string; example: boolean }[]
  faults: {
    fields: {
      name: string
      about: 'send' | 'reports'
      label: string
      help: string
      kind: 'switch' | 'number'
      max?: number
      step?: number
    }[]
    values: Record<string, boolean | number>
  }
}

export interface MessageAnswer {
  id: string
  idEmail: string | null
  channel: string
  from: string
  fromName: string
  to: string
  subject: string
  receivedAt: string
}

/** The members beyond the first ones differ by channel. */
export interface DetailAnswer extends MessageAnswer {
  answer: string | null
  reports: {
    id: string
    type: string
    status: string | null
    state: 'waiting' | 'done' | 'refused' | 'expired'
    at: string
    detail: string | null
  }[]
  text?: string | null
  html?: string | null
  link?: string | null
  links?: string[]
  attachments?: { name: string; size: number }[]
  body?: { name: string | null; text: string }[]
  said?: { who: 'carrier' | 'person'; text: string }[]
  tracking?: { at: string; text: string }[]
  segments?: number
  status?: string
  sro?: string | null
  durationSeconds?: number | null
  /** The name of the file that a person hears or reads. */
  file?: string
}

const wireOf = (channel: string): string => channelModules.find(module => module.channel === channel)?.wire ?? channel
/** The simulator's name of a channel that the pages name. */
export const channelNamed = (wire: string): string => findModule(wire)?.channel ?? refuse('badParameter', 'channel')

const iso = (date: string): string => new Date(date).toISOString()

export const toMessage = ({ id, idEmail, channel, from, fromName, to, subject, receivedAt }: MessageAnswer): InboxMessage => ({
  id,
  channel: wireOf(channel),
  notification: idEmail,
  from: fromName === '' ? from : fromName,
  to,
  subject,
  receivedAt: iso(receivedAt),
})

export const toChannel = ({ channel, fates, faults: { fields, values } }: ChannelAnswer): SimulatedChannel => ({
  channel: wireOf(channel),
  fates,
  faults: fields.map(field => {
    const value = values[field.name] ?? false
    // The seed of chance is not a fault.
    return { ...field, value, isOn: field.name !== 'seed' && value !== false && value !== 0 }
  }),
})

function shapeOf({ said, tracking, html }: DetailAnswer): SimulatedMessage['shape'] {
  if (said !== undefined) return 'call'
  if (tracking !== undefined) return 'sheet'
  return html === undefined ? 'bubble' : 'mail'
}

const FACTS = { segments: 'segments', status: 'status', sro: 'sro', durationSeconds: 'duration' } as const

export function toDetail(found: DetailAnswer, { actions, reportLabels }: ChannelAnswer, publicUrl: string): SimulatedMessage {
  const { text = null, html = null, body = [], said = [], tracking = [], attachments = [], reports } = found
  const links = [...(found.links ?? []), ...(typeof found.link === 'string' ? [found.link] : [])]
  return {
    ...toMessage(found),
    shape: shapeOf(found),
    answer: found.answer,
    text,
    hasHtml: html !== null,
    // Ours alone: whatever else a sender wrote is not a place for an operator to go.
    link: links.find(link => URL.canParse(link) && new URL(link).origin === new URL(publicUrl).origin) ?? null,
    values: text === null ? body.map((value, index) => ({ name: value.name ?? String(index + 1), text: value.text })) : [],
    lines: said.map(line => ({ ours: line.who === 'carrier', text: line.text })),
    tracking: tracking.map(entry => ({ at: iso(entry.at), text: entry.text })),
    file: found.file ?? null,
    attachments: attachments.map(({ name, size }) => ({ name, size })),
    facts: Object.entries(FACTS).flatMap(([member, name]) => {
      const value = found[member as keyof typeof FACTS]
      return value === undefined || value === null ? [] : [{ name, value: String(value) }]
    }),
    actions: Object.entries(actions).map(([name, action]) => ({ name, label: action.label, text: action.text ?? null })),
    reports: reports.map(({ id, type, state, at, detail }) => {
      const { text: label = type, tone = 'plain' } = reportLabels[type] ?? {}
      return { id, label, tone: tone === 'plain' ? 'quiet' : tone, state, at: iso(at), detail }
    }),
  }
}
