import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { unzipSync } from 'fflate'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { eCartaProvider, type LotJournal } from '../../src/channels/letter/e-carta.js'
import { type LetterLine, LINE_FIELDS } from '../../src/channels/letter/e-carta-files.js'
import type { Carrier, CarrierNews, LetterMessage } from '../../src/channels/provider.js'
import { storeBlobs } from '../../src/store/blobs.js'
import { assignLots, markUploaded, readLot } from '../../src/store/letter-lots.js'
import { letterTo } from '../channels/letter/letters.js'
import { createDatabase, type TestDatabase } from '../support/database.js'

/** e-Carta over a real SFTP server: OpenSSH's own, on a port of this test. */
const SSHD = '/usr/sbin/sshd'
const present = existsSync(SSHD)
const KEYGEN = 'ssh-keygen'
const keygen = (options: string[]): string => execFileSync(KEYGEN, options, { encoding: 'utf8' })

describe.skipIf(!present)(`e-Carta over OpenSSH${present ? '' : ' (missing: sshd)'}`, () => {
  let database: TestDatabase
  let sshd: ChildProcess
  let folder: string
  let port: number
  let fingerprint: string
  let post: string

  beforeAll(async () => {
    database = await createDatabase()
    folder = mkdtempSync(join(tmpdir(), 'carteiro-sshd-'))
    chmodSync(folder, 0o700)
    for (const name of ['host', 'client']) keygen(['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)])
    writeFileSync(join(folder, 'authorized'), readFileSync(join(folder, 'client.pub')), { mode: 0o600 })
    fingerprint = keygen(['-l', '-f', join(folder, 'host.pub')]).split(' ')[1]!
    port = await freePort()
    writeFileSync(
      join(folder, 'config'),
      [
        `Port ${port}`,
        'ListenAddress 127.0.0.1',
        `HostKey ${join(folder, 'host')}`,
        `PidFile ${join(folder, 'pid')}`,
        `AuthorizedKeysFile ${join(folder, 'authorized')}`,
        'PermitRootLogin prohibit-password',
        'PasswordAuthentication no',
        'StrictModes no',
        'UsePAM no',
        'Subsystem sftp internal-sftp',
        'ForceCommand internal-sftp',
        '',
      ].join('\n'),
    )
    // Its own chroot for the unprivileged child, where the system has none yet.
    if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 })
    sshd = spawn(SSHD, ['-D', '-e', '-f', join(folder, 'config')], { stdio: 'ignore' })
    await vi.waitFor(async () => expect(await answers(port)).toBe(true), { timeout: 10_000, interval: 50 })
  })

  afterAll(async () => {
    sshd.kill('SIGTERM')
    await once(sshd, 'exit')
    await database.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  beforeEach(() => {
    post = mkdtempSync(join(folder, 'post-'))
    for (const name of ['retorno', 'lidos']) mkdirSync(join(post, name))
  })

  const told: CarrierNews[] = []
  const receipts: { name: string; bytes: Uint8Array }[] = []

  const journal = (): LotJournal => ({
    async assign(letters) {
      return new Map((await assignLots(database.pool, 'e-carta', letters)).map(place => [place.reference, place]))
    },
    async read(lot) {
      return (await readLot(database.pool, lot)).map(({ object, line, pdf }) => ({
        object,
        line: line as unknown as LetterLine,
        pdf,
      }))
    },
    uploaded: lot => markUploaded(database.pool, lot),
  })

  async function open(lots: LotJournal = journal(), query: Record<string, string> = {}): Promise<Carrier<LetterMessage>> {
    const provider = eCartaProvider({
      journal: lots,
      privateKey: readFileSync(join(folder, 'client'), 'utf8'),
      onNews: async news => void told.push(...news),
      onReceipt: async (name, { bytes }) => void receipts.push({ name, bytes }),
      onError: () => {},
    })
    const search = new URLSearchParams({
      matriz: '12345',
      contrato: '991',
      cartao: '70',
      chave: fingerprint,
      espera: '50',
      retornos: '1',
      ...query,
    })
    const carrier = await provider.open(new URL(`ecarta+sftp://${userInfo().username}@127.0.0.1:${port}${post}?${search}`))
    onTestFinished(() => carrier.close())
    return carrier
  }

  async function letter(): Promise<LetterMessage> {
    const made = letterTo('01000001')
    const bytes = new Uint8Array(made.pdf)
    await storeBlobs(database.pool, [{ name: 'carta.pdf', bytes, sha256: made.sha256 }])
    return made
  }

  const lots = (): string[] => readdirSync(post).filter(name => name.endsWith('.zip'))
  const patient = (): AbortSignal => AbortSignal.timeout(20_000)

  test('letters that come together leave in one lot, whole, under its name', async () => {
    const carrier = await open()
    const letters = await Promise.all([letter(), letter(), letter()])
    const given = await Promise.all(letters.map(message => carrier.send(message, patient())))
    expect(lots()).toHaveLength(1)
    expect(readdirSync(post).filter(name => name.endsWith('.part'))).toEqual([])
    const [name] = lots()
    expect(given.map(({ answer }) => answer)).toEqual([name, name, name])
    expect(new Set(given.flatMap(({ references }) => references)).size).toBe(3)
    const files = unzipSync(readFileSync(join(post, name!)))
    expect(Object.keys(files)).toHaveLength(4)
    const pdfs = Object.entries(files)
      .filter(([path]) => path.endsWith('.pdf'))
      .map(([, bytes]) => Buffer.from(bytes).toString())
    expect(pdfs.sort()).toEqual(letters.map(({ pdf }) => Buffer.from(pdf).toString()).sort())
  })

  test.each([
    ['before the file is made', 'read'],
    ['after the upload, before that is written down', 'uploaded'],
  ] as const)('a death %s: the next try puts the same bytes under the same name', async (_, point) => {
    const broken = await open({ ...journal(), [point]: () => Promise.reject(new Error('killed')) })
    const messages = await Promise.all([letter(), letter()])
    const lost = await Promise.allSettled(messages.map(message => broken.send(message, patient())))
    expect(lost.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const before = lots().map(name => readFileSync(join(post, name)))
    const carrier = await open()
    // The second of them alone: its lot is made with both.
    await carrier.send(messages[1]!, patient())
    expect(lots()).toHaveLength(1)
    const after = readFileSync(join(post, lots()[0]!))
    if (point === 'uploaded') expect(after.equals(before[0]!)).toBe(true)
    expect(Object.keys(unzipSync(after))).toHaveLength(3)
    const first = await carrier.send(messages[0]!, patient())
    expect(first.answer).toBe(lots()[0])
    expect(lots()).toHaveLength(1)
  })

  test('what the post has taken away is not put there again', async () => {
    const carrier = await open()
    const message = await letter()
    const { references } = await carrier.send(message, patient())
    for (const name of lots()) rmSync(join(post, name))
    expect(await carrier.send(message, patient())).toMatchObject({ references })
    expect(lots()).toEqual([])
  })

  test('two workers with letters of one lot make one file', async () => {
    const messages = await Promise.all([letter(), letter()])
    const line = Object.fromEntries(LINE_FIELDS.map(field => [field, 'x']))
    await assignLots(
      database.pool,
      'e-carta',
      messages.map(({ reference, sha256 }) => ({ reference, sha256, line })),
    )
    const [one, two] = [await open(), await open()]
    await Promise.all([one!.send(messages[0]!, patient()), two!.send(messages[1]!, patient())])
    expect(lots()).toHaveLength(1)
    expect(Object.keys(unzipSync(readFileSync(join(post, lots()[0]!))))).toHaveLength(3)
  })

  test('returns are told once and moved away', async () => {
    told.length = 0
    await open()
    writeFileSync(join(post, 'retorno', 'e-Carta_12345_9_Recibo.txt'), '2|1|9|AA473124829BR|15/11/2026 10:00:00\r\n')
    writeFileSync(join(post, 'retorno', 'e-Carta_777_9_Recibo.txt'), '2|1|9|AA473124829BR|\r\n')
    await expect.poll(() => readdirSync(join(post, 'lidos')), { timeout: 15_000 }).toEqual(['e-Carta_12345_9_Recibo.txt'])
    expect(told).toMatchObject([{ of: { carrier: ['9.1'] }, type: 'prepared', trackingCode: 'AA473124829BR' }])
    expect(readdirSync(join(post, 'retorno'))).toEqual(['e-Carta_777_9_Recibo.txt'])
  })

  test('a server with another key is not spoken to', async () => {
    const carrier = await open(journal(), { chave: `SHA256:${'A'.repeat(43)}` })
    await expect(carrier.send(await letter(), patient())).rejects.toMatchObject({ name: 'SendError', kind: 'temporary' })
    expect(lots()).toEqual([])
  })

  test('a sender without an address is told what to do', async () => {
    const carrier = await open()
    const message = { ...(await letter()), sender: { name: 'X', address: null } }
    await expect(carrier.send(message, patient())).rejects.toMatchObject({
      kind: 'permanent',
      reason: expect.stringContaining('letter.address'),
    })
  })

  test('close ends it, twice as well as once', async () => {
    const carrier = await open()
    await carrier.send(await letter(), patient())
    await carrier.close()
    await carrier.close()
  })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

const answers = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('data', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
    setTimeout(() => socket.destroy(), 1_000)
  })
