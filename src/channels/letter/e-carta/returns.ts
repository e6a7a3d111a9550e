import type { Clock } from '../../../domain/clock.js'
import { sha256 } from '../../../domain/evidence/evidence.js'
import type { CarrierEvent } from '../../provider.js'
import type { ReceiptImage } from '../letter-store.js'
import type { ECartaAccount } from './account.js'
import { compareReturns, isReturn, readReturn } from './files.js'
import { type ListedFile, type Sftp, withSftp } from './sftp.js'

export interface ReturnOptions {
  clock: Clock
  onEvents(events: readonly CarrierEvent[]): Promise<void>
  /** A signed receipt of delivery, with the Correios' reference of the letter. */
  onReceipt(name: string, image: ReceiptImage): Promise<void>
  onError(error: unknown, what: string): void
}

type ReturnsAccount = Pick<ECartaAccount, 'sftp' | 'returns' | 'done' | 'matrix'>

const TIMEOUT_MS = 120_000
/** A file that did not change for so long is complete: Correios may write a return under the name that we read. */
const SETTLED_MS = 60_000

/** Fetches the return files from their folder. */
export function createReturns(account: ReturnsAccount, options: ReturnOptions): (stop: AbortSignal) => Promise<void> {
  const { sftp, returns, done, matrix } = account
  const isSettled = createSettling(options.clock)
  return async stop => {
    let stayed = 0
    await withSftp(sftp, AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]), async session => {
      const listed = (await session.list(returns)).filter(({ name }) => isReturn(matrix, name))
      for (const file of isSettled(listed).sort((a, b) => compareReturns(a.name, b.name))) {
        try {
          if (!(await takeReturn(session, account, file, options))) stayed++
        } catch (error) {
          options.onError(error, `return ${file.name} of e-Carta`)
        }
      }
    })
    if (stayed > 0) {
      const cure = `the folder ${done} is missing on the server: create it, or set lidos= in LETTER_URL`
      options.onError(new Error(cure), `${stayed} returns of e-Carta stay in ${returns} and are read again and again`)
    }
  }
}

/** Selects the files that nobody writes any more: by their date, or by their size, should the clock of the server be wrong. */
function createSettling(clock: Clock): (files: readonly ListedFile[]) => ListedFile[] {
  let known = new Map<string, { size: number; since: number }>()
  return files => {
    const now = clock()
    const seen = new Map(
      files.map(({ name, size }) => {
        const before = known.get(name)
        return [name, before?.size === size ? before : { size, since: now }]
      }),
    )
    known = seen
    return files.filter(({ name, modifiedAt }) => now - Math.min(modifiedAt, seen.get(name)!.since) >= SETTLED_MS)
  }
}

/**
 * A return file is moved away only after its events are committed, and only as it was read. Reading a file twice changes nothing.
 * false: there is no folder for files that were read.
 */
async function takeReturn(
  session: Sftp,
  account: ReturnsAccount,
  { name, size }: ListedFile,
  { onEvents, onReceipt, onError }: ReturnOptions,
): Promise<boolean> {
  const path = `${account.returns}/${name}`
  const file = await session.read(path)
  // Half a line may name another letter.
  if (file.length !== size) return true
  const { reports, receipts, faults } = readReturn(name, file)
  await onEvents(reports)
  for (const { name: letter, type, bytes } of receipts) await onReceipt(letter, { type, bytes })
  for (const fault of faults) onError(new Error(fault), `return ${name} of e-Carta`)
  const isWhole = (await session.size(path)) === size
  return isWhole ? putAway(session, account, name, file) : true
}

/** Moves a return file that was read. A name that is taken already gets the hash of the file. false: there is no folder for it. */
async function putAway(session: Sftp, { returns, done }: ReturnsAccount, name: string, file: Uint8Array): Promise<boolean> {
  const from = `${returns}/${name}`
  const hashed = name.replace(/\.\w+$/, extension => `_${sha256(file)}${extension}`)
  const isTaken = (await session.size(`${done}/${name}`)) !== null
  // The same content was put away under this name before.
  if (isTaken && (await session.size(`${done}/${hashed}`)) !== null) await session.remove(from)
  else if (!(await session.move(from, `${done}/${isTaken ? hashed : name}`))) {
    // Another worker may have moved it meanwhile.
    return (await session.size(from)) === null
  }
  return true
}
