import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Static, Type } from 'typebox'
import { Refusal, refuse } from '../../domain/errors.js'
import { readId } from '../../domain/id.js'
import type { JsonObject } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'
import type { BulkFields } from '../../domain/send/bulk.js'
import { isStorable } from '../../domain/text/text.js'
import { actOnBatch, type By, batchActs, recheckBatch } from '../../engine/bulk/acts.js'
import { limitBase, receiveBatch } from '../../engine/bulk/receive.js'
import { rejectsFile, resultFile } from '../../engine/bulk/results.js'
import { type Batch, findBatch, listBatches } from '../../store/bulk/batches.js'
import { listRefused } from '../../store/bulk/lines.js'
import { findMapping, listMappings, removeMapping, saveMapping } from '../../store/bulk/mappings.js'
import type { Pool } from '../../store/postgres.js'
import { asDownload } from '../download.js'
import { FILES, takeFiles, type UploadTurns } from '../uploads.js'
import * as wire from './bulk-wire.js'
import { type ById, dataAnswer, dataRoute, pathId } from './wire.js'

export interface BulkOptions {
  pool: Pool
  bulk: BulkLimits
}

export interface BulkLimits {
  fields: BulkFields
  /** The largest file. */
  maxBytes: number
  /** Rejects while the disk has too little space for it. */
  requireDisk(): Promise<void>
  takeTurn: UploadTurns
}

const PAGE = 50
const SHOWN_ERRORS = 20

const uploadQuery = Type.Object({
  name: Type.Optional(
    Type.String({ description: 'O nome do lote. O mesmo arquivo com o mesmo nome é o mesmo lote, e não sai duas vezes.' }),
  ),
  mapping: Type.Optional(
    Type.String({ description: 'O nome de um mapeamento salvo, ou o próprio, em JSON. Ausente: pelos nomes das colunas.' }),
  ),
  base: Type.Optional(
    Type.String({ description: 'Em JSON, os campos iguais em todas as linhas; soma-se ao do mapeamento salvo.' }),
  ),
  start: Type.Optional(Type.String({ description: '1: as linhas boas saem assim que todas forem conferidas.' })),
})
const pageQuery = Type.Object({
  cursor: Type.Optional(Type.String({ description: 'O cursor da página anterior; ausente: a primeira.' })),
})
const route = dataRoute.bind(null, 'Lotes')
const config = { emptyBody: true }
const csvSchema = (description: string) => ({ description, content: { 'text/csv': { schema: Type.String() } } })

/** /gw/bulk (an extension): many sends from one file. */
export function addBulk(app: FastifyInstance, options: BulkOptions): void {
  addUpload(app, options)
  // Before the routes of a batch, in the document too: their id stands for any word.
  addMappings(app, options)
  addBatches(app, options)
  addFiles(app, options)
}

function addUpload(app: FastifyInstance, { pool, bulk }: BulkOptions): void {
  app.register(async scope => {
    takeFiles(scope)
    scope.post<{ Querystring: Static<typeof uploadQuery> }>(
      '/gw/bulk',
      {
        ...route('Recebe um arquivo de envios', Type.Object({ ...wire.batchMembers, repetido: repeatedSchema }), {
          querystring: uploadQuery,
          body: fileSchema as never,
          status: 201,
          description:
            'Extensão. O corpo é um CSV (separado por ponto e vírgula, vírgula, tabulação ou barra; UTF-8 ou Latin-1) ou um XLSX (a primeira folha), com os nomes das colunas na primeira linha. Cada linha é conferida pelas regras de POST /gw/email; nada sai antes de `start`.',
        } as never),
      },
      async (request, reply) => {
        const { caller, query, token, address } = request
        const { name = '', start = '' } = query
        for (const [field, text] of Object.entries(query)) if (!isStorable(text)) refuse('badParameter', field)
        const form = await readForm(pool, caller, query)
        const by = { token: token.jti, address }
        const upload = { name: name || 'lote', ...form, starts: start === '1', ...by, by: `token:${token.jti}` }
        const { batch, repeated } = await bulk.takeTurn(caller, request, file =>
          receiveBatch({ pool, ...bulk }, caller, upload, file),
        )
        const started = repeated && start === '1' ? await resume(pool, batch, by) : batch
        return reply.code(201).send(dataAnswer({ ...wire.batchToWire(started), repetido: repeated }, 201))
      },
    )
  })
}

const repeatedSchema = Type.Boolean({ description: 'O arquivo já era o deste lote; nada dele sai de novo.' })
const fileSchema = {
  content: Object.fromEntries([...FILES].map(type => [type, { schema: Type.String({ description: 'O arquivo, como é.' }) }])),
}

/** The same file again goes on where it stopped; what has ended stays as it is. */
const resume = (pool: Pool, batch: Batch, by: By): Promise<Batch> | Batch =>
  ['checking', 'checked', 'paused'].includes(batch.state) && (batch.state === 'checking' || batch.good > 0)
    ? actOnBatch(pool, batch, batch.id, 'resume', by)
    : batch

/** A saved mapping by its name, or what the query has; the query's base counts over the saved one. */
async function readForm(
  pool: Pool,
  scope: Scope,
  { mapping = '', base = '' }: { mapping?: string; base?: string },
): Promise<{ mapping: JsonObject | null; base: JsonObject }> {
  const given = base === '' ? {} : wire.readObject(base, 'badBase')
  if (mapping === '') return { mapping: null, base: given }
  if (mapping.trimStart().startsWith('{')) return { mapping: wire.readObject(mapping, 'badMapping'), base: given }
  const saved = (await findMapping(pool, scope, mapping)) ?? refuse('mappingMissing', mapping)
  return { mapping: saved.mapping, base: { ...saved.base, ...given } }
}

const requireBatch = async (pool: Pool, scope: Scope, id: string): Promise<Batch> =>
  (await findBatch(pool, scope, pathId(id, 'batchMissing'))) ?? refuse('batchMissing')

function addBatches(app: FastifyInstance, { pool, bulk }: BulkOptions): void {
  app.get<{ Querystring: Static<typeof pageQuery> }>(
    '/gw/bulk',
    route(
      'Lotes da conta, do mais novo ao mais antigo',
      Type.Object({
        lotes: Type.Array(wire.batchSchema, { description: `Até ${PAGE} por página.` }),
        cursor: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'Da página seguinte; null: é a última.' }),
      }),
      { querystring: pageQuery },
    ),
    async ({ caller: { account, mode }, query: { cursor = '' } }) => {
      const before = cursor === '' ? null : (readId(cursor) ?? refuse('badCursor'))
      const found = await listBatches(pool, { accounts: [account], mode, before, limit: PAGE + 1 })
      const page = found.slice(0, PAGE)
      return dataAnswer({ lotes: page.map(wire.batchToWire), cursor: found.length > PAGE ? page.at(-1)!.id : null })
    },
  )
  app.get<ById>(
    '/gw/bulk/:id',
    route(
      'Um lote e seu progresso',
      Type.Object({
        ...wire.batchMembers,
        erros: Type.Array(wire.errorSchema, { description: `Os primeiros ${SHOWN_ERRORS} erros; todos estão em rejects.` }),
      }),
    ),
    async ({ caller, params }) => {
      const batch = await requireBatch(pool, caller, params.id)
      const errors = await listRefused(pool, batch.id, 0, SHOWN_ERRORS)
      return dataAnswer({ ...wire.batchToWire(batch), erros: errors.map(wire.errorToWire) })
    },
  )
  app.post<ById & { Body: Static<typeof wire.formSchema> }>(
    '/gw/bulk/:id/check',
    route('Confere as linhas de novo, com outras colunas ou outra mensagem', wire.batchSchema, { body: wire.formSchema }),
    async ({ caller, params, body, token, address }) => {
      const form = { mapping: body.mapping ?? null, base: body.base ?? {} }
      const id = pathId(params.id, 'batchMissing')
      return dataAnswer(
        wire.batchToWire(await recheckBatch({ pool, fields: bulk.fields }, caller, id, form, { token: token.jti, address })),
      )
    },
  )
  const summaries = {
    start: 'Inicia o envio das linhas boas',
    pause: 'Pausa o envio: nenhuma outra linha é aceita',
    resume: 'Retoma o envio de onde parou',
    cancel: 'Cancela o resto do lote',
  }
  for (const act of batchActs) {
    app.post<ById>(
      `/gw/bulk/:id/${act}`,
      { config, ...route(summaries[act], wire.batchSchema) },
      async ({ caller, params, token, address }) =>
        dataAnswer(
          wire.batchToWire(await actOnBatch(pool, caller, pathId(params.id, 'batchMissing'), act, { token: token.jti, address })),
        ),
    )
  }
}

function addFiles(app: FastifyInstance, { pool }: BulkOptions): void {
  app.get<ById>(
    '/gw/bulk/:id/rejects',
    {
      schema: {
        summary: 'As linhas que não saem, com o motivo, em CSV',
        tags: ['Lotes'],
        response: {
          200: csvSchema('As colunas do arquivo, e linha, coluna e erro ao lado. Corrigido, pode ser enviado de novo.'),
        },
      },
    },
    async ({ caller, params }, reply) => sendRejects(reply, pool, await requireBatch(pool, caller, params.id)),
  )
  app.get<ById>(
    '/gw/bulk/:id/result',
    {
      schema: {
        summary: 'O resultado de cada linha, em CSV',
        tags: ['Lotes'],
        response: { 200: csvSchema('linha, idEmail, customID e, por canal, a situação agora e desde quando.') },
      },
    },
    async ({ caller, params }, reply) => sendResult(reply, pool, await requireBatch(pool, caller, params.id)),
  )
}

export function sendRejects(reply: FastifyReply, pool: Pool, batch: Batch): FastifyReply {
  if (batch.erasedAt !== null) throw new Refusal('linesErased')
  return sendCsv(reply, `rejeitadas-${batch.id}.csv`, rejectsFile(pool, batch))
}

export const sendResult = (reply: FastifyReply, pool: Pool, batch: Batch): FastifyReply =>
  sendCsv(reply, `resultado-${batch.id}.csv`, resultFile(pool, batch))

/** A page at a time: the next one is read once the reader has taken this one. */
const sendCsv = (reply: FastifyReply, name: string, lines: AsyncGenerator<string>): FastifyReply =>
  asDownload(reply, 'text/csv; charset=utf-8', name).send(Readable.from(lines, { highWaterMark: 1 }))

type ByName = { Params: { name: string } }

function addMappings(app: FastifyInstance, { pool }: BulkOptions): void {
  app.get('/gw/bulk/mappings', route('Mapeamentos salvos', Type.Array(wire.mappingSchema)), async ({ caller }) =>
    dataAnswer((await listMappings(pool, caller)).map(wire.mappingToWire)),
  )
  app.put<ByName & { Body: Static<typeof wire.formSchema> }>(
    '/gw/bulk/mappings/:name',
    route('Salva um mapeamento', wire.mappingSchema, { body: wire.formSchema }),
    async ({ caller, params: { name }, body }) => {
      if (!/^[^{\0\n\r]{1,80}$/.test(name) || !isStorable(name)) refuse('mappingName')
      const base = body.base ?? {}
      limitBase(base)
      await saveMapping(pool, caller, { name, mapping: body.mapping ?? null, base })
      return dataAnswer(wire.mappingToWire((await findMapping(pool, caller, name))!))
    },
  )
  app.delete<ByName>(
    '/gw/bulk/mappings/:name',
    route('Apaga um mapeamento', Type.Object({ nome: Type.String({ description: 'O mapeamento apagado.' }) })),
    async ({ caller, params: { name } }) => {
      if (!isStorable(name) || !(await removeMapping(pool, caller, name))) refuse('mappingMissing', name)
      return dataAnswer({ nome: name })
    },
  )
}
