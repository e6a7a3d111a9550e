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

export const uuid = Type.String({ format: 'uuid' })
export const channelName = Type.Unsafe<string>({ type: 'string', enum: channelModules.map(({ wire }) => wire) })
export const optionalBoolean = Type.Optional(Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }))
export const textOrNull = (description: string, options: object = {}) =>
  Type.Unsafe<string | null>({ type: ['string', 'null'], description, ...options })
export const listOrNull = <T>(items: TSchema, options: object = {}) =>
  Type.Optional(Type.Unsafe<T[] | null>({ type: ['array', 'null'], items, ...options }))

/** The options of a route that answers `{ data, statusCode }`. */
export const dataRoute = (tag: string, summary: string, data: TSchema, parts: FastifySchema & { status?: number } = {}) => {
  const { status = 200, ...schema } = parts
  return {
    schema: { summary, tags: [tag], ...schema, response: { [status]: Type.Object({ data, statusCode: Type.Integer() }) } },
  }
}
export const dataAnswer = <T>(data: T, statusCode = 200) => ({ data, statusCode })
