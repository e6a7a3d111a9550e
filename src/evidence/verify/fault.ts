/** The checks in their order. Programs read these names, so they do not change. */
export const steps = [
  'zip',
  'manifest',
  'signature',
  'events',
  'files',
  'inclusion',
  'checkpoint',
  'witnesses',
  'time-stamps',
  'documents',
] as const
export type Step = (typeof steps)[number]

/** What does not hold, in words for a reader who is no engineer. `subject`: the file, or "evento N"; null: the whole. */
export class Fault extends Error {
  readonly step: Step
  readonly subject: string | null

  constructor(step: Step, subject: string | null, message: string) {
    super(message)
    this.step = step
    this.subject = subject
  }
}

export const fault = (step: Step, subject: string | null, message: string): Fault => new Fault(step, subject, message)
