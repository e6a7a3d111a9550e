/** Closes this process when the benchmark says so or ends. A Ctrl-C, which reaches the whole group of the terminal, does not. */
export function stopWithParent(close: () => Promise<void>): void {
  let stopping = false
  const stop = async (): Promise<void> => {
    if (stopping) return
    stopping = true
    await close()
    process.exit(0)
  }
  process.on('SIGINT', () => {})
  process.on('SIGTERM', stop)
  process.on('disconnect', stop)
}
