import { useSyncExternalStore } from 'react'
import { storedChoice } from './stored-choice.js'

/** system: as the device is set. */
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const dark = matchMedia('(prefers-color-scheme: dark)')
const isDark = (theme: Theme): boolean => (theme === 'system' ? dark.matches : theme === 'dark')

const chosen = storedChoice<Theme>('carteiro.theme', themes, theme => {
  document.documentElement.dataset.theme = isDark(theme) ? 'dark' : 'light'
})
dark.addEventListener('change', chosen.refresh)

export const setTheme = chosen.set
export const useTheme = (): Theme => useSyncExternalStore(chosen.subscribe, chosen.get)
/** For what is drawn on a canvas, which takes colours as values. */
export const useIsDark = (): boolean => useSyncExternalStore(chosen.subscribe, () => isDark(chosen.get()))
