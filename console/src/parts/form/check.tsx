import { type ReactNode, useId } from 'react'

interface CheckProps {
  label: ReactNode
  /** Read out instead of the label, where the label alone says too little. */
  spoken?: string
  hint?: ReactNode
  checked: boolean
  disabled?: boolean
  onChange(checked: boolean): void
}

/** Something that is on or off. The whole line can be pressed. */
export function Check({ label, spoken, hint, checked, disabled, onChange }: CheckProps) {
  const id = useId()
  return (
    <div>
      <label className="flex min-h-9 items-center gap-2.5">
        <input
          type="checkbox"
          checked={checked}
          disabled={disabled}
          {...(spoken === undefined ? {} : { 'aria-label': spoken })}
          {...(hint === undefined ? {} : { 'aria-describedby': id })}
          onChange={event => onChange(event.target.checked)}
          className="size-4.5 shrink-0 accent-[var(--accent)]"
        />
        {label}
      </label>
      {hint !== undefined && (
        <div id={id} className="pl-7 text-[0.87rem] text-muted">
          {hint}
        </div>
      )}
    </div>
  )
}
