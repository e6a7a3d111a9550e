import { useSyncExternalStore } from 'react'

/** system: as the device is set. The choice stays in this browser. */
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const KEY = 'carteiro.theme'
const dark = matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

const read = (): Theme => themes.find(theme => theme === localStorage.getItem(KEY)) ?? 'system'

let current = read()

function apply(): void {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light'
  for (const listener of listeners) listener()
}

const isDark = (): boolean => (current === 'system' ? dark.matches : current === 'dark')

export function setTheme(theme: Theme): void {
  current = theme
  localStorage.setItem(KEY, theme)
  apply()
}

dark.addEventListener('change', apply)
apply()

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, () => current)
/** For what is drawn on a canvas, which takes colours as values. */
export const useIsDark = (): boolean => useSyncExternalStore(subscribe, isDark)
