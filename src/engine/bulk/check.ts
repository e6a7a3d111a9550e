import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import type { Channel } from '../../domain/channel.js'
import { Refusal } from '../../domain/errors.js'
import { namedTemplates, type SendRequest, type TemplateVersion } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'
import type { BatchForm, BulkFields, LineFault } from '../../domain/send/bulk.js'
import { BoundedCache } from '../../runtime/bounded-cache.js'
import { findRules } from '../../store/accounts/accounts.js'
import { listUnchecked, lockUnchecked } from '../../store/bulk/batches.js'
import { type CheckedLine, type Line, readLinesAfter, writeChecked } from '../../store/bulk/lines.js'
import { type Pool, transaction } from '../../store/postgres.js'
import { type AllowedSendOptions, requireAllowedSend } from '../accept/allowed-send.js'
import { faultOf, lineReader, type ReadRequest } from './line-reader.js'

export interface CheckParts extends AllowedSendOptions {
  pool: Pool
  fields: BulkFields
  read: ReadRequest
  resolveTemplates(scope: Scope, named: ReturnType<typeof namedTemplates>): Promise<Map<Channel, TemplateVersion>>
}

const CHUNK = 100
/** Lines that are checked before others get the processor: some 2 ms. */
const AT_ONCE = 20
const BATCHES = 4
const REMEMBERED_TEMPLATES = 1_000

/** Checks the lines of uploaded batches, some of each in turn, until all are checked. */
export async function checkBatches(parts: CheckParts, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted) {
    let isBusy = false
    for (const { id } of await listUnchecked(parts.pool, BATCHES)) {
      const began = performance.now()
      if (!(await checkSome(parts, id))) continue
      isBusy = true
      // A check has no pace of its own: without a rest it would take the processor from single sends until its last line.
      await sleep(performance.now() - began, undefined, { signal }).catch(() => {})
    }
    if (!isBusy) return
  }
}

/** False: another node is checking the batch, which is locked meanwhile, so that no line is checked twice. */
const checkSome = ({ pool, ...parts }: CheckParts, id: string): Promise<boolean> =>
  transaction(pool, async db => {
    const batch = await lockUnchecked(db, id)
    if (batch === null) return false
    const lines = await readLinesAfter(db, id, batch.checkedTo, CHUNK)
    const checked = lines.length === 0 ? [] : await checkLines({ pool, ...parts }, batch, lines)
    await writeChecked(db, id, batch.checkedTo, lines.at(-1)?.line ?? null, checked)
    return true
  })

/** What is wrong with each line; null: nothing. */
async function checkLines(parts: CheckParts, batch: BatchForm & Scope, lines: readonly Line[]): Promise<CheckedLine[]> {
  const rules = await findRules(parts.pool, batch.account)
  const read = lineReader(batch, parts.fields, parts.read)
  const known = new BoundedCache<string, boolean>({ maxEntries: REMEMBERED_TEMPLATES })
  const checked: CheckedLine[] = []
  for (const [index, { line, cells }] of lines.entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await immediate()
    let fault: LineFault | null = null
    try {
      const request = read(cells)
      requireAllowedSend(request, { mode: batch.mode, settings: rules!.settings }, parts)
      await requireTemplates(parts, batch, request, known)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      fault = faultOf(error, batch)
    }
    checked.push({ line, fault })
  }
  return checked
}

/** A name that is no template would fail every line after it was accepted. */
async function requireTemplates(
  { resolveTemplates }: Pick<CheckParts, 'resolveTemplates'>,
  scope: Scope,
  request: SendRequest,
  known: BoundedCache<string, boolean>,
): Promise<void> {
  for (const named of namedTemplates(request)) {
    const key = `${named.channel} ${named.name}`
    const exists = known.get(key) ?? (await resolveTemplates(scope, [named])).has(named.channel)
    known.set(key, exists)
    if (!exists) throw new Refusal('templateMissing')
  }
}
