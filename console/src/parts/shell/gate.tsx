import { MailCheck } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'

/** The frame of the pages before the console: sign-in and invitation. */
export function Gate({ title, about, children }: { title: string; about?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Carteiro`
  }, [title])
  return (
    <main className="mx-auto flex min-h-dvh w-full max-w-md flex-col justify-center gap-6 px-4 py-10">
      <div className="flex items-center gap-2.5 text-xl font-semibold tracking-tight">
        <MailCheck size={26} className="text-accent" aria-hidden="true" />
        Carteiro
      </div>
      <div className="flex flex-col gap-5 rounded-2xl border border-line bg-surface p-5 shadow-card sm:p-7">
        <div>
          <h1 className="text-xl font-semibold">{title}</h1>
          {about !== undefined && <p className="mt-1 text-muted">{about}</p>}
        </div>
        {children}
      </div>
    </main>
  )
}

/** What the gateway answered to a form, beside the button that sent it. */
export const FormError = ({ message }: { message: string | null }) =>
  message === null ? null : (
    <p role="alert" className="rounded-lg bg-bad-soft px-3 py-2 text-bad">
      {message}
    </p>
  )
