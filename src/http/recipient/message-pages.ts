import { moduleOf } from '../../channels/registry.js'
import { brazilianDate } from '../../domain/dates.js'
import { type Html, html } from '../../domain/html.js'
import type { Counted } from '../../engine/recipient/visits.js'
import type { Confirmation, ListedFile } from '../../store/recipient/visits.js'
import { FRAME_SANDBOX } from './content.js'
import { brandName, CHECK, form, type LinkView, type Page, pressAgain } from './layout.js'

/** `confirmed`: what became of a confirmation that did not count. */
export const messagePage = ({ visited, path, stamp }: LinkView, confirmed: Counted): Page => ({
  title: `${visited.subject}: notificação de ${brandName(visited)}`,
  brand: visited,
  wide: true,
  body: html`<section class="card">
<p class="eyebrow">Para ${visited.recipientName}, ${brazilianDate(visited.acceptedAt).slice(0, 16)}</p>
<h1>${visited.subject}</h1>
<iframe class="content" src="${path}/conteudo" title="Conteúdo da notificação" sandbox="${FRAME_SANDBOX}"></iframe>
<p class="aside"><a href="${path}/conteudo" target="_blank" rel="noopener">Ver em tela cheia</a>
<a href="${path}/baixar" download>Baixar a mensagem</a></p>
</section>
${visited.files.length > 0 && fileList(path, visited.files)}
<section class="card" id="confirmar">
${
  visited.confirmedAt === null
    ? html`${confirmed === 'program' && pressAgain('Ainda não foi confirmado.')}
${confirmed === 'noted' && tooEarly(moduleOf(visited.target.channel).label)}
<h2>Recebeu e leu?</h2>
<p>Confirme para ${brandName(visited)} que a notificação chegou a você. Você recebe um comprovante com data e hora. Confirmar o recebimento não quer dizer que concorda com o conteúdo.</p>
${form(`${path}/confirmar`, stamp, html`<button>Confirmar recebimento</button>`)}`
    : html`<div class="notice good"><strong>Recebimento confirmado</strong> em ${brazilianDate(visited.confirmedAt)} (horário de Brasília).</div>
<a class="button quiet" href="${path}/recibo">Ver o comprovante</a>`
}
</section>
${visited.confirmedAt === null && html`<p class="away"><a href="${path}/nao-sou-eu">Não sou esta pessoa</a></p>`}`,
})

const tooEarly = (label: string): Html =>
  html`<div class="notice" role="alert"><strong>Anotado, com data e hora.</strong> A entrega por ${label} ainda não consta como feita, e por isso o recebimento ainda não consta como confirmado. Depois da entrega, abra este link e confirme.</div>`

const fileList = (path: string, files: readonly ListedFile[]): Html => html`<section class="card">
<h2>${files.length === 1 ? '1 anexo' : `${files.length} anexos`}</h2>
<ul class="files">${files.map(
  file => html`<li><a href="${path}/anexo/${file.ordinal}" download>${file.name}</a> <span class="hint">${size(file.size)}</span>
<span class="code">SHA-256 ${file.sha256}</span></li>`,
)}</ul>
</section>`

function size(bytes: number): string {
  if (bytes < 1_024) return `${bytes} bytes`
  const kib = bytes / 1_024
  return kib < 1_024 ? `${Math.round(kib)} KiB` : `${(kib / 1_024).toFixed(1).replace('.', ',')} MiB`
}

export const receiptPage = ({ visited, path }: LinkView, confirmation: Confirmation, contentSha256: string): Page => ({
  title: `Comprovante de recebimento: ${visited.subject}`,
  brand: visited,
  body: html`<section class="card">
<div class="stamp">${CHECK}</div>
<p class="eyebrow">Comprovante de recebimento</p>
<h1>${visited.subject}</h1>
<dl>
<dt>De</dt><dd>${brandName(visited)}</dd>
<dt>Para</dt><dd>${visited.recipientName}</dd>
<dt>Canal</dt><dd>${moduleOf(visited.target.channel).label}</dd>
<dt>Enviada</dt><dd>${brazilianDate(visited.acceptedAt)}</dd>
<dt>Confirmada</dt><dd><strong>${brazilianDate(confirmation.at)}</strong> (horário de Brasília)</dd>
<dt>Número</dt><dd class="code">${visited.target.notification}</dd>
<dt>Evento ${confirmation.seq}</dt><dd class="code">${confirmation.hash}</dd>
<dt>Conteúdo</dt><dd class="code">${contentSha256}</dd>
${visited.files.map(file => html`<dt>Anexo ${file.ordinal}</dt><dd>${file.name}<span class="code">${file.sha256}</span></dd>`)}
</dl>
<p class="hint">Os códigos longos são hashes SHA-256: com eles, o remetente ou um perito confere que nada mudou depois.</p>
<div class="row screen">
<button type="button" data-print hidden>Imprimir ou salvar</button>
<a class="button quiet" href="${path}/mensagem">Voltar à mensagem</a>
</div>
</section>`,
})
