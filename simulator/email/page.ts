import { type Html, html } from '../../src/domain/text/html.js'
import type { StoredMessage } from '../inbox.js'
import { type Content, readContent } from './content.js'
import type { Mail } from './mail.js'

const MAX_SOURCE = 100_000
const MAX_HTML = 2_000_000

export async function renderMail({ message, raw }: StoredMessage<Mail>): Promise<{ content: Html; aside: Html }> {
  const content = await readContent(raw)
  return {
    content: html`${body(content)}
${links(content)}
${attachments(message, content)}
${sources(message, raw, content)}`,
    aside: envelope(message),
  }
}

/**
 * The sender's HTML is in a sandbox without scripts, forms or the simulator's origin. The policy of the page loads no remote
 * image: otherwise a look at this page would count as a reading of the mail.
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
