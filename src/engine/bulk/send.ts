import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { Refusal, type RefusalKind, refuse, StoreUnavailable } from '../../domain/errors.js'
import type { Sender, SendRequest } from '../../domain/notification.js'
import type { BulkFields } from '../../domain/send/bulk.js'
import { findRules } from '../../store/accounts/accounts.js'
import { type Batch, finishBatch, listSending, pauseBecause, takeBatchTurn } from '../../store/bulk/batches.js'
import { failLine, isGoodLine, type Line } from '../../store/bulk/lines.js'
import type { Pool } from '../../store/postgres.js'
import type { Accept } from '../accept/accept.js'
import { faultOf, lineReader, type ReadRequest } from './line-reader.js'

export interface SendParts {
  pool: Pool
  fields: BulkFields
  read: ReadRequest
  /** The acceptance of every send. The line is marked by the transaction that writes its notification. */
  accept: Accept['accept']
}

/** Batches that are looked at in one round. */
const BATCHES = 20
/**
 * The pace of a batch is its account's `bulk.perMinute`, kept in turns: each takes the lines of this much time, at most MOST_LINES. More
 * lines at once would be a burst, in which single sends wait for the processor. On a machine that is too busy for the pace, turns take
 * longer than this and the batch falls behind.
 */
const LONGEST_TURN_MS = 100
const MOST_LINES = 50
/**
 * The lines of a turn go in groups with pauses in between, and not at once: each group is a burst at the database, the worker and the
 * carrier, and a single send that comes with it waits for its end. The groups take less time than the turn, so that it keeps its pace.
 */
const GROUPS = 4
const SPREAD = 0.8
/** Lines that are read before others get the processor: some 2 ms. */
const AT_ONCE = 10

/**
 * Accepts lines of the batches that are due for a turn, and waits up to `waitMs` for the next turn of any batch before it ends. Safe on
 * several nodes at once: takeBatchTurn books the lines and the time of the next turn in the batch's row.
 */
export async function sendBatches(parts: SendParts, waitMs: number, signal?: AbortSignal): Promise<void> {
  while (!signal?.aborted) {
    const sending = await listSending(parts.pool, BATCHES)
    const nextMs = sending[0]?.dueInMs ?? Number.POSITIVE_INFINITY
    if (nextMs > waitMs) return
    if (nextMs > 0) await sleep(nextMs, undefined, { signal }).catch(() => {})
    else {
      // Together: the pauses in the turn of one batch are not a loss of time for the others, and neither is its error.
      const due = sending.filter(({ dueInMs }) => dueInMs === 0)
      const turns = await Promise.allSettled(due.map(batch => sendSome(parts, batch, signal)))
      for (const turn of turns) if (turn.status === 'rejected') throw turn.reason
    }
  }
}

async function sendSome(parts: SendParts, batch: Batch, signal?: AbortSignal): Promise<void> {
  const { pool } = parts
  const rules = (await findRules(pool, batch.account)) ?? refuse('accountMissing')
  const perMinute = rules.settings['bulk.perMinute']
  const count = Math.max(1, Math.min(MOST_LINES, Math.floor((perMinute * LONGEST_TURN_MS) / 60_000)))
  const turnMs = (count * 60_000) / perMinute
  const turn = await takeBatchTurn(pool, batch.id, count, turnMs)
  if (turn === null) return
  if (turn.lines.length === 0 && turn.after === 0) await finishBatch(pool, batch.id)
  const size = Math.ceil(turn.lines.length / GROUPS)
  const began = performance.now()
  for (let from = 0; from < turn.lines.length && !signal?.aborted; from += size) {
    const dueMs = began + (from / turn.lines.length) * turnMs * SPREAD - performance.now()
    if (dueMs > 0) await sleep(dueMs, undefined, { signal }).catch(() => {})
    await sendLines(parts, batch, rules, turn.lines.slice(from, from + size))
  }
}

async function sendLines(parts: SendParts, batch: Batch, rules: Sender['rules'], lines: readonly Line[]): Promise<void> {
  const read = lineReader(batch, parts.fields, parts.read)
  let isCapReached = false
  const failing = (line: number) => async (error: unknown) => {
    if (error instanceof StoreUnavailable) return
    if (!(error instanceof Refusal)) throw error
    if (error.kind === 'cap-reached') isCapReached = true
    else if (!TEMPORARY.includes(error.kind)) await failLine(parts.pool, batch.id, line, faultOf(error, batch))
  }
  const good: { line: number; request: SendRequest }[] = []
  for (const [index, { line, cells }] of lines.entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) await immediate()
    try {
      good.push({ line, request: read(cells) })
    } catch (error) {
      await failing(line)(error)
    }
  }
  // All at once: they are written as one group.
  await Promise.all(good.map(({ line, request }) => acceptLine(parts, batch, rules, line, request).catch(failing(line))))
  // Every other line that costs something would be refused until somebody changes the cap, or the month ends. Only now: a pause takes no line
  // that fits under the cap.
  if (isCapReached) await pauseBecause(parts.pool, batch.id, 'cap')
}

/** Refusals that say nothing about the line: it stays good, and a later turn takes it. */
const TEMPORARY: readonly RefusalKind[] = ['unavailable', 'unknown', 'in-progress', 'limited', 'too-slow']

/** No idempotency key: the line itself is locked and marked by the transaction that writes its notification. */
async function acceptLine(
  { pool, accept }: SendParts,
  batch: Batch,
  rules: Sender['rules'],
  line: number,
  request: SendRequest,
): Promise<void> {
  const { account, mode, token, address } = batch
  const senderBy = ({ settings, sequence, revision }: Sender['rules']): Sender => ({
    account,
    mode,
    token,
    address,
    rules: { settings, sequence, revision },
  })
  // Not written: the account was edited, another node accepted the line, or the batch was paused.
  const readSender = async (): Promise<Sender> => {
    if (!(await isGoodLine(pool, batch.id, line))) throw new Refusal('overloaded')
    return senderBy((await findRules(pool, account)) ?? refuse('accountMissing'))
  }
  await accept({ request, sender: senderBy(rules), idempotency: null, readSender, line: { batch: batch.id, line } })
}
