import { randomFillSync } from 'node:crypto'

/** Random bytes are cut from a block: asking the system for sixteen of them takes about as long as asking for four thousand. */
const block = Buffer.alloc(4_096)
let spent = block.length

/** At most a block at once; nothing is ever given twice. */
export function takeRandom(bytes: number): Buffer {
  if (spent + bytes > block.length) {
    randomFillSync(block)
    spent = 0
  }
  spent += bytes
  return Buffer.from(block.subarray(spent - bytes, spent))
}
