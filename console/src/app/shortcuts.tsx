import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { Dialog } from '../parts/shell/dialog.js'
import { useWords } from './language.js'
import { navigationWords, type ScreenEntry } from './navigation.js'
import { shellWords } from './words.js'

/** How long after g the second key counts. */
const CHORD_MS = 1_500

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))

/** / searches, g and a letter goes to a screen, ? shows this list. */
export function Shortcuts({ screens, onSearch }: { screens: readonly ScreenEntry[]; onSearch(): void }) {
  const words = useWords(shellWords)
  const names = useWords(navigationWords).screens
  const navigate = useNavigate()
  const [help, setHelp] = useState(false)
  useEffect(() => {
    let since = Number.NEGATIVE_INFINITY
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const screen = performance.now() - since < CHORD_MS ? screens.find(({ key }) => key === event.key) : undefined
      since = event.key === 'g' ? performance.now() : Number.NEGATIVE_INFINITY
      if (screen !== undefined) void navigate({ to: screen.path } as never)
      else if (event.key === '/') onSearch()
      else if (event.key === '?') setHelp(true)
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [screens, navigate, onSearch])
  return (
    <Dialog open={help} onClose={() => setHelp(false)} title={words.keys}>
      <dl className="grid grid-cols-[auto_1fr] items-center gap-x-4 gap-y-2">
        <dt>
          <Key name="/" />
        </dt>
        <dd>{words.keySearch}</dd>
        <dt>
          <Key name="?" />
        </dt>
        <dd>{words.keyHelp}</dd>
        {screens.map(({ name, key }) => (
          <div key={name} className="contents">
            <dt>
              <Key name="g" /> <Key name={key} />
            </dt>
            <dd>{names[name]}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}

const Key = ({ name }: { name: string }) => (
  <kbd className="rounded-md border border-line bg-sunken px-2 py-0.5 font-mono text-[0.9rem]">{name}</kbd>
)
