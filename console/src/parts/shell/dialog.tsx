import { X } from 'lucide-react'
import { Dialog as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { useWords } from '../../app/language.js'
import { IconButton } from '../form/button.js'
import { partWords } from '../words.js'

interface DialogProps {
  open: boolean
  onClose(): void
  title: string
  /** What the act means, before it is done. */
  about?: ReactNode
  children?: ReactNode
  /** The buttons, the main one last. */
  actions?: ReactNode
}

export function Dialog({ open, onClose, title, about, children, actions }: DialogProps) {
  const words = useWords(partWords)
  return (
    <Radix.Root open={open} onOpenChange={next => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-black/50" />
        <Radix.Content
          {...(about === undefined ? { 'aria-describedby': undefined } : {})}
          className="fixed inset-x-0 bottom-0 z-50 flex max-h-[92dvh] flex-col rounded-t-2xl border border-line bg-surface shadow-card sm:inset-x-auto sm:top-1/2 sm:bottom-auto sm:left-1/2 sm:w-[34rem] sm:-translate-x-1/2 sm:-translate-y-1/2 sm:rounded-2xl"
        >
          <div className="flex items-start justify-between gap-2 px-5 pt-4">
            <Radix.Title className="mt-1 text-lg font-semibold">{title}</Radix.Title>
            <Radix.Close asChild>
              <IconButton label={words.close}>
                <X size={18} />
              </IconButton>
            </Radix.Close>
          </div>
          <div className="flex flex-col gap-4 overflow-y-auto px-5 pt-1 pb-5">
            {about !== undefined && <Radix.Description className="text-muted">{about}</Radix.Description>}
            {children}
          </div>
          {actions !== undefined && (
            <div className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3">{actions}</div>
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
