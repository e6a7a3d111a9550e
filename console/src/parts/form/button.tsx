import type { ButtonHTMLAttributes, ReactNode } from 'react'

type Look = 'primary' | 'plain' | 'quiet' | 'danger'
type Size = 'normal' | 'small'

const looks: Record<Look, string> = {
  primary: 'bg-accent text-accent-text border-transparent hover:brightness-110',
  plain: 'bg-surface text-text border-line hover:bg-sunken',
  quiet: 'bg-transparent text-text border-transparent hover:bg-sunken',
  danger: 'bg-surface text-bad border-line hover:bg-bad-soft',
}
const sizes: Record<Size, string> = { normal: 'h-10 px-4', small: 'h-9 px-3 text-[0.93rem]' }

/** The classes of a button, for links that look like one. */
export const buttonClass = (look: Look = 'plain', size: Size = 'normal'): string =>
  `inline-flex items-center justify-center gap-2 rounded-lg border font-medium whitespace-nowrap transition-colors disabled:opacity-55 ${looks[look]} ${sizes[size]}`

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look
  size?: Size
  /** While the act is under way the button cannot be pressed again. */
  busy?: boolean
  icon?: ReactNode
}

export function Button({ look = 'plain', size = 'normal', busy = false, icon, children, className = '', ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={busy || rest.disabled}
      aria-busy={busy}
      className={`${buttonClass(look, size)} ${className}`}
    >
      {busy ? <Spinner /> : icon}
      {children}
    </button>
  )
}

/** A button that is an icon alone: its label is for screen readers, and shown as a hint. */
export function IconButton({ label, children, className = '', ...rest }: ButtonProps & { label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={`inline-flex size-10 shrink-0 items-center justify-center rounded-lg text-muted transition-colors hover:bg-sunken hover:text-text ${className}`}
    >
      {children}
    </button>
  )
}

export const Spinner = () => (
  <span className="size-4 animate-spin rounded-full border-2 border-current border-r-transparent" aria-hidden="true" />
)
