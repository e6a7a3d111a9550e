import type { OpenApiDocument, Schema } from '../openapi.js'

type Where = 'body' | 'answer' | 'data' | 'item' | 'query'

/** The types that the client names, and where the interface's description has them. `item`: one of the list in `data`. */
const named: readonly (readonly [name: string, operation: string, where: Where])[] = [
  ['SendRequest', 'POST /gw/email', 'body'],
  ['SendAnswer', 'POST /gw/email', 'answer'],
  ['FullStatus', 'GET /gw/full/{idEmail}', 'answer'],
  ['TimelineEvent', 'GET /gw/events/{idEmail}', 'item'],
  ['NextStep', 'GET /gw/sequence/{idEmail}', 'item'],
  ['FinalizeAnswer', 'GET /regua-notificacao/finalizar/{idEmail}', 'answer'],
  ['NotificationSummary', 'GET /gw/notifications', 'item'],
  ['NotificationsQuery', 'GET /gw/notifications', 'query'],
  ['SendingProof', 'GET /gw/sending-proof/{idEmail}', 'answer'],
  ['Template', 'GET /gw/templates/{id}', 'data'],
  ['TemplatesQuery', 'GET /gw/templates', 'query'],
  ['NewTemplate', 'POST /gw/templates', 'body'],
  ['TemplateEdit', 'PUT /gw/templates/{id}', 'body'],
  ['TemplatePreview', 'POST /gw/templates/{id}/preview', 'data'],
  ['Sequence', 'GET /gw/sequence', 'data'],
  ['Webhook', 'GET /gw/webhooks/{id}', 'data'],
  ['NewWebhook', 'POST /gw/webhooks', 'body'],
  ['WebhookWithSecret', 'POST /gw/webhooks', 'data'],
  ['WebhookEdit', 'PUT /gw/webhooks/{id}', 'body'],
  ['WebhookTest', 'POST /gw/webhooks/{id}/test', 'data'],
  ['WebhookAttempt', 'GET /gw/webhooks/{id}/attempts', 'item'],
  ['AttemptsQuery', 'GET /gw/webhooks/{id}/attempts', 'query'],
  ['Batch', 'GET /gw/bulk/{id}', 'data'],
  ['BatchForm', 'POST /gw/bulk/{id}/check', 'body'],
  ['BulkMapping', 'PUT /gw/bulk/mappings/{name}', 'data'],
  ['Usage', 'GET /gw/usage', 'data'],
  ['ReplayRequest', 'POST /gw/webhooks/{id}/replay', 'body'],
]

/** The client's types, written from the description of the interface. */
export function writeClientTypes(document: OpenApiDocument, channels: readonly string[], situations: readonly string[]): string {
  const operationOf = (operation: string) => {
    const [method, path] = operation.split(' ') as [string, string]
    return document.paths[path]![method.toLowerCase()]!
  }
  const answerOf = (operation: string): Schema => {
    const { responses } = operationOf(operation)
    return (responses['200'] ?? responses['201'])!.content!['application/json']!.schema
  }
  const find: Record<Where, (operation: string) => Schema> = {
    body: operation => operationOf(operation).requestBody!.content['application/json']!.schema,
    answer: answerOf,
    data: operation => answerOf(operation).properties!.data!,
    item: operation => answerOf(operation).properties!.data!.items!,
    query: operation => ({
      type: 'object',
      properties: Object.fromEntries(
        (operationOf(operation).parameters ?? [])
          .filter(parameter => parameter.in === 'query')
          .map(({ name, schema, description }) => [name, { ...schema, description }]),
      ),
    }),
  }
  const statuses = channels.map(channel => `  ${channel}: ${writeType(answerOf(`GET /gw/${channel}/{idEmail}`), 1)}`)
  return [
    '// Written from the description of the interface by `npm run write-client`.\n',
    `export type Channel = ${union(channels)}\n`,
    `/** What an event announces. */\nexport type Situation =\n  | ${situations.map(quote).join('\n  | ')}\n`,
    `/** The status record of each channel. Dates are those of Brasília, dd/MM/yyyy HH:mm:ss. */\nexport interface ChannelStatuses {\n${statuses.join('\n')}\n}\n`,
    ...named.map(([name, operation, where]) => writeNamed(name, find[where](operation))),
  ].join('\n')
}

function writeNamed(name: string, schema: Schema): string {
  const type = writeType(schema, 0)
  return type.startsWith('{') ? `export interface ${name} ${type}\n` : `export type ${name} = ${type}\n`
}

function writeType(schema: Schema, depth: number): string {
  if (Array.isArray(schema.enum)) return union(schema.enum)
  const types = [schema.type ?? 'unknown'].flat()
  return types.map(type => writeOne(type, schema, depth)).join(' | ')
}

function writeOne(type: string, schema: Schema, depth: number): string {
  if (type === 'integer') return 'number'
  if (type === 'array') {
    const item = writeType(schema.items ?? {}, depth)
    return /[|]/.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`
  }
  if (type !== 'object') return type
  const members = Object.entries(schema.properties ?? {})
  if (members.length === 0) return 'Record<string, unknown>'
  const indent = '  '.repeat(depth + 1)
  const lines = members.map(([name, member]) => {
    const isRequired = (schema.required ?? []).includes(name)
    const about = typeof member.description === 'string' ? `${indent}/** ${member.description.replaceAll('*/', '* /')} */\n` : ''
    return `${about}${indent}${name}${isRequired ? '' : '?'}: ${writeType(member, depth + 1)}`
  })
  return `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`
}

const quote = (value: unknown): string => (typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value))
const union = (values: readonly unknown[]): string => values.map(quote).join(' | ')
