import { createHash } from 'node:crypto'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { strToU8, zipSync } from 'fflate'
import { expect, onTestFinished, test } from 'vitest'
import { E_CARTA, eCartaProvider } from '../../../src/channels/letter/e-carta/e-carta.js'
import { createLotJournal } from '../../../src/channels/letter/e-carta/lot-journal.js'
import type { CarrierEvent, CarrierReport } from '../../../src/channels/provider.js'
import { databaseForTest } from '../../support/database/database.js'
import { letterTo } from './letters.js'
import { type SftpPost, startSftpPost } from './sftp-post.js'
import { eCartaSubject } from './subjects.js'

test('a letter that failed is not uploaded with the others of its lot', async () => {
  const { pool } = await databaseForTest()
  const post = await eCartaSubject.start()
  const carrier = await post.provider({ pool, onEvents: async () => {} }).open(post.url)
  onTestFinished(() => carrier.close())
  const [givenUp, tried] = [letterTo('01000001'), letterTo('01000001')]
  post.behave('refuse for a while')
  const failed = await Promise.allSettled([givenUp, tried].map(letter => carrier.send(letter, AbortSignal.timeout(15_000))))
  expect(failed).toMatchObject([{ reason: { kind: 'temporary' } }, { reason: { kind: 'temporary' } }])
  post.behave('accept')
  await carrier.send(tried, AbortSignal.timeout(15_000))
  expect(post.taken()).toEqual([Buffer.from(tried.pdf).toString()])
})

const HOUR = 3_600_000
/** An hour later, no return is being written any more. */
const later = (): number => Date.now() + HOUR

/** Polls the returns of a post once a second. */
async function pollReturns(
  post: SftpPost,
  clock = later,
): Promise<{ told: CarrierEvent[]; receipts: string[]; errors: string[] }> {
  const { pool } = await databaseForTest()
  const [told, receipts, errors]: [CarrierEvent[], string[], string[]] = [[], [], []]
  const provider = eCartaProvider({
    journal: createLotJournal(pool, E_CARTA),
    privateKey: null,
    clock,
    onEvents: async events => void told.push(...events),
    onReceipt: async name => void receipts.push(`${name} after ${told.length} reports`),
    onError: (error, about) => void errors.push(`${about}: ${(error as Error).message}`),
  })
  const url = post.url()
  url.searchParams.set('retornos', '1')
  const carrier = await provider.open(url)
  onTestFinished(() => carrier.close())
  return { told, receipts, errors }
}

const putReturn = ({ folder }: SftpPost, lot: number, text = `2|1|${lot}|AA473124829BR|15/11/2026 10:00:00\r\n`): void =>
  writeFileSync(join(folder, 'retorno', `e-Carta_1_${lot}_Recibo.txt`), text)
const filesIn = ({ folder }: SftpPost, name: string): string[] => readdirSync(join(folder, name)).sort()

test('returns that lie in the folder together are read in the order of events, whatever their names', async () => {
  const post = await startSftpPost()
  const put = (name: string, content: string | Uint8Array): void => writeFileSync(join(post.folder, 'retorno', name), content)
  const image = Uint8Array.of(0x89, 0x50, 0x4e, 0x47)
  const index = strToU8('5|1|9|AA473124829BR|ar1.png\r\n')
  put('e-Carta_1_9_DevolucaoAR.zip', zipSync({ 'indice.txt': index, 'ar1.png': image }))
  put('e-Carta_1_9_Finalizador.txt', '4|1|9|AA473124829BR|1|17/11/2026 10:00:00\r\n')
  put('e-Carta_1_8_Finalizador.txt', '4|1|8|AA473124829BR|1|17/11/2026 10:00:00\r\n')
  put('e-Carta_1_9_Inconsistencia.txt', '9|2|9|E12|CEP inexistente\r\n')
  put('e-Carta_1_9_Postado.txt', '3|1|9|AA473124829BR|16/11/2026 10:00:00\r\n')
  putReturn(post, 9)
  const { told, receipts, errors } = await pollReturns(post)
  await expect.poll(() => filesIn(post, 'retorno'), { timeout: 10_000 }).toEqual([])
  expect(told.map(event => [(event as CarrierReport).type, (event as CarrierReport).of.carrier])).toEqual([
    ['prepared', ['9.1']],
    ['failed', ['9.2']],
    ['sent', ['9.1']],
    ['delivered', ['8.1']],
    ['delivered', ['9.1']],
  ])
  expect(receipts).toEqual(['9.1 after 5 reports'])
  expect(errors).toEqual([])
})

test('without a folder for returns that were read, every poll says once how to cure it, and goes on once it is there', async () => {
  const post = await startSftpPost()
  rmSync(join(post.folder, 'lidos'), { recursive: true })
  for (const lot of [8, 9]) putReturn(post, lot)
  const { told, errors } = await pollReturns(post)
  await expect.poll(() => errors.length, { timeout: 10_000 }).toBeGreaterThan(0)
  expect(told).toHaveLength(2 * errors.length)
  expect(errors[0]).toMatch(
    /^2 returns of e-Carta stay in .*\/retorno .*: the folder .*\/lidos is missing on the server: create it/,
  )
  mkdirSync(join(post.folder, 'lidos'))
  await expect.poll(() => filesIn(post, 'retorno'), { timeout: 10_000 }).toEqual([])
  expect(filesIn(post, 'lidos')).toEqual(['e-Carta_1_8_Recibo.txt', 'e-Carta_1_9_Recibo.txt'])
})

test('a return with a name that was read before is put beside the first one, and is told once', async () => {
  const post = await startSftpPost()
  const before = join(post.folder, 'lidos', 'e-Carta_1_9_Recibo.txt')
  writeFileSync(before, 'the first one')
  const text = '2|1|9|AA473124829BR|15/11/2026 10:00:00\r\n'
  putReturn(post, 9, text)
  const { told, errors } = await pollReturns(post)
  await expect.poll(() => filesIn(post, 'retorno'), { timeout: 10_000 }).toEqual([])
  const hash = createHash('sha256').update(text).digest('hex')
  const both = ['e-Carta_1_9_Recibo.txt', `e-Carta_1_9_Recibo_${hash}.txt`]
  expect(filesIn(post, 'lidos')).toEqual(both)
  expect(readFileSync(before, 'utf8')).toBe('the first one')
  expect(told).toHaveLength(1)
  // The same file once more.
  putReturn(post, 9, text)
  await expect.poll(() => filesIn(post, 'retorno'), { timeout: 10_000 }).toEqual([])
  expect(filesIn(post, 'lidos')).toEqual(both)
  expect(errors).toEqual([])
})

const [FIRST, SECOND] = ['2|1|9|AA473124829BR|15/11/2026 10:00:00\r\n', '2|2|9|AA473124829BR|15/11/2026 10:00:00\r\n']
const namesOf = (told: readonly CarrierEvent[]) => told.flatMap(event => (event as CarrierReport).of.carrier)
const returnOf = ({ folder }: SftpPost, lot: number): string => join(folder, 'retorno', `e-Carta_1_${lot}_Recibo.txt`)
const readReturns = (post: SftpPost) => expect.poll(() => filesIn(post, 'retorno'), { timeout: 10_000 })

/** A return that was written long ago. It is the last one that a poll reads, so that its going ends a poll. */
function putSettled({ folder }: SftpPost): void {
  const path = join(folder, 'retorno', 'e-Carta_1_8_Postado.txt')
  writeFileSync(path, '3|1|8|AA473124829BR|15/11/2026 10:00:00\r\n')
  utimesSync(path, 0, 0)
}

test('a return that is still being written waits until it is whole', async () => {
  const post = await startSftpPost()
  let now = Date.now()
  const line = '2|1|97|AA473124829BR|15/11/2026 10:00:00\r\n'
  // Cut in the middle of a number, the line would be about a letter of another lot.
  putReturn(post, 97, line.slice(0, 5))
  putSettled(post)
  const { told, errors } = await pollReturns(post, () => now)
  await readReturns(post).toEqual(['e-Carta_1_97_Recibo.txt'])
  appendFileSync(returnOf(post, 97), line.slice(5))
  now = later()
  await readReturns(post).toEqual([])
  expect(namesOf(told)).toEqual(['8.1', '97.1'])
  expect(errors).toEqual([])
})

test('a return with a date in the future is read once its size stays the same', async () => {
  const post = await startSftpPost()
  let now = Date.now()
  putReturn(post, 9)
  utimesSync(returnOf(post, 9), now, (now + 24 * HOUR) / 1_000)
  putSettled(post)
  const { told } = await pollReturns(post, () => now)
  await readReturns(post).toEqual(['e-Carta_1_9_Recibo.txt'])
  now += HOUR
  await readReturns(post).toEqual([])
  expect(namesOf(told)).toEqual(['8.1', '9.1'])
})

test('a return that grew while it was read is read again before it is put away', async () => {
  const post = await startSftpPost()
  putReturn(post, 9, FIRST)
  let isWhole = false
  post.on = (operation, when) => {
    if (operation === 'close' && when === 'after' && !isWhole) {
      isWhole = true
      appendFileSync(returnOf(post, 9), SECOND)
    }
    return 'go'
  }
  const { told } = await pollReturns(post)
  await readReturns(post).toEqual([])
  expect(namesOf(told)).toContain('9.2')
  expect(readFileSync(join(post.folder, 'lidos', 'e-Carta_1_9_Recibo.txt'), 'utf8')).toBe(FIRST + SECOND)
})

test('a return without a line that can be read stays in the folder, and every poll says so', async () => {
  const post = await startSftpPost()
  putReturn(post, 9, 'a new format\r\n')
  putReturn(post, 8)
  const { told, errors } = await pollReturns(post)
  await expect.poll(() => errors.length, { timeout: 10_000 }).toBeGreaterThan(1)
  expect(new Set(errors)).toEqual(new Set(['return e-Carta_1_9_Recibo.txt of e-Carta: the return has no line that can be read']))
  expect(namesOf(told)).toEqual(['8.1'])
  expect(filesIn(post, 'retorno')).toEqual(['e-Carta_1_9_Recibo.txt'])
})

test('a receipt that cannot be kept is told with the reference of its letter, in a note and in the log', async () => {
  const post = await startSftpPost()
  const files = { 'indice.txt': strToU8('5|1|9|AA473124829BR|ar1.tif\r\n'), 'ar1.tif': strToU8('II*') }
  writeFileSync(join(post.folder, 'retorno', 'e-Carta_1_9_DevolucaoAR.zip'), zipSync(files))
  const { told, receipts, errors } = await pollReturns(post)
  await readReturns(post).toEqual([])
  expect(receipts).toEqual([])
  expect(told).toMatchObject([{ type: 'note', of: { carrier: ['9.1'] }, answer: 'devolucaoar ar1.tif' }])
  expect(errors).toEqual([
    'return e-Carta_1_9_DevolucaoAR.zip of e-Carta: the receipt of letter 9.1 is not kept: a imagem ar1.tif não é PNG nem JPEG',
  ])
})
