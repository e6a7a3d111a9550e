import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { nodeTools } from '../../src/evidence/node-tools.js'
import { makeVerifier, readNote } from '../../src/evidence/note.js'
import { verifyBundle } from '../../src/evidence/verify/bundle.js'
import { readZip } from '../../src/evidence/verify/zip.js'
import { verifyFile } from '../../src/evidence/verify-file.js'
import { findNewestCheckpoint } from '../../src/store/evidence/checkpoints.js'
import { insertCosignature } from '../../src/store/evidence/cosignatures.js'
import { extendTo, logParts } from '../support/evidence/log.js'
import { createAccount, gatewayForFile } from '../support/gateway/gateway.js'
import { errorBody, send, validSend } from '../support/gateway/requests.js'
import { happen } from '../support/gateway/webhooks.js'
import { conformingRequests } from '../support/openapi.js'

/** GET /gw/evidence/{idEmail} (extension): everything that proves a notification, in one file that anyone can check. */
const { database, gateway, account } = await gatewayForFile()
const ask = conformingRequests(gateway, { token: account.token })

async function accept(body: object = {}, token = account.token): Promise<string> {
  const answer = await send(gateway.url, token, { ...validSend, ...body })
  expect(answer.status).toBe(200)
  return (answer.body as { idEmail: string }).idEmail
}

async function bundleOf(id: string) {
  const answer = await ask(`/gw/evidence/${id}`)
  expect(answer.status).toBe(200)
  const bytes = Buffer.from(answer.body as string, 'latin1')
  return { answer, bytes, files: readZip(bytes) }
}

const jsonOf = (files: ReadonlyMap<string, Uint8Array>, path: string) => JSON.parse(Buffer.from(files.get(path)!).toString())
const check = (bytes: Uint8Array) => verifyBundle(bytes, { key: null }, nodeTools)
const eventsInAll = async (): Promise<number> => Number((await database.pool.query('select count(*) from event')).rows[0].count)

describe('the bundle', () => {
  test('is a file with its length and a name, and holds from the first moment on', async () => {
    const id = await accept()
    const { answer, bytes, files } = await bundleOf(id)
    expect(answer.headers.get('content-type')).toBe('application/zip')
    expect(answer.headers.get('content-length')).toBe(String(bytes.length))
    expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="evidencia-${id}.zip"`)
    expect(answer.headers.get('cache-control')).toContain('no-store')
    expect([...files.keys()]).toEqual([
      'LEIA-ME.txt',
      'content/request.html',
      'events.json',
      'keys.json',
      'manifest.json',
      'manifest.sig',
      'status.json',
    ])
    const verdict = await check(bytes)
    expect(verdict).toMatchObject({ holds: true, notification: id })
    expect(verdict.unproven.join(' ')).toContain('antes do primeiro checkpoint')
  })

  test('has events, content, attachments and the proof of the log, tied to each other', async () => {
    const large = randomBytes(3 * 1_048_576)
    const attachments = [
      { name: 'Contrato nº 1 (ação).pdf', base64: Buffer.from('%PDF-1.4').toString('base64') },
      { name: '....', base64: large.toString('base64') },
    ]
    const id = await accept({ customID: 'c-9', sms: { number: '11987654321' }, attachments })
    await happen(database.pool, id, 'email', 'sent', { carrier: 'smtp:mail.example/1', answer: '250 2.0.0 Ok' })
    const parts = await logParts(database.pool)
    await extendTo(parts, await eventsInAll())
    const { bytes, files } = await bundleOf(id)
    expect([...files.keys()]).toEqual(
      expect.arrayContaining(['attachments/1-Contrato-n--1--a--o-.pdf', 'attachments/2-....', 'checkpoint.txt', 'log.json']),
    )
    expect(Buffer.from(files.get('attachments/2-....')!).equals(large)).toBe(true)
    expect(jsonOf(files, 'events.json').map(({ type }: { type: string }) => type)).toEqual(['accepted', 'sent'])
    expect(jsonOf(files, 'log.json').events.map(({ seq }: { seq: number }) => seq)).toEqual([1, 2])
    expect(jsonOf(files, 'keys.json')).toMatchObject({ v: 1, log: parts.key.vkey })
    expect(jsonOf(files, 'status.json')).toMatchObject({
      notification: id,
      mode: 'live',
      customId: 'c-9',
      channels: expect.arrayContaining([
        expect.objectContaining({ channel: 'email', recipient: 'maria@example.com', simulated: false }),
        expect.objectContaining({ channel: 'sms', recipient: '+5511987654321' }),
      ]),
    })
    const verdict = await check(bytes)
    expect(verdict).toMatchObject({ holds: true, key: parts.key.vkey })
    expect(verdict.steps.map(({ step, state }) => `${step} ${state}`)).toEqual([
      'zip holds',
      'manifest holds',
      'signature holds',
      'events holds',
      'files holds',
      'inclusion holds',
      'checkpoint holds',
      'witnesses absent',
      'time-stamps absent',
      'documents holds',
    ])
    expect(verdict.proven.join(' ')).toContain('attachments/2-....')
  })

  test('the report has a bundle of its own inside, which is checked with the signature of the PDF', async () => {
    const id = await accept()
    await happen(database.pool, id, 'email', 'sent', { carrier: 'smtp:mail.example/1' })
    await extendTo(await logParts(database.pool), await eventsInAll())
    const report = Buffer.from((await bundleOf(id)).files.get('documents/laudo.pdf')!)
    const whole = await verifyFile(report, { key: null }, nodeTools)
    expect(whole).toMatchObject({ holds: true, document: { problem: null }, bundle: { holds: true, notification: id } })
    const inside = report.indexOf(Buffer.from('/Type'))
    report[inside + 1]! ^= 1
    expect(await verifyFile(report, { key: null }, nodeTools)).toMatchObject({
      holds: false,
      document: { problem: expect.any(String) },
    })
  })

  test('brings the key of every witness that signed its checkpoint, also of one that is in no setting any more', async () => {
    const id = await accept()
    await extendTo(await logParts(database.pool), await eventsInAll())
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const witness = makeVerifier('witness.example', publicKey, 'witness')
    const { size, note } = (await findNewestCheckpoint(database.pool))!
    const time = Buffer.alloc(8)
    time.writeBigUInt64BE(1_794_830_400n)
    const signed = sign(null, Buffer.from(`cosignature/v1\ntime 1794830400\n${readNote(note)!.text}`), privateKey)
    const line = `— ${witness.name} ${Buffer.concat([witness.keyId, time, signed]).toString('base64')}\n`
    await insertCosignature(database.pool, { size, witness: witness.vkey, line, at: new Date(1_794_830_400_000) })
    const { bytes, files } = await bundleOf(id)
    expect(jsonOf(files, 'keys.json').witnesses).toEqual([witness.vkey])
    expect((await check(bytes)).steps).toContainEqual(
      expect.objectContaining({ step: 'witnesses', state: 'holds', detail: expect.stringContaining('witness.example (') }),
    )
  })

  test('what happened after the checkpoint is said not to be in it', async () => {
    const id = await accept()
    await extendTo(await logParts(database.pool), await eventsInAll())
    await happen(database.pool, id, 'email', 'sent', {})
    const verdict = await check((await bundleOf(id)).bytes)
    expect(verdict.holds).toBe(true)
    expect(verdict.unproven.join(' ')).toContain('Depois deste checkpoint: evento 2.')
  })

  test('erased data are absent, and the rest still holds', async () => {
    const id = await accept({ attachments: [{ name: 'a.pdf', base64: 'JVBERg==' }] })
    await happen(database.pool, id, 'email', 'sent', { answer: '250 Ok' })
    await database.tamper('update event set data = null, salt = null where notification_id = $1', [id])
    await database.tamper('update notification set content = null, subject = null, recipient_name = null where id = $1', [id])
    const { bytes, files } = await bundleOf(id)
    expect(files.has('content/request.html')).toBe(false)
    expect(await check(bytes)).toMatchObject({
      holds: true,
      unproven: expect.arrayContaining([expect.stringContaining('eventos 1 a 2')]),
    })
  })

  test('an event into which a recipient’s link got keeps its data to itself', async () => {
    const id = await accept()
    await happen(database.pool, id, 'email', 'sent', { answer: '250 Ok' })
    const link = `https://n.example/n/${'A'.repeat(44)}`
    // Recorded without the usual hiding, as an older fault would have left it.
    await database.tamper(
      "update event set data = jsonb_build_object('answer', $2::text) where notification_id = $1 and seq = 2",
      [id, link],
    )
    const { bytes, files } = await bundleOf(id)
    expect(bytes.includes('A'.repeat(44))).toBe(false)
    expect(jsonOf(files, 'events.json')[1]).toMatchObject({ data: null, salt: null })
    expect((await check(bytes)).holds).toBe(true)
  })

  test('no such notification, or somebody else’s: 404 as its neighbours', async () => {
    const stranger = await createAccount(database.pool)
    const foreign = await accept({}, stranger.token)
    for (const id of [foreign, 'nada', '%00', '019a0000-0000-7000-8000-000000000001']) {
      const answer = await ask(`/gw/evidence/${id}`)
      expect([id, answer.status, answer.body]).toEqual([id, 404, errorBody(404, 'Email sem status!', 'Not Found')])
    }
  })
})
