/**
 * The front of a queue (runtime/queue-front.ts), as an expression of SQL. An entry becomes due at the time at which its transaction began, and is seen once that
 * commits. This is longer than it takes, in any but the worst case.
 */
export const frontOf = (firstDue: string): string => `least(${firstDue}, now() - interval '10 seconds')`

/** Before every entry. */
export const BEGINNING = '-infinity'
