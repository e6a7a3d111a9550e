import { CircleAlert, type LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { ApiError } from '../../api/client.js'
import { useWords } from '../../app/language.js'
import { Button } from '../form/button.js'
import { CopyButton } from '../form/copy-button.js'
import { partWords } from '../words.js'

/** Nothing is here yet: says what would be, and the next step. */
export function EmptyState({
  icon: Icon,
  title,
  children,
  action,
}: {
  icon: LucideIcon
  title: string
  children?: ReactNode
  action?: ReactNode
}) {
  return (
    <div className="flex flex-col items-center gap-3 px-4 py-12 text-center">
      <span className="flex size-12 items-center justify-center rounded-full bg-accent-soft text-accent">
        <Icon size={24} aria-hidden="true" />
      </span>
      <h2 className="text-lg font-semibold">{title}</h2>
      {children !== undefined && <div className="max-w-md text-muted">{children}</div>}
      {action}
    </div>
  )
}

/** Stays on the screen, says what to do, and can be copied for whoever helps. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const words = useWords(partWords)
  const message = messageOf(error, words.unreachable)
  const id = error instanceof ApiError ? error.requestId : null
  return (
    <div role="alert" className="flex flex-col items-start gap-3 rounded-xl border border-line bg-bad-soft p-4">
      <div className="flex gap-3">
        <CircleAlert className="mt-0.5 shrink-0 text-bad" size={20} aria-hidden="true" />
        <div className="min-w-0">
          <p className="font-semibold">{words.failed}</p>
          <p className="wrap-anywhere">{message}</p>
          {id !== null && <p className="mt-1 font-mono text-[0.8rem] text-muted">{words.request(id)}</p>}
        </div>
      </div>
      <div className="flex gap-2">
        {onRetry !== undefined && (
          <Button size="small" onClick={onRetry}>
            {words.retry}
          </Button>
        )}
        <CopyButton text={`${message}${id === null ? '' : ` (${id})`}`} />
      </div>
    </div>
  )
}

/** The sentence for a person: the gateway's own, or what can be said where it did not answer. */
export function messageOf(error: unknown, unreachable: string): string {
  if (error instanceof ApiError && error.status === 0) return unreachable
  return error instanceof Error ? error.message : String(error)
}

/** The place of what is being loaded, so that nothing jumps. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  const words = useWords(partWords)
  return (
    <div role="status" aria-label={words.loading} className="flex flex-col gap-3 rounded-xl border border-line bg-surface p-4">
      {Array.from({ length: rows }, (_, row) => row).map(row => (
        <div key={row} className="h-5 animate-pulse rounded bg-sunken" style={{ width: `${90 - ((row * 17) % 40)}%` }} />
      ))}
    </div>
  )
}
