import { createHmac } from 'node:crypto'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { readArchives } from '../../src/evidence/exported.js'
import type { LogParts } from '../../src/evidence/log.js'
import { readCheckpoint, readNote, readVerifier, splitNotes, verifyNote } from '../../src/evidence/note.js'
import { exportTarget } from '../../src/evidence/targets/export.js'
import { readExports } from '../../src/evidence/targets/settings.js'
import { type TargetParts, targetChore } from '../../src/evidence/targets/target.js'
import { listTargets } from '../../src/store/evidence/checkpoint-targets.js'
import { openOutbound } from '../../src/webhooks/outbound.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { deferred } from '../support/deferred.js'
import { extendTo, insertChain, logParts } from '../support/evidence/log.js'
import { receiverForTest, refuseWith } from '../support/gateway/receiver.js'
import { isSigned, S3_ACCOUNT, type SignedRequest, s3ForTest } from '../support/programs/s3.js'

let database: TestDatabase
let parts: LogParts
let folder: string
const outbound = openOutbound({ allowed: [], loopback: true, timeoutMs: 5_000 })

beforeAll(async () => {
  database = await createDatabase()
  parts = await logParts(database.pool)
  folder = mkdtempSync(join(tmpdir(), 'carteiro-export-'))
})

afterAll(async () => {
  await outbound.close()
  rmSync(folder, { recursive: true })
  await database.drop()
})

beforeEach(() => database.pool.query('delete from checkpoint_target'))

let size = 0
async function grow(): Promise<void> {
  await insertChain(database.pool, 3)
  size += 3
  await extendTo(parts, size)
}

function openTarget(setting: string, options: Partial<TargetParts> = {}, request = outbound.request) {
  const failures: string[] = []
  const [read] = readExports(setting)!
  const chore = targetChore(exportTarget(read!, { request, sendMail: null, clock: Date.now }), {
    pool: database.pool,
    retryMs: [0],
    onFailure: (_, error) => failures.push(error.message),
    ...options,
  })
  return { run: (signal?: AbortSignal) => chore.run(signal), failures }
}

const sizesIn = (archive: string): number[] =>
  splitNotes(archive).map(text => {
    const note = readNote(text)!
    expect(verifyNote(note, readVerifier(parts.key.vkey)!)).not.toBeNull()
    return readCheckpoint(note.text)!.size
  })

/** What the audit takes from an archive that may hold half a note. */
const wholeSizesIn = (text: string): number[] => {
  const { checkpoints, faults } = readArchives([{ name: 'archive', text }], readVerifier(parts.key.vkey)!)
  expect(faults).toEqual([])
  return checkpoints.map(checkpoint => checkpoint.size)
}

describe('a file', () => {
  test('gets each checkpoint once, also after a crash in the middle of a note', async () => {
    const path = join(folder, 'deep/checkpoints.txt')
    const target = openTarget(`file://${path}`)
    await grow()
    await target.run()
    await target.run()
    expect(sizesIn(readFileSync(path, 'utf8'))).toEqual([size])
    const whole = readFileSync(path, 'utf8')
    for (const cut of [1, 10, 60, whole.length - 40, whole.length - 2]) {
      writeFileSync(path, whole)
      appendFileSync(path, whole.slice(0, cut))
      await grow()
      await target.run()
      const found = wholeSizesIn(readFileSync(path, 'utf8'))
      expect([found[0], found.at(-1)]).toEqual([sizesIn(whole)[0], size])
    }
    expect(target.failures).toEqual([])
  })
})

describe('a webhook', () => {
  const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`

  test('gets the note, signed as our webhooks are', async () => {
    const receiver = await receiverForTest()
    await grow()
    const target = openTarget(`${receiver.url}?a=b#secret=${SECRET}`)
    await target.run()
    const [got] = receiver.got
    expect(got!.path).toBe('/avisos?a=b')
    expect(got!.json).toMatchObject({ type: 'checkpoint', data: { origin: parts.key.origin, size } })
    expect(sizesIn((got!.json.data as { note: string }).note)).toEqual([size])
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = got!.headers
    const expected = createHmac('sha256', Buffer.alloc(32, 9)).update(`${id}.${at}.${got!.body}`).digest('base64')
    expect([id, signature]).toEqual([`checkpoint-${size}`, `v1,${expected}`])
  })

  test('that fails is tried again and then gets the newest checkpoint only', async () => {
    const receiver = await receiverForTest(refuseWith(503, {}, 'volto logo'))
    const target = openTarget(`${receiver.url}#secret=${SECRET}&every=0`)
    await grow()
    await target.run()
    expect(target.failures).toEqual(['O servidor respondeu HTTP 503: volto logo'])
    expect(await listTargets(database.pool)).toMatchObject([{ target: receiver.url, failures: 1, doneAt: null }])
    await grow()
    await grow()
    receiver.answer = refuseWith(204)
    await target.run()
    await target.run()
    expect(receiver.got.map(({ json }) => (json.data as { size: number }).size)).toEqual([size - 6, size])
    expect(await listTargets(database.pool)).toMatchObject([{ failures: 0, error: null }])
  })

  test('is served by one node at a time, and at most once in its interval', async () => {
    const answered = deferred()
    const receiver = await receiverForTest((_, response) => void answered.promise.then(() => response.writeHead(204).end()))
    await grow()
    const nodes = Array.from({ length: 3 }, () => openTarget(`${receiver.url}#secret=${SECRET}&every=3600`))
    const running = nodes.map(node => node.run())
    await expect.poll(() => receiver.got.length).toBe(1)
    answered.resolve()
    await Promise.all(running)
    await grow()
    await Promise.all(nodes.map(node => node.run()))
    expect(receiver.got).toHaveLength(1)
  })

  test('that does not answer does not hold up the end of the process, which leaves it to the next one', async () => {
    const receiver = await receiverForTest(() => {})
    await grow()
    const target = openTarget(`${receiver.url}#secret=${SECRET}`)
    const stop = new AbortController()
    const running = target.run(stop.signal)
    await expect.poll(() => receiver.got.length).toBe(1)
    stop.abort()
    await running
    expect(target.failures).toEqual([])
    receiver.answer = refuseWith(204)
    await target.run()
    expect(receiver.got).toHaveLength(2)
  })

  test('on an address that webhooks may not reach is not called', async () => {
    await grow()
    const guarded = openOutbound({ allowed: [], loopback: false, timeoutMs: 5_000 })
    onTestFinished(() => guarded.close())
    const receiver = await receiverForTest()
    const target = openTarget(`${receiver.url}#secret=${SECRET}`, {}, guarded.request)
    await target.run()
    expect(target.failures).toEqual([expect.stringContaining('não é um endereço público')])
    expect(receiver.got).toEqual([])
  })
})

describe('a service that speaks S3', () => {
  test('gets one object for each checkpoint, under a name that sorts', async () => {
    const s3 = await s3ForTest()
    const secret = encodeURIComponent(S3_ACCOUNT.secretKey)
    const target = openTarget(`s3+http://AKIDEXAMPLE:${secret}@${s3.host}/provas/minha%20casa#region=sa-east-1&every=0`)
    await grow()
    await target.run()
    await grow()
    await target.run()
    expect(target.failures).toEqual([])
    const names = [...s3.objects.keys()]
    expect(names).toEqual([size - 3, size].map(at => `/provas/minha%20casa/checkpoint-${String(at).padStart(15, '0')}.txt`))
    expect([...s3.objects.values()].flatMap(({ body }) => sizesIn(body.toString()))).toEqual([size - 3, size])
    const wrong = openTarget(`s3+http://AKIDEXAMPLE:x@${s3.host}/outra`)
    await wrong.run()
    expect(wrong.failures).toEqual([expect.stringMatching(/HTTP 403: .*SignatureDoesNotMatch/)])
    expect((await listTargets(database.pool)).map(({ target: name }) => name)).not.toContainEqual(expect.stringContaining('AKID'))
  })

  test('the little S3 takes what curl signs (--aws-sigv4), and refuses it for another path, body or secret', () => {
    const put: SignedRequest = {
      method: 'PUT',
      path: '/b/a%20b/c.txt',
      body: 'x',
      headers: {
        host: '127.0.0.1:44271',
        'content-type': '',
        'x-amz-date': '20261116T162306Z',
        'x-amz-content-sha256': '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881',
        authorization:
          'AWS4-HMAC-SHA256 Credential=AK/20261116/sa-east-1/s3/aws4_request, SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date, Signature=b9d256c13f63367249c884cc22713e02f3f763626fcac2920ed1f494d333bf4e',
      },
    }
    const account = { accessKey: 'AK', secretKey: 'SK/+x' }
    expect(isSigned(put, account)).toBe(true)
    expect(isSigned({ ...put, path: '/b/a%20b/d.txt' }, account)).toBe(false)
    expect(isSigned({ ...put, body: 'y' }, account)).toBe(false)
    expect(isSigned(put, { ...account, secretKey: 'x' })).toBe(false)
  })
})

describe('settings', () => {
  test('name the target without its secrets', () => {
    const { checkpoints } = readConfig({
      CHECKPOINT_EXPORT: `file:///var/lib/carteiro/checkpoints.txt, https://a.example/x?token=abc#secret=whsec_${'A'.repeat(44)}&every=5, s3+https://K:S@s3.example/b/p, mailto:cartorio@example.com#every=60`,
      TSA_URL: 'https://user:pw@tsa.example/ts, http://freetsa.example#every=600',
    })
    expect(checkpoints.exports.map(({ name, kind, everyMs }) => [kind, name, everyMs])).toEqual([
      ['file', 'file:///var/lib/carteiro/checkpoints.txt', 0],
      ['webhook', expect.stringMatching(/^https:\/\/a\.example\/x\?[0-9a-f]{8}$/), 5_000],
      ['s3', 's3+https://s3.example/b/p', 60_000],
      ['mail', 'mailto:cartorio@example.com', 60_000],
    ])
    expect(checkpoints.authorities.map(({ name, everyMs }) => [name, everyMs])).toEqual([
      ['https://tsa.example/ts', 60_000],
      ['http://freetsa.example/', 600_000],
    ])
  })

  test.each([
    ['CHECKPOINT_EXPORT', 'ftp://example.com/x'],
    ['CHECKPOINT_EXPORT', 'https://example.com/x'],
    ['CHECKPOINT_EXPORT', 'https://example.com/x#secret=whsec_YQ=='],
    ['CHECKPOINT_EXPORT', 'file:///var/lib/'],
    ['CHECKPOINT_EXPORT', 'file:///a#often=1'],
    ['CHECKPOINT_EXPORT', 'file:///a,file:///a'],
    ['CHECKPOINT_EXPORT', 's3+https://s3.example/b'],
    ['CHECKPOINT_EXPORT', 'mailto:ninguem'],
    ['CHECKPOINT_WITNESSES', 'https://w.example'],
    ['CHECKPOINT_WITNESSES', 'a+00000000+BAAA@https://w.example'],
    ['TSA_URL', 'ftp://tsa.example'],
  ])('%s=%s is refused by name', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(new RegExp(`- ${name} deve ser`))
  })
})
