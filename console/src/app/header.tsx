import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { LogOut, Menu as MenuIcon, Search, UserRound } from 'lucide-react'
import { type RefObject, useState } from 'react'
import { ApiError, api } from '../api/client.js'
import { Button, IconButton } from '../parts/form/button.js'
import { inputClass, Segments, Select } from '../parts/form/field.js'
import { Dialog } from '../parts/shell/dialog.js'
import { FormError } from '../parts/shell/gate.js'
import { Menu, MenuChoice, MenuItem, MenuLine } from '../parts/shell/menu.js'
import { messageOf } from '../parts/shell/states.js'
import { partWords } from '../parts/words.js'
import { useInstallation, useScope } from './installation.js'
import { languages, setLanguage, useLanguage, useWords } from './language.js'
import { setTheme, themes, useTheme } from './theme.js'
import { shellWords } from './words.js'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export function Header({ search, onMenu }: { search: RefObject<HTMLInputElement | null>; onMenu(): void }) {
  const words = useWords(shellWords)
  return (
    <header className="sticky top-0 z-30 flex h-[var(--header)] items-center gap-2 border-b border-line bg-surface px-3 max-md:flex-wrap md:px-5">
      <IconButton label={words.menu} onClick={onMenu} className="md:hidden">
        <MenuIcon size={20} />
      </IconButton>
      <SearchBox input={search} />
      <div className="order-3 flex flex-1 items-center gap-2 max-md:basis-full md:order-none">
        <ScopeChoice />
      </div>
      <UserMenu />
    </header>
  )
}

function SearchBox({ input }: { input: RefObject<HTMLInputElement | null> }) {
  const words = useWords(shellWords)
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const go = (): void => {
    const typed = text.trim()
    if (typed === '') return
    if (UUID.test(typed)) void navigate({ to: '/notifications/$id', params: { id: typed.toLowerCase() } })
    else void navigate({ to: '/notifications', search: { q: typed } })
    setText('')
  }
  return (
    <search className="min-w-0 flex-1 md:max-w-sm">
      <form
        className="relative"
        onSubmit={event => {
          event.preventDefault()
          go()
        }}
      >
        <Search
          size={17}
          className="pointer-events-none absolute top-1/2 left-3 -translate-y-1/2 text-muted"
          aria-hidden="true"
        />
        <input
          ref={input}
          type="search"
          value={text}
          onChange={event => setText(event.target.value)}
          aria-label={words.search}
          placeholder={words.searchHint}
          className={`${inputClass} pl-9 placeholder:text-[0.93rem]`}
        />
      </form>
    </search>
  )
}

/** The account and the mode that every screen is about. They are in the address. */
function ScopeChoice() {
  const words = useWords(shellWords)
  const { accounts } = useInstallation()
  const { account = '', mode = 'live' } = useScope()
  const navigate = useNavigate()
  const choose = (change: object): void =>
    void navigate({ to: '.', search: (previous: object) => ({ ...previous, ...change }) } as never)
  return (
    <>
      {accounts.length > 1 && (
        <Select
          label={words.account}
          hideLabel
          className="min-w-0 flex-1 md:max-w-56 md:flex-none"
          value={account}
          choices={[{ value: '', label: words.allAccounts }, ...accounts.map(({ id, name }) => ({ value: id, label: name }))]}
          onChoose={value => choose({ account: value === '' ? undefined : value })}
        />
      )}
      <Segments
        label={words.mode}
        value={mode}
        choices={[
          { value: 'live', label: words.live },
          { value: 'test', label: words.test },
        ]}
        onChoose={value => choose({ mode: value === 'live' ? undefined : value })}
      />
    </>
  )
}

function UserMenu() {
  const words = useWords(shellWords)
  const { operator } = useInstallation()
  const navigate = useNavigate()
  const theme = useTheme()
  const language = useLanguage()
  const { unreachable, close } = useWords(partWords)
  const signOut = useMutation({
    mutationFn: () =>
      api.post('/sign-out').catch(error => {
        // The session is over already.
        if (!(error instanceof ApiError) || error.status !== 401) throw error
      }),
    // From the beginning: nothing of this person's may stay in memory.
    onSuccess: () => location.assign('/console/sign-in'),
  })
  return (
    <>
      <Menu
        trigger={
          <button
            type="button"
            aria-label={operator.name}
            className="flex size-10 shrink-0 items-center justify-center rounded-full bg-accent-soft font-semibold text-accent uppercase"
          >
            {[...operator.name][0]}
          </button>
        }
      >
        <div className="px-2.5 py-2">
          <div className="max-w-56 truncate font-medium">{operator.name}</div>
          <div className="max-w-56 truncate text-[0.87rem] text-muted">{operator.email}</div>
          <div className="text-[0.87rem] text-muted">{words.roles[operator.role]}</div>
        </div>
        <MenuLine />
        <MenuChoice
          label={words.theme}
          value={theme}
          choices={themes.map(value => ({ value, label: words.themes[value] }))}
          onChoose={value => setTheme(value as (typeof themes)[number])}
        />
        <MenuChoice
          label={words.language}
          value={language}
          choices={languages.map(value => ({ value, label: value === 'pt' ? 'Português' : 'English' }))}
          onChoose={value => setLanguage(value as (typeof languages)[number])}
        />
        <MenuLine />
        <MenuItem icon={<UserRound size={17} />} onSelect={() => void navigate({ to: '/profile' })}>
          {words.profile}
        </MenuItem>
        <MenuItem icon={<LogOut size={17} />} onSelect={() => signOut.mutate()}>
          {words.signOut}
        </MenuItem>
      </Menu>
      <Dialog
        open={signOut.error !== null}
        onClose={signOut.reset}
        title={words.signOutFailed}
        about={words.maybeSignedIn}
        actions={
          <>
            <Button onClick={signOut.reset}>{close}</Button>
            <Button look="primary" busy={signOut.isPending} onClick={() => signOut.mutate()}>
              {words.signOut}
            </Button>
          </>
        }
      >
        <FormError message={signOut.error === null ? null : messageOf(signOut.error, unreachable)} />
      </Dialog>
    </>
  )
}
