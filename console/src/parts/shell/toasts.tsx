import { CircleAlert, CircleCheck } from 'lucide-react'
import { Toast } from 'radix-ui'
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react'

interface Shown {
  id: number
  text: string
  bad: boolean
}

const Context = createContext<(text: string, bad?: boolean) => void>(() => {})

/** Says that an act was done. What failed belongs beside the form, where it stays. */
export const useToast = () => useContext(Context)

export function Toasts({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<readonly Shown[]>([])
  const add = useCallback(
    (text: string, bad = false) => setShown(all => [...all.slice(-3), { id: Date.now() + Math.random(), text, bad }]),
    [],
  )
  return (
    <Context value={add}>
      <Toast.Provider duration={5_000}>
        {children}
        {shown.map(({ id, text, bad }) => (
          <Toast.Root
            key={id}
            type={bad ? 'foreground' : 'background'}
            onOpenChange={open => !open && setShown(all => all.filter(toast => toast.id !== id))}
            className="flex items-start gap-2.5 rounded-xl border border-line bg-surface p-3 shadow-card"
          >
            {bad ? (
              <CircleAlert size={20} className="shrink-0 text-bad" />
            ) : (
              <CircleCheck size={20} className="shrink-0 text-good" />
            )}
            <Toast.Description className="min-w-0 wrap-anywhere">{text}</Toast.Description>
          </Toast.Root>
        ))}
        <Toast.Viewport className="fixed right-0 bottom-16 z-50 flex w-full max-w-sm flex-col gap-2 p-4 md:bottom-0" />
      </Toast.Provider>
    </Context>
  )
}
