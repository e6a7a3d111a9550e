/** Milliseconds since the epoch. An argument everywhere, so that a run can be replayed. */
export type Clock = () => number
