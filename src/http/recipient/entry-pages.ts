import { moduleOf } from '../../channels/registry.js'
import { brazilianDate } from '../../domain/dates.js'
import { type Html, html } from '../../domain/html.js'
import type { VisitedDelivery } from '../../store/recipient/visits.js'
import { brandName, CHECK, duration, form, type LinkView, type Page, pressAgain } from './layout.js'

/** `host`: the host that the address bar must show. */
export function landingPage({ visited, path, stamp }: LinkView, host: string): Page {
  const sender = brandName(visited)
  return {
    title: `Notificação de ${sender}`,
    brand: visited,
    body: html`<section class="card">
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
<ul class="checks">
<li>${CHECK}<span>O endereço no alto do navegador é <b>${host}</b>.</span></li>
<li>${CHECK}<span>Ninguém pede senha, código ou pagamento para você ler.</span></li>
<li>${CHECK}<span>Na dúvida, não abra: fale com ${sender} por um contato que você já conhece e informe o número <span class="code">${visited.target.notification}</span>.</span></li>
</ul>
</section>
<p class="away"><a href="${path}/nao-sou-eu">Não sou esta pessoa</a></p>`,
  }
}

/** The first name and an initial, so that a person who got the link by mistake does not learn the recipient's identity. */
function shortName(name: string): string {
  const [first, ...others] = name.trim().split(/\s+/)
  const last = others.at(-1)
  return last === undefined ? first! : `${first} ${[...last][0]!.toUpperCase()}.`
}

function way({ target, recipient }: VisitedDelivery): Html | null {
  const { recipientIsName, label } = moduleOf(target.channel)
  return recipient === null || recipientIsName === true ? null : html`<dt>Canal</dt><dd>${label}: ${masked(recipient)}</dd>`
}

/** maria@example.com → ma***@example.com; +5511987654321 → final 4321 */
function masked(recipient: string): string {
  const at = recipient.lastIndexOf('@')
  return at === -1 ? `final ${recipient.slice(-4)}` : `${recipient.slice(0, Math.min(2, at - 1))}***${recipient.slice(at)}`
}

/** `attemptsLeft`: null before the first reply. */
export const questionPage = (view: LinkView, lockedMs: number, attemptsLeft: number | null): Page => ({
  title: `${attemptsLeft === null ? '' : 'Resposta incorreta: '}pergunta de ${brandName(view.visited)}`,
  brand: view.visited,
  body: html`<section class="card">
<h1>Confirme que é você</h1>
${lockedMs > 0 ? locked(lockedMs) : question(view, attemptsLeft)}
</section>
<p class="away"><a href="${view.path}">Voltar</a></p>`,
})

const question = (
  { visited, path, stamp }: LinkView,
  attemptsLeft: number | null,
): Html => html`${attemptsLeft === null ? null : wrong(attemptsLeft)}
<p>${brandName(visited)} protegeu esta mensagem com uma pergunta que só você deve saber responder.</p>
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
