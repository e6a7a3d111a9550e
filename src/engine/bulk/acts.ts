import { hash } from 'node:crypto'
import { Refusal, refuse } from '../../domain/errors.js'
import { canonicalJson } from '../../domain/evidence/canonical-json.js'
import type { JsonObject } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'
import { type BulkFields, batchStateNames, type ExpiredWhile, type PausedBecause } from '../../domain/send/bulk.js'
import { requestMaker } from '../../domain/send/bulk-request.js'
import { recordAudit } from '../../store/audit.js'
import {
  type Batch,
  findBatch,
  lockBatch,
  restartCheck,
  setBatchState,
  startBatch,
  startWhenChecked,
} from '../../store/bulk/batches.js'
import { type Pool, type Queryable, transaction } from '../../store/postgres.js'
import { limitBase, mappingOf } from './receive.js'

/** Who does something to a batch. `actor`: a person of the console, whose act is logged. */
export interface By {
  token: string
  address: string
  actor?: string
}

const expiryReasons: Record<ExpiredWhile, string> = {
  paused: 'ficou pausado por mais tempo do que os dados das linhas ficam guardados (BULK_DAYS)',
  checked: 'ninguém o iniciou no tempo em que os dados das linhas ficam guardados (BULK_DAYS)',
}

const pauseReasons: Record<PausedBecause, string> = {
  cap: 'as linhas que faltam passariam do teto do mês (cost.month.cap): retome o lote no próximo mês, ou depois de pedir um teto maior',
}

/** Why a batch paused or was cancelled by itself, as people read it; null: it did neither. */
export const reasonOf = ({ pausedBecause, expiredWhile }: Pick<Batch, 'pausedBecause' | 'expiredWhile'>): string | null =>
  (expiredWhile && expiryReasons[expiredWhile]) ?? (pausedBecause && pauseReasons[pausedBecause])

export const batchActs = ['start', 'pause', 'resume', 'cancel'] as const
export type BatchAct = (typeof batchActs)[number]

/** Identifies the columns and the message of a batch: a person starts the batch that they have seen checked, and no other. */
export const batchRevision = ({ mapping, base }: Pick<Batch, 'mapping' | 'base'>): string =>
  hash('sha256', canonicalJson({ mapping: mapping as JsonObject, base }))

/**
 * An act whose effect is there already changes nothing: whoever got no answer may repeat it. `mayAct`: asked in the same transaction, before
 * the batch is locked. `revision`: the one that the act is about; a batch that has another is refused.
 */
export async function actOnBatch(
  pool: Pool,
  scope: Scope,
  id: string,
  act: BatchAct,
  by: By,
  { mayAct, revision }: { mayAct?: (db: Queryable) => Promise<boolean>; revision?: string | undefined } = {},
): Promise<Batch> {
  await transaction(pool, async db => {
    if ((await mayAct?.(db)) === false) return
    const batch = (await lockBatch(db, scope, id)) ?? refuse('batchMissing')
    if (revision !== undefined && revision !== batchRevision(batch)) refuse('batchRechecked')
    if (await acts[act](db, batch, by)) await log(db, batch, `${act} batch`, by)
  })
  return (await findBatch(pool, scope, id))!
}

const notNow = ({ state }: Batch, cure: string): never => {
  throw new Refusal('batchState', [batchStateNames[state], cure])
}

async function start(db: Queryable, batch: Batch, by: By): Promise<boolean> {
  if (batch.state === 'sending' || batch.state === 'done') return false
  if (batch.state === 'receiving' || batch.state === 'checking') {
    await startWhenChecked(db, batch.id, by)
    return true
  }
  if (batch.state === 'cancelled') notNow(batch, 'envie o arquivo de novo')
  if (batch.good === 0) refuse('nothingGood')
  await startBatch(db, batch.id, by)
  return true
}

const acts: Record<BatchAct, (db: Queryable, batch: Batch, by: By) => Promise<boolean>> = {
  start,
  resume: start,
  async pause(db, batch) {
    if (batch.state === 'paused') return false
    if (batch.state !== 'sending') notNow(batch, 'só um lote em envio pode ser pausado')
    await setBatchState(db, batch.id, 'paused')
    return true
  },
  async cancel(db, batch) {
    if (batch.state === 'cancelled') return false
    if (batch.state === 'done') notNow(batch, 'não há mais o que cancelar')
    await setBatchState(db, batch.id, 'cancelled')
    return true
  },
}

/** Checks the lines again, with other columns or another message. Only before the first line was sent. */
export async function recheckBatch(
  { pool, fields }: { pool: Pool; fields: BulkFields },
  scope: Scope,
  id: string,
  form: { mapping: unknown; base: JsonObject },
  by: By,
): Promise<Batch> {
  limitBase(form.base)
  await transaction(pool, async db => {
    const batch = (await lockBatch(db, scope, id)) ?? refuse('batchMissing')
    if (batch.startedAt !== null || !['checking', 'checked'].includes(batch.state))
      notNow(batch, 'as colunas e a mensagem só mudam antes do início do envio')
    const mapping = mappingOf(form, batch.columns, fields)
    requestMaker({ columns: batch.columns, mapping, base: form.base }, fields)
    await restartCheck(db, id, { mapping, base: form.base })
    await log(db, batch, 'check batch', by)
  })
  return (await findBatch(pool, scope, id))!
}

async function log(db: Queryable, { id, name, account, mode }: Batch, action: string, { actor }: By): Promise<void> {
  if (actor !== undefined) await recordAudit(db, { actor, action, subject: id, detail: { account, mode, name } })
}
