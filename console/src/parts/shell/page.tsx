import { Link, type LinkProps } from '@tanstack/react-router'
import { ChevronLeft } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'

/** The frame of a screen: its title, what it is for, and its main acts. */
export function Page({
  title,
  about,
  back,
  actions,
  children,
}: {
  title: string
  about?: ReactNode
  /** The list that the screen belongs to. */
  back?: { label: string; link: LinkProps }
  actions?: ReactNode
  children: ReactNode
}) {
  useEffect(() => {
    document.title = `${title} · Carteiro`
  }, [title])
  return (
    <div className="mx-auto flex w-full max-w-7xl flex-col gap-4 px-4 pt-5 pb-24 md:px-6 md:pb-10">
      <div className="flex flex-wrap items-end justify-between gap-3">
        <div className="min-w-0 flex-1 basis-72">
          {back !== undefined && (
            <Link {...back.link} className="mb-1 inline-flex min-h-8 items-center gap-1 text-accent hover:underline">
              <ChevronLeft size={16} aria-hidden="true" />
              {back.label}
            </Link>
          )}
          <h1 className="text-2xl font-semibold tracking-tight wrap-anywhere">{title}</h1>
          {about !== undefined && <div className="mt-0.5 text-muted">{about}</div>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {children}
    </div>
  )
}

export function Card({
  title,
  actions,
  children,
  flush = false,
}: {
  title?: string
  actions?: ReactNode
  children: ReactNode
  flush?: boolean
}) {
  return (
    <section className="min-w-0 rounded-xl border border-line bg-surface shadow-card">
      {title !== undefined && (
        <div className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-2.5">
          <h2 className="font-semibold">{title}</h2>
          {actions}
        </div>
      )}
      <div className={flush ? '' : 'p-4'}>{children}</div>
    </section>
  )
}
