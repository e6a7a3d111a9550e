import { brazilianDate } from '../../domain/dates.js'
import { FATES, fateAddress } from '../email/fates.js'
import type { Mail } from '../email/mail.js'
import { type Html, html } from './html.js'
import { chips } from './words.js'

export interface InboxView {
  mails: readonly Mail[]
  /** Before the search. */
  total: number
  to: string
  subject: string
  page: number
  smtpUrl: string
}

const PAGE_SIZE = 50

export function inboxPage(view: InboxView): Html {
  const query = new URLSearchParams({ to: view.to, subject: view.subject, page: String(view.page) })
  return html`<div class="heading">
<h1>Mensagens</h1>
<form method="post" action="/esvaziar"><button class="quiet" type="submit">Esvaziar</button></form>
</div>
<form class="search" method="get" action="/" role="search">
<label>Destinatário <input type="search" name="to" value="${view.to}" autocomplete="off" placeholder="endereço inteiro"></label>
<label>Assunto <input type="search" name="subject" value="${view.subject}" autocomplete="off" placeholder="parte do assunto"></label>
<button type="submit">Buscar</button>
</form>
<div data-live="/parciais/caixa?${query.toString()}">${inboxPart(view)}</div>`
}

/** The part that changes by itself. */
export function inboxPart(view: InboxView): Html {
  const { mails, total, page } = view
  const start = (page - 1) * PAGE_SIZE
  const shown = mails.slice(start, start + PAGE_SIZE)
  return html`<p class="count" role="status">${countText(view)}</p>
${
  shown.length === 0
    ? total === 0
      ? emptyInbox(view.smtpUrl)
      : html`<p class="empty">Nada aqui. <a href="/">Ver todas as mensagens</a></p>`
    : html`<ol class="mails">${shown.map(row)}</ol>`
}
${pager(view, start + PAGE_SIZE < mails.length)}`
}

function countText({ mails, total, to, subject }: InboxView): string {
  const count = mails.length === 1 ? '1 mensagem' : `${mails.length} mensagens`
  return to === '' && subject === '' ? count : `${count} de ${total}`
}

const row = (mail: Mail): Html => html`<li><a href="/mensagens/${mail.id}">
<span class="subject">${mail.subject === '' ? '(sem assunto)' : mail.subject}</span>
<span class="to"><span class="hidden">para </span>${mail.to}</span>
<span class="from">de ${mail.fromName === '' ? mail.from : mail.fromName}</span>
<time datetime="${mail.receivedAt.toISOString()}">${brazilianDate(mail.receivedAt)}</time>
<span class="chips">${chips(mail)}</span>
</a></li>`

function pager({ to, subject, page }: InboxView, more: boolean): Html | null {
  if (page === 1 && !more) return null
  const href = (target: number): string =>
    `/?${new URLSearchParams({ ...(to === '' ? {} : { to }), ...(subject === '' ? {} : { subject }), page: String(target) })}`
  return html`<nav class="pager" aria-label="Mais mensagens">
${page > 1 && html`<a href="${href(page - 1)}">← Mais novas</a>`}
${more && html`<a href="${href(page + 1)}">Mais antigas →</a>`}
</nav>`
}

const emptyInbox = (smtpUrl: string): Html => html`<div class="empty">
<h2>Nenhuma mensagem ainda</h2>
<p>O que o gateway enviar por e-mail aparece aqui, e nada sai desta máquina. O servidor de e-mail simulado atende em
<code>${smtpUrl}</code>.</p>
<p>Experimente enviar para um destes endereços e veja o que acontece:</p>
<ul>${FATES.filter(({ name }) => ['lido', 'devolvido', 'responde'].includes(name)).map(
  fate => html`<li><code>${fateAddress(fate)}</code>: ${fate.meaning.toLowerCase()}</li>`,
)}</ul>
<p><a href="/destinatarios">Todos os destinatários de teste</a></p>
</div>`
