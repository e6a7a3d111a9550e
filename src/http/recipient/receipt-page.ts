import { moduleOf } from '../../channels/registry.js'
import { brazilianDate } from '../../domain/dates.js'
import { html } from '../../domain/html.js'
import type { Confirmation } from '../../store/recipient/visits.js'
import { brandName, CHECK, type LinkView, type Page } from './layout.js'

interface ReceiptView extends LinkView {
  confirmation: Confirmation
  contentSha256: string
}

export const receiptPage = ({ visited, path, confirmation, contentSha256 }: ReceiptView): Page => ({
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
