import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LogParts } from '../../src/evidence/log.js'
import { readLogProof } from '../../src/evidence/log-proof.js'
import { makeVerifier, readNote, readVerifier, verifyNote } from '../../src/evidence/note.js'
import { readWitnesses } from '../../src/evidence/targets/settings.js'
import { targetChore } from '../../src/evidence/targets/target.js'
import { witnessTarget } from '../../src/evidence/targets/witness.js'
import { listTargets } from '../../src/store/evidence/checkpoint-targets.js'
import { findNewestCheckpoint } from '../../src/store/evidence/checkpoints.js'
import { listCosignatures } from '../../src/store/evidence/cosignatures.js'
import { openOutbound } from '../../src/webhooks/outbound.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { extendTo, insertChain, logParts } from '../support/evidence/log.js'
import { needPrograms } from '../support/programs/needed-programs.js'

/** An independent witness, in Python with openssl: test/independent/witness.py. */
let database: TestDatabase
let parts: LogParts
let folder: string
let witness: ChildProcess
let vkey: string
let url: string
const outbound = openOutbound({ allowed: [], loopback: true, timeoutMs: 5_000 })

const isReady = needPrograms('python3', 'openssl')
beforeAll(async () => {
  if (!isReady) return
  database = await createDatabase()
  parts = await logParts(database.pool)
  folder = mkdtempSync(join(tmpdir(), 'carteiro-witness-'))
  witness = spawn('python3', ['test/independent/witness.py', 'witness.example/w1', parts.key.vkey, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(witness.stdout!), 'line')) as [string]
  const [key, port] = line.split(' ')
  vkey = key!
  url = `http://127.0.0.1:${port}/w1`
})

afterAll(async () => {
  if (!isReady) return
  witness.kill()
  await outbound.close()
  rmSync(folder, { recursive: true })
  await database.drop()
})

/** Brings the witness the newest checkpoint; the error that it met, if any. */
async function serve(key = vkey): Promise<string | null> {
  const [setting] = readWitnesses(`${key}@${url}#every=0`)!
  let failure: string | null = null
  await targetChore(witnessTarget(setting!, database.pool, outbound.request), {
    pool: database.pool,
    retryMs: [0],
    onFailure: (_, error) => {
      failure = error.message
    },
  }).run()
  return failure
}

let size = 0
async function grow(by: number): Promise<string> {
  const id = await insertChain(database.pool, by)
  size += by
  await extendTo(parts, size)
  return id
}

test('a witness signs the first checkpoint and each one that continues it; its signature is part of the proof', async () => {
  for (const by of [3, 1, 300, 7]) {
    const id = await grow(by)
    expect(await serve()).toBeNull()
    const note = readNote((await readLogProof(database.pool, id))!.checkpoint.note)!
    expect(note.signatures.map(({ name }) => name)).toEqual([parts.key.origin, 'witness.example/w1'])
    expect(verifyNote(note, readVerifier(vkey)!)!.at!.getTime()).toBeGreaterThan(Date.now() - 60_000)
  }
  expect(await serve()).toBeNull()
  expect(await listTargets(database.pool)).toMatchObject([{ target: 'witness witness.example/w1', failures: 0 }])
})

test('a witness that knows another size than we thought says which, and gets the proof from there', async () => {
  await database.pool.query('update checkpoint_target set size = 4')
  await grow(5)
  expect(await serve()).toBeNull()
  expect(await listCosignatures(database.pool, size)).toHaveLength(1)
})

test('a signature that is not of the configured key is not stored', async () => {
  await grow(2)
  const other = makeVerifier('witness.example/w1', generateKeyPairSync('ed25519').publicKey, 'witness').vkey
  expect(await serve(other)).toMatch(/não tem uma assinatura válida/)
  expect(await listCosignatures(database.pool, size)).toEqual([])
  expect(await listTargets(database.pool)).toMatchObject([{ failures: 1, error: expect.stringMatching(/assinatura válida/) }])
})

test('a log that lost its end, or tells another history, gets no signature', async () => {
  await grow(4)
  expect(await serve()).toBeNull()
  const newest = (await findNewestCheckpoint(database.pool))!
  await database.tamper('delete from checkpoint where size > $1', [newest.size - 4])
  await database.pool.query('update checkpoint_target set size = $1', [newest.size - 10])
  expect(await serve()).toMatch(/já viu \d+ eventos e o registro tem \d+: uma cópia antiga/)
  await database.tamper("update log_leaf set hash = sha256('x') where leaf = $1", [newest.size - 1])
  await database.pool.query('update checkpoint_target set size = $1', [newest.size])
  await grow(6)
  expect(await serve()).toMatch(/HTTP 422/)
  expect(await listCosignatures(database.pool, size)).toEqual([])
})
