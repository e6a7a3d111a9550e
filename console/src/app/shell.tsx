import { Link, Outlet, useLocation } from '@tanstack/react-router'
import { Dialog } from 'radix-ui'
import { useCallback, useMemo, useRef, useState } from 'react'
import { Header } from './header.js'
import { useInstallation } from './installation.js'
import { useWords } from './language.js'
import { useLive } from './live.js'
import { navigationWords, screens } from './navigation.js'
import { Shortcuts } from './shortcuts.js'
import { Sidebar } from './sidebar.js'
import { shellWords } from './words.js'

/** What surrounds every screen. */
export function Shell() {
  const words = useWords(shellWords)
  const { operator } = useInstallation()
  const live = useLive()
  const search = useRef<HTMLInputElement>(null)
  const [drawer, setDrawer] = useState(false)
  const visible = useMemo(() => screens.filter(({ roles }) => roles.includes(operator.role)), [operator.role])
  const focusSearch = useCallback(() => search.current?.focus(), [])
  return (
    <div className="flex min-h-dvh [--header:6.75rem] md:[--header:3.5rem]">
      <a
        href="#content"
        className="fixed top-2 left-2 z-50 -translate-y-20 rounded-lg bg-accent px-3 py-2 text-accent-text focus:translate-y-0"
      >
        {words.skip}
      </a>
      <aside className="sticky top-0 h-dvh w-58 shrink-0 border-r border-line bg-surface max-md:hidden">
        <Sidebar live={live} />
      </aside>
      <Dialog.Root open={drawer} onOpenChange={setDrawer}>
        <Dialog.Portal>
          <Dialog.Overlay className="fixed inset-0 z-40 bg-black/50 md:hidden" />
          <Dialog.Content
            aria-describedby={undefined}
            className="fixed inset-y-0 left-0 z-50 w-68 border-r border-line bg-surface md:hidden"
          >
            <Dialog.Title className="sr-only">{words.menu}</Dialog.Title>
            <Sidebar live={live} onChoose={() => setDrawer(false)} />
          </Dialog.Content>
        </Dialog.Portal>
      </Dialog.Root>
      <div className="flex min-w-0 flex-1 flex-col">
        <Header search={search} onMenu={() => setDrawer(true)} />
        <main id="content" tabIndex={-1} className="min-w-0 flex-1 outline-none">
          <Outlet />
        </main>
        <BottomBar names={visible.slice(0, 4).map(({ name }) => name)} />
      </div>
      <Shortcuts screens={visible} onSearch={focusSearch} />
    </div>
  )
}

/** On a phone the screens that are used most are under the thumb. */
function BottomBar({ names }: { names: readonly string[] }) {
  const labels = useWords(navigationWords).screens
  const words = useWords(shellWords)
  const { pathname } = useLocation()
  return (
    <nav aria-label={words.menu} className="fixed inset-x-0 bottom-0 z-30 flex border-t border-line bg-surface md:hidden">
      {screens
        .filter(({ name }) => names.includes(name))
        .map(({ name, path, icon: Icon }) => (
          <Link
            key={name}
            to={path as never}
            data-here={pathname === path}
            className="flex h-14 flex-1 flex-col items-center justify-center gap-0.5 text-[0.75rem] text-muted data-[here=true]:text-accent"
          >
            <Icon size={20} aria-hidden="true" />
            {labels[name]}
          </Link>
        ))}
    </nav>
  )
}
