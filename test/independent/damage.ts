import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { seeded } from '../../simulator/random.js'
import { nodeTools } from '../../src/evidence/node-tools.js'
import { verifyBundle } from '../../src/evidence/verify/bundle.js'
import { looksLikeZip } from '../../src/evidence/verify/zip.js'
import { sampleBundle } from '../support/evidence/bundles.js'

/** Good and damaged bundles in a folder, with what our verifier says of each, to be compared with what another verifier says. */
export interface DamageOptions {
  folder: string
  good: number
  damaged: number
  seed: number
}

/** verdicts.json: by name of the file, the exit code and, of a fault, its step and its subject. */
export type Verdicts = Record<string, { code: 0 | 1 | 2; step: string | null; subject: string | null; how: string }>

export async function writeDamage({ folder, good, damaged, seed }: DamageOptions): Promise<Verdicts> {
  mkdirSync(folder, { recursive: true })
  const random = seeded(seed)
  const below = (limit: number): number => Math.floor(random() * limit)
  const verdicts: Verdicts = {}
  const keep = async (name: string, bytes: Buffer, how: string): Promise<void> => {
    writeFileSync(join(folder, name), bytes)
    const { fault } = await verifyBundle(bytes, { key: null }, nodeTools)
    const code = looksLikeZip(bytes) ? (fault === null ? 0 : 1) : 2
    verdicts[name] = { code, step: fault?.step ?? null, subject: fault?.subject ?? null, how }
  }
  const bundles: Buffer[] = []
  for (let index = 0; index < good; index++) {
    bundles.push((await sampleBundle({ seed: index })).bytes)
    await keep(`good-${index}.zip`, bundles[index]!, 'whole')
  }
  for (let index = 0; index < damaged; index++) {
    const [how, damage] = damages[index % damages.length]!
    const which = below(bundles.length)
    await keep(`damaged-${index}.zip`, await damage(bundles[which]!, which, below), how)
  }
  writeFileSync(join(folder, 'verdicts.json'), `${JSON.stringify(verdicts, null, 1)}\n`)
  return verdicts
}

type Damage = (bytes: Buffer, seed: number, below: (limit: number) => number) => Buffer | Promise<Buffer>

/** Of bytes alone, and of files that are changed before they are listed and signed, which only the later checks find. */
const damages: readonly [how: string, damage: Damage][] = [
  ['a byte changed', (bytes, _, below) => change(bytes, below(bytes.length), 1 + below(255))],
  ['a byte removed', (bytes, _, below) => splice(bytes, below(bytes.length), 1)],
  ['a byte added', (bytes, _, below) => splice(bytes, below(bytes.length + 1), 0, below(256))],
  ['cut', (bytes, _, below) => bytes.subarray(0, below(bytes.length))],
  ['a byte of a member changed with its CRC-32', changeWithCrc],
  [
    'a file changed before it was signed',
    (_, seed, below) => edited(seed, below, bytes => change(bytes, below(bytes.length), 1 + below(255))),
  ],
  ['a file cut before it was signed', (_, seed, below) => edited(seed, below, bytes => bytes.subarray(0, below(bytes.length)))],
  ['a digit changed before it was signed', (_, seed, below) => edited(seed, below, bytes => changeDigit(bytes, below))],
]

const change = (bytes: Buffer, at: number, by: number): Buffer => {
  const changed = Buffer.from(bytes)
  changed[at]! ^= by
  return changed
}

const splice = (bytes: Buffer, at: number, remove: number, ...add: number[]): Buffer =>
  Buffer.concat([bytes.subarray(0, at), Buffer.from(add), bytes.subarray(at + remove)])

/** In both headers, so that the ZIP itself is right. */
function changeWithCrc(bytes: Buffer, _: number, below: (limit: number) => number): Buffer {
  const members: { at: number; size: number; start: number }[] = []
  for (let at = 0; bytes.readUInt32LE(at) === 0x04034b50; ) {
    const [size, start] = [bytes.readUInt32LE(at + 18), at + 30 + bytes.readUInt16LE(at + 26)]
    if (size > 0) members.push({ at, size, start })
    at = start + size
  }
  const { at, size, start } = members[below(members.length)]!
  const changed = change(bytes, start + below(size), 1 + below(255))
  const crc = crc32(changed.subarray(start, start + size))
  const name = bytes.subarray(at + 30, start)
  changed.writeUInt32LE(crc, at + 14)
  changed.writeUInt32LE(crc, changed.lastIndexOf(name) - 46 + 16)
  return changed
}

async function edited(seed: number, below: (limit: number) => number, edit: (bytes: Buffer) => Buffer): Promise<Buffer> {
  const change = (files: Map<string, Buffer>): void => {
    const paths = [...files.keys()].filter(
      path => path !== 'LEIA-ME.txt' && path !== 'status.json' && files.get(path)!.length > 0,
    )
    const path = paths[below(paths.length)]!
    files.set(path, edit(files.get(path)!))
  }
  return (await sampleBundle({ seed, edit: change })).bytes
}

/** Such a change leaves a JSON file canonical, and a hash or a size wrong. */
function changeDigit(bytes: Buffer, below: (limit: number) => number): Buffer {
  const places = [...bytes.keys()].filter(at => bytes[at]! >= 0x31 && bytes[at]! <= 0x38)
  return places.length === 0 ? change(bytes, 0, 1) : change(bytes, places[below(places.length)]!, 1)
}
