import { type ReactNode, useEffect, useRef } from 'react'

/**
 * Markup of a sender, in the gateway's own page for it: nothing runs in it and nothing is loaded from elsewhere. What this page would make
 * itself inherits the policy of this page, which forbids the styles of e-mails.
 */
export function MarkupFrame({ title, html, tall = false }: { title: string; html: string; tall?: boolean }) {
  const frame = useRef<HTMLIFrameElement>(null)
  // It has no origin that could be named.
  const show = (): void => frame.current?.contentWindow?.postMessage(html, '*')
  useEffect(show, [html])
  return (
    <iframe
      ref={frame}
      title={title}
      src="/console/frame"
      sandbox="allow-scripts"
      onLoad={show}
      className={`w-full rounded-lg border border-line bg-white ${tall ? 'h-[34rem]' : 'h-80'}`}
    />
  )
}

/** Pages on paper. The whole width of a sheet is in sight, on a phone too. */
export const PdfFrame = ({ title, src }: { title: string; src: string }) => (
  <iframe
    title={title}
    src={`${src}#toolbar=0&navpanes=0&view=FitH`}
    className="aspect-[210/297] w-full rounded-lg border border-line bg-white"
  />
)

/** A text as a phone shows it. */
export const Bubble = ({ children, color }: { children: ReactNode; color: string }) => (
  <div className="rounded-xl bg-sunken p-4">
    <div
      className="max-w-md rounded-2xl rounded-tl-sm border border-line border-l-4 bg-surface px-3.5 py-2.5 whitespace-pre-wrap wrap-anywhere"
      style={{ borderLeftColor: color }}
    >
      {children}
    </div>
  </div>
)
