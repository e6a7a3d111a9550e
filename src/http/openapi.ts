import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { Type } from 'typebox'
import { channelModules } from '../channels/registry.js'
import { compileCheck } from '../domain/schema.js'

const errorSchema = Type.Object(
  { statusCode: Type.Integer(), message: Type.String(), error: Type.String() },
  { description: 'Corpo de toda recusa.' },
)

const errorMeanings: Record<number, string> = {
  400: 'Requisição inválida; a mensagem diz o campo e a cura.',
  401: 'Token ausente, malformado ou inválido.',
  403: 'Sem permissão; a mensagem diz a cura.',
  404: 'Não existe para esta conta, no modo deste token.',
  409: 'Ainda não: a mensagem diz o que está em andamento ou desligado.',
  408: 'O corpo chega devagar demais.',
  413: 'Corpo grande demais.',
  422: 'Idempotency-Key já usado com outro corpo.',
  429: 'Limite de requisições excedido; veja Retry-After.',
  500: 'Erro interno.',
  503: 'Indisponível por um instante, e nada foi gravado; veja Retry-After.',
  504: 'Não se sabe se o pedido foi gravado; a mensagem diz como descobrir.',
}

export interface OpenApiOptions {
  publicUrl: string
  supportEmail: string
}

/** The API's description, made from the schemas that validate and serialise: /openapi.json and /docs. */
export function addOpenApi(app: FastifyInstance, { publicUrl, supportEmail }: OpenApiOptions): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Carteiro',
        version: '1.0',
        description: `Uma requisição, ${channelModules.length} canais: ${channelModules.map(({ label }) => label).join(', ')}. As datas são de Brasília (dd/MM/aaaa HH:mm:ss). Tokens e registro de endereços: ${supportEmail}.`,
      },
      // The page's own host comes first, so that requests can be tried wherever the page is served.
      servers: [{ url: '/' }, { url: publicUrl }],
      // A bearer scheme would make every generated client send the prefix that the service refuses.
      components: {
        securitySchemes: {
          token: { type: 'apiKey', in: 'header', name: 'Authorization', description: 'O token, puro, sem prefixo.' },
        },
      },
    },
    transform: ({ schema, url, route }) => {
      const isContract = url.startsWith('/gw/') || url.startsWith('/regua-notificacao/')
      return { schema: isContract ? documented(schema ?? {}, url, String(route.method)) : { ...schema, hide: true }, url }
    },
  })
  app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP:
      "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; frame-ancestors 'none'",
    uiConfig: { layout: 'BaseLayout', validatorUrl: null, deepLinking: true, tryItOutEnabled: true },
    theme: { title: 'Carteiro: API' },
  })
  app.after(() => {
    app.get('/openapi.json', async () => app.swagger())
  })
  app.setValidatorCompiler(({ schema, httpPart, url }) => {
    // The send reader validates the bytes of a send.
    if (httpPart === 'body' && url === '/gw/email') return () => true
    const check = compileCheck(schema as Parameters<typeof compileCheck>[0])
    return value => {
      try {
        return { value: check(value) }
      } catch (error) {
        return { error: error as Error }
      }
    }
  })
}

function documented(schema: FastifySchema, url: string, method: string): FastifySchema {
  // 400 everywhere, because a path or a query can be malformed too.
  const errors = [400, 401, 429, 500, 503]
  if (schema.body !== undefined) errors.push(408, 413)
  if (method !== 'GET') errors.push(504)
  if (url.includes(':')) errors.push(404)
  if (url === '/gw/email') errors.push(403, 409, 422)
  if (/^\/gw\/webhooks(\/listen|\/:id\/(test|replay))?$/.test(url)) errors.push(409)
  if (url.startsWith('/gw/templates/:') && method !== 'GET') errors.push(403)
  if (url === '/gw/sequence' && method === 'PUT') errors.push(403)
  const responses = Object.fromEntries(errors.map(status => [status, { ...errorSchema, description: errorMeanings[status] }]))
  return { ...schema, security: [{ token: [] }], response: { ...(schema.response as object), ...responses } }
}
