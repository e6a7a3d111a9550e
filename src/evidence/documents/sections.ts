import type { Verification } from '../../domain/evidence/verification-code.js'
import type { Block } from '../../runtime/typesetting/blocks.js'

/** A document as data. The layout is in document-source.ts, so that no text can become a command of the typesetter. */
export interface DocumentContent {
  /** Above the title, in small capitals, and at the head of every page: what kind of document it is. */
  kind: string
  title: string
  /** Printed on every page. */
  reference: string
  color: string
  sender: { name: string; details: readonly string[] }
  /** A simulated delivery: said across every page. */
  simulated: boolean
  verification: Verification
  sections: readonly Section[]
}

export type Section =
  /** What the page or the document is about, with who sends. */
  | { kind: 'title'; title: string }
  | { kind: 'chapter'; title: string }
  | { kind: 'heading'; title: string }
  | { kind: 'paragraph'; text: string; small?: boolean }
  | { kind: 'facts'; rows: readonly Fact[]; roomy?: boolean }
  | { kind: 'table'; columns: readonly number[]; head: readonly string[]; rows: readonly (readonly Cell[])[] }
  /** A text as it came, in the letters of a machine. */
  | { kind: 'raw'; label: string; lines: readonly string[] }
  | { kind: 'events'; items: readonly EventEntry[] }
  /** A message as it looked. */
  | { kind: 'message'; blocks: readonly Block[] }
  | { kind: 'steps'; items: readonly { text: string; command?: string }[] }
  /** A status in large letters. */
  | { kind: 'status'; text: string; note: string; tone: 'good' | 'bad' | 'open' }
  | { kind: 'verification'; text: string }
  /** What follows stands at the foot of the page. */
  | { kind: 'bottom' }
  | { kind: 'page' }

export interface Fact {
  label: string
  value: string
  machine?: boolean
}

export interface Cell {
  text: string
  machine?: boolean
  strong?: boolean
}

export interface EventEntry {
  seq: number
  at: string
  label: string
  channel: string
  grade: string
  /** The act is the recipient's, or a program did it: both are told from the others at a glance. */
  tone: 'recipient' | 'machine' | 'plain'
  facts: readonly Fact[]
  raw: readonly { label: string; lines: readonly string[] }[]
}
