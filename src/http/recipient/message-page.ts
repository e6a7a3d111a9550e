import { brazilianDate } from '../../domain/dates.js'
import { type Html, html } from '../../domain/html.js'
import type { ListedFile } from '../../store/recipient/visits.js'
import { brandName, formFields, formTraps, type LinkView, type Page } from './layout.js'

interface MessageView extends LinkView {
  /** The confirmation looked like a program's, so the person must press the button again. */
  again: boolean
}

/** Allows popups, so that links open in a new tab, but no scripts, no forms and no origin. */
export const FRAME_SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'

export function messagePage(view: MessageView): Page {
  const { visited, path } = view
  const { files } = visited
  return {
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
${files.length === 0 ? null : fileList(path, files)}
<section class="card" id="confirmar">
${visited.confirmedAt === null ? confirmation(view) : confirmed(path, visited.confirmedAt)}
</section>
${visited.confirmedAt === null ? html`<p class="away"><a href="${path}/nao-sou-eu">Não sou esta pessoa</a></p>` : null}`,
  }
}

const fileList = (path: string, files: readonly ListedFile[]): Html => html`<section class="card">
<h2>${files.length === 1 ? '1 anexo' : `${files.length} anexos`}</h2>
<ul class="files">${files.map(
  file => html`<li><a href="${path}/anexo/${file.ordinal}" download>${file.name}</a> <span class="hint">${size(file.size)}</span>
<span class="code">SHA-256 ${file.sha256}</span></li>`,
)}</ul>
</section>`

const confirmation = ({ path, stamp, again, visited }: MessageView): Html => html`${
  again
    ? html`<div class="notice" role="alert"><strong>Ainda não foi confirmado.</strong> Para termos certeza de que foi você, e não um programa, pressione o botão mais uma vez.</div>`
    : null
}
<h2>Recebeu e leu?</h2>
<p>Confirme para ${brandName(visited)} que a notificação chegou a você. Você recebe um comprovante com data e hora. Confirmar o recebimento não quer dizer que concorda com o conteúdo.</p>
<form method="post" action="${path}/confirmar">
${formFields(stamp)}
<button>Confirmar recebimento</button>
${formTraps}
</form>`

const confirmed = (
  path: string,
  at: Date,
): Html => html`<div class="notice good"><strong>Recebimento confirmado</strong> em ${brazilianDate(at)} (horário de Brasília).</div>
<a class="button quiet" href="${path}/recibo">Ver o comprovante</a>`

function size(bytes: number): string {
  if (bytes < 1_024) return `${bytes} bytes`
  const kib = bytes / 1_024
  return kib < 1_024 ? `${Math.round(kib)} KiB` : `${(kib / 1_024).toFixed(1).replace('.', ',')} MiB`
}
