import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type pg from 'pg'

/** COPY over the driver's own connection. The rows stay bytes and pass through at the pace of the reader or of the server. */

/** The part of the driver's connection that COPY needs; the driver does not declare it. */
interface Wire {
  stream: Socket
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
  sendCopyFail(message: string): void
}

/** What the driver calls while a statement of ours runs. */
abstract class CopyStatement {
  rows = 0
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  submit(connection: unknown): void {
    const wire = connection as Wire
    this.begin(wire)
    wire.query(this.#text)
  }

  protected begin(_: Wire): void {}
  handleCopyInResponse(wire: Wire): void {
    wire.sendCopyFail('nothing is copied in here')
  }
  handleCopyData(_: { chunk: Buffer }): void {}
  handleCommandComplete({ text }: { text: string }): void {
    this.rows = Number(/^COPY (\d+)$/.exec(text)?.[1] ?? 0)
  }
  abstract handleError(error: Error): void
  abstract handleReadyForQuery(): void
}

/** Collected before it is handed on: the server sends a message for every row. */
const CHUNK = 65_536

class CopyOut extends CopyStatement {
  readonly source: Readable
  #wire: Wire | undefined
  #parts: Buffer[] = []
  #size = 0

  constructor(text: string) {
    super(text)
    this.source = new Readable({ highWaterMark: 4 * CHUNK, read: () => void this.#wire?.stream.resume() })
  }

  protected override begin(wire: Wire): void {
    this.#wire = wire
  }

  override handleCopyData({ chunk }: { chunk: Buffer }): void {
    // A copy: the driver uses its buffer again.
    this.#parts.push(Buffer.from(chunk))
    this.#size += chunk.length
    if (this.#size >= CHUNK && !this.#flush()) this.#wire?.stream.pause()
  }

  #flush(): boolean {
    if (this.#size === 0) return true
    const collected = Buffer.concat(this.#parts, this.#size)
    this.#parts = []
    this.#size = 0
    return this.source.push(collected)
  }

  handleError(error: Error): void {
    this.source.destroy(error)
  }

  handleReadyForQuery(): void {
    this.#flush()
    this.source.push(null)
  }
}

/** The output of a "copy … to stdout". The number of rows is known at its end. */
export function copyOut(client: pg.ClientBase, text: string): { source: Readable; rows(): number } {
  const statement = new CopyOut(text)
  client.query(statement)
  return { source: statement.source, rows: () => statement.rows }
}

class CopyIn extends CopyStatement {
  readonly done: Promise<number>
  readonly #source: AsyncIterable<Buffer>
  #resolve: (rows: number) => void = () => {}
  #reject: (error: Error) => void = () => {}

  constructor(text: string, source: AsyncIterable<Buffer>) {
    super(text)
    this.#source = source
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  override handleCopyInResponse(wire: Wire): void {
    this.#feed(wire).then(
      () => wire.endCopyFrom(),
      error => {
        wire.sendCopyFail('the source failed')
        this.#reject(error as Error)
      },
    )
  }

  async #feed(wire: Wire): Promise<void> {
    for await (const chunk of this.#source) {
      wire.sendCopyFromChunk(chunk)
      if (wire.stream.writableNeedDrain) await new Promise(resolve => wire.stream.once('drain', resolve))
    }
  }

  handleError(error: Error): void {
    this.#reject(error)
  }

  handleReadyForQuery(): void {
    this.#resolve(this.rows)
  }
}

/** Feeds a "copy … from stdin", and resolves with the number of rows. */
export function copyIn(client: pg.ClientBase, text: string, source: AsyncIterable<Buffer>): Promise<number> {
  const statement = new CopyIn(text, source)
  client.query(statement)
  return statement.done
}
