import type { JsonObject } from '../notification.js'

/**
 * receiving: its file is on its way. checking: its lines are compared with the rules of a send. checked: an act of its sender starts it.
 * sending: its lines are accepted, at the account's pace. paused: until it is resumed. done: no line is left. cancelled: the rest is not sent.
 */
export const batchStates = ['receiving', 'checking', 'checked', 'sending', 'paused', 'done', 'cancelled'] as const
export type BatchState = (typeof batchStates)[number]

/** The states of a batch, as people read them. */
export const batchStateNames: Record<BatchState, string> = {
  receiving: 'recebendo',
  checking: 'conferindo',
  checked: 'conferido',
  sending: 'enviando',
  paused: 'pausado',
  done: 'concluído',
  cancelled: 'cancelado',
}

/** Why a batch paused by itself. cap: a line would have passed the account's cap of the month. */
export type PausedBecause = 'cap'

/** In which state a batch was when its time was over. */
export type ExpiredWhile = 'paused' | 'checked'

/** good: may be sent. rejected: breaks a rule. accepted: is a notification. failed: was refused when it was to be accepted. */
export type LineState = 'new' | 'good' | 'rejected' | 'accepted' | 'failed'

/** The members of the send request that each column fills in; a column without any is not used. */
export type Mapping = Readonly<Record<string, readonly string[]>>

/** What a batch sends: its file's columns, what they mean, and what is the same in all lines. */
export interface BatchForm {
  columns: readonly string[]
  mapping: Mapping
  base: JsonObject
}

/** The reason why a line is not sent, and the column that it is about, as the file calls it; null: no single one. */
export interface LineFault {
  message: string
  column: string | null
}

/** A member of the send request that a column may fill in. */
export interface BulkField {
  path: string
  /** As the console's form has it; of a phone's number the mask is taken off. */
  kind: string
  /** For people, in Portuguese and English. */
  pt: string
  en: string
  columns: readonly string[]
  sharedColumns: readonly string[]
  /** The channel's member of the request; null: of no channel. */
  channel: string | null
  /** Without any of these, the channel is not used for a line. */
  required: boolean
}

/** What a batch may fill in: the fields, and where each channel's template and its variables are. */
export interface BulkFields {
  fields: readonly BulkField[]
  templates: readonly { member: string; values: string }[]
  /** The names at the top of the send request. */
  members: readonly string[]
}

/** A column's name without what people write differently: accents, case, spaces and punctuation. */
export const foldName = (name: string): string =>
  name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9.]/g, '')

const PATH = /^[A-Za-z]\w*(\.[\w-]+)*$/
const FORBIDDEN = ['__proto__', 'constructor', 'prototype']

/** Whether a member of the send request may be called so. */
export const isMemberPath = (path: string, { members }: BulkFields): boolean =>
  PATH.test(path) && members.includes(path.split('.')[0]!) && !path.split('.').some(part => FORBIDDEN.includes(part))

/** The value at a path; undefined: there is none. */
export const valueAt = (value: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (found, name) =>
        typeof found === 'object' && found !== null && Object.hasOwn(found, name) ? found[name as never] : undefined,
      value,
    )
