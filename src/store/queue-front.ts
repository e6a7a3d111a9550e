/**
 * The SQL expression for the front of a queue (runtime/queue-front.ts). The front is at least ten seconds ago: an entry becomes due when its
 * transaction begins and is seen when the transaction commits, and few transactions take longer.
 */
export const frontOf = (firstDue: string): string => `least(${firstDue}, now() - interval '10 seconds')`

/** The time before every entry of a queue. */
export const BEGINNING = '-infinity'
