import { channelModules } from '../../channels/registry.js'
import { FileDamaged } from '../../domain/errors.js'
import type { Json } from '../../domain/evidence/canonical-json.js'
import { hideLinks } from '../../domain/recipient/link.js'
import { listSentContent, readSentContent } from '../../store/evidence/sent-content.js'
import { readBlob } from '../../store/files/read.js'
import { listStoredAttachments } from '../../store/notification/attachments.js'
import { listLines } from '../../store/person/erase.js'
import type { Person } from '../../store/person/find.js'
import { readContactRows, readRows, readUnmatched, type StoredRow } from '../../store/person/rows.js'
import { type Pool, type Queryable, snapshot } from '../../store/postgres.js'
import { type BundleFile, type MeasuredFile, measure, sortFiles, textFile, writeZip, zipSize } from '../bundle/zip-writer.js'
import { attachmentPath } from '../verify/files.js'

export interface PersonExport {
  size: number
  files: number
  /** Files that the rows name and that could not be read, with the reason: the export has everything else. */
  missingFiles: MissingFile[]
  write(): AsyncGenerator<Uint8Array>
}

interface MissingFile {
  path: string
  reason: string
}

/**
 * A ZIP with everything of one person: dados.json with the rows of every table, and a folder of files for each notification. What only the
 * recipient may know, such as the code of a link, is left out.
 */
export async function exportPerson(pool: Pool, person: Person, ids: readonly string[], at: Date): Promise<PersonExport> {
  const data = await snapshot(pool, async db => {
    const rows = await readRows(db, ids)
    return {
      v: 1,
      exportedAt: at.toISOString(),
      contacts: person.contacts,
      names: person.names,
      notifications: ids.map(id => ({ id, tables: shown(rows.get(id)!) })),
      others: { ...(await readContactRows(db, person)), ...(await readUnmatched(db, person)) },
      batchLines: await listLines(db, person),
    }
  })
  const files: MeasuredFile[] = []
  const missingFiles: MissingFile[] = []
  for (const id of ids)
    for (const file of await listFiles(pool, id)) {
      try {
        files.push(await measure(file))
      } catch (error) {
        if (!(error instanceof FileDamaged || error instanceof FileGone)) throw error
        missingFiles.push({ path: file.path, reason: error.message })
      }
    }
  const text = textFile('dados.json', JSON.stringify({ ...data, missingFiles }, null, 2))
  const all = sortFiles([await measure(text), ...files])
  return { size: zipSize(all), files: files.length, missingFiles, write: () => writeZip(all) }
}

class FileGone extends Error {}

function shown(tables: Record<string, StoredRow[]>): Record<string, Json> {
  const change: Readonly<Record<string, (row: StoredRow) => Json>> = {
    // The hash of the reply would let a reader try replies.
    notification: ({ validation, ...row }) => ({
      ...row,
      question: (validation as { question?: Json } | null)?.question ?? null,
    }),
    event: ({ data, ...row }) => ({ ...row, data: data === null ? null : hideLinks(data!) }),
  }
  const same = (row: StoredRow): Json => row
  return Object.fromEntries(Object.entries(tables).map(([table, rows]) => [table, rows.map(change[table] ?? same)]))
}

/** Read when they are written: one file at a time is in memory. */
async function listFiles(pool: Pool, id: string): Promise<BundleFile[]> {
  const file = (name: string, load: (db: Queryable) => Promise<Uint8Array | null>): BundleFile => ({
    path: `${id}/${name}`,
    async *read() {
      const bytes = await load(pool)
      if (bytes === null) throw new FileGone('O arquivo não existe mais.')
      yield bytes
    },
  })
  const attached = (await listStoredAttachments(pool, id)).map(({ ordinal, name, sha256 }) =>
    file(attachmentPath(ordinal, name).replace('attachments/', 'anexo-'), db => readBlob(db, sha256)),
  )
  const contents = (await listSentContent(pool, id)).map(({ seq, channel, ordinal, extension }) =>
    file(`mensagem-${seq}.${extension}`, db => readSentContent(db, id, channel, ordinal)),
  )
  const own: BundleFile[] = []
  for (const { listPersonalFiles } of channelModules)
    for (const { name, read } of (await listPersonalFiles?.(pool, id)) ?? []) own.push(file(name, read))
  return [...attached, ...contents, ...own]
}
