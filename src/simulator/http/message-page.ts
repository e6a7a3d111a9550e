import { brazilianDate } from '../../domain/dates.js'
import type { Content } from '../email/content.js'
import type { Mail } from '../email/mail.js'
import { ACTIONS, REPLY_TEXT } from '../email/recipient.js'
import type { Kept } from '../inbox.js'
import { type Html, html } from './html.js'
import { reportText, stateText, tone } from './words.js'

const MAX_SOURCE = 100_000
const MAX_HTML = 2_000_000

export interface MessageView extends Kept {
  content: Content
  /** Why what was just asked could not be done. */
  problem: string | null
}

export function messagePage({ mail, raw, content, problem }: MessageView): Html {
  return html`<p class="back"><a href="/">← Mensagens</a></p>
<h1 class="subject">${mail.subject === '' ? '(sem assunto)' : mail.subject}</h1>
${problem !== null && html`<p class="alert" role="alert">${problem}</p>`}
<dl class="facts">
<div><dt>De</dt><dd>${mail.fromName !== '' && html`${mail.fromName} `}&lt;${mail.from}&gt;</dd></div>
<div><dt>Para</dt><dd>${mail.to}</dd></div>
<div><dt>Recebida</dt><dd><time datetime="${mail.receivedAt.toISOString()}">${brazilianDate(mail.receivedAt)}</time></dd></div>
<div><dt>Resposta dada</dt><dd>${mail.answer ?? 'nenhuma'}</dd></div>
</dl>
<div class="columns">
<div class="content">
${body(content)}
${links(content)}
${attachments(mail, content)}
${sources(mail, raw, content)}
</div>
<aside>
${actions(mail)}
<section aria-labelledby="retornos"><h2 id="retornos">O que o destinatário fez</h2>
<div data-live="/parciais/mensagens/${mail.id}">${reportsPart(mail)}</div>
</section>
${envelope(mail)}
</aside>
</div>`
}

/**
 * The sender's HTML runs nothing: a sandbox without scripts, forms or our origin, under this page's policy, which loads no
 * remote image either, so that looking at a message here is not reading it. Links open apart.
 */
function body({ html: markup, text }: Content): Html {
  if (markup === null) {
    return html`<section aria-label="Mensagem"><pre class="text">${text ?? '(mensagem vazia)'}</pre></section>`
  }
  if (markup.length > MAX_HTML) return html`<p class="empty">O HTML é grande demais para ser mostrado aqui. Baixe a mensagem.</p>`
  const framed = `<base target="_blank"><style>body{font:16px/1.5 system-ui,sans-serif;margin:16px;overflow-wrap:anywhere}img{max-width:100%}</style>${markup}`
  return html`<section aria-label="Mensagem">
<iframe title="Conteúdo da mensagem" sandbox="allow-popups allow-popups-to-escape-sandbox" referrerpolicy="no-referrer" srcdoc="${framed}"></iframe>
<p class="note">Imagens remotas não são carregadas nesta página: olhar aqui não conta como leitura. Use “Abrir” para isso.</p>
${text !== null && html`<details><summary>Versão em texto</summary><pre class="text">${text}</pre></details>`}
</section>`
}

const links = ({ links }: Content): Html | null =>
  links.length === 0
    ? null
    : html`<details><summary>Links (${links.length})</summary><ul class="links">${links.map(
        url => html`<li><a href="${url}" target="_blank" rel="noopener noreferrer">${url}</a></li>`,
      )}</ul></details>`

const attachments = (mail: Mail, { attachments }: Content): Html | null =>
  attachments.length === 0
    ? null
    : html`<section aria-labelledby="anexos"><h2 id="anexos">Anexos (${attachments.length})</h2>
<ul class="files">${attachments.map(
        ({ name, type, size, sha256 }, index) => html`<li>
<a href="/simulator/messages/${mail.id}/attachments/${index}" download="${name}">${name}</a>
<span>${type}, ${bytesText(size)}</span>
<code title="SHA-256">${sha256}</code></li>`,
      )}</ul></section>`

const sources = (
  mail: Mail,
  raw: Buffer,
  { headers }: Content,
): Html => html`<details><summary>Cabeçalhos (${headers.length})</summary>
<div class="scroll" tabindex="0" role="region" aria-label="Cabeçalhos"><table class="headers"><tbody>${headers.map(
  ({ name, value }) => html`<tr><th scope="row">${name}</th><td>${value}</td></tr>`,
)}</tbody></table></div></details>
<details><summary>Origem (${bytesText(raw.length)})</summary>
<p><a href="/simulator/messages/${mail.id}/raw" download="${mail.id}.eml">Baixar a mensagem (.eml)</a></p>
<pre class="source" tabindex="0" role="region" aria-label="Origem da mensagem">${raw.subarray(0, MAX_SOURCE).toString('utf8')}</pre>
${raw.length > MAX_SOURCE && html`<p class="note">Só o começo é mostrado.</p>`}</details>`

const actions = (mail: Mail): Html => html`<section aria-labelledby="acoes"><h2 id="acoes">Agir como o destinatário</h2>
<form class="actions" method="post" action="/mensagens/${mail.id}/acoes">
<div class="buttons">${Object.entries(ACTIONS)
  .filter(([name]) => name !== 'reply')
  .map(([name, { label }]) => html`<button name="action" value="${name}">${label}</button>`)}</div>
</form>
<form class="reply" method="post" action="/mensagens/${mail.id}/acoes">
<label for="texto">Texto da resposta</label>
<textarea id="texto" name="text" rows="2" maxlength="10000">${REPLY_TEXT}</textarea>
<button name="action" value="reply">${ACTIONS.reply.label}</button>
</form></section>`

/** The part that changes by itself. */
export const reportsPart = (mail: Mail): Html =>
  mail.reports.length === 0
    ? html`<p class="note">Nada, por enquanto.</p>`
    : html`<ol class="reports">${mail.reports.map(
        report => html`<li class="${tone(report)}">
<strong>${reportText(report)}</strong> <span>${stateText(report)},</span>
<time datetime="${(report.doneAt ?? report.at).toISOString()}">${brazilianDate(report.doneAt ?? report.at)}</time>
${report.detail !== null && html`<code>${report.detail}</code>`}</li>`,
      )}</ol>`

const envelope = ({
  envelope: { from, to, envid, ret, notify, orcpt },
}: Mail): Html => html`<details><summary>Envelope SMTP</summary>
<dl class="facts">
<div><dt>MAIL FROM</dt><dd>&lt;${from}&gt;</dd></div>
<div><dt>RCPT TO</dt><dd>&lt;${to}&gt;</dd></div>
<div><dt>ENVID</dt><dd>${envid ?? 'ausente'}</dd></div>
<div><dt>RET</dt><dd>${ret ?? 'ausente'}</dd></div>
<div><dt>NOTIFY</dt><dd>${notify?.join(', ') ?? 'ausente'}</dd></div>
<div><dt>ORCPT</dt><dd>${orcpt ?? 'ausente'}</dd></div>
</dl></details>`

const bytesText = (bytes: number): string =>
  bytes < 1_024 ? `${bytes} bytes` : bytes < 1_048_576 ? `${decimal(bytes / 1_024)} KiB` : `${decimal(bytes / 1_048_576)} MiB`

const decimal = (value: number): string => value.toFixed(1).replace('.', ',')
