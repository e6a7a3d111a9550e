import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { unzipSync } from 'fflate'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { eCartaProvider } from '../../src/channels/letter/e-carta/e-carta.js'
import type { LotJournal } from '../../src/channels/letter/e-carta/lot-journal.js'
import { createLotJournal } from '../../src/channels/letter/e-carta/lot-journal.js'
import type { LetterMessage } from '../../src/channels/letter/letter-message.js'
import type { Carrier, CarrierEvent, SendError } from '../../src/channels/provider.js'
import { freePort } from '../../src/runtime/free-port.js'
import { letterTo } from '../channels/letter/letters.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'

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
    await vi.waitFor(async () => expect(await answers(port)).toBe(true), { timeout: 120_000, interval: 50 })
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

  const told: CarrierEvent[] = []
  const receipts: { name: string; bytes: Uint8Array }[] = []

  const journal = (): LotJournal => createLotJournal(database.pool, 'e-carta')

  async function open(lots: LotJournal = journal(), query: Record<string, string> = {}): Promise<Carrier<LetterMessage>> {
    const provider = eCartaProvider({
      journal: lots,
      privateKey: readFileSync(join(folder, 'client'), 'utf8'),
      // An hour later, no return is being written any more.
      clock: () => Date.now() + 3_600_000,
      onEvents: async events => void told.push(...events),
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

  const letter = (): LetterMessage => letterTo('01000001')
  const lots = (): string[] => readdirSync(post).filter(name => name.endsWith('.zip'))
  const patient = (): AbortSignal => AbortSignal.timeout(120_000)

  test('letters that come together leave in one lot, whole, under its name', async () => {
    const carrier = await open()
    const letters = [letter(), letter(), letter()]
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

  test('a lot that was begun and stayed: whoever looks takes it out of the way, and its letters go with another one', async () => {
    const lost = new Error('the answer was lost')
    const began = journal()
    const carrier = await open({ ...began, begin: (...lot) => began.begin(...lot).then(() => Promise.reject(lost)) })
    const message = letter()
    await expect(carrier.send(message, patient())).rejects.toMatchObject({ kind: 'uncertain' })
    expect(lots()).toEqual([])
    const next = await open()
    await expect(next.send(message, patient())).rejects.toMatchObject({ kind: 'uncertain' })
    expect(await next.find!(message.reference, null, patient())).toBe('unknown')
    const { answer } = await next.send(message, patient())
    expect(lots()).toEqual([answer])
    expect(readdirSync(post).filter(name => /\.(part|void)$/.test(name))).toEqual([])
  })

  test('a lot that was begun and left is found, and is not put there again', async () => {
    const carrier = await open({ ...journal(), uploaded: () => Promise.reject(new Error('killed')) })
    const message = letter()
    const { references } = await carrier.send(message, patient())
    const next = await open()
    expect(await next.find!(message.reference, null, patient())).toMatchObject({ references })
    expect(await next.send(message, patient())).toMatchObject({ references })
    expect(lots()).toHaveLength(1)
  })

  test('a lot’s name that bears another file stops everything until an operator gives the number of the first lot', async () => {
    const { rows } = await database.pool.query<{ next: number }>("select nextval('letter_lot_lot_seq') as next")
    const taken = rows[0]!.next + 1
    writeFileSync(join(post, `e-Carta_12345_${taken}_servico.zip`), 'somebody else’s')
    const carrier = await open()
    const message = letter()
    const refusal = { kind: 'temporary', reason: expect.stringContaining('primeiro=') }
    await expect(carrier.send(message, patient())).rejects.toMatchObject(refusal)
    expect(carrier.ready).toBe(false)
    await expect(carrier.send(letter(), patient())).rejects.toMatchObject(refusal)
    const first = taken + 1_000
    const next = await open(journal(), { primeiro: String(first) })
    const { references } = await next.send(message, patient())
    expect(references).toEqual([`${first}.1`])
    expect(readFileSync(join(post, `e-Carta_12345_${taken}_servico.zip`), 'utf8')).toBe('somebody else’s')
    // Started again with the same number, or a lower one, the count goes on.
    const again = await open(journal(), { primeiro: String(taken) })
    expect((await again.send(letter(), patient())).references).toEqual([`${first + 1}.1`])
  })

  test('what the post has taken away is not put there again', async () => {
    const carrier = await open()
    const message = letter()
    const { references } = await carrier.send(message, patient())
    for (const name of lots()) rmSync(join(post, name))
    expect(await carrier.send(message, patient())).toMatchObject({ references })
    expect(lots()).toEqual([])
  })

  test('a letter that two workers hold goes with one of them', async () => {
    const message = letter()
    const [one, two] = [await open(), await open()]
    const sent = await Promise.allSettled([one.send(message, patient()), two.send(message, patient())])
    const failed = sent.flatMap(result => (result.status === 'rejected' ? [(result.reason as SendError).kind] : []))
    for (const kind of failed) expect(['temporary', 'uncertain']).toContain(kind)
    const settled = failed.length < 2 || (await one.find!(message.reference, null, patient())) !== 'unknown'
    if (!settled) await one.send(message, patient())
    expect(lots()).toHaveLength(1)
  })

  test('returns are told once and moved away', async () => {
    told.length = 0
    await open()
    writeFileSync(join(post, 'retorno', 'e-Carta_12345_9_Recibo.txt'), '2|1|9|AA473124829BR|15/11/2026 10:00:00\r\n')
    writeFileSync(join(post, 'retorno', 'e-Carta_777_9_Recibo.txt'), '2|1|9|AA473124829BR|\r\n')
    await expect.poll(() => readdirSync(join(post, 'lidos'))).toEqual(['e-Carta_12345_9_Recibo.txt'])
    expect(told).toMatchObject([{ of: { carrier: ['9.1'] }, type: 'prepared', trackingCode: 'AA473124829BR' }])
    expect(readdirSync(join(post, 'retorno'))).toEqual(['e-Carta_777_9_Recibo.txt'])
  })

  test('a server with another key is not spoken to', async () => {
    const carrier = await open(journal(), { chave: `SHA256:${'A'.repeat(43)}` })
    await expect(carrier.send(letter(), patient())).rejects.toMatchObject({ name: 'SendError', kind: 'temporary' })
    expect(lots()).toEqual([])
  })

  test('a sender without an address is told what to do', async () => {
    const carrier = await open()
    const message = { ...letter(), sender: { name: 'X', address: null } }
    await expect(carrier.send(message, patient())).rejects.toMatchObject({
      kind: 'permanent',
      reason: expect.stringContaining('letter.address'),
    })
  })

  test('close ends it, twice as well as once', async () => {
    const carrier = await open()
    await carrier.send(letter(), patient())
    await carrier.close()
    await carrier.close()
  })
})

const answers = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.once('data', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
    setTimeout(() => socket.destroy(), 1_000)
  })
