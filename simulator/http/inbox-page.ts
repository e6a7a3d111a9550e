import { brazilianDate } from '../../src/domain/dates.js'
import { type Html, html } from '../../src/domain/html.js'
import { channelOf, type SimulatedChannel } from '../channel.js'
import type { Message } from '../message.js'
import { chips } from './labels.js'

export interface InboxView {
  channels: readonly SimulatedChannel[]
  messages: readonly Message[]
  /** Messages without the search. */
  total: number
  to: string
  subject: string
  channel: string
  page: number
  /** The simulator's address as the browser has it. */
  url: string
}

const PAGE_SIZE = 50

export function inboxPage(view: InboxView): Html {
  const { to, subject, channel, channels } = view
  const query = new URLSearchParams({ to, subject, channel, page: String(view.page) })
  return html`<div class="heading">
<h1>Mensagens</h1>
<form method="post" action="/esvaziar"><button class="quiet" type="submit">Esvaziar</button></form>
</div>
<form class="search" method="get" action="/" role="search">
<label>Destinatário <input type="search" name="to" value="${to}" autocomplete="off" placeholder="endereço inteiro"></label>
<label>Assunto <input type="search" name="subject" value="${subject}" autocomplete="off" placeholder="parte do assunto"></label>
<label>Canal <select name="channel"><option value="">todos</option>${channels.map(
    known => html`<option value="${known.channel}"${known.channel === channel && html` selected`}>${known.name}</option>`,
  )}</select></label>
<button type="submit">Buscar</button>
</form>
<div data-live="/parciais/caixa?${query.toString()}">${inboxPart(view)}</div>`
}

/** The part of the page that the live script replaces. */
export function inboxPart(view: InboxView): Html {
  const { channels, messages, total, page } = view
  const start = (page - 1) * PAGE_SIZE
  const shown = messages.slice(start, start + PAGE_SIZE)
  return html`<p class="count" role="status">${countText(view)}</p>
${
  shown.length === 0
    ? total === 0
      ? emptyInbox(view)
      : html`<p class="empty">Nada aqui. <a href="/">Ver todas as mensagens</a></p>`
    : html`<ol class="messages">${shown.map(message => row(channelOf(channels, message), message))}</ol>`
}
${pager(view, start + PAGE_SIZE < messages.length)}`
}

function countText({ messages, total, to, subject, channel }: InboxView): string {
  const count = messages.length === 1 ? '1 mensagem' : `${messages.length} mensagens`
  return to === '' && subject === '' && channel === '' ? count : `${count} de ${total}`
}

const row = (channel: SimulatedChannel, message: Message): Html => html`<li><a href="/mensagens/${message.id}">
<span class="subject">${message.subject === '' ? '(sem assunto)' : message.subject}</span>
<span class="to"><span class="hidden">para </span>${message.to}</span>
<span class="from">de ${message.fromName === '' ? message.from : message.fromName}</span>
<time datetime="${message.receivedAt.toISOString()}">${brazilianDate(message.receivedAt)}</time>
<span class="chips">${chips(channel, message)}</span>
</a></li>`

function pager({ to, subject, channel, page }: InboxView, more: boolean): Html | null {
  if (page === 1 && !more) return null
  const wanted = Object.entries({ to, subject, channel }).filter(([, value]) => value !== '')
  const href = (target: number): string => `/?${new URLSearchParams([...wanted, ['page', String(target)]])}`
  return html`<nav class="pager" aria-label="Mais mensagens">
${page > 1 && html`<a href="${href(page - 1)}">← Mais novas</a>`}
${more && html`<a href="${href(page + 1)}">Mais antigas →</a>`}
</nav>`
}

const emptyInbox = ({ channels, url }: InboxView): Html => html`<div class="empty">
<h2>Nenhuma mensagem ainda</h2>
<p>O que o gateway enviar aparece aqui, e nada sai desta máquina. As operadoras simuladas atendem em:</p>
<ul>${channels.map(
  channel =>
    html`<li>${channel.name}: ${Object.values(channel.carriers(url)).map(carrier => html`<code>${carrier}</code> `)}</li>`,
)}</ul>
<p>Experimente enviar para um destes destinatários e veja o que acontece:</p>
<ul>${channels.map(({ fates }) =>
  fates.list
    .filter(({ example }) => example)
    .map(({ address, meaning }) => html`<li><code>${address}</code>: ${meaning.toLowerCase()}</li>`),
)}</ul>
<p><a href="/destinatarios">Todos os destinatários de teste</a></p>
</div>`
