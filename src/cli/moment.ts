import { InvalidArgumentError } from 'commander'
import { readIso } from '../domain/dates.js'

/** Of an option that several commands have. */
export function readMoment(text: string): Date {
  const moment = readIso(text)
  if (moment === null) throw new InvalidArgumentError('Informe um momento em ISO 8601 com fuso, como 2026-07-18T01:01:32-03:00.')
  return moment
}
