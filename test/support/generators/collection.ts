import { type OpenApiDocument, type Operation, operationsOf, type Schema } from '../openapi.js'

/** Requests in the format that Postman, Bruno and Insomnia import (Postman collection 2.1). */
export function writeCollection(document: OpenApiDocument) {
  const operations = operationsOf(document)
  const groups = [...new Set(operations.map(({ path }) => groupOf(path)))]
  return {
    info: {
      name: 'Carteiro',
      description: 'Preencha as variáveis baseUrl e token. O token vai puro, sem prefixo.',
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: {
      type: 'apikey',
      apikey: [
        { key: 'key', value: 'Authorization', type: 'string' },
        { key: 'value', value: '{{token}}', type: 'string' },
        { key: 'in', value: 'header', type: 'string' },
      ],
    },
    variable: [
      { key: 'baseUrl', value: 'http://127.0.0.1:8080' },
      { key: 'token', value: '' },
      { key: 'idEmail', value: '' },
      { key: 'id', value: '' },
    ],
    item: groups.map(name => ({
      name,
      item: operations.filter(({ path }) => groupOf(path) === name).map(writeRequest),
    })),
  }
}

/** Statuses and proofs are all about one send. */
function groupOf(path: string): string {
  const [, , resource] = path.split('/')
  return ['templates', 'sequence', 'webhooks', 'bulk'].includes(resource!) ? resource! : 'notifications'
}

function writeRequest({ method, path, operation }: { method: string; path: string; operation: Operation }) {
  const filled = path.replaceAll(/\{(\w+)\}/g, '{{$1}}')
  const query = (operation.parameters ?? []).filter(parameter => parameter.in === 'query')
  const body = operation.requestBody?.content['application/json']
  return {
    name: operation.summary ?? `${method} ${path}`,
    request: {
      method,
      header: body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }],
      url: {
        raw: `{{baseUrl}}${filled}`,
        host: ['{{baseUrl}}'],
        path: filled.slice(1).split('/'),
        query: query.map(({ name, description = '' }) => ({ key: name, value: '', description, disabled: true })),
      },
      ...(body === undefined
        ? {}
        : { body: { mode: 'raw', raw: JSON.stringify(body.example ?? exampleOf(body.schema), null, 2), options: JSON_BODY } }),
    },
  }
}

const JSON_BODY = { raw: { language: 'json' } }

/** A value of each member that a request needs, and of each that has an example of its own. */
function exampleOf(schema: Schema): unknown {
  const { examples } = schema
  if (Array.isArray(examples)) return examples[0]
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const type = [schema.type ?? 'null'].flat()[0]
  if (type === 'object') {
    const members = Object.entries(schema.properties ?? {})
    const shown = members.filter(([name, member]) => schema.required?.includes(name) || Array.isArray(member.examples))
    return Object.fromEntries(shown.map(([name, member]) => [name, exampleOf(member)]))
  }
  if (type === 'array') return schema.items === undefined ? [] : [exampleOf(schema.items)]
  if (type === 'boolean') return true
  return type === 'integer' || type === 'number' ? 1 : 'texto'
}
