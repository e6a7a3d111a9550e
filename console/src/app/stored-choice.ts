/**
 * A choice that stays in this browser; the first one, until somebody chooses. `apply` gives the page the looks of the choice, at once and after
 * every change. For useSyncExternalStore.
 */
export function storedChoice<Choice extends string>(
  key: string,
  choices: readonly [Choice, ...Choice[]],
  apply: (choice: Choice) => void,
) {
  const listeners = new Set<() => void>()
  let current = choices.find(choice => choice === localStorage.getItem(key)) ?? choices[0]
  const refresh = (): void => {
    apply(current)
    for (const listener of listeners) listener()
  }
  refresh()
  return {
    get: (): Choice => current,
    set(choice: Choice): void {
      current = choice
      localStorage.setItem(key, choice)
      refresh()
    },
    /** The device changed, and with it the meaning of the choice. */
    refresh,
    subscribe(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
