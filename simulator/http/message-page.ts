import { brazilianDate } from '../../src/domain/text/dates.js'
import { type Html, html } from '../../src/domain/text/html.js'
import type { SimulatedChannel } from '../channel.js'
import type { Message } from '../message.js'
import { reportText, stateText, tone } from './labels.js'

export interface MessageView {
  channel: SimulatedChannel
  message: Message
  /** Rendered by the channel, like `aside`. */
  content: Html
  aside: Html | null
  /** The other messages of its notification. */
  others: readonly { id: string; name: string }[]
  /** Why the last action was refused. */
  problem: string | null
}

export function messagePage({ channel, message, content, aside, problem, others }: MessageView): Html {
  return html`<p class="back"><a href="/">← Mensagens</a></p>
<h1 class="subject">${message.subject === '' ? '(sem assunto)' : message.subject}</h1>
${problem !== null && html`<p class="alert" role="alert">${problem}</p>`}
<dl class="facts">
<div><dt>idEmail</dt><dd>${idOf(message)}</dd></div>
<div><dt>Canal</dt><dd>${channel.name}</dd></div>
${others.length > 0 && html`<div><dt>Outros canais</dt><dd>${links(others)}</dd></div>`}
<div><dt>De</dt><dd>${message.fromName === '' ? message.from : html`${message.fromName} &lt;${message.from}&gt;`}</dd></div>
<div><dt>Para</dt><dd>${message.to}</dd></div>
<div><dt>Recebida</dt><dd><time datetime="${message.receivedAt.toISOString()}">${brazilianDate(message.receivedAt)}</time></dd></div>
<div><dt>Resposta dada</dt><dd>${message.answer ?? 'nenhuma'}</dd></div>
</dl>
<div class="columns">
<div class="content">
${content}
</div>
<aside>
${actions(channel, message)}
<section aria-labelledby="retornos"><h2 id="retornos">O que o destinatário fez</h2>
<div data-live="/parciais/mensagens/${message.id}">${reportsPart(channel, message)}</div>
</section>
${aside}
</aside>
</div>`
}

const idOf = ({ notification }: Message): Html =>
  notification === null
    ? html`nenhum: não veio de uma notificação do gateway`
    : html`<a href="/notificacoes/${notification}"><code>${notification}</code></a>`

const links = (others: MessageView['others']): Html[] =>
  others.map(({ id, name }, index) => html`${index > 0 && ', '}<a href="/mensagens/${id}">${name}</a>`)

function actions(channel: SimulatedChannel, { id }: Message): Html {
  const all = Object.entries(channel.actions)
  return html`<section aria-labelledby="acoes"><h2 id="acoes">Agir como o destinatário</h2>
<form class="actions" method="post" action="/mensagens/${id}/acoes">
<div class="buttons">${all
    .filter(([, { text }]) => text === undefined)
    .map(([name, { label }]) => html`<button name="action" value="${name}">${label}</button>`)}</div>
</form>
${all.map(
  ([name, { label, text }]) =>
    text !== undefined &&
    html`<form class="reply" method="post" action="/mensagens/${id}/acoes">
<label for="texto-${name}">${text.label}</label>
<textarea id="texto-${name}" name="text" rows="2" maxlength="10000">${text.value}</textarea>
<button name="action" value="${name}">${label}</button>
</form>`,
)}</section>`
}

/** The part of the page that the live script replaces. */
export const reportsPart = (channel: SimulatedChannel, { reports }: Message): Html =>
  reports.length === 0
    ? html`<p class="note">Nada, por enquanto.</p>`
    : html`<ol class="reports">${reports.map(
        report => html`<li class="${tone(channel, report)}">
<strong>${reportText(channel, report)}</strong> <span>${stateText(report)},</span>
<time datetime="${(report.doneAt ?? report.at).toISOString()}">${brazilianDate(report.doneAt ?? report.at)}</time>
${report.detail !== null && html`<code>${report.detail}</code>`}</li>`,
      )}</ol>`
