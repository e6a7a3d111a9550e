import { once } from 'node:events'

/** Signals that ask a process to stop. */
export interface Stop {
  /** Aborted by the first signal. */
  asked: AbortSignal
  /** Aborted by a later one: work in flight is not waited for any more. What must be closed is closed nevertheless. */
  hurried: AbortSignal
}

/** Two signals so close together are one: a service manager signals the whole group, and npm passes its own signal on. */
const SAME_SIGNAL_MS = 1_000

/** `ask` stops the process as the first signal does. */
export function stopSignals(): Stop & { ask(): void } {
  const asked = new AbortController()
  const hurried = new AbortController()
  let askedAt = 0
  const ask = (): void => {
    if (asked.signal.aborted) return
    askedAt = performance.now()
    asked.abort()
  }
  const onSignal = (): void => {
    if (asked.signal.aborted && performance.now() - askedAt > SAME_SIGNAL_MS) hurried.abort()
    ask()
  }
  // SIGHUP: the terminal is gone.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onSignal)
  return { asked: asked.signal, hurried: hurried.signal, ask }
}

export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

/** The result of the work, unless the signal comes first: then this rejects with the reason of the signal. */
export const unlessAborted = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> =>
  Promise.race([work, aborted(signal).then(() => Promise.reject(signal.reason))])

/** Runs a start, and takes its end by the signal for a success. */
export async function untilAborted(signal: AbortSignal, start: () => Promise<void>): Promise<void> {
  try {
    await start()
  } catch (error) {
    if (!signal.aborted || (error as Error).name !== 'AbortError') throw error
  }
}
