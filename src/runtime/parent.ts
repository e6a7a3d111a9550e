/** Calls the listener when the parent process ends, or at once if it has ended already: 'disconnect' is emitted only once. */
export function whenParentIsGone(listener: () => void): void {
  process.once('disconnect', listener)
  if (process.connected === false) listener()
}
