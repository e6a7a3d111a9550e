import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readShortCode } from '../../domain/recipient/link.js'
import { html } from '../../domain/text/html.js'
import { field } from './arrival.js'
import { type Page, sendPage } from './layout.js'

/**
 * GET /s: where a person types the code that is printed on paper. The form is posted, because the address of a query would put the
 * code into the logs of proxies; whether there is such a code is decided, and guesses are counted, at /s/{code}.
 */
export function addCodePage(app: FastifyInstance): void {
  const hidden = { schema: { hide: true } }
  const show = (_: FastifyRequest, reply: FastifyReply) => sendPage(reply, 200, codePage)
  const follow = (request: FastifyRequest, reply: FastifyReply) => {
    const code = readShortCode(field(request, 'codigo') ?? '')
    return code === '' ? sendPage(reply, 400, codePage) : reply.redirect(`/s/${code}`, 303)
  }
  app.get('/s', hidden, show)
  app.post('/s', hidden, follow)
}

/** The way here, for whoever typed only the host of the address on paper. */
export const PRINTED_CODE = html`A notificação chegou impressa? <a href="/s">Digite o código que está no papel</a>.`

const codePage: Page = {
  title: 'Abrir uma notificação',
  brand: null,
  body: html`<section class="card">
<h1>Abrir uma notificação</h1>
<form method="post" action="/s">
<label for="codigo">Código que veio impresso</label>
<input type="text" id="codigo" name="codigo" required maxlength="40" autocomplete="off" autocapitalize="characters" spellcheck="false" aria-describedby="dica">
<p class="hint" id="dica">São dez letras e números, ao lado do QR code. Maiúsculas, espaços e o hífen não fazem diferença.</p>
<button>Continuar</button>
</form>
</section>`,
}
