import { Eye, EyeOff } from 'lucide-react'
import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useId, useState } from 'react'
import { useWords } from '../../app/language.js'
import { partWords } from '../words.js'

export const inputClass =
  'h-10 w-full rounded-lg border border-line bg-surface px-3 text-text placeholder:text-muted disabled:opacity-60 aria-invalid:border-bad'

interface FieldProps {
  label: string
  hint?: ReactNode
  error?: string | null
  /** The label is read out, not shown. */
  hideLabel?: boolean
  className?: string
  children: (props: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: boolean }) => ReactNode
}

/** A label, the control, and what to know about it. */
export function Field({ label, hint, error, hideLabel = false, className = '', children }: FieldProps) {
  const id = useId()
  const about = error || hint ? `${id}-about` : undefined
  return (
    <div className={`flex flex-col gap-1.5 ${className}`}>
      <label htmlFor={id} className={hideLabel ? 'sr-only' : 'text-[0.93rem] font-medium'}>
        {label}
      </label>
      {children({
        id,
        ...(about === undefined ? {} : { 'aria-describedby': about }),
        ...(error ? { 'aria-invalid': true } : {}),
      })}
      {about !== undefined && (
        <div id={about} className={`text-[0.87rem] ${error ? 'text-bad' : 'text-muted'}`} role={error ? 'alert' : undefined}>
          {error || hint}
        </div>
      )}
    </div>
  )
}

type Labelled = Omit<FieldProps, 'children'>

export function TextField({
  label,
  hint,
  error,
  hideLabel,
  className,
  ...input
}: Labelled & InputHTMLAttributes<HTMLInputElement>) {
  const field = { label, hint, error: error ?? null, hideLabel: hideLabel ?? false, className: className ?? '' }
  return <Field {...field}>{props => <input {...props} {...input} className={inputClass} />}</Field>
}

export function PasswordField({ label, hint, error, ...input }: Labelled & InputHTMLAttributes<HTMLInputElement>) {
  const words = useWords(partWords)
  const [shown, setShown] = useState(false)
  return (
    <Field label={label} hint={hint} error={error ?? null}>
      {props => (
        <div className="relative">
          <input {...props} {...input} type={shown ? 'text' : 'password'} className={`${inputClass} pr-11`} />
          <button
            type="button"
            aria-label={words.showPassword}
            aria-pressed={shown}
            onClick={() => setShown(!shown)}
            className="absolute inset-y-0 right-0 flex w-10 items-center justify-center rounded-lg text-muted hover:text-text"
          >
            {shown ? <EyeOff size={18} /> : <Eye size={18} />}
          </button>
        </div>
      )}
    </Field>
  )
}

export interface Choice {
  value: string
  label: string
}

type SelectProps = Labelled &
  Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange'> & { choices: readonly Choice[]; onChoose(value: string): void }

/** The browser's own: it is the best one on a phone, and for a screen reader. */
export function Select({ label, hint, error, hideLabel, className, choices, onChoose, ...select }: SelectProps) {
  const field = { label, hint, error: error ?? null, hideLabel: hideLabel ?? false, className: className ?? '' }
  return (
    <Field {...field}>
      {props => (
        <select {...props} {...select} onChange={event => onChoose(event.target.value)} className={`${inputClass} truncate pr-2`}>
          {choices.map(({ value, label: text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

/** A few choices of which one is on. */
export function Segments({
  label,
  choices,
  value,
  onChoose,
}: {
  label: string
  choices: readonly Choice[]
  value: string
  onChoose(value: string): void
}) {
  return (
    <fieldset className="inline-flex max-w-full min-w-0 flex-wrap rounded-lg border border-line bg-sunken p-0.5">
      <legend className="sr-only">{label}</legend>
      {choices.map(choice => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          onClick={() => onChoose(choice.value)}
          className="h-8 rounded-md px-3 text-[0.93rem] whitespace-nowrap text-muted transition-colors hover:text-text aria-pressed:bg-surface aria-pressed:font-medium aria-pressed:text-text aria-pressed:shadow-card"
        >
          {choice.label}
        </button>
      ))}
    </fieldset>
  )
}
