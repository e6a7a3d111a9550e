import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { Type } from 'typebox'
import { channelModules } from '../channels/registry.js'
import { compileCheck, compileQueryCheck } from '../domain/schema.js'
import { DOCS_SCRIPT, DOCS_STYLE } from './docs-language.js'
import { statusCode } from './gw/wire.js'

const errorSchema = Type.Object(
  {
    statusCode,
    message: Type.String({ description: 'O que houve e o que fazer.' }),
    error: Type.String({ description: 'O nome do código, em inglês.' }),
  },
  { description: 'Corpo de toda recusa.' },
)

const hintHeader = {
  'WWW-Authenticate': {
    type: 'string',
    description: 'O que há de errado com o token, em error_description.',
    example: 'JWT realm="carteiro", error_description="envie o token puro, sem o prefixo Bearer"',
  },
}
const warningHeader = {
  'X-Carteiro-Aviso': {
    type: 'string',
    description: 'Só quando o corpo tem membros que ninguém lê: os dez primeiros, em ASCII.',
    example: 'membro desconhecido: assunto',
  },
}

const errorMeanings: Record<number, string> = {
  400: 'Requisição inválida; a mensagem diz o campo e a cura.',
  401: 'Token ausente, malformado ou inválido.',
  402: 'O envio passaria do teto de custo do mês da conta (cost.month.cap). Nada foi gravado.',
  403: 'Sem permissão; a mensagem diz a cura.',
  404: 'Não existe para esta conta, no modo deste token.',
  409: 'Agora não: a mensagem diz o que está em andamento, desligado ou ocupado (um nome de template já usado).',
  408: 'O corpo chega devagar demais.',
  410: 'Apagado ao fim do prazo em que fica guardado.',
  413: 'Corpo grande demais.',
  422: 'Idempotency-Key já usado com outro corpo.',
  429: 'Limite de requisições excedido; veja Retry-After.',
  500: 'Erro interno.',
  503: 'Indisponível, e nada foi gravado; com Retry-After, por um instante.',
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
        description: `Uma requisição, ${channelModules.length} canais: ${channelModules.map(({ label }) => label).join(', ')}. As datas são de Brasília (dd/MM/aaaa HH:mm:ss).

Para experimentar: informe o token (no primeiro início, \`npm start\` mostra o da conta de demonstração; ele fica guardado neste navegador) e execute **POST /gw/email**, que já vem com um exemplo pelos ${channelModules.length} canais. A resposta traz o \`idEmail\` das consultas. O [guia](/docs/guia/) explica canais, templates, webhooks, erros e provas.

Tokens e registro de endereços: ${supportEmail}.`,
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
  app.register(addDocs)
  app.after(() => {
    app.get('/openapi.json', async () => app.swagger())
  })
  app.setValidatorCompiler(({ schema, httpPart, url }) => {
    // The send reader validates the bytes of a send, and the reader of tables those of a batch.
    if (httpPart === 'body' && (url === '/gw/email' || url === '/gw/bulk')) return () => true
    // Made with the first request, as most routes of a process are never asked.
    let check: ReturnType<typeof compileCheck> | undefined
    return value => {
      check ??= (httpPart === 'querystring' ? compileQueryCheck : compileCheck)(schema as Parameters<typeof compileCheck>[0])
      try {
        return { value: check(value) }
      } catch (error) {
        return { error: error as Error }
      }
    }
  })
}

/** /docs, whose plugin writes the head of its page in English and without a viewport. */
async function addDocs(scope: FastifyInstance): Promise<void> {
  scope.addHook('onSend', async (_request, reply, payload) =>
    typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('text/html')
      ? payload.replace('<html lang="en">', '<html lang="pt-BR">').replace('<meta charset="UTF-8">', HEAD)
      : payload,
  )
  scope.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP:
      "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; frame-ancestors 'none'",
    uiConfig: {
      layout: 'BaseLayout',
      validatorUrl: null,
      deepLinking: true,
      tryItOutEnabled: true,
      persistAuthorization: true,
      defaultModelsExpandDepth: -1,
    },
    theme: {
      title: 'Carteiro: API',
      js: [{ filename: 'pt-br.js', content: DOCS_SCRIPT }],
      css: [{ filename: 'pt-br.css', content: DOCS_STYLE }],
    },
  })
}

const HEAD = '<meta charset="UTF-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">'

const pathMembers: Record<string, string> = {
  idEmail: 'O identificador que o envio devolveu.',
  id: 'O identificador público, como a lista o mostra.',
  name: 'O nome, como foi salvo.',
}

/** Only described: a path's member is text, and its handler reads it. */
const pathSchema = (url: string) =>
  Type.Object(
    Object.fromEntries(
      [...url.matchAll(/:(\w+)/g)].map(([, name]) => [name!, Type.String({ description: pathMembers[name!]! })]),
    ),
  )

function documented(schema: FastifySchema, url: string, method: string): FastifySchema {
  // 400 everywhere, because a path or a query can be malformed too.
  const errors = [400, 401, 429, 500, 503]
  if (schema.body !== undefined) errors.push(408, 413)
  if (method !== 'GET') errors.push(504)
  if (url.includes(':')) errors.push(404)
  if (url === '/gw/email') errors.push(402, 403, 409, 422)
  if (/^\/gw\/webhooks(\/listen|\/:id\/(test|replay))?$/.test(url)) errors.push(409)
  if (/^\/gw\/templates(\/:id)?$/.test(url) && (method === 'POST' || method === 'PUT')) errors.push(409)
  if (url.startsWith('/gw/templates/:') && method !== 'GET') errors.push(403)
  if (url.startsWith('/gw/bulk') && method === 'POST') errors.push(409)
  if (url === '/gw/bulk/:id/rejects') errors.push(410)
  if (url === '/gw/bulk' && method === 'POST') errors.push(404)
  if (url === '/gw/sequence' && method === 'PUT') errors.push(403)
  const responses = Object.fromEntries(
    errors.map(status => [
      status,
      { ...errorSchema, description: errorMeanings[status], ...(status === 401 ? { headers: hintHeader } : {}) },
    ]),
  )
  const params = url.includes(':') ? { params: pathSchema(url) } : {}
  const warned = schema.body === undefined ? {} : { headers: warningHeader }
  const successes = Object.entries(schema.response as Record<string, object>).map(([status, response]) => [
    status,
    { description: 'O pedido foi atendido.', ...response, ...warned },
  ])
  return { ...schema, ...params, security: [{ token: [] }], response: { ...Object.fromEntries(successes), ...responses } }
}
