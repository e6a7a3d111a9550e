import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readLogKey } from '../../src/evidence/log-key.js'
import { readLogProof } from '../../src/evidence/log-proof.js'
import { nodeTools } from '../../src/evidence/node-tools.js'
import { readCheckpoint, readNote, readVerifier, splitNotes, verifyNote } from '../../src/evidence/note.js'
import { isIncluded } from '../../src/evidence/verify/merkle.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount, readMetrics, testKeys } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'

/** From POST to a checkpoint that left the host, with the worker as it ships. */
let stack: Stack
let folder: string
let archive: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'carteiro-checkpoints-'))
  archive = join(folder, 'checkpoints.txt')
  const CHECKPOINT_EXPORT = `file://${archive},mailto:cartorio@example.com#every=3600`
  stack = await startStack(undefined, { CHECKPOINT_EXPORT })
})

afterAll(async () => {
  await stack.close()
  rmSync(folder, { recursive: true })
})

test('the events of a delivered notification are proven by a checkpoint in the archive, which the audit fits to the database', async () => {
  const { database, gateway } = stack
  const { token } = await createAccount(database.pool)
  const { body } = await send(gateway.url, token, validSend)
  const { idEmail } = body as { idEmail: string }
  await expect
    .poll(async () => (await request(`${gateway.url}/gw/email/${idEmail}`, { token })).body)
    .toMatchObject({ description: 'Entregue' })
  const { rows } = await database.pool.query<{ hash: Buffer }>('select hash from event where notification_id = $1 order by seq', [
    idEmail,
  ])
  const proofOf = () => readLogProof(database.pool, idEmail)
  await expect.poll(async () => (await proofOf())?.events.length).toBe(rows.length)
  const proof = (await proofOf())!
  const note = readNote(proof.checkpoint.note)!
  const key = (await readLogKey(database.pool, testKeys.sealing))!
  expect(verifyNote(note, readVerifier(key.vkey)!)).not.toBeNull()
  expect(key.origin).toMatch(/^127\.0\.0\.1\/carteiro\/[0-9a-f]{8}$/)
  const { root, size } = readCheckpoint(note.text)!
  for (const { seq, leaf, path } of proof.events) {
    const steps = path.map(step => Buffer.from(step, 'hex'))
    const included = { leaf: rows[seq - 1]!.hash, place: leaf, size, path: steps, root }
    expect(await isIncluded(included, nodeTools)).toBe(true)
  }
  const archived = (): number[] =>
    splitNotes(readFileSync(archive, 'utf8')).map(text => readCheckpoint(readNote(text)!.text)!.size)
  await expect.poll(() => archived().at(-1)).toBeGreaterThanOrEqual(size)
  const { status, stdout } = await runCommand(['audit', '--checkpoint', archive, '--key', key.vkey, '--json'], database.url)
  expect([status, JSON.parse(stdout)]).toMatchObject([0, { faults: [] }])
})

test('a checkpoint is mailed through the carriers of e-mails, once in its interval', async () => {
  const { simulator } = stack
  const found = await request(`${simulator.url}/simulator/messages?to=cartorio@example.com&wait=60s`)
  const [{ id }] = found.body as [{ id: string }]
  const mail = (await request(`${simulator.url}/simulator/messages/${id}`)).body as { subject: string; text: string }
  expect(mail.subject).toMatch(/^Checkpoint de 127\.0\.0\.1\/carteiro\/[0-9a-f]{8}: \d+ eventos$/)
  const [note] = splitNotes(mail.text)
  const key = (await readLogKey(stack.database.pool, testKeys.sealing))!
  expect(verifyNote(readNote(note!)!, readVerifier(key.vkey)!)).not.toBeNull()
})

test('the metrics tell the size of the log, its lag, the age of the newest checkpoint and failing targets', async () => {
  const metrics = await readMetrics(stack.gateway.url)
  expect(metrics).toMatch(/^carteiro_log_size [1-9]\d*$/m)
  expect(metrics).toMatch(/^carteiro_log_lag_seconds \d/m)
  expect(metrics).toMatch(/^carteiro_checkpoint_age_seconds \d/m)
  expect(metrics).toMatch(/^carteiro_checkpoint_failures\{target="mailto:cartorio@example.com"\} 0$/m)
})
