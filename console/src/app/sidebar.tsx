import { Link } from '@tanstack/react-router'
import { BookOpen, MailCheck } from 'lucide-react'
import { useInstallation } from './installation.js'
import { useWords } from './language.js'
import { navigationWords, screenGroups } from './navigation.js'
import { shellWords } from './words.js'

/** The list of screens: at the side of a wide window, in a drawer on a phone. */
export function Sidebar({ live, onChoose }: { live: boolean; onChoose?: (() => void) | undefined }) {
  const words = useWords(shellWords)
  const names = useWords(navigationWords)
  const { operator, version } = useInstallation()
  const groups = screenGroups
    .map(group => ({ ...group, screens: group.screens.filter(({ roles }) => roles.includes(operator.role)) }))
    .filter(group => group.screens.length > 0)
  return (
    <div className="flex h-full flex-col">
      <div className="flex h-14 items-center gap-2.5 px-5 text-lg font-semibold tracking-tight">
        <MailCheck size={22} className="text-accent" aria-hidden="true" />
        Carteiro
      </div>
      <nav aria-label={words.screens} className="flex flex-1 flex-col gap-4 overflow-y-auto px-3 py-2">
        {groups.map(group => (
          <div key={group.name}>
            <div className="px-2.5 pb-1 text-[0.78rem] font-medium text-muted">{names.groups[group.name]}</div>
            <ul className="flex flex-col gap-0.5">
              {group.screens.map(({ name, path, icon: Icon }) => (
                <li key={name}>
                  <Link
                    to={path as never}
                    activeOptions={{ exact: path === '/', includeSearch: false }}
                    onClick={onChoose}
                    className="flex h-10 items-center gap-3 rounded-lg px-2.5 text-muted hover:bg-sunken hover:text-text md:h-9 [&.active]:bg-accent-soft [&.active]:font-medium [&.active]:text-accent"
                  >
                    <Icon size={18} aria-hidden="true" />
                    {names.screens[name]}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <a
          href={words.guidePath}
          className="flex h-10 items-center gap-3 rounded-lg px-2.5 text-muted hover:bg-sunken hover:text-text md:h-9"
        >
          <BookOpen size={18} aria-hidden="true" />
          {words.guide}
        </a>
      </nav>
      <div className="flex items-center justify-between px-5 py-3 text-[0.8rem] text-muted">
        <span className="flex items-center gap-2" role="status">
          <span className={`size-2 rounded-full ${live ? 'bg-good' : 'bg-warn'}`} aria-hidden="true" />
          {live ? words.connected : words.disconnected}
        </span>
        <span>{version}</span>
      </div>
    </div>
  )
}
