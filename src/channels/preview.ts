import type { Claim } from '../store/delivery/claims.js'
import type { Refused } from './channel-runtime.js'

/** A message as its recipient gets it, for the console. */
export type MessagePreview =
  | { kind: 'mail'; from: string; fromName: string; subject: string; html: string }
  | { kind: 'parts'; text: string; encoding: string; parts: readonly string[] }
  /** `text` null: only the carrier knows the template, and `values` are all that is known here. */
  | {
      kind: 'bubble'
      template: string
      text: string | null
      values: readonly { name: string | null; text: string }[]
      hasButton: boolean
    }
  | { kind: 'speech'; greeting: string; text: string }
  | { kind: 'pdf'; base64: string; pages: number }

export interface ChannelPreview {
  show(claim: Claim): Promise<MessagePreview | Refused>
  /** How many units carriers charge for, where the message is not the unit; 0: it would be refused. */
  countUnits?(claim: Claim): Promise<number>
  close?(): Promise<void>
}

/** A field of the console's form. `path`: the member of the send request that it fills in. */
export interface FormField {
  readonly path: string
  readonly kind: 'text' | 'address' | 'phone' | 'long' | 'choice'
  readonly pt: string
  readonly en: string
  readonly example?: string
  readonly required?: boolean
  /** Names of file columns that fill in this field, beside its path and its label. Accents, case and punctuation do not count. */
  readonly columns?: readonly string[]
  /** Column names that several channels have, such as "telefone". They fill in the fields of those channels that the batch uses. */
  readonly sharedColumns?: readonly string[]
  /** A template takes its place. */
  readonly withoutTemplate?: boolean
  readonly choices?: readonly { readonly value: string; readonly pt: string; readonly en: string }[]
}

/** As long as a short code, so that the parts of a text are counted right. */
export const SAMPLE_CODE = 'exemplo123'
