import { beforeEach } from 'vitest'
import { findProgram } from './other-programs.js'

/**
 * Skips the tests of this file, by name, where a program that they need is not installed. Returns whether all are there: hooks that
 * start the programs ask first.
 */
export function needPrograms(...names: readonly string[]): boolean {
  const missing = names.filter(name => findProgram(name) === null)
  beforeEach(({ skip }) => skip(missing.length > 0, `missing: ${missing.join(', ')}`))
  return missing.length === 0
}
