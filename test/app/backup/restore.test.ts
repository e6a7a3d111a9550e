import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { type Frame, writeFrame } from '../../../src/app/backup/frames.js'
import { readBackup } from '../../../src/app/backup/restore.js'
import { deriveKeys } from '../../../src/domain/access/keys.js'
import { sealStream } from '../../../src/runtime/sealed-stream.js'

const folder = mkdtempSync(join(tmpdir(), 'carteiro-restore-'))
afterAll(() => rmSync(folder, { recursive: true }))

const PASSPHRASE = 'uma senha bem longa'
const CHUNK = 65_536
const masterKey = randomBytes(32)
const manifest = {
  format: 1,
  version: 'x',
  createdAt: '2026-11-15T12:00:00.000Z',
  masterKey: masterKey.toString('hex'),
  fingerprint: deriveKeys(masterKey).fingerprint,
  migrations: [],
  tables: [{ name: 't', columns: [] }],
  months: [],
  sequences: [],
  log: { size: 0, root: '' },
} as unknown as Extract<Frame, { kind: 'manifest' }>['value']

function packed(bytes: Buffer, ...more: Frame[]): Buffer {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const frames: Frame[] = [
    { kind: 'manifest', value: manifest },
    { kind: 'table', value: { name: 't' } },
    { kind: 'data', bytes },
    { kind: 'end', value: { rows: 1, sha256 } },
    { kind: 'whole', value: { tables: 1, rows: 1, files: 0 } },
    ...more,
  ]
  return gzipSync(Buffer.concat(frames.map(writeFrame)), { level: 1 })
}

/** Its last sealed chunk has only a part of the checksum of gzip, so that every frame can be read before it. */
function packedToTheEdge(): Buffer {
  const noise = randomBytes(CHUNK + 100)
  for (let size = CHUNK - 1_000; size < noise.length; size++) {
    const bytes = packed(noise.subarray(0, size))
    if (bytes.length > CHUNK && bytes.length % CHUNK <= 7) return bytes
  }
  throw new Error('no size fits')
}

async function read(plain: Buffer, change: (sealed: Buffer) => Buffer = sealed => sealed) {
  const parts: Buffer[] = []
  const source = async function* () {
    yield plain
  }
  for await (const part of sealStream(source(), PASSPHRASE, { n: 1_024, r: 8, p: 1 })) parts.push(part)
  const file = join(folder, 'copia')
  writeFileSync(file, change(Buffer.concat(parts)))
  let finished = 0
  const nothing = async (): Promise<void> => {}
  const writer = {
    begin: nothing,
    async table(_: unknown, data: AsyncIterable<Buffer>) {
      for await (const _part of data);
      return null
    },
    file: nothing,
    finish: async () => void finished++,
  }
  const problem = await readBackup({ file, passphrase: PASSPHRASE }, writer).then(
    () => null,
    (error: Error) => error.message,
  )
  return { finished, problem }
}

test('a backup is finished only after its last sealed chunk was opened', async () => {
  const plain = packedToTheEdge()
  expect(await read(plain)).toEqual({ finished: 1, problem: null })
  const changed = await read(plain, sealed => Buffer.concat([sealed.subarray(0, -1), Buffer.from([sealed.at(-1)! ^ 1])]))
  expect(changed).toEqual({ finished: 0, problem: expect.stringMatching(/termina antes do fim, ou o fim foi alterado/) })
})

test('a backup with a frame after the last one is refused', async () => {
  const plain = packed(randomBytes(10), { kind: 'table', value: { name: 't' } })
  expect(await read(plain)).toEqual({ finished: 0, problem: expect.stringMatching(/não é uma cópia inteira \(frames follow/) })
})
