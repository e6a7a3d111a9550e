/** Several byte arrays side by side in one block, which is moved between threads and not copied. */
export interface ByteBlock {
  bytes: Uint8Array<ArrayBuffer>
  lengths: readonly number[]
}

const FIRST_BYTES = 16_384

/** Writes one part after the other into a block that grows. */
export class BlockWriter {
  #block: Buffer<ArrayBuffer>
  #end = 0
  #start = 0
  readonly #lengths: number[] = []

  /** `expected`: how many bytes will probably be written. */
  constructor(expected = FIRST_BYTES) {
    this.#block = Buffer.allocUnsafeSlow(Math.max(1, expected))
  }

  text(text: string): void {
    this.write(3 * text.length, (block, at) => at + block.write(text, at))
  }

  bytes(bytes: Uint8Array): void {
    this.write(bytes.length, (block, at) => {
      block.set(bytes, at)
      return at + bytes.length
    })
  }

  /** Lets `into` write at most so many bytes; it returns their end. */
  write(most: number, into: (block: Buffer, at: number) => number): void {
    const needed = this.#end + most
    if (needed > this.#block.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#block.length))
      this.#block.copy(larger, 0, 0, this.#end)
      this.#block = larger
    }
    this.#end = into(this.#block, this.#end)
  }

  /** Ends a part. Its bytes are valid until more is written. */
  endPart(): Buffer {
    const part = this.#block.subarray(this.#start, this.#end)
    this.#lengths.push(part.length)
    this.#start = this.#end
    return part
  }

  get block(): ByteBlock {
    return { bytes: this.#block, lengths: this.#lengths }
  }
}

export function joinBytes(list: readonly Uint8Array[]): ByteBlock {
  const writer = new BlockWriter(list.reduce((sum, { length }) => sum + length, 0))
  for (const part of list) {
    writer.bytes(part)
    writer.endPart()
  }
  return writer.block
}

/** The parts of a block. They share its memory. */
export function partsOf({ bytes: { buffer }, lengths }: ByteBlock): Buffer[] {
  let end = 0
  return lengths.map(length => {
    end += length
    return Buffer.from(buffer, end - length, length)
  })
}
