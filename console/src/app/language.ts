import { useSyncExternalStore } from 'react'
import { storedChoice } from './stored-choice.js'

/** Portuguese first; English for whoever chooses it. */
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

const chosen = storedChoice<Language>('carteiro.language', languages, language => {
  document.documentElement.lang = language === 'pt' ? 'pt-BR' : 'en'
})

export const setLanguage = chosen.set
export const useLanguage = (): Language => useSyncExternalStore(chosen.subscribe, chosen.get)

export function useWords<T>(words: Words<T>): T {
  return words[useLanguage()] as T
}
