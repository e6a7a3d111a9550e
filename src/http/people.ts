import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { channelModules } from '../channels/registry.js'
import { Refusal } from '../domain/errors.js'
import { type Html, html } from '../domain/text/html.js'
import { header } from './auth.js'
import { handleError, httpStatusOf } from './errors.js'
import { PRINTED_CODE } from './recipient/code-page.js'
import { GATEWAY_FOOTER, type Page, sendPage } from './recipient/layout.js'
import { answerWithPage } from './recipient/pages.js'

export interface HomeOptions {
  /** Where the simulated inbox is shown; null: there is none. */
  simulatorUrl: string | null
}

/** Whether a person asks: browsers name HTML, and programs do not. */
const wantsPage = (request: FastifyRequest): boolean => /(^|,)\s*text\/html\s*(;|,|$)/i.test(header(request, 'accept') ?? '')

const page = (title: string, body: Html): Page => ({
  title,
  brand: null,
  footer: GATEWAY_FOOTER,
  body: html`<section class="card"><h1>${title}</h1>
${body}
</section>`,
})

const homePage = ({ simulatorUrl }: HomeOptions): Page =>
  page(
    'Carteiro',
    html`<p>Este endereço é de um serviço de notificações: empresas enviam avisos por ele, e cada aviso chega por ${channelNames()}, com comprovante.</p>
<h2>Você recebeu uma notificação?</h2>
<p>Abra o link que está na mensagem que chegou a você. Ninguém pede senha nem pagamento para você ler.</p>
<p>Se ela chegou impressa, leia o QR code ou digite o código que está ao lado dele.</p>
<div class="row">
<a class="button quiet" href="/s">Digitar o código impresso</a>
</div>
<h2>Você opera este serviço?</h2>
<p>No console você acompanha e envia notificações, e vê o que aconteceu com cada uma.</p>
<div class="row">
<a class="button" href="/console">Abrir o console</a>
</div>
<h2>Você integra um sistema?</h2>
<p>O guia vai do primeiro envio à produção; a documentação da API tem um exemplo pronto para executar.</p>
<div class="row">
<a class="button quiet" href="/docs/guia/">Guia</a>
<a class="button quiet" href="/docs">Documentação da API</a>
${simulatorUrl !== null && html`<a class="button quiet" href="${simulatorUrl}">Caixa de entrada simulada</a>`}
</div>`,
  )

const channelNames = (): string => {
  const labels = channelModules.map(({ label }) => label)
  return `${labels.slice(0, -1).join(', ')} ou ${labels.at(-1)}`
}

const lostPage = page(
  'Página não encontrada',
  html`<p>Não há nada neste endereço. Confira se ele foi copiado inteiro.</p>
<p>Se você recebeu uma notificação, abra de novo a mensagem e toque no link dela. ${PRINTED_CODE}</p>
<p>Se você integra um sistema, os endereços da API estão em <a href="/docs">Documentação da API</a>.</p>`,
)

const documentPage = (refusal: Refusal): Page =>
  refusal.kind === 'gone'
    ? page(
        'Este documento não existe mais',
        html`<p>${refusal.message}</p>
<p>Se você ainda precisa dele, fale com quem enviou a notificação: o remetente pode ter guardado uma cópia.</p>`,
      )
    : page(
        'Documento não encontrado',
        html`<p>Não há gravação nem comprovante neste endereço. Confira se ele foi copiado inteiro, até a última letra.</p>
<p>Se ele veio de um sistema ou de uma mensagem, abra-o de novo a partir de lá, ou peça o endereço outra vez a quem o passou a você.</p>`,
      )

/** GET /: what this is, for people. */
export function addHome(app: FastifyInstance, options: HomeOptions): void {
  app.get('/', { schema: { hide: true } }, (request, reply) => {
    if (wantsPage(request)) sendPage(reply.header('vary', 'Accept'), 200, homePage(options))
    else reply.callNotFound()
  })
}

/** Answers people with a page, and programs with the JSON of the error. */
export const answerUnknownPath = (error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  wantsPage(request) ? sendPage(reply.header('vary', 'Accept'), 404, lostPage) : handleError(error, request, reply)

/** For the addresses of recordings and receipts, which people open. */
export function answerDocumentError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.header('vary', 'Accept')
  if (!wantsPage(request)) return handleError(error, request, reply)
  const absent = error instanceof Refusal && (error.kind === 'missing' || error.kind === 'gone')
  return absent ? sendPage(reply, httpStatusOf[error.kind], documentPage(error)) : answerWithPage(error, request, reply)
}
