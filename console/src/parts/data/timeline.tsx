import type { ReactNode } from 'react'
import { useDates } from '../../app/dates.js'
import type { Tone } from './badge.js'

export interface TimelineStep {
  id: string
  at: string
  tone: Tone
  title: ReactNode
  /** Who says so, and what else is known. */
  detail?: ReactNode
}

const dots: Record<Tone, string> = { good: 'bg-good', bad: 'bg-bad', warn: 'bg-warn', busy: 'bg-busy', quiet: 'bg-muted' }

/** What happened, in its order. Times are of Brasília. */
export function Timeline({ label, steps }: { label: string; steps: readonly TimelineStep[] }) {
  const dates = useDates()
  return (
    <ol aria-label={label} className="flex flex-col">
      {steps.map(({ id, at, tone, title, detail }) => (
        <li
          key={id}
          className="relative flex gap-3 pb-4 pl-1 last:pb-0 not-last:before:absolute not-last:before:top-4 not-last:before:bottom-0 not-last:before:left-[0.56rem] not-last:before:w-px not-last:before:bg-line"
        >
          <span className={`relative mt-1.5 size-2.5 shrink-0 rounded-full ${dots[tone]}`} aria-hidden="true" />
          <div className="min-w-0 flex-1">
            <div className="flex flex-wrap items-baseline justify-between gap-x-3">
              <span className="font-medium">{title}</span>
              <time dateTime={at} className="text-[0.87rem] text-muted tabular-nums">
                {dates.long(at)}
              </time>
            </div>
            {detail !== undefined && <div className="text-[0.93rem] wrap-anywhere text-muted">{detail}</div>}
          </div>
        </li>
      ))}
    </ol>
  )
}
