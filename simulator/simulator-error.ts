/** A refusal of the simulator itself, with the HTTP status and the sentence of the answer. */
export class SimulatorError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'SimulatorError'
    this.status = status
  }
}
