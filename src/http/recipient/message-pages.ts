import { moduleOf } from '../../channels/registry.js'
import type { Verification } from '../../domain/evidence/verification-code.js'
import { qrCode } from '../../domain/recipient/qr-code.js'
import { brazilianDate } from '../../domain/text/dates.js'
import { Html, html } from '../../domain/text/html.js'
import type { Counted } from '../../engine/recipient/visits.js'
import type { Confirmation, ListedFile } from '../../store/recipient/visits.js'
import { FRAME_SANDBOX } from './content.js'
import { alreadyConfirmed, notMe } from './entry-pages.js'
import { brandName, CHECK, form, type LinkView, type Page, pressAgain, senderRows } from './layout.js'

/** `confirmed`: what became of a confirmation that did not count. */
export const messagePage = ({ visited, path, stamp }: LinkView, confirmed: Counted): Page => ({
  title: `${visited.subject}: notificação de ${brandName(visited)}`,
  brand: visited,
  wide: true,
  body: html`${alreadyConfirmed(visited, html`<a class="button quiet" href="${path}/recibo">Ver o comprovante</a>`)}
<section class="card">
<p class="eyebrow">Para ${visited.recipientName}, ${brazilianDate(visited.acceptedAt).slice(0, 16)}</p>
<h1>${visited.subject}</h1>
<iframe class="content" src="${path}/conteudo?${FRAMED}" title="Conteúdo da notificação" sandbox="${FRAME_SANDBOX}"></iframe>
<p class="aside"><a href="${path}/conteudo" target="_blank" rel="noopener">Ver em tela cheia</a>
<a href="${path}/baixar" download>Baixar uma cópia</a></p>
</section>
${visited.files.length > 0 && fileList(path, visited.files)}
${visited.confirmedAt === null && confirmation({ visited, path, stamp }, confirmed)}
<section class="card">
<h2>Quem enviou</h2>
<dl>
${senderRows('De', visited)}
<dt>Número</dt><dd class="code">${visited.target.notification}</dd>
</dl>
</section>
${notMe({ visited, path })}`,
})

/** In the address of the content when it is shown in the frame of the message page. */
export const FRAMED = 'moldura'

const confirmation = ({ visited, path, stamp }: LinkView, confirmed: Counted): Html => html`<section class="card" id="confirmar">
${confirmed === 'program' && pressAgain('Ainda não foi confirmado.')}
${confirmed === 'noted' && tooEarly(moduleOf(visited.target.channel).label)}
<h2>Recebeu e leu?</h2>
<p>Confirme para ${brandName(visited)} que a notificação chegou a você. Você recebe um comprovante com data e hora. Confirmar o recebimento não quer dizer que concorda com o conteúdo.</p>
${form(`${path}/confirmar`, stamp, html`<button>Confirmar recebimento</button>`)}
</section>`

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

export interface Receipt {
  confirmation: Confirmation
  /** Where this receipt is found again. */
  address: string
  /** Where anybody verifies the notification, without reading it. */
  verification: Verification
  /** The content as the sender sent it, byte by byte. */
  original: { name: string; size: number; sha256: string }
}

export const receiptPage = (
  { visited, path }: LinkView,
  { confirmation: { at, seq, hash }, address, verification, original }: Receipt,
): Page => ({
  title: `Comprovante de recebimento: ${visited.subject}`,
  brand: visited,
  body: html`<section class="card">
<div class="stamp">${CHECK}</div>
<p class="eyebrow">Comprovante de recebimento</p>
<h1>${visited.subject}</h1>
<dl>
${senderRows('De', visited)}
<dt>Para</dt><dd>${visited.recipientName}</dd>
<dt>Enviada</dt><dd>${brazilianDate(visited.acceptedAt)}</dd>
<dt>Confirmada</dt><dd><strong>${brazilianDate(at)}</strong> (horário de Brasília), <span class="together">por ${moduleOf(visited.confirmedBy!).label}</span></dd>
<dt>Número</dt><dd class="code">${visited.target.notification}</dd>
<dt>Evento ${seq}</dt><dd class="code">${hash}</dd>
</dl>
<h2>O que foi recebido</h2>
<ul class="files">
${receivedFile(`${path}/original`, original, 'a mensagem como o remetente a enviou (código HTML)')}
${visited.files.map(file => receivedFile(`${path}/anexo/${file.ordinal}`, file, 'anexo'))}
</ul>
<p class="hint">Os códigos longos são hashes SHA-256. Os dos arquivos são calculados sobre os mesmos bytes que você baixa aqui: com eles, você, o remetente ou um perito confere que nada mudou depois.</p>
<div class="keeps">
<div class="keep">
<div class="qr" role="img" aria-label="QR code com o endereço deste comprovante">${new Html(qrCode(address))}</div>
<p><strong>Endereço deste comprovante</strong><br><span class="code">${address}</span><br>
<span class="hint">Quem tem este endereço pode ler a mensagem: mostre-o só a quem você confia.</span></p>
</div>
<div class="keep">
<div class="qr" role="img" aria-label="QR code da página pública de verificação">${new Html(qrCode(verification.url))}</div>
<p><strong>Para quem quiser conferir</strong><br><span class="code">${verification.url}</span><br>
Código <strong class="code">${verification.code}</strong><br>
<span class="hint">Este endereço não mostra a mensagem: só o que foi registrado e quando. Pode ser dado a qualquer pessoa.</span></p>
</div>
</div>
<div class="row screen">
<button type="button" data-print hidden>Imprimir ou salvar</button>
<a class="button quiet" href="${path}/mensagem">Voltar à mensagem</a>
</div>
</section>`,
})

const receivedFile = (path: string, { name, size: bytes, sha256 }: Receipt['original'], what: string): Html =>
  html`<li><a href="${path}" download>${name}</a> <span class="hint">${exactSize(bytes)}, ${what}</span>
<span class="code">SHA-256 ${sha256}</span></li>`

/** To the byte, so that it can be compared with the file. */
const exactSize = (bytes: number): string => `${new Intl.NumberFormat('pt-BR').format(bytes)} ${bytes === 1 ? 'byte' : 'bytes'}`
