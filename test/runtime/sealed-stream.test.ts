import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { openStream, type SealedStreamFault, sealStream } from '../../src/runtime/sealed-stream.js'

/** The real cost is half a second for each key. */
const CHEAP = { n: 1_024, r: 8, p: 1 }

async function* inParts(bytes: Buffer, size = 10_007): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const collect = async (source: AsyncIterable<Buffer>): Promise<Buffer> => {
  const parts: Buffer[] = []
  for await (const part of source) parts.push(part)
  return Buffer.concat(parts)
}
const seal = (bytes: Buffer): Promise<Buffer> => collect(sealStream(inParts(bytes), 'uma senha boa', CHEAP))
const open = (bytes: Buffer, passphrase = 'uma senha boa'): Promise<Buffer> =>
  collect(openStream(inParts(bytes, 40_009), passphrase))
const faultOf = (bytes: Buffer, passphrase?: string): Promise<string> =>
  open(bytes, passphrase).then(
    () => 'none',
    (error: SealedStreamFault) => error.kind,
  )

test('what was sealed opens again, whatever its length', async () => {
  for (const length of [0, 1, 65_535, 65_536, 65_537, 131_072, 200_000]) {
    const bytes = randomBytes(length)
    expect((await open(await seal(bytes))).equals(bytes)).toBe(true)
  }
})

test('another passphrase, a changed byte, a cut end and a swapped chunk do not open', async () => {
  const sealed = await seal(randomBytes(200_000))
  const head = sealed.indexOf('\n') + 1
  const chunk = 65_536 + 16
  expect(await faultOf(sealed, 'outra senha')).toBe('passphrase')
  expect(await faultOf(Buffer.from('PK\x03\x04 something else'))).toBe('foreign')
  for (const at of [head, head + chunk + 5, sealed.length - 1]) {
    const changed = Buffer.from(sealed)
    changed[at]! ^= 1
    expect([at, await faultOf(changed)]).not.toEqual([at, 'none'])
  }
  // Exactly after a chunk, in the middle of one, and nearly all of it.
  for (const end of [head + chunk, head + 2 * chunk, head + chunk + 100, sealed.length - 1])
    expect([end, await faultOf(sealed.subarray(0, end))]).toEqual([end, 'cut'])
  const swapped = Buffer.concat([
    sealed.subarray(0, head),
    sealed.subarray(head + chunk, head + 2 * chunk),
    sealed.subarray(head, head + chunk),
    sealed.subarray(head + 2 * chunk),
  ])
  expect(await faultOf(swapped)).not.toBe('none')
  const salted = Buffer.from(sealed.toString('latin1').replace('"p":1', '"p":1 '), 'latin1')
  expect(await faultOf(salted)).not.toBe('none')
})
