import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canonicalJson, type Json } from '../../src/domain/evidence/canonical-json.js'
import { type ChainedEvent, chainEvent, GENESIS, sha256 } from '../../src/domain/evidence/evidence.js'
import { nodeTools } from '../../src/evidence/node-tools.js'
import { requestTimeStamp } from '../../src/evidence/signature/time-stamp-client.js'
import { verifyBundle } from '../../src/evidence/verify/bundle.js'
import { steps } from '../../src/evidence/verify/fault.js'
import { readZip } from '../../src/evidence/verify/zip.js'
import { sampleBundle, sampleKey } from '../support/evidence/bundles.js'
import { type Certification, createCertification } from '../support/evidence/certification.js'
import { startTimeStampAuthority, type TimeStampAuthority } from '../support/evidence/time-stamp-authority.js'
import { needPrograms } from '../support/programs/needed-programs.js'
import { findProgram } from '../support/programs/other-programs.js'
import { readSource } from '../support/sources.js'

/** The offline verifier: what holds, and what is named first when something does not (docs/evidence.md). */
const check = (bytes: Uint8Array, key: string | null = null) => verifyBundle(bytes, { key }, nodeTools)

type Files = Map<string, Buffer>
const json = (files: Files, path: string) => JSON.parse(files.get(path)!.toString())
const put = (files: Files, path: string, value: unknown) => files.set(path, Buffer.from(canonicalJson(value as Json)))

/** The fault of a bundle whose files were changed before they were signed: what only the later checks can find. */
async function faultOf(edit: (files: Files) => void, seed = 0) {
  const { bytes } = await sampleBundle({ seed, edit })
  const { holds, fault } = await check(bytes)
  expect(holds).toBe(fault === null)
  return fault
}

describe('a whole bundle', () => {
  test('holds, whatever its shape', async () => {
    for (let seed = 0; seed < 60; seed++) {
      const { bytes, notification } = await sampleBundle({ seed })
      expect(await check(bytes, sampleKey.vkey), `seed ${seed}`).toMatchObject({ holds: true, fault: null, notification })
    }
  })

  test('is a ZIP for other programs, with the date and the names that the format fixes', async ({ skip }) => {
    skip(findProgram('python3') === null, 'missing: python3')
    const { bytes } = await sampleBundle({ seed: 0 })
    const listed = execFileSync('python3', ['-c', PYTHON_ZIP], { input: bytes, encoding: 'utf8' })
    expect(JSON.parse(listed)).toEqual([...readZip(bytes)].map(([path, data]) => [path, data.length, sha256(data), [1980, 1, 1]]))
  })

  test('says what it does not prove: a key that nobody pinned, events after the checkpoint, erased data, what is not in it', async () => {
    const unpinned = await check((await sampleBundle({ seed: 0 })).bytes)
    expect(unpinned.unproven.join('\n')).toContain(sampleKey.vkey)
    const pinned = await check((await sampleBundle({ seed: 0 })).bytes, sampleKey.vkey)
    expect(pinned.unproven.join('\n')).not.toContain(sampleKey.vkey)
    const partial = await sampleBundle({
      seed: 0,
      edit: files => {
        const log = json(files, 'log.json')
        put(files, 'log.json', { ...log, events: log.events.slice(0, 1) })
        files.delete('content/request.html')
      },
    })
    const verdict = await check(partial.bytes)
    expect(verdict.holds).toBe(true)
    expect(verdict.unproven.join('\n')).toMatch(/Depois deste checkpoint: eventos 2 a/)
    expect(verdict.unproven.join('\n')).toMatch(/ausente do pacote: conteúdo do evento 1/)
    const erased = await sampleBundle({
      seed: 0,
      edit: files =>
        put(
          files,
          'events.json',
          json(files, 'events.json').map((event: object) => ({ ...event, data: null, salt: null })),
        ),
    })
    const blind = await check(erased.bytes)
    expect(blind.holds).toBe(true)
    expect(blind.unproven.join('\n')).toMatch(
      /apagados ou reservados: eventos 1 a[\s\S]*não prova estes arquivos: .*content\/request\.html/,
    )
  })
})

const PYTHON_ZIP = `
import sys, io, json, zipfile, hashlib
z = zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read()))
assert z.testzip() is None
print(json.dumps([[i.filename, i.file_size, hashlib.sha256(z.read(i)).hexdigest(), list(i.date_time[:3])] for i in z.infolist()]))`

test('the example of docs/evidence.md is this bundle, with the values that the document shows', async () => {
  const { bytes, notification } = await sampleBundle({ seed: 0 })
  expect(readFileSync('docs/exemplo-evidencia.zip').equals(bytes)).toBe(true)
  const document = readSource('docs/evidence.md')
  const files = readZip(bytes)
  const [first] = JSON.parse(Buffer.from(files.get('events.json')!).toString())
  const { witnesses, log } = JSON.parse(Buffer.from(files.get('keys.json')!).toString())
  const [, , root] = Buffer.from(files.get('checkpoint.txt')!).toString().split('\n')
  const values = [
    `${bytes.length} bytes, SHA-256 ${sha256(bytes)}`,
    notification,
    log,
    witnesses[0],
    sha256(files.get('manifest.json')!),
    first.commit,
    first.hash,
    root,
  ]
  for (const value of values) expect(document).toContain(value)
  for (const step of steps) expect(document).toMatch(new RegExp(`^\\d+\\. \\*\\*\`${step}\``, 'm'))
})

describe('any damage is found', () => {
  test('any single byte that is changed, removed or added', async () => {
    const bundles = await Promise.all([0, 1, 2, 3].map(seed => sampleBundle({ seed })))
    const damage = fc.tuple(fc.nat(3), fc.nat(), fc.integer({ min: 1, max: 255 }), fc.constantFrom('change', 'remove', 'add'))
    await fc.assert(
      fc.asyncProperty(damage, async ([which, where, value, kind]) => {
        const { bytes } = bundles[which]!
        const at = where % (kind === 'add' ? bytes.length + 1 : bytes.length)
        const [head, tail] = [bytes.subarray(0, at), bytes.subarray(kind === 'add' ? at : at + 1)]
        const middle = kind === 'remove' ? [] : [kind === 'add' ? value : bytes[at]! ^ value]
        const damaged = Buffer.concat([head, Buffer.from(middle), tail])
        const verdict = await check(damaged)
        expect(verdict.holds).toBe(false)
        expect(verdict.fault?.message).toMatch(/\.$/)
        expect(verdict.proven).toEqual([])
      }),
      { numRuns: 3_000 },
    )
  })

  test.each([
    'events.json',
    'content/2-email.eml',
    'content/request.html',
    'checkpoint.txt',
    'log.json',
    'manifest.json',
    'LEIA-ME.txt',
  ])('a changed byte of %s names the file', async path => {
    const { bytes } = await sampleBundle({ seed: 0 })
    const data = readZip(bytes).get(path)!
    const damaged = Buffer.from(bytes)
    damaged[data.byteOffset - bytes.byteOffset + 3]! ^= 1
    const { fault } = await check(damaged)
    expect(fault).toMatchObject({ step: 'zip', subject: path, message: expect.stringContaining(path) })
  })

  test('two bundles, one after the other, are none; nor is half of one, nor nothing', async () => {
    const { bytes } = await sampleBundle({ seed: 0 })
    for (const wrong of [
      Buffer.concat([bytes, bytes]),
      bytes.subarray(0, bytes.length / 2),
      Buffer.alloc(0),
      Buffer.from('%PDF-1.7'),
    ])
      expect(await check(wrong)).toMatchObject({ holds: false, fault: { step: 'zip' } })
  })
})

/** As someone does who can also repair the ZIP and its list, and has a key. */
describe('what was changed before the list was signed', () => {
  const event = (files: Files, seq: number, change: object) =>
    put(
      files,
      'events.json',
      json(files, 'events.json').map((each: { seq: number }) => (each.seq === seq ? { ...each, ...change } : each)),
    )

  test.each<[string, (files: Files) => void, object]>([
    [
      'an event without the one before it',
      files => put(files, 'events.json', json(files, 'events.json').slice(1)),
      { step: 'events', subject: 'evento 1' },
    ],
    [
      'an event that was taken out of the middle',
      files => put(files, 'events.json', json(files, 'events.json').toSpliced(1, 1)),
      { step: 'events', subject: 'evento 2' },
    ],
    [
      'a date',
      files => event(files, 1, { at: '2026-11-16T09:00:00.000Z' }),
      { step: 'events', subject: 'evento 1', message: expect.stringContaining('alterado') },
    ],
    [
      'the data of an event',
      files => event(files, 2, { data: { channel: 'email' } }),
      { step: 'events', subject: 'evento 2', message: 'Os dados do evento 2 foram alterados.' },
    ],
    ['a salt', files => event(files, 2, { salt: '00'.repeat(16) }), { step: 'events', subject: 'evento 2' }],
    ['a link of the chain', files => event(files, 2, { prev: '11'.repeat(32) }), { step: 'events', subject: 'evento 2' }],
    [
      'an event of another notification',
      files => event(files, 2, { notification: '01890a5d-ac96-774b-bcce-b302099a8057' }),
      { step: 'events', subject: 'evento 2' },
    ],
    ['a member that no event has', files => event(files, 2, { more: 1 }), { step: 'events', subject: 'evento 2' }],
    [
      'a JSON in another form',
      files => files.set('events.json', Buffer.from(JSON.stringify(json(files, 'events.json'), null, 1))),
      { step: 'events', subject: 'events.json' },
    ],
    [
      'the message',
      files => files.set('content/2-email.eml', Buffer.from('other')),
      { step: 'files', subject: 'content/2-email.eml' },
    ],
    ['a recording', files => files.set('recordings/9.wav', Buffer.from('RIFF')), { step: 'files', subject: 'recordings/9.wav' }],
    [
      'an attachment',
      files => files.set('attachments/1-a0.pdf', Buffer.from('%PDF')),
      { step: 'files', subject: 'attachments/1-a0.pdf' },
    ],
    [
      'the path of a proof',
      files =>
        put(files, 'log.json', {
          ...json(files, 'log.json'),
          events: json(files, 'log.json').events.map((proof: object) => ({ ...proof, path: [] })),
        }),
      { step: 'inclusion', subject: 'evento 1' },
    ],
    [
      'the place of a leaf',
      files =>
        put(files, 'log.json', {
          ...json(files, 'log.json'),
          events: json(files, 'log.json').events.map((proof: { leaf: number }) => ({ ...proof, leaf: proof.leaf + 1 })),
        }),
      { step: 'inclusion' },
    ],
    [
      'proofs of another checkpoint',
      files => put(files, 'log.json', { ...json(files, 'log.json'), size: 1_000 }),
      { step: 'inclusion', subject: 'log.json' },
    ],
    [
      'the time of the checkpoint',
      files => files.set('checkpoint.txt', Buffer.from(files.get('checkpoint.txt')!.toString().replace('T11:00', 'T10:00'))),
      { step: 'checkpoint', subject: 'checkpoint.txt' },
    ],
    [
      'no signature of ours',
      files =>
        files.set(
          'checkpoint.txt',
          Buffer.from(files.get('checkpoint.txt')!.toString().replaceAll('— example.com', '— other.com')),
        ),
      { step: 'checkpoint', subject: 'checkpoint.txt' },
    ],
    ['half a checkpoint', files => files.delete('log.json'), { step: 'manifest', subject: 'checkpoint.txt' }],
    ['no events', files => files.delete('events.json'), { step: 'manifest', subject: 'events.json' }],
    ['a file that no bundle has', files => files.set('extra.txt', Buffer.from('x')), { step: 'manifest', subject: 'extra.txt' }],
    [
      'a key that is none',
      files => put(files, 'keys.json', { ...json(files, 'keys.json'), log: sampleKey.vkey.slice(0, -4) }),
      { step: 'signature', subject: 'keys.json' },
    ],
    [
      'another key',
      files => put(files, 'keys.json', { ...json(files, 'keys.json'), log: json(files, 'keys.json').witnesses[0] }),
      { step: 'signature', subject: 'keys.json' },
    ],
    [
      'a time-stamp that is none',
      files => files.set('time-stamps/1.tsr', Buffer.from('x')),
      { step: 'time-stamps', subject: 'time-stamps/1.tsr' },
    ],
  ])('%s', async (_, edit, expected) => {
    expect(await faultOf(edit)).toMatchObject(expected)
  })

  test('an attachment in the place of another', async () => {
    const swap = (files: Files): void => {
      const [first, second] = [files.get('attachments/1-a0.pdf')!, files.get('attachments/2-a1.pdf')!]
      files.set('attachments/1-a0.pdf', second).set('attachments/2-a1.pdf', first)
    }
    expect(await faultOf(swap)).toMatchObject({ step: 'files', subject: 'attachments/1-a0.pdf' })
  })

  test('erased data excuse the files whose hashes they may have had, and no others', async () => {
    const erase = (seq: number, path: string) => (files: Files) => {
      event(files, seq, { data: null, salt: null })
      files.set(path, Buffer.from('other'))
    }
    expect(await faultOf(erase(1, 'attachments/1-a0.pdf'))).toBeNull()
    expect(await faultOf(erase(2, 'content/2-email.eml'))).toBeNull()
    expect(await faultOf(erase(2, 'attachments/1-a0.pdf'))).toMatchObject({ step: 'files' })
    expect(await faultOf(erase(1, 'content/2-email.eml'))).toMatchObject({ step: 'files' })
    expect(await faultOf(erase(2, 'content/request.html'))).toMatchObject({ step: 'files' })
    expect(await faultOf(erase(2, 'recordings/voz-1-1.wav'))).toMatchObject({ step: 'files' })
  })

  test('a chain that is whole and was forged is not in the checkpoint', async () => {
    const forge = (files: Files): void => {
      const events = json(files, 'events.json')
      let prev = GENESIS
      const forged = events.map(({ salt, data, ...event }: Omit<ChainedEvent, 'salt'> & { salt: string }) => {
        const changed = { ...(data as object), forged: true }
        const made = chainEvent({ ...event, prev, data: changed, salt: Buffer.from(salt, 'hex') })
        prev = made.hash
        return { ...made, salt }
      })
      put(files, 'events.json', forged)
    }
    expect(await faultOf(forge)).toMatchObject({ step: 'inclusion', subject: 'evento 1' })
  })

  test('a witness whose signature does not hold is named', async () => {
    const spoil = (files: Files): void => {
      const note = files.get('checkpoint.txt')!.toString()
      const [, encoded] = /— witness\.example (.*)\n/.exec(note)!
      const bytes = Buffer.from(encoded!, 'base64')
      bytes[bytes.length - 1]! ^= 1
      files.set('checkpoint.txt', Buffer.from(note.replace(encoded!, bytes.toString('base64'))))
    }
    expect(await faultOf(spoil)).toMatchObject({ step: 'witnesses', subject: 'witness.example' })
  })
})

describe('a witness that changed its key', () => {
  /** The note with a line of the witness's name before the line of the key that keys.json has. */
  const withOldLine = (bytes: Buffer) => (files: Files) => {
    const note = files.get('checkpoint.txt')!.toString()
    const line = `— witness.example ${bytes.toString('base64')}\n`
    files.set('checkpoint.txt', Buffer.from(note.replace(/(?=— witness\.example )/, line)))
  }
  const witnesses = async (edit?: (files: Files) => void) => {
    const { steps: checked } = await check((await sampleBundle({ seed: 0, ...(edit === undefined ? {} : { edit }) })).bytes)
    return checked.find(({ step }) => step === 'witnesses')!
  }

  test('is named with the time of the line that was verified, and the line of its other key is told as not verified', async () => {
    const { detail } = await witnesses()
    expect(await witnesses(withOldLine(Buffer.alloc(4 + 8 + 64, 7)))).toMatchObject({
      state: 'holds',
      detail: `${detail} Sem chave para conferir: witness.example.`,
    })
  })

  test('may have had a key of another kind, with a shorter signature', async () => {
    const { detail } = await witnesses()
    expect(await witnesses(withOldLine(Buffer.alloc(5, 7)))).toMatchObject({
      state: 'holds',
      detail: expect.stringContaining(detail),
    })
  })

  test('a line of the known key that is too short is a fault of the note', async () => {
    const shorten = (files: Files): void => {
      const note = files.get('checkpoint.txt')!.toString()
      const [, encoded] = /— witness\.example (.*)\n/.exec(note)!
      const short = Buffer.from(encoded!, 'base64').subarray(0, 9).toString('base64')
      files.set('checkpoint.txt', Buffer.from(note.replace(encoded!, short)))
    }
    expect(await faultOf(shorten)).toMatchObject({ step: 'witnesses', subject: 'witness.example' })
  })
})

describe('keys', () => {
  test('a bundle of another log than the pinned one is refused', async () => {
    const { bytes } = await sampleBundle({ seed: 0 })
    const other = sampleKey.vkey.replace('example.com', 'example.org')
    expect(await check(bytes, other)).toMatchObject({ holds: false, fault: { step: 'signature', subject: 'keys.json' } })
  })

  test('without Ed25519 the rest is checked, and the verdict says what was not', async () => {
    const { bytes } = await sampleBundle({ seed: 0 })
    const verdict = await verifyBundle(bytes, { key: null }, { ...nodeTools, verifyEd25519: null })
    expect(verdict.holds).toBe(true)
    expect(verdict.steps.filter(({ state }) => state === 'partial').map(({ step }) => step)).toEqual(
      expect.arrayContaining(['signature', 'checkpoint']),
    )
    expect(verdict.unproven.join('\n')).toContain('Ed25519')
  })

  test('every step is told, in order, also those that were not reached', async () => {
    const { bytes } = await sampleBundle({ seed: 0 })
    expect((await check(bytes)).steps.map(({ step }) => step)).toEqual(steps)
    const broken = await sampleBundle({ seed: 0, edit: files => void files.set('content/2-email.eml', Buffer.from('x')) })
    const verdict = await check(broken.bytes)
    expect(verdict.steps.map(({ step }) => step)).toEqual(steps)
    expect(verdict.steps.map(({ state }) => state).slice(4)).toEqual([
      'broken',
      'skipped',
      'skipped',
      'skipped',
      'skipped',
      'skipped',
    ])
  })
})

describe('time-stamps', () => {
  let certification: Certification
  let authority: TimeStampAuthority

  const isReady = needPrograms('openssl')
  beforeAll(async () => {
    if (!isReady) return
    certification = createCertification()
    authority = await startTimeStampAuthority(certification)
  })
  afterAll(async () => {
    await authority?.close()
    certification?.remove()
  })

  /** The same bundle with a token over its checkpoint, or over another digest. */
  async function stamped(about: (digest: Buffer) => Buffer = digest => digest, spoil: (token: Buffer) => void = () => {}) {
    const digests: Buffer[] = []
    const keepDigest = (digest: Buffer): Buffer => {
      digests.push(digest)
      return digest
    }
    await sampleBundle({ seed: 0, stamp: keepDigest })
    const token = await requestTimeStamp(authority.url, about(digests[0]!))
    spoil(token)
    return (await sampleBundle({ seed: 0, stamp: () => token })).bytes
  }

  test('of an authority by openssl: it holds, is named, and proves when the events existed', async () => {
    const verdict = await check(await stamped())
    expect(verdict).toMatchObject({ holds: true })
    expect(verdict.steps.find(({ step }) => step === 'time-stamps')).toMatchObject({
      state: 'holds',
      detail: expect.stringContaining('tsa-'),
    })
    expect(verdict.proven.join('\n')).toContain('Já existiam, como estão, quando foram carimbados')
    expect(verdict.unproven.join('\n')).toContain('o certificado da autoridade veio no próprio carimbo')
  })

  test('the commands of the report verify it', async () => {
    const files = readZip(await stamped())
    const [note, token] = ['checkpoint.txt', 'time-stamps/1.tsr'].map(path => Buffer.from(files.get(path)!))
    writeFileSync(join(certification.folder, 'ponto.txt'), `${note!.toString().split('\n').slice(0, 4).join('\n')}\n`)
    writeFileSync(join(certification.folder, '1.tsr'), token!)
    const given = ['-token_in', '-in', '1.tsr', '-data', 'ponto.txt', '-CAfile', certification.caFile]
    expect(certification.openssl('ts', '-verify', ...given).toString()).toContain('Verification: OK')
  })

  test('a browser checks the digest and says that it did not check the signature', async () => {
    const tools = { ...nodeTools, verifyTimeStamp: null, verifyDocument: null }
    const verdict = await verifyBundle(await stamped(), { key: null }, tools)
    expect(verdict.holds).toBe(true)
    expect(verdict.steps.find(({ step }) => step === 'time-stamps')).toMatchObject({ state: 'partial' })
    expect(verdict.proven.join('\n')).not.toMatch(/carimb/)
    expect(verdict.unproven.join('\n')).toContain('a assinatura de quem carimbou não se confere aqui')
    const foreign = await stamped(digest => Buffer.from(digest).reverse())
    expect(await verifyBundle(foreign, { key: null }, tools)).toMatchObject({
      fault: { step: 'time-stamps', subject: 'time-stamps/1.tsr' },
    })
  })

  test('of another text, or with a changed byte in its signature: named', async () => {
    const expected = { holds: false, fault: { step: 'time-stamps', subject: 'time-stamps/1.tsr' } }
    expect(await check(await stamped(digest => Buffer.from(digest).reverse()))).toMatchObject(expected)
    const spoilt = await stamped(undefined, token => {
      token[token.length - 1]! ^= 1
    })
    expect(await check(spoilt)).toMatchObject(expected)
  })
})
