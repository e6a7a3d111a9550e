import { readdirSync, readFileSync } from 'node:fs'

/** Processor time from /proc, in seconds, also of programs that are not ours. */

/** USER_HZ: the same on every Linux that people run. */
const TICKS_PER_SECOND = 100

interface ProcessTimes {
  parent: number
  own: number
  /** Of children that ended and were waited for. */
  ended: number
}

/** One process, or null once it is gone. */
function readTimes(pid: number): ProcessTimes | null {
  try {
    // The name, in parentheses, may hold blanks.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number)
    return { parent: fields[1]!, own: fields[11]! + fields[12]!, ended: fields[13]! + fields[14]! }
  } catch {
    return null
  }
}

export const parentOf = (pid: number): number => readTimes(pid)?.parent ?? 0

/** A process with its children, living and ended. */
export function cpuSeconds(pid: number): number {
  const root = readTimes(pid)
  if (root === null) return 0
  let ticks = root.own + root.ended
  for (const name of readdirSync('/proc')) {
    const times = /^\d+$/.test(name) ? readTimes(Number(name)) : null
    if (times?.parent === pid) ticks += times.own + times.ended
  }
  return ticks / TICKS_PER_SECOND
}
