/** What the simulator will not do, with the HTTP status and the sentence that the asker gets. */
export class Refused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'Refused'
    this.status = status
  }
}
