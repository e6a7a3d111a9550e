import type { FastifySchema } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { channelModules } from '../../channels/registry.js'
import { type RefusalCode, refuse } from '../../domain/errors.js'
import { readId } from '../../domain/id.js'

export type ById = { Params: { id: string } }
export type ByNotification = { Params: { idEmail: string } }

/** An id in a path. A text that is not a UUID is refused like an unknown id. */
export const pathId = (text: string, missing: RefusalCode): string => readId(text) ?? refuse(missing)
export const notificationId = (request: { params: ByNotification['Params'] }): string =>
  pathId(request.params.idEmail, 'noStatus')

export const uuid = (description: string) => Type.String({ format: 'uuid', description })
/** Brasília's time in ISO 8601, where the contract leaves the format open. */
export const isoDate = (description: string) =>
  Type.String({ description: `${description} (ISO 8601, horário de Brasília).`, examples: ['2026-07-18T01:01:32-03:00'] })
export const channelName = Type.Unsafe<string>({
  type: 'string',
  enum: channelModules.map(({ wire }) => wire),
  description: 'O canal.',
})
export const optionalBoolean = (description: string) =>
  Type.Optional(Type.Unsafe<boolean | null>({ type: ['boolean', 'null'], description }))
export const statusCode = Type.Integer({ description: 'O mesmo código da resposta HTTP.' })
export const textOrNull = (description: string, options: object = {}) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description, ...options })
export const listOrNull = <T>(items: TSchema, options: object = {}) =>
  Type.Optional(Type.Unsafe<T[] | null>({ type: ['array', 'null'], items, ...options }))

/** The options of a route that answers `{ data, statusCode }`. */
export const dataRoute = (tag: string, summary: string, data: TSchema, parts: FastifySchema & { status?: number } = {}) => {
  const { status = 200, ...schema } = parts
  return {
    schema: { summary, tags: [tag], ...schema, response: { [status]: Type.Object({ data: answered(data), statusCode }) } },
  }
}
const answered = (data: TSchema): TSchema => ({ description: 'O que foi pedido.', ...data })

export const dataAnswer = <T>(data: T, statusCode = 200) => ({ data, statusCode })
