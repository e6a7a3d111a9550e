import { useSyncExternalStore } from 'react'

/** Portuguese first; English for whoever chooses it. The choice stays in this browser. */
export const languages = ['pt', 'en'] as const
export type Language = (typeof languages)[number]

type Shape<T> = T extends string
  ? string
  : T extends (...args: infer Args) => string
    ? (...args: Args) => string
    : { readonly [Name in keyof T]: Shape<T[Name]> }

/** The words of one screen in both languages: English must have every entry that Portuguese has. */
export interface Words<T> {
  pt: T
  en: Shape<T>
}

export const defineWords = <const T extends object>(pt: T, en: Shape<T>): Words<Shape<T>> =>
  ({ pt, en }) as unknown as Words<Shape<T>>

const KEY = 'carteiro.language'
const listeners = new Set<() => void>()
let current: Language = localStorage.getItem(KEY) === 'en' ? 'en' : 'pt'

function apply(): void {
  document.documentElement.lang = current === 'pt' ? 'pt-BR' : 'en'
  for (const listener of listeners) listener()
}
apply()

export function setLanguage(language: Language): void {
  current = language
  localStorage.setItem(KEY, language)
  apply()
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useLanguage = (): Language => useSyncExternalStore(subscribe, () => current)

export function useWords<T>(words: Words<T>): T {
  return words[useLanguage()] as T
}
