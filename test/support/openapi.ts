import { Compile, type Validator } from 'typebox/schema'
import type { Gateway } from './gateway/gateway.js'
import { type Answer, request } from './gateway/requests.js'

/** The interface's own description, and whether an answer keeps what it promises. */
export interface Schema {
  [keyword: string]: unknown
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: boolean | Schema
}

interface Response {
  description: string
  content?: Record<string, { schema: Schema }>
}

interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema: Schema
}

export interface Operation {
  summary?: string
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema; example?: unknown }> }
  security?: Record<string, string[]>[]
  responses: Record<string, Response>
}

export interface OpenApiDocument {
  openapi: string
  info: { title: string; version: string }
  servers: { url: string }[]
  components: { securitySchemes: Record<string, Record<string, string>> }
  paths: Record<string, Record<string, Operation>>
}

export const documentOf = ({ app }: Gateway): OpenApiDocument => app.swagger() as unknown as OpenApiDocument

/** Every operation of the document, as "GET /gw/email/{idEmail}". */
export const operationsOf = ({
  paths,
}: OpenApiDocument): { name: string; method: string; path: string; operation: Operation }[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([verb, operation]) => {
      const method = verb.toUpperCase()
      return { name: `${method} ${path}`, method, path, operation }
    }),
  )

/** The operation that a path means; its query and a trailing slash do not count. */
export function findOperation(document: OpenApiDocument, method: string, path: string): Operation | undefined {
  const given = segments(path.split('?')[0]!.replace(/\/$/, ''))
  return patternsOf(document).find(
    pattern =>
      pattern.method === method &&
      pattern.wanted.length === given.length &&
      pattern.wanted.every((segment, index) => segment.startsWith('{') || segment === given[index]),
  )?.operation
}

const segments = (path: string): string[] => path.split('/')

interface Pattern {
  method: string
  wanted: string[]
  operation: Operation
}

const patterns = new WeakMap<OpenApiDocument, Pattern[]>()

function patternsOf(document: OpenApiDocument): Pattern[] {
  const known = patterns.get(document)
  if (known !== undefined) return known
  const made = operationsOf(document).map(({ method, path, operation }) => ({ method, wanted: segments(path), operation }))
  patterns.set(document, made)
  return made
}

/** Throws unless the document knows the operation, its status and its media type, and describes every member of the body. */
export function conforms(document: OpenApiDocument, method: string, path: string, { status, headers, body }: Answer): void {
  const what = `${method} ${path} → ${status}`
  const operation = findOperation(document, method, path)
  if (operation === undefined) throw new Error(`${what}: no such operation in the document`)
  const media = headers.get('content-type')?.split(';')[0] ?? 'none'
  const schema = operation.responses[status]?.content?.[media]?.schema
  if (schema === undefined) throw new Error(`${what}: the document has no such status with ${media}`)
  const validator = validatorOf(schema)
  if (validator.Check(body)) return
  const [, errors] = validator.Errors(body)
  throw new Error(`${what}: ${JSON.stringify(body)} is not as documented: ${JSON.stringify(errors)}`)
}

const validators = new WeakMap<Schema, Validator>()

function validatorOf(schema: Schema): Validator {
  const known = validators.get(schema)
  if (known !== undefined) return known
  const validator = Compile(closed(schema)) as Validator
  validators.set(schema, validator)
  return validator
}

/** The schema with every object closed: a member that the document does not name is refused. */
function closed(schema: Schema): Schema {
  const { properties, items, additionalProperties } = schema
  return {
    ...schema,
    ...(items === undefined ? {} : { items: closed(items) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, closed(member)])),
          additionalProperties: additionalProperties ?? false,
        }),
  }
}

type RequestOptions = NonNullable<Parameters<typeof request>[1]>
export type Ask = (path: string, options?: RequestOptions) => Promise<Answer>

/** Requests whose every answer, refusals included, must be as the document says. */
export function conformingRequests(gateway: Gateway, defaults: RequestOptions = {}): Ask {
  return async (path, options = {}) => {
    const answer = await request(`${gateway.url}${path}`, { ...defaults, ...options })
    conforms(documentOf(gateway), options.method ?? 'GET', path, answer)
    return answer
  }
}
