/** Calls the listener once the process that forked this one is gone, also where it went before anybody listened: that event does not come again. */
export function whenParentIsGone(listener: () => void): void {
  process.once('disconnect', listener)
  if (process.connected === false) listener()
}
