import { type Html, html } from '../../src/domain/text/html.js'
import type { SimulatedChannel } from '../channel.js'
import type { Message } from '../message.js'
import { groupItem, groupMessages } from './group.js'

export interface InboxView {
  channels: readonly SimulatedChannel[]
  messages: readonly Message[]
  /** Messages without the search. */
  total: number
  to: string
  subject: string
  channel: string
  page: number
  /** The inbox was emptied a moment ago. */
  emptied: boolean
  /** The simulator's address as the browser has it. */
  url: string
}

/** The groups of messages on a page. */
const PAGE_SIZE = 50

export function inboxPage(view: InboxView): Html {
  const { to, subject, channel, channels, total, emptied } = view
  const query = new URLSearchParams({ to, subject, channel, page: String(view.page) })
  return html`<div class="heading">
<h1>Mensagens</h1>
${total > 0 && html`<a class="button" href="/esvaziar">Esvaziar…</a>`}
</div>
${emptied && html`<p class="saved" role="status">A caixa foi esvaziada.</p>`}
<form class="search" method="get" action="/" role="search">
<label>Destinatário ou idEmail <input type="search" name="to" value="${to}" autocomplete="off" placeholder="parte do endereço ou do número"></label>
<label>Assunto ou texto <input type="search" name="subject" value="${subject}" autocomplete="off" placeholder="parte do assunto"></label>
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
  const groups = groupMessages(messages)
  const start = (page - 1) * PAGE_SIZE
  const shown = groups.slice(start, start + PAGE_SIZE)
  return html`<p class="count" role="status">${countText(view, groups.length)}</p>
${
  shown.length === 0
    ? total === 0
      ? emptyInbox(view)
      : html`<p class="empty">Nada aqui. <a href="/">Ver todas as mensagens</a></p>`
    : html`<ol class="groups">${shown.map(group => groupItem(channels, group))}</ol>`
}
${pager(view, start + PAGE_SIZE < groups.length)}`
}

function countText({ messages, total, to, subject, channel }: InboxView, groups: number): string {
  const count = messages.length === 1 ? '1 mensagem' : `${messages.length} mensagens`
  const found = to === '' && subject === '' && channel === '' ? count : `${count} de ${total}`
  return groups < messages.length ? `${found}, em ${groups === 1 ? '1 notificação' : `${groups} notificações`}` : found
}

function pager({ to, subject, channel, page }: InboxView, more: boolean): Html | null {
  if (page === 1 && !more) return null
  const wanted = Object.entries({ to, subject, channel }).filter(([, value]) => value !== '')
  const href = (target: number): string => `/?${new URLSearchParams([...wanted, ['page', String(target)]])}`
  return html`<nav class="pager" aria-label="Mais mensagens">
${page > 1 && html`<a href="${href(page - 1)}">← Mais novas</a>`}
${more && html`<a href="${href(page + 1)}">Mais antigas →</a>`}
</nav>`
}

/** The inbox is for everyone on this machine; the carriers' passwords are for the gateway alone. */
const withoutSecrets = (carrier: string): string => carrier.replace(/\/\/[^/@]*@/, '//').replace(/\?.*$/, '')

const emptyInbox = ({ channels, url }: InboxView): Html => html`<div class="empty">
<h2>Nenhuma mensagem ainda</h2>
<p>O que o gateway enviar aparece aqui, e nada sai desta máquina. As operadoras simuladas atendem em:</p>
<ul>${channels.map(
  channel =>
    html`<li>${channel.name}: ${Object.values(channel.carriers(url)).map(carrier => html`<code>${withoutSecrets(carrier)}</code> `)}</li>`,
)}</ul>
<p>Experimente enviar para um destes destinatários e veja o que acontece:</p>
<ul>${channels.map(({ fates }) =>
  fates.list
    .filter(({ example }) => example)
    .map(({ address, meaning }) => html`<li><code>${address}</code>: ${meaning.toLowerCase()}</li>`),
)}</ul>
<p><a href="/destinatarios">Todos os destinatários de teste</a></p>
</div>`
