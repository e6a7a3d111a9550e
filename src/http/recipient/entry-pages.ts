import { moduleOf } from '../../channels/registry.js'
import { maskAddress, shortName } from '../../domain/recipient/mask.js'
import { brazilianDate } from '../../domain/text/dates.js'
import { type Html, html } from '../../domain/text/html.js'
import type { VisitedDelivery } from '../../store/recipient/visits.js'
import { brandName, CHECK, duration, form, type LinkView, type Page, pressAgain, senderRows, statesIdentity } from './layout.js'

/** `host`: the host that the address bar must show. */
export function landingPage({ visited, path, stamp }: LinkView, host: string): Page {
  const sender = brandName(visited)
  return {
    title: `Notificação de ${sender}`,
    brand: visited,
    body: html`${alreadyConfirmed(visited)}
<section class="card">
<p class="eyebrow">Assunto</p>
<h1>${visited.subject}</h1>
<dl>
<dt>De</dt><dd>${sender}</dd>
<dt>Para</dt><dd>${shortName(visited.recipientName)}</dd>
<dt>Enviada</dt><dd>${brazilianDate(visited.acceptedAt).slice(0, 16)}</dd>
${way(visited)}
</dl>
${form(path, stamp, html`<button>Abrir a notificação</button>`)}
${visited.validation === null ? null : html`<p class="hint">O conteúdo é protegido: antes de ler, você responde a uma pergunta.</p>`}
</section>
<section class="card">
<h2>Como saber se é verdadeira</h2>
${statesIdentity(visited) && html`<dl>${senderRows('Remetente', visited)}</dl>`}
<ul class="checks">
<li>${CHECK}<span>O endereço no alto do navegador é <b>${host}</b>.</span></li>
<li>${CHECK}<span>Ninguém pede senha, código ou pagamento para você ler.</span></li>
<li>${CHECK}<span>Na dúvida, não abra: fale com ${sender} por um contato que você já conhece e informe o número <span class="code">${visited.target.notification}</span>.</span></li>
</ul>
</section>
${notMe({ visited, path })}`,
  }
}

/** Not after a confirmation by this link, because it cannot be taken back that way. */
export const notMe = ({ visited, path }: Pick<LinkView, 'visited' | 'path'>): Html | null =>
  visited.confirmedBy === visited.target.channel
    ? null
    : html`<p class="away"><a href="${path}/nao-sou-eu">Não sou esta pessoa</a></p>`

/** Shown to a recipient who has already confirmed, by this link or by another channel. The page does not ask again. */
export const alreadyConfirmed = ({ confirmedAt, confirmedBy }: VisitedDelivery, then: Html | null = null): Html | null =>
  confirmedAt === null
    ? null
    : html`<section class="card">
<div class="notice good" role="status"><strong>Recebimento confirmado</strong> em ${brazilianDate(confirmedAt)} (horário de Brasília), <span class="together">por ${moduleOf(confirmedBy!).label}.</span></div>
${then ?? html`<p>Não é preciso confirmar de novo. Abra a notificação para reler a mensagem e guardar o comprovante.</p>`}
</section>`

function way({ target, recipient }: VisitedDelivery): Html | null {
  const { recipientIsName, label } = moduleOf(target.channel)
  return recipient === null || recipientIsName === true ? null : html`<dt>Canal</dt><dd>${label}: ${maskAddress(recipient)}</dd>`
}

/** `attemptsLeft`: null before the first reply. */
export const questionPage = (view: LinkView, lockedMs: number, attemptsLeft: number | null): Page => ({
  title: `${attemptsLeft === null ? 'Pergunta' : 'Resposta incorreta: pergunta'} de ${brandName(view.visited)}`,
  brand: view.visited,
  body: html`<section class="card">
<h1>Confirme que é você</h1>
${lockedMs > 0 ? locked(lockedMs) : question(view, attemptsLeft)}
</section>
${reasons(view)}
${notMe(view)}
<p class="away"><a href="${view.path}">Voltar</a></p>`,
})

/** Who asks, about what, and why: a question without that looks like a fraud. */
const reasons = ({ visited }: LinkView): Html => html`<section class="card">
<h2>Quem pergunta e por quê</h2>
<dl>
${senderRows('Quem pergunta', visited)}
<dt>Sobre</dt><dd>${visited.subject}</dd>
<dt>Para</dt><dd>${shortName(visited.recipientName)}</dd>
<dt>Número</dt><dd class="code">${visited.target.notification}</dd>
</dl>
<ul class="checks">
<li>${CHECK}<span>A pergunta é de ${brandName(visited)}, para que só ${shortName(visited.recipientName)} leia a mensagem.</span></li>
<li>${CHECK}<span>A sua resposta serve para abrir esta mensagem e para mais nada; ela não é guardada.</span></li>
<li>${CHECK}<span>Se a pergunta pedir senha, código que chegou ao seu celular ou dado de cartão, não responda.</span></li>
</ul>
</section>`

const question = (
  { visited, path, stamp }: LinkView,
  attemptsLeft: number | null,
): Html => html`${attemptsLeft === null ? null : wrong(attemptsLeft)}
<p>${brandName(visited)} protegeu esta mensagem com uma pergunta que só você deve saber responder. Responda para ler.</p>
${form(
  `${path}/pergunta`,
  stamp,
  html`<label for="resposta">${visited.validation!.question}</label>
<input type="text" id="resposta" name="resposta" required maxlength="500" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="como">
<p class="hint" id="como">Acentos, maiúsculas, espaços e pontuação não fazem diferença.</p>
<button>Responder e ler</button>`,
)}`

const wrong = (left: number): Html =>
  html`<div class="notice" role="alert"><strong>A resposta não confere.</strong> ${
    left === 1 ? 'Resta 1 tentativa.' : `Restam ${left} tentativas.`
  }</div>`

const locked = (
  lockedMs: number,
): Html => html`<div class="notice" role="alert"><strong>Respostas bloqueadas por ${duration(lockedMs)}.</strong> Houve
respostas erradas demais. Espere e tente de novo; se você não sabe a resposta, fale com quem enviou a notificação.</div>`

/** "Não sou esta pessoa". The page asks before it reports, because the report cannot be undone here. */
export function wrongPersonPage({ visited, path, stamp }: LinkView, again: boolean): Page {
  const sender = brandName(visited)
  return {
    title: `Não sou esta pessoa: notificação de ${sender}`,
    brand: visited,
    body: html`<section class="card">
<h1>Você não é ${shortName(visited.recipientName)}?</h1>
${again && pressAgain('Ainda não foi registrado.')}
<p>Se esta notificação chegou a você por engano, avise ${sender}. Depois disso:</p>
<ul>
<li>${sender} não envia mais nada a este contato por este canal;</li>
<li>este link deixa de abrir.</li>
</ul>
<div class="row">
${form(`${path}/nao-sou-eu`, stamp, html`<button>Avisar que não sou eu</button>`)}
<a class="button quiet" href="${path}">Voltar: sou eu</a>
</div>
</section>`,
  }
}
