import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { OperatorError } from '../../domain/errors.js'
import { findChainFault } from '../../domain/evidence/evidence.js'
import { openDraft, refuseExisting } from '../../runtime/draft.js'
import { syncFolder } from '../../runtime/folder.js'
import { type ArchivedNotification, readArchivedPage, readLoggedHashes } from '../../store/evidence/dropped-months.js'
import type { LoggedEvent } from '../../store/notification/event-log.js'
import { type Pool, type Queryable, snapshot } from '../../store/postgres.js'

/**
 * The archive of a month: JSON lines, compressed. The first line is {v, month}; each of the others is a notification with its deliveries and
 * its chain. Whoever has it can prove its events by the log, which keeps their hashes: docs/adr/0048-months-are-dropped-whole.md.
 */
export interface MonthArchive {
  month: string
  notifications: number
  events: number
  /** The digest of the file. */
  sha256: string
}

const PAGE = 500

/** Under another name until it is whole and on the disk. A file of that name may be the only copy of another month: it stays, and is refused. */
export async function writeMonth(pool: Pool, month: string, file: string): Promise<void> {
  refuseExisting(file)
  const draft = await openDraft(file, 0o600)
  try {
    await snapshot(pool, db =>
      pipeline(Readable.from(monthLines(db, month)), createGzip(), draft.handle.createWriteStream({ flush: true })),
    )
    await draft.placeNew()
    await syncFolder(dirname(file))
  } finally {
    await draft.remove()
  }
}

async function* monthLines(db: Queryable, month: string): AsyncGenerator<string> {
  yield `${JSON.stringify({ v: 1, month })}\n`
  for (let after: string | null = null; ; ) {
    const read: Awaited<ReturnType<typeof readArchivedPage>> = await readArchivedPage(db, month, after, PAGE)
    if (read === null) return
    for (const { notification, deliveries, events } of read.page)
      yield `${JSON.stringify({ notification, deliveries, events: events.map(written) })}\n`
    after = read.last
  }
}

const written = ({ salt, ...event }: LoggedEvent) => ({ ...event, salt: salt?.toString('hex') ?? null })

/** Reads an archive to its end, and compares every chain with itself and with the log. Throws where anything differs. */
export async function checkArchive(pool: Pool, file: string): Promise<MonthArchive> {
  const hash = createHash('sha256')
  const source = createReadStream(file)
  source.on('data', piece => hash.update(piece))
  const lines = createInterface({ input: source.pipe(createGunzip()), crlfDelay: Number.POSITIVE_INFINITY })
  const found = { month: '', notifications: 0, events: 0 }
  let page: ArchivedNotification[] = []
  const fail = (problem: string): never => {
    throw new OperatorError(`O arquivo ${file} não confere: ${problem}.`)
  }
  const compare = async (): Promise<void> => {
    const chains = page.map(({ events }) => events)
    const logged = await readLoggedHashes(pool, [...new Set(chains.flat().map(({ notification }) => notification))])
    for (const events of chains) {
      const id = events[0]?.notification ?? fail('uma notificação não tem eventos')
      const fault = findChainFault(events)
      if (fault !== null) fail(`a cadeia da notificação ${id} está rompida no evento ${fault.seq}`)
      for (const { seq, hash } of events)
        if (logged.get(`${id} ${seq}`) !== hash) fail(`o evento ${seq} da notificação ${id} não é o do registro`)
      if (logged.has(`${id} ${events.length + 1}`)) fail(`faltam eventos da notificação ${id}`)
      found.events += events.length
    }
    page = []
  }
  for await (const line of lines) {
    const value = JSON.parse(line) as { month?: string } & ArchivedNotification
    if (found.month === '') {
      found.month = value.month ?? fail('não começa como o arquivo de um mês')
      continue
    }
    found.notifications++
    page.push({ ...value, events: value.events.map(read) })
    if (page.length === PAGE) await compare()
  }
  await compare()
  return { ...found, sha256: hash.digest('hex') }
}

const read = (event: LoggedEvent): LoggedEvent => ({
  ...event,
  salt: event.salt === null ? null : Buffer.from(event.salt as unknown as string, 'hex'),
})
