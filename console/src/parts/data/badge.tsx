import type { ReactNode } from 'react'

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'quiet'

const tones: Record<Tone, string> = {
  good: 'bg-good-soft text-good',
  bad: 'bg-bad-soft text-bad',
  warn: 'bg-warn-soft text-warn',
  busy: 'bg-busy-soft text-busy',
  quiet: 'bg-sunken text-muted',
}

/** A situation in a word or two. The colour repeats what the word says. */
export const Badge = ({ tone, children }: { tone: string; children: ReactNode }) => (
  <span
    className={`inline-flex max-w-full items-center gap-1.5 rounded-full px-2 py-0.5 text-[0.85rem] font-medium ${tones[tone as Tone] ?? tones.quiet}`}
  >
    {children}
  </span>
)
