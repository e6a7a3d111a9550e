import { CopyButton } from '../form/copy-button.js'

/** JSON as the API gives it: text, never markup. */
export function JsonView({ label, value }: { label: string; value: unknown }) {
  const text = JSON.stringify(value, null, 2)
  return (
    <div className="relative">
      <div className="absolute top-1.5 right-1.5">
        <CopyButton compact text={text} />
      </div>
      <section
        aria-label={label}
        tabIndex={0}
        className="max-h-96 overflow-auto rounded-lg bg-sunken p-3 pr-12 font-mono text-[0.85rem]"
      >
        <pre>{text}</pre>
      </section>
    </div>
  )
}
