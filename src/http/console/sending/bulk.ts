import type { FastifyInstance, FastifyRequest } from 'fastify'
import { channelModules } from '../../../channels/registry.js'
import { refuse } from '../../../domain/errors.js'
import { readId } from '../../../domain/id.js'
import type { JsonObject } from '../../../domain/notification.js'
import type { Mapping } from '../../../domain/send/bulk.js'
import { mapToAllByName } from '../../../domain/send/bulk-mapping.js'
import { actOnBatch, type By, batchActs, batchRevision, recheckBatch } from '../../../engine/bulk/acts.js'
import { receiveBatch } from '../../../engine/bulk/receive.js'
import { actorOf } from '../../../engine/console/sign-in.js'
import { type Batch, findBatch, listBatches } from '../../../store/bulk/batches.js'
import { listRefused, readLinesAfter } from '../../../store/bulk/lines.js'
import { findBatchScope } from '../../../store/console/bulk.js'
import { type BulkLimits, sendRejects, sendResult } from '../../gw/bulk.js'
import { progressOf } from '../../gw/bulk-wire.js'
import { pathId } from '../../gw/wire.js'
import { takeFiles } from '../../uploads.js'
import type { Contracts } from '../notifications/notification-search.js'
import {
  accountNames,
  accountOf,
  clientOf,
  everyone,
  route,
  type SessionOptions,
  scopeOf,
  senders,
  visibleAccounts,
} from '../route.js'
import { done } from '../wire.js'
import {
  type BatchDetail,
  type BatchesPage,
  type BatchesQuery,
  type BatchRow,
  batchDetail,
  batchesPage,
  batchesQuery,
  type CheckBody,
  checkBody,
  type StartBody,
  startBody,
  type Uploaded,
  type UploadQuery,
  uploaded,
  uploadQuery,
} from './bulk-schema.js'

export interface ConsoleBulkOptions {
  bulk: BulkLimits
  contracts: Contracts
}

type ById = { Params: { id: string } }
const PAGE = 50
const SAMPLES = 3
const SHOWN_ERRORS = 200

/** /console/api/bulk: files of many sends. */
export function addConsoleBulk(app: FastifyInstance, options: ConsoleBulkOptions & SessionOptions): void {
  const { pool, bulk } = options
  const byOf = (request: FastifyRequest): By => ({
    token: `console:${request.operator.id}`,
    address: clientOf(request, options).address,
    actor: actorOf(request.operator),
  })

  /** A batch of an account that the person may not see is answered as one that does not exist. */
  async function seenBatch(request: FastifyRequest & { params: ById['Params'] }): Promise<{ batch: Batch; accountName: string }> {
    const id = pathId(request.params.id, 'batchMissing')
    const scope = (await findBatchScope(pool, id)) ?? refuse('batchMissing')
    const account = (await visibleAccounts(pool, request.operator)).find(visible => visible.id === scope.account)
    const batch = account === undefined ? null : await findBatch(pool, scope, id)
    return { batch: batch ?? refuse('batchMissing'), accountName: account!.name }
  }

  app.get<{ Querystring: BatchesQuery }>(
    '/console/api/bulk',
    route(everyone, { querystring: batchesQuery, response: { 200: batchesPage } }),
    async (request): Promise<BatchesPage> => {
      const { cursor = '' } = request.query
      const before = cursor === '' ? null : (readId(cursor) ?? refuse('badCursor'))
      const found = await listBatches(pool, { ...(await scopeOf(pool, request)), before, limit: PAGE + 1 })
      const names = await accountNames(pool, found)
      const rows = found.slice(0, PAGE).map(batch => toRow(batch, names.get(batch.account) ?? ''))
      return { rows, cursor: found.length > PAGE ? rows.at(-1)!.id : null }
    },
  )

  app.register(async scope => {
    takeFiles(scope)
    scope.post<{ Querystring: UploadQuery }>(
      '/console/api/bulk',
      route(senders, { querystring: uploadQuery, response: { 200: uploaded } }),
      async (request): Promise<Uploaded> => {
        const account = await accountOf(pool, request)
        const by = byOf(request)
        const upload = { name: request.query.name, mapping: null, base: {}, starts: false, ...by, by: by.token }
        const { batch, repeated } = await bulk.takeTurn(account, request, file =>
          receiveBatch({ pool, ...bulk }, account, upload, file),
        )
        return { id: batch.id, repeated }
      },
    )
  })

  app.get<ById>(
    '/console/api/bulk/:id',
    route(everyone, { response: { 200: batchDetail } }),
    async (request): Promise<BatchDetail> => {
      const { batch, accountName } = await seenBatch(request)
      const [lines, errors] = await Promise.all([
        readLinesAfter(pool, batch.id, 0, SAMPLES),
        listRefused(pool, batch.id, 0, SHOWN_ERRORS),
      ])
      const named = mapToAllByName(batch.columns, bulk.fields)
      return {
        ...toRow(batch, accountName),
        erased: batch.erasedAt !== null,
        base: { ...batch.base },
        revision: batchRevision(batch),
        columns: batch.columns.map((name, place) => ({
          name,
          paths: [...(batch.mapping[name] ?? [])],
          named: [...(named[name] ?? [])],
          sample: lines.map(({ cells }) => cells[place] ?? '').filter(cell => cell !== ''),
        })),
        errors: errors.map(({ line, column, error }) => ({ line, column, message: error })),
        fields: bulk.fields.fields.map(({ path, pt, en, channel }) => ({ path, pt, en, channel: wireOf(channel) })),
      }
    },
  )

  /** The name of the channel whose member of the request this is. */
  const wireOf = (member: string | null): string | null =>
    channelModules.find(({ channel }) => options.contracts.get(channel)?.part.member === member)?.wire ?? null

  /** Without the members of the channels that nobody chose. */
  function withChannels(mapping: Mapping, chosen: readonly string[]): Mapping {
    const others = channelModules
      .filter(({ wire }) => !chosen.includes(wire))
      .map(({ channel }) => options.contracts.get(channel)!.part)
    const members = new Set(others.flatMap(({ member, beside = {} }) => [member, ...Object.keys(beside)]))
    const kept = (paths: readonly string[]) => [paths].flat().filter(path => !members.has(String(path).split('.')[0]!))
    return Object.fromEntries(Object.entries(mapping).map(([column, paths]) => [column, kept(paths)]))
  }

  app.post<ById & { Body: CheckBody }>(
    '/console/api/bulk/:id/check',
    route(senders, { body: checkBody, response: { 200: done } }),
    async request => {
      const { batch } = await seenBatch(request)
      const base = request.body.base as JsonObject
      const mapping = withChannels(request.body.mapping, request.body.channels)
      await recheckBatch({ pool, fields: bulk.fields }, batch, batch.id, { mapping, base }, byOf(request))
      return { done: true as const }
    },
  )
  for (const act of batchActs)
    app.post<ById & { Body: Partial<StartBody> }>(
      `/console/api/bulk/:id/${act}`,
      route(senders, { ...(act === 'start' ? { body: startBody } : {}), response: { 200: done } }),
      async request => {
        const { batch } = await seenBatch(request)
        await actOnBatch(pool, batch, batch.id, act, byOf(request), { revision: request.body?.revision })
        return { done: true as const }
      },
    )

  const download = { ...route(everyone), exposeHeadRoute: false }
  app.get<ById>('/console/api/bulk/:id/rejects.csv', download, async (request, reply) =>
    sendRejects(reply, pool, (await seenBatch(request)).batch),
  )
  app.get<ById>('/console/api/bulk/:id/result.csv', download, async (request, reply) =>
    sendResult(reply, pool, (await seenBatch(request)).batch),
  )
}

function toRow(batch: Batch, accountName: string): BatchRow {
  const { id, account, mode, name, state, total, good, rejected, accepted, failed } = batch
  const { porMinuto, segundosRestantes } = progressOf(batch)
  return {
    id,
    account,
    accountName,
    mode,
    name,
    state,
    total,
    good,
    rejected,
    accepted,
    failed,
    perMinute: porMinuto,
    secondsLeft: segundosRestantes,
    createdAt: batch.createdAt.toISOString(),
    startedAt: batch.startedAt?.toISOString() ?? null,
    finishedAt: batch.finishedAt?.toISOString() ?? null,
    pausedBecause: batch.pausedBecause,
    expiredWhile: batch.expiredWhile,
  }
}
