import { channelModules } from '../../channels/registry.js'
import { lastStep } from '../../domain/delivery/status.js'
import { CSV_MARK, csvLine } from '../../domain/text/csv-line.js'
import { brazilianDate } from '../../domain/text/dates.js'
import type { Batch } from '../../store/bulk/batches.js'
import { listAccepted, listRefused } from '../../store/bulk/lines.js'
import { findDatedStatuses } from '../../store/delivery/deliveries.js'
import type { Pool } from '../../store/postgres.js'

const PAGE = 500

/** The lines that were not sent, as the file has them, each with its number, the column that is wrong and the reason. */
export async function* rejectsFile(pool: Pool, { id, columns }: Batch): AsyncGenerator<string> {
  yield CSV_MARK + csvLine([...columns, 'linha', 'coluna', 'erro'])
  for (let after = 0; ; ) {
    const lines = await listRefused(pool, id, after, PAGE)
    if (lines.length === 0) return
    yield lines
      .map(({ line, cells, column, error }) =>
        csvLine([...columns.map((_, place) => cells?.[place] ?? ''), String(line), column ?? '', error]),
      )
      .join('')
    after = lines.at(-1)!.line
  }
}

/** The lines that were sent: their notification, and what each channel did with it until now. */
export async function* resultFile(pool: Pool, { id, account, mode }: Batch): AsyncGenerator<string> {
  const heads = channelModules.flatMap(({ wire }) => [wire, `${wire} desde`])
  yield CSV_MARK + csvLine(['linha', 'idEmail', 'customID', ...heads])
  for (let after = 0; ; ) {
    const lines = await listAccepted(pool, id, after, PAGE)
    if (lines.length === 0) return
    const ids = lines.map(({ notification }) => notification)
    const found = await findDatedStatuses(pool, { account, mode }, ids)
    const statuses = new Map(found.map(status => [`${status.notification} ${status.channel}`, status]))
    const customIds = new Map(found.map(({ notification, customId }) => [notification, customId]))
    yield lines
      .map(({ line, notification }) => {
        const cells = channelModules.flatMap(module => {
          const status = statuses.get(`${notification} ${module.channel}`)
          if (status === undefined) return ['', '']
          const { label, at } = lastStep(status, module)
          return [label, brazilianDate(at)]
        })
        return csvLine([String(line), notification, customIds.get(notification) ?? '', ...cells])
      })
      .join('')
    after = lines.at(-1)!.line
  }
}
