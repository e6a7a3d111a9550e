import { asJson, asText, type Call, type CallOptions, type Requester } from './request.js'
import type { Batch, BatchForm, BulkMapping } from './types.js'

export interface UploadOptions extends CallOptions {
  /** The name of the batch. Default: lote. */
  name?: string
  /** The name of a saved mapping, or the field of each column. Default: by the names of the columns. */
  mapping?: string | Readonly<Record<string, string | readonly string[]>>
  /** The members of the send request that are the same in all lines. */
  base?: Readonly<Record<string, unknown>>
  /** The good lines are sent once all lines were checked. */
  start?: boolean
}

/** A batch without the errors of its lines: only `get` returns those. */
type Progress = Omit<Batch, 'erros'>
type File = Blob | Uint8Array<ArrayBuffer> | string

/** A large file takes its time on a slow line. */
const UPLOAD_MS = 30 * 60_000

/** Batches: a file of many sends. */
export function bulkOf(request: Requester) {
  const data = async <Value>(call: Call): Promise<Value> => ((await request(call, asJson)) as { data: Value }).data
  const at = (id: string): string => `/gw/bulk/${encodeURIComponent(id)}`
  const act = (name: string) => (id: string, options?: CallOptions) =>
    data<Progress>({ method: 'POST', path: `${at(id)}/${name}`, repeatable: false, ...options })
  const text = (path: string, options?: CallOptions): Promise<string> =>
    request({ method: 'GET', path, repeatable: true, ...options }, asText)
  return {
    /** A CSV or XLSX. The same file under the same name is the same batch: uploading it again sends nothing twice. */
    upload: (file: File, { mapping, base, start, name, ...options }: UploadOptions = {}) =>
      data<Progress & { repetido: boolean }>({
        method: 'POST',
        path: '/gw/bulk',
        query: {
          name,
          mapping: typeof mapping === 'object' ? JSON.stringify(mapping) : mapping,
          base: base && JSON.stringify(base),
          start: start === true ? '1' : undefined,
        },
        file,
        timeoutMs: UPLOAD_MS,
        repeatable: true,
        ...options,
      }),
    /** Newest first. Asks for the next page only when it is wanted. */
    async *list(options?: CallOptions): AsyncGenerator<Progress> {
      let cursor: string | undefined
      do {
        const call: Call = { method: 'GET', path: '/gw/bulk', query: { cursor }, repeatable: true, ...options }
        const page: { lotes: Progress[]; cursor: string | null } = await data(call)
        yield* page.lotes
        cursor = page.cursor ?? undefined
      } while (cursor !== undefined)
    },
    /** Its progress, and its first errors. */
    get: (id: string, options?: CallOptions) => data<Batch>({ method: 'GET', path: at(id), repeatable: true, ...options }),
    /** Checks all lines again, with other columns or another message. */
    check: (id: string, form: BatchForm, options?: CallOptions) =>
      data<Progress>({ method: 'POST', path: `${at(id)}/check`, body: form, repeatable: true, ...options }),
    start: act('start'),
    pause: act('pause'),
    resume: act('resume'),
    cancel: act('cancel'),
    /** The lines that are not sent, each with its reason, as CSV. */
    rejects: (id: string, options?: CallOptions) => text(`${at(id)}/rejects`, options),
    /** What became of each line, as CSV. */
    result: (id: string, options?: CallOptions) => text(`${at(id)}/result`, options),
    mappings: (options?: CallOptions) =>
      data<BulkMapping[]>({ method: 'GET', path: '/gw/bulk/mappings', repeatable: true, ...options }),
    saveMapping: (name: string, form: BatchForm, options?: CallOptions) =>
      data<BulkMapping>({ method: 'PUT', path: mappingAt(name), body: form, repeatable: true, ...options }),
    async removeMapping(name: string, options?: CallOptions): Promise<void> {
      await request({ method: 'DELETE', path: mappingAt(name), repeatable: true, ...options }, asText)
    },
  }
}

const mappingAt = (name: string): string => `/gw/bulk/mappings/${encodeURIComponent(name)}`
