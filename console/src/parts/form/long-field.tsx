import type { ReactNode, TextareaHTMLAttributes } from 'react'
import { Field, inputClass } from './field.js'

/** A text of several lines. */
export function LongField({
  label,
  hint,
  error,
  mono = false,
  ...area
}: {
  label: string
  hint?: ReactNode
  error?: string | null
  mono?: boolean
} & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Field label={label} hint={hint} error={error ?? null}>
      {props => (
        <textarea
          rows={6}
          {...props}
          {...area}
          className={`${inputClass} h-auto min-h-20 resize-y py-2 ${mono ? 'font-mono text-[0.87rem]' : ''}`}
        />
      )}
    </Field>
  )
}
