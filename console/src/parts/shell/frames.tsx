import type { ReactNode } from 'react'

/** A telephone around what a recipient would see on one. */
export const PhoneFrame = ({ title, children }: { title?: ReactNode; children: ReactNode }) => (
  <div className="mx-auto flex h-[36rem] w-full max-w-[20rem] flex-col overflow-hidden rounded-[2.2rem] border-[0.6rem] border-text bg-surface shadow-card">
    <div className="flex shrink-0 flex-col items-center gap-1 border-b border-line bg-sunken px-3 pt-2 pb-1.5">
      <span className="h-1.5 w-16 rounded-full bg-text" aria-hidden="true" />
      {title !== undefined && <div className="w-full truncate text-center text-[0.87rem] font-medium">{title}</div>}
    </div>
    <div className="min-h-0 flex-1">{children}</div>
  </div>
)

/** A window on a computer. */
export const DesktopFrame = ({ title, children }: { title?: ReactNode; children: ReactNode }) => (
  <div className="flex h-[36rem] flex-col overflow-hidden rounded-xl border border-line bg-surface shadow-card">
    <div className="flex h-9 shrink-0 items-center gap-1.5 border-b border-line bg-sunken px-3" aria-hidden={title === undefined}>
      {['bg-bad', 'bg-warn', 'bg-good'].map(color => (
        <span key={color} className={`size-2.5 shrink-0 rounded-full ${color}`} />
      ))}
      {title !== undefined && <span className="ml-2 truncate text-[0.87rem]">{title}</span>}
    </div>
    <div className="min-h-0 flex-1">{children}</div>
  </div>
)

/** What a sender wrote, in a frame without origin, scripts and forms; its answer has a policy that says the same. */
export const SandboxedPage = ({ title, src }: { title: string; src: string }) => (
  <iframe title={title} src={src} sandbox="" className="size-full border-0" />
)
