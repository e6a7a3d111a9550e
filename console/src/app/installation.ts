import { useSuspenseQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import type { Installation } from '../../../src/http/console/installation-schema.js'
import { installation } from '../api/queries.js'
import { useLanguage } from './language.js'

/** Who is signed in, the accounts and the channels. The shell has loaded it before any screen shows. */
export function useInstallation(): Installation {
  const { data } = useSuspenseQuery(installation)
  return useLanguage() === 'en' ? inEnglish(data) : data
}

/** Channels have the names of the API; what people read is in their language. The same object for the same answer. */
const translated = new WeakMap<Installation, Installation>()
function inEnglish(data: Installation): Installation {
  const known = translated.get(data)
  if (known !== undefined) return known
  const made = { ...data, channels: data.channels.map(channel => ({ ...channel, label: channel.english })) }
  translated.set(data, made)
  return made
}

export interface Scope {
  account?: string
  mode?: 'live' | 'test'
}

export interface OneAccount {
  account: string
  mode?: 'live' | 'test'
}

/** For screens about one account: the one that the header shows, or the first. `name` null: there is none at all. */
export function useOneAccount(): { scope: OneAccount; name: string | null } {
  const { account, mode } = useScope()
  const { accounts } = useInstallation()
  const found = accounts.find(({ id }) => id === account) ?? accounts[0]
  return { scope: { account: found?.id ?? '', ...(mode === undefined ? {} : { mode }) }, name: found?.name ?? null }
}

/** The account and the mode that the header shows; every query of a screen takes them. */
export function useScope(): Scope {
  const { account, mode } = useSearch({ strict: false }) as Scope
  return { ...(account === undefined ? {} : { account }), ...(mode === undefined ? {} : { mode }) }
}
